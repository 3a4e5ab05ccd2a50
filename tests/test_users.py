"""Users: one memory over all chats of a person, the latest word by time, and never a word of anybody else."""

from __future__ import annotations

import functools
import random
import threading
import unicodedata
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from infold import Chat, ConfigError, Memory, NotFoundError, preset
from infold.context.block import unmarked
from infold.messages import canonical_json
from infold.policy import Policy
from tests.conftest import MARK_KEY, START, assistant, counted_ids, ticking_clock, user
from tests.databases import fresh

Wire = dict[str, Any]
HOUR = 3600 * 1000
SLOW = 120  # seconds after which something that must not wait has waited for ever


def small() -> Policy:
    """Folds early, with recall, facts of the user and entities."""
    return preset("default", keep=1, keep_range=(1, 1), chunk_range=(1, 1))


@contextmanager
def opened() -> Iterator[Memory]:
    """A memory on a database of its own."""
    with fresh() as url, Memory(url, clock=ticking_clock(), ids=counted_ids(), mark_key=MARK_KEY) as memory:
        yield memory


def say(chat: Chat, text: str, hour: int, fold: bool = True) -> None:
    """A turn at an hour; with `fold`, two more, so that it is folded."""
    at = START + hour * HOUR
    chat.add([user(text, created_at=at), assistant("Noted.", created_at=at + 1)])
    if fold:
        close(chat, hour)


def close(chat: Chat, hour: int) -> None:
    """Add what makes all before it fold."""
    last = chat.messages()[-1].seq
    for n in (2, 3, 4):
        at = START + hour * HOUR + n
        chat.add([user("And the weather?", created_at=at), assistant("It rains, as ever.", created_at=at)])
    assert chat.memory.cursor >= last


def current(memory: Memory, name: str) -> list[str]:
    return sorted(fact.text for fact in memory.user(name).facts)


def everything(memory: Memory, name: str, chats: list[Chat], queries: list[str]) -> str:
    """All that can be read in the name of a user."""
    one = memory.user(name)
    found: list[Any] = [repr(one.facts(all=True)), repr(one.entities)]
    for query in queries:
        found.append(repr(one.recall(query, limit=200)))
        for chat in chats:
            found.append(repr(chat.recall(query, limit=200)))
            for budget in (400, 3000):
                context = chat.context(query, max_tokens=budget)
                found += [context.messages, context.to("text"), str(context.explain())]
    for chat in chats:
        found += [repr(chat.facts(all=True)), repr(chat.entities), chat.summary]
    return canonical_json(found)


# Over chats --------------------------------------------------------------------------------------------


def test_D3_a_user_is_known_over_all_chats(memory: Memory) -> None:
    chats = [memory.chat(id, user="ann", config=small()) for id in "abc"]
    told = [("I live in Berlin.", 1), ("I am allergic to peanuts.", 2), ("My dog is called Rex.", 3)]
    for chat, (text, hour) in zip(chats, told, strict=True):
        say(chat, text, hour)
    facts = memory.user("ann").facts
    assert [fact.text for fact in facts] == [text for text, _ in told]
    assert [(fact.chat, fact.sources) for fact in facts] == [("a", (1,)), ("b", (1,)), ("c", (1,))]
    assert len(memory.chat("a").facts) == 1  # of a chat: what was said there
    new = {name: memory.chat(f"new {name}", user=name).context("So?").to("text") for name in ("ann", "bob")}
    for fact in facts:
        assert fact.text in new["ann"]
        assert fact.text not in new["bob"]


@pytest.mark.parametrize("first", ["a", "b"])
def test_D3_the_newer_word_of_another_chat_counts(memory: Memory, first: str) -> None:
    """By when it was said, whichever chat folds first."""
    old, new = (memory.chat(id, user="ann", config=small()) for id in "ab")
    steps: dict[str, Callable[[], None]] = {
        "a": lambda: say(old, "I live in Berlin.", 1),
        "b": lambda: say(new, "I live in Rome now.", 5),
    }
    for name in (first, *({"a", "b"} - {first})):
        steps[name]()
    assert current(memory, "ann") == ["I live in Rome now."]
    every = {fact.text: fact for fact in memory.user("ann").facts(all=True)}
    before, after = every["I live in Berlin."], every["I live in Rome now."]
    assert (before.status, before.superseded_by, before.valid_to) == ("superseded", after.id, START + 5 * HOUR)
    assert "Berlin" not in canonical_json(old.context("So?").messages)
    assert "Rome" in canonical_json(new.context("So?").messages)
    assert [fact.text for fact in old.facts] == ["I live in Berlin."]  # as it was said there


