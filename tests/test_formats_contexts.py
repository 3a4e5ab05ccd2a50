"""Contexts that had to fold, bridge and cut are still valid in every format, and in strict chat templates."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from infold import Memory
from infold.presets import PRESETS
from tests.conftest import counted_ids, ticking_clock, words
from tests.databases import file
from tests.formats_chats import Chat, any_format
from tests.formats_rules import FORMATS, check, strict_rules
from tests.test_formats import without

Wire = dict[str, Any]


def longer(value: Any, size: int, key: str = "") -> Any:
    """The same conversation with more words in its texts."""
    if isinstance(value, dict):
        return {k: longer(v, size, k) for k, v in value.items()}
    if isinstance(value, list):
        return [longer(inner, size, key) for inner in value]
    if isinstance(value, str) and key in ("text", "content", "output", "thinking", "encrypted_content") and value:
        return f"{value} {words(size)}" if key != "encrypted_content" else value * size
    return value


def check_all(chat: Any, max_tokens: int) -> None:
    context = chat.context(max_tokens=max_tokens)
    assert context.tokens <= max_tokens
    for format in FORMATS:
        found = context.to(format)
        check(format, without(found, "cache_control") if format == "chat" else found)
    assert context.to("chat") == context.messages
    systems = 2 if chat.policy.name == "chain" else 1
    strict_rules(context.messages, systems)
    strict_rules(chat.context(max_tokens=max_tokens, memory_role="system").messages, systems)
    strict_rules(chat.context(max_tokens=max_tokens, merge=True).messages)


@pytest.mark.parametrize("preset", sorted(PRESETS))
@settings(deadline=None, max_examples=8, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_F2_F12_every_context_is_valid_in_every_format(preset: str, data: st.DataObject) -> None:
    with file() as url, Memory(url, clock=ticking_clock(), ids=counted_ids()) as memory:
        chat = memory.chat("a", preset=preset, context_window=1500, system="Be brief.")
        for start in range(1, 3001, 1000):
            made: Chat = data.draw(any_format(start))
            for message in longer(made.wire, data.draw(st.sampled_from([0, 12, 120]))):
                chat.add(message)
                check_all(chat, data.draw(st.sampled_from([200, 320, 600, 1400])))
        assert chat.verify().ok, chat.verify()
