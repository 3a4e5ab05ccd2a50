"""What a server keeps in memory of chats that nobody uses any more."""

from __future__ import annotations

import gc
import time
import weakref
from pathlib import Path
from typing import Any

import pytest

from infold import Memory
from infold.quiet import quiet
from infold.service import core
from infold.service.settings import ServiceSettings
from tests.conftest import assistant, user
from tests.test_recall import QUESTIONS, chatter, needles, small
from tests.test_recall_postgres import shown


def test_E7_nothing_is_kept_of_a_chat_that_nobody_uses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core, "_MOST_CHATS", 1)
    url = f"sqlite:///{tmp_path / 'chats.db'}"
    service = core.Service(ServiceSettings(database=url))
    with Memory(url) as memory:
        service.memory = memory
        chats = [memory.chat(name, config=small()) for name in ("used", "idle")]
        for chat in chats:
            chat.add([user("I live in Berlin."), assistant("Noted."), *needles(), *chatter(0, 100)])
        memory.settle()
        found = [shown(chats[0].recall(question)) for question in QUESTIONS[:3]]
        chats[1].recall(QUESTIONS[0])
        assert chats[1].facts
        assert set(memory.recaller._chats) == {chat.key for chat in chats}
        service.keep_chat("", chats[1])
        service.keep_chat("", chats[0])
        assert set(memory.recaller._chats) == {chats[0].key}
        assert not [of for of in memory.knowledge._kept if of[1] == chats[1].key]
        service.keep_chat("", chats[1])
        assert not memory.recaller._chats
        assert [shown(chats[0].recall(question)) for question in QUESTIONS[:3]] == found


def test_E7_the_room_of_a_chat_is_free_as_soon_as_it_is_let_go(memory: Memory) -> None:
    chat = memory.chat("let go", config=small())
    chat.add([*needles(), *chatter(0, 100)])
    chat.context(QUESTIONS[0])
    chat.recall(QUESTIONS[0])
    chat.fold()
    chat.settle()
    kept: list[weakref.ref[Any]] = [weakref.ref(chat), weakref.ref(memory.recaller._chats[chat.key].corpus)]
    memory.recaller.release(chat.key)
    collects = gc.isenabled()
    gc.disable()  # a server looks for circles seldom: there must be none
    try:
        del chat
        deadline = time.monotonic() + 30
        while any(one() is not None for one in kept) and time.monotonic() < deadline:
            quiet.clear()  # what is read ahead keeps a chat until it is done
            time.sleep(0.01)
        assert [one() for one in kept] == [None, None]
    finally:
        if collects:
            gc.enable()