OVERTAKEN = [
    ("I live in Berlin.", "I live in Oslo now.", "Berlin"),
    ("I live in Rome now.", "I live in Oslo now.", "Rome"),
    ("My budget is 400 euros.", "My budget is 500 euros.", "400"),
    ("I work at Siemens.", "I work at Bosch now.", "Siemens"),
]


@pytest.mark.parametrize(("before", "after", "gone"), OVERTAKEN)
def test_D3_what_another_chat_overtook_is_in_no_layer(memory: Memory, before: str, after: str, gone: str) -> None:
    old, new = (memory.chat(id, user="ann", config=small()) for id in "ab")
    say(old, before, 1)
    assert gone in canonical_json(unmarked(old.context("So?").messages))
    say(new, after, 5)
    assert gone not in canonical_json(unmarked(old.context("So?").messages))


STORY = [
    ("a", 1, "I live in Berlin."), ("b", 2, "I live in Rome now."), ("c", 3, "My budget is 400 euros."),
    ("a", 4, "My budget is 650 euros."), ("b", 5, "I am allergic to peanuts."), ("c", 6, "I live in Oslo now."),
    ("a", 7, "My wife is called Mia."), ("b", 8, "My budget is 500 euros."), ("c", 9, "I prefer tea over coffee."),
]  # fmt: skip
HOLDS = {"I live in Oslo now.", "My budget is 500 euros.", "I am allergic to peanuts."}


@functools.cache
def known_after(seed: int) -> frozenset[tuple[str, str, int, int | None]]:
    """What is known once the story is told, loaded and folded in an order of chance."""
    chance = random.Random(seed)
    by_chat = {id: [step for step in STORY if step[0] == id] for id in "abc"}
    with opened() as memory:
        chats = {id: memory.chat(id, user="ann", config=small()) for id in "abc"}
        while any(by_chat.values()):
            id = chance.choice([id for id, left in by_chat.items() if left])
            _, hour, text = by_chat[id].pop(0)
            say(chats[id], text, hour, fold=chance.random() < 0.5)
            if chance.random() < 0.3:
                memory.user("ann").recall("Where do I live?")
        for id in chance.sample("abc", 3):
            close(chats[id], 20)
        facts = memory.user("ann").facts(all=True)
        return frozenset((fact.text, fact.status, fact.said_at, fact.valid_to) for fact in facts)


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(seed=st.integers(1, 10**6))
def test_D3_the_order_of_folding_makes_no_difference(seed: int) -> None:
    """What holds depends on when it was said, not on when it was loaded or folded."""
    assert known_after(seed) == known_after(0)
    texts = {text for text, status, *_ in known_after(seed) if status == "current"}
    assert texts >= HOLDS
    assert not texts & {"I live in Berlin.", "I live in Rome now.", "My budget is 650 euros."}


def test_D3_what_is_rewound_in_one_chat_holds_again_in_the_other(memory: Memory) -> None:
    old, new = (memory.chat(id, user="ann", config=small()) for id in "ab")
    say(old, "I live in Berlin.", 1)
    start = new.add(user("Hello.", created_at=START + 2 * HOUR))
    new.add(assistant("Hello.", created_at=START + 2 * HOUR))
    say(new, "I live in Rome now.", 5)
    assert current(memory, "ann") == ["I live in Rome now."]
    new.rewind(start.id)
    assert current(memory, "ann") == ["I live in Berlin."]
    assert "Berlin" in canonical_json(new.context("So?").messages)
    assert memory.verify().ok


def test_D8_after_a_rewind_a_user_finds_the_new_words_only(memory: Memory) -> None:
    chat = memory.chat("a", user="ann", config=small())
    say(chat, "I keep bees.", 1)
    kept = chat.messages()[-1]
    chat.add(user("The heron nests at the mill."))
    ann = memory.user("ann")
    assert ann.recall("heron mill", kinds=["message"])
    chat.rewind(kept.id)
    assert ann.recall("heron mill", kinds=["message"]) == chat.recall("heron mill", kinds=["message"]) == []


def test_F6_a_deleted_chat_leaves_nothing_to_the_next_one(memory: Memory) -> None:
    ann = memory.chat("a", user="ann", config=small())
    say(ann, "I live in Berlin with my friend Zoltan.", 1)
    assert ann.facts
    assert ann.recall("Berlin")
    ann.delete()
    bob = memory.chat("b", user="bob", config=small())
    say(bob, "I live in Tromsø with my friend Yolanda.", 1)
    assert "Berlin" not in repr([bob.facts(all=True), bob.entities, bob.recall("Berlin Zoltan")])
    assert bob.recall("Berlin Zoltan", kinds=["message"]) == []


def test_F6_a_deleted_chat_is_not_known_of_its_user(memory: Memory) -> None:
    say(memory.chat("a", user="ann", config=small()), "I live in Berlin.", 1)
    assert current(memory, "ann") == ["I live in Berlin."]
    memory.chat("a").delete()
    say(memory.chat("b", user="ann", config=small()), "I live in Tromsø.", 1)
    assert current(memory, "ann") == ["I live in Tromsø."]


def test_E8_a_chat_that_changes_hands_takes_its_words_along(memory: Memory) -> None:
    chat = memory.chat("a", config=small())
    say(chat, "I live in Berlin.", 1)
    assert current(memory, "ann") == []
    chat.update(user="ann")
    assert current(memory, "ann") == ["I live in Berlin."]
    assert memory.user("ann").recall("Where do I live?", kinds=["message"])
    chat.update(user="bob")
    assert current(memory, "ann") == []
    assert memory.user("ann").recall("Where do I live?") == []
    assert current(memory, "bob") == ["I live in Berlin."]


# Nobody else -------------------------------------------------------------------------------------------

NAMES = ["ann", "Ann", "ANN", "аnn", "ａnn", "ann ", " ann", "%", "_nn", "a%", "'", "ann' OR '1'='1", "ann\u200b", "José",
         unicodedata.normalize("NFD", "José"), " ", ".", "None", "null", "0", "user", "\n", "🧑", "a" * 200, "*", "a_n"]  # fmt: skip


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(data=st.data())
def test_E8_nothing_of_another_user_is_ever_seen(data: st.DataObject) -> None:
    any_name = st.sampled_from(NAMES) | st.text(min_size=1, max_size=8).filter(
        lambda text: "\0" not in text and not any("\ud800" <= char <= "\udfff" for char in text)
    )
    names = data.draw(st.lists(st.none() | any_name, min_size=2, max_size=4, unique=True))
    with opened() as memory:
        chats: dict[str | None, list[Chat]] = {}
        secrets: dict[str, str | None] = {}
        for at, name in enumerate(names):
            for part in (0, 1):
                secret = f"Zorgon{'ABCDEFGH'[2 * at + part]}"
                secrets[secret] = name
                chat = memory.chat(f"chat {at} {part}", user=name, config=small())
                chats.setdefault(name, []).append(chat)
                say(chat, f"I live in {secret}. I must send the report to {secret} by Friday.", at * 3 + part)
                chat.set_entity("project", f"{secret} tower", links=[secret])
        queries = [
            "Where do I live?",
            "report",
            " ".join(secrets),
            *(name or "x" for name in names if (name or "x").strip()),
        ]
        for name in names:
            mine = [secret for secret, owner in secrets.items() if owner == name]
            read: list[str] = []
            if name is not None:
                asked = [query for query in queries if not any(secret in query for secret in secrets)]
                read.append(everything(memory, name, chats[name], asked))
                read += [repr(memory.user(name).recall(query, limit=200)) for query in queries]
                assert all(secret in read[0] for secret in mine)
            else:
                for secret, chat in zip(mine, chats[name], strict=True):  # each for itself
                    own = repr([chat.facts(all=True), chat.entities, chat.recall(" ".join(secrets), limit=200)])
                    assert secret in own
                    assert not any(other in own for other in secrets if other != secret)
            for text in read:
                assert not [secret for secret in secrets if secret not in mine and secret in text]


@pytest.mark.parametrize("bad", ["", None, 7, "a\0b", "a" * 201, "\ud800"])
def test_E8_bad_names_are_refused(memory: Memory, bad: Any) -> None:
    with pytest.raises(ConfigError, match="user"):
        memory.user(bad)
    if bad is not None:
        with pytest.raises(ConfigError, match="user"):
            memory.chat("a", user=bad)


def test_E8_a_user_without_chats_knows_nothing(memory: Memory) -> None:
    say(memory.chat("a", config=small()), "I live in Berlin.", 1)
    nobody = memory.user("nobody")
    assert (nobody.facts, nobody.entities, nobody.recall("Berlin")) == ((), [], [])


def test_D8_a_users_recall_is_of_one_chat_where_asked(memory: Memory) -> None:
    for id, name, text in (("a", "ann", "copper kettle"), ("b", "ann", "silver kettle"), ("c", "bob", "tin kettle")):
        say(memory.chat(id, user=name, config=small()), f"I have a {text} in the kitchen.", 1)
    ann = memory.user("ann")
    assert {hit.chat for hit in ann.recall("Which kettle?", limit=50)} == {"a", "b"}
    assert {hit.chat for hit in ann.recall("Which kettle?", chat="b", limit=50)} == {"b"}
    for id in ("c", "nowhere"):
        with pytest.raises(NotFoundError, match=id):
            ann.recall("Which kettle?", chat=id)


# At once -----------------------------------------------------------------------------------------------


def at_once(work: list[Callable[[], object]]) -> None:
    barrier = threading.Barrier(len(work))

    def one(job: Callable[[], object]) -> None:
        barrier.wait(SLOW)
        job()

    threads = ThreadPoolExecutor(len(work))
    try:
        for future in [threads.submit(one, job) for job in work]:
            future.result(SLOW)
    finally:
        threads.shutdown(wait=False, cancel_futures=True)


@pytest.mark.parametrize("memories", [1, 2])
def test_F9_adding_asking_and_recalling_at_once(url: str, memories: int) -> None:
    every = [Memory(url) for _ in range(memories)]

    def add(memory: Memory, id: str) -> None:
        chat = memory.chat(id, user="ann", config=small())
        for n in range(60):
            chat.add([user(f"The {id} crate {n} weighs {n} kilos."), assistant(f"I must send crate {n} to Anna.")])
            if n % 20 == 19 and memories == 1:  # else another writer may have taken the message back
                chat.rewind(chat.messages()[-3].id)

    def ask(memory: Memory, id: str) -> None:
        chat = memory.chat(id, user="ann", config=small())
        for n in range(25):
            context = chat.context(f"How much does crate {n} weigh?", max_tokens=400)
            assert context.tokens <= 400
            assert len(chat.recall(f"crate {n}", limit=5)) <= 5
            _ = chat.facts, chat.entities, chat.summary

    def know(memory: Memory) -> None:
        ann = memory.user("ann")
        for n in range(25):
            ann.recall(f"crate {n} of Anna", limit=5)
            ann.set_entity("task", f"Count the crates of day {n}")
            _ = ann.facts, ann.entities

    work: list[Callable[[], object]] = []
    for at, memory in enumerate(every):
        for id in ("red", "blue"):
            work += [lambda m=memory, i=id, a=at: add(m, f"{i}{a if memories == 1 else ''}")]  # type: ignore[misc]
            work += [lambda m=memory, i=id, a=at: ask(m, f"{i}{a if memories == 1 else ''}")]  # type: ignore[misc]
        work.append(lambda m=memory: know(m))  # type: ignore[misc]
    at_once(work)
    for memory in every:
        memory.settle()
        assert memory.verify().ok
    found = {id: [m.chat(i).recall("crate 7 weighs", limit=9) for m in every for i in [id]] for id in _ids(every[0])}
    for hits in found.values():
        assert hits[0]
        assert all(one == hits[0] for one in hits)
    facts = [memory.user("ann").facts(all=True) for memory in every]
    names = [{one.name for one in memory.user("ann").entities} for memory in every]
    assert facts[0] == facts[-1]
    assert names[0] == names[-1]
    assert {f"Count the crates of day {n}" for n in range(25)} & names[0]
    for memory in every:
        memory.close()


def _ids(memory: Memory) -> list[str]:
    return [info.id for info in memory.chats()]


def test_E8_what_another_memory_changes_is_seen(url: str) -> None:
    """What is kept in memory is read anew once another process has written, whatever it wrote."""
    with Memory(url) as one, Memory(url) as other:
        ann = one.user("ann")
        ann.set_entity("task", "Paint the shed")
        assert [entity.name for entity in ann.entities] == ["Paint the shed"]
        there = other.user("ann")
        there.remove_entity(there.entities[0].id)
        there.set_entity("task", "Mow the lawn")
        assert [entity.name for entity in ann.entities] == ["Mow the lawn"]
