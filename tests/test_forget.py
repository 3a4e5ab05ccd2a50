"""F6, D7: what is forgotten is gone from everywhere, and what is left still holds together."""

from __future__ import annotations

import os
import signal
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from infold import Chat, DuplicateIdError, Memory, MessageError, NotFoundError, Receipt, summarize_memory
from infold import preset as policy
from infold.ledger import calls, journal, prefixes, service
from infold.ledger.rows import Call, Event
from infold.marks import FORGOTTEN
from infold.messages import Message, parse
from infold.presets import PRESETS
from infold.quoting.reading import read
from infold.redaction import quotes, redacted, retold
from tests import rawsql
from tests.conftest import assistant, call, counted_ids, result, ticking_clock, user, words
from tests.databases import POSTGRES, fresh
from tests.forks import start
from tests.formats_rules import check

SECRET = "Zanzibarkowski"
WINDOW = 1200


def more(chat: Chat) -> None:
    for number in range(20):
        chat.add(user(words(10, f"m{number}")))
        chat.add(assistant(words(10, f"r{number}")))


def secret(text: str = f"My sister's name is {SECRET} and I must not eat {SECRET} peanuts.") -> dict[str, Any]:
    return user(text, id="secret")


def conversation(turns: int = 30, at: int = 3) -> list[dict[str, Any]]:
    """Turns with one statement each; the secret stands in one of them."""
    found: list[dict[str, Any]] = []
    for number in range(turns):
        told = user(
            f"I prefer hotel Astor{number} and my budget for trip {number} is {number}50 euros.", id=f"u{number}"
        )
        found += [secret() if number == at else told, assistant(words(60, f"a{number}"), id=f"a{number}")]
    return found


def filled(memory: Memory, preset: str, turns: int = 30, at: int = 3, **options: Any) -> Chat:
    config = policy(preset, chunk_tokens=800) if preset == "chunked" else policy(preset)
    chat = memory.chat("c", config=config, context_window=WINDOW, **options)
    for message in conversation(turns, at):
        chat.add(message)
    chat.settle()
    return chat


def dump(url: str) -> dict[str, str]:
    """Every row of every table."""
    return {name: str(rawsql.rows(url, f'SELECT * FROM "{name}" ORDER BY 1')) for name in rawsql.tables(url)}


def assert_gone(url: str, *needles: str) -> None:
    """No byte of it in any table, in the file or in its log; a server's files are not ours to look into."""
    for needle in needles:
        assert [name for name, text in dump(url).items() if needle.lower() in text.lower()] == []
    if POSTGRES:
        return
    path = Path(url.removeprefix("sqlite:///"))
    for file in (path, Path(f"{path}-wal"), Path(f"{path}-journal")):
        data = file.read_bytes().lower() if file.exists() else b""
        for needle in needles:
            assert needle.lower().encode() not in data, file.name


def ranges(chat: Chat) -> list[tuple[str, ...]]:
    """What each record covers; rewrites cover nothing."""
    return [tuple(record.original_message_ids) for record in chat.records if record.original_message_ids]


def seen(chat: Chat) -> str:
    """Everything that a chat hands out."""
    context = chat.context()
    asked = chat.context(f"What is the name of my sister, {SECRET[:4]}?")
    return str(
        [
            context.messages, context.explain(), asked.messages, asked.explain(), chat.summary, chat.memory, chat.records,
            chat.facts(all=True), chat.entities, chat.events(), chat.messages(), chat.usage(), chat.stats(),
            chat.recall("the name of my sister", limit=50), chat.last_summarization,
        ]
    )  # fmt: skip


def assert_forgotten(memory: Memory, chat: Chat, url: str) -> None:
    assert SECRET.lower() not in seen(chat).lower()
    proof = memory.verify()
    assert proof.ok, str(proof)
    assert_gone(url, SECRET)


def open_memory(url: str, **options: Any) -> Memory:
    return Memory(url, clock=ticking_clock(), ids=counted_ids(), **options)


# Messages ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("at", [0, 3, 14, 29])
def test_F6_a_forgotten_message_is_nowhere(url: str, preset: str, at: int) -> None:
    with open_memory(url) as memory:
        chat = filled(memory, preset, at=at)
        assert SECRET in seen(chat)
        before = chat.memory
        covered = ranges(chat)
        assert covered
        receipt = chat.forget("secret")
        assert isinstance(receipt, Receipt)
        assert receipt.messages == 1
        assert receipt.clean is not POSTGRES
        assert_forgotten(memory, chat, url)
        chat.settle()
        assert chat.memory.cursor == before.cursor
        assert ranges(chat) == covered
        assert [m.seq for m in chat.messages()] == list(range(1, 61))
        stored = chat.messages()[2 * at]
        assert (stored.id, stored.role, stored.content) == ("secret", "user", FORGOTTEN)
        assert chat.events()[-1].type == "forgotten"
        assert chat.events()[-1].data["messages"] == ["secret"]
        # The chat goes on, and stays sound.
        for message in conversation(12):
            chat.add({**message, "id": f"again-{message['id']}", "content": "And " + message["content"][:20]})
        assert memory.verify().ok


@pytest.mark.parametrize("preset", PRESETS)
def test_F6_memory_is_what_it_would_be_had_it_never_been_said(url: str, preset: str) -> None:
    with fresh() as second, open_memory(url) as memory, open_memory(second) as other:
        chat = filled(memory, preset)
        chat.forget("secret")
        never = other.chat("c", config=chat.policy, context_window=WINDOW)
        for message in conversation():
            never.add({**message, "content": FORGOTTEN} if message["id"] == "secret" else message)
        if ranges(never) == ranges(chat):  # the secret's length may move a cut
            assert chat.summary == never.summary
            assert {fact.text for fact in chat.facts} == {fact.text for fact in never.facts}


def test_F6_what_others_said_survives(url: str) -> None:
    with open_memory(url) as memory:
        chat = filled(memory, "default")
        facts, entities = {fact.text for fact in chat.facts(all=True)}, {entity.name for entity in chat.entities}
        gone = {text for text in facts if SECRET in text}
        assert gone
        assert any(SECRET in name for name in entities)
        receipt = chat.forget("secret")
        assert {fact.text for fact in chat.facts(all=True)} == facts - gone
        assert receipt.facts == len(gone)
        assert receipt.folds >= 1
        assert receipt.items >= 1
        assert receipt.mentions >= 1
        assert any("Astor1" in hit.text for hit in chat.recall("hotel Astor1"))


def test_F6_a_fact_said_twice_is_kept_for_the_other_message(url: str) -> None:
    with open_memory(url) as memory:
        chat = memory.chat("c", preset="rolling")
        chat.add(user("I am allergic to peanuts.", id="first"))
        chat.add(user("Quuxford has been told. I am allergic to peanuts.", id="second"))
        more(chat)
        assert [len(fact.sources) for fact in chat.facts if "peanuts" in fact.text][:1]
        chat.forget("first")
        assert any("peanuts" in fact.text for fact in chat.facts)
        assert "first" not in str(chat.facts)
        chat.forget("second")
        assert not any("peanuts" in fact.text for fact in chat.facts)
        assert_gone(url, "peanuts", "Quuxford")


def test_F6_forgetting_twice_changes_nothing(url: str) -> None:
    with open_memory(url) as memory:
        chat = filled(memory, "default")
        chat.forget("secret")
        before = dump(url)
        receipt = chat.forget("secret")
        assert (receipt.messages, receipt.folds, receipt.events) == (0, 0, 0)
        assert dump(url) == before
        assert chat.forget().messages == 0


def test_F6_an_unknown_message_changes_nothing(url: str) -> None:
    with open_memory(url) as memory:
        chat = filled(memory, "default")
        with pytest.raises(NotFoundError, match="no message 'other'; nothing was forgotten"):
            chat.forget("secret", "other")
        with pytest.raises(MessageError, match="ids of messages"):
            chat.forget(["secret"])  # type: ignore[arg-type]
        assert SECRET in str(chat.messages())


def test_F6_a_forgotten_message_does_not_come_back_with_its_id(url: str) -> None:
    with open_memory(url) as memory:
        chat = filled(memory, "default")
        chat.forget("secret")
        assert chat.add(secret()).content == FORGOTTEN
        chat.add({**call("k"), "id": "call"})
        with pytest.raises(DuplicateIdError):
            chat.add({**call("k", arguments='{"name": 1}'), "id": "call"})
        chat.forget("call")
        assert chat.add({**call("k", arguments='{"name": 1}'), "id": "call"}).content == FORGOTTEN
        assert_forgotten(memory, chat, url)


def test_F6_no_digest_of_forgotten_words_is_left_whatever_the_order(url: str) -> None:
    with Memory(url) as memory:
        chat = filled(memory, "rolling", turns=5)
        with memory.database.write() as connection:
            for seq in range(1, 11):
                prefixes.put(connection, chat.key, "key x", bytes([seq]) * 32, seq)
        chat.forget("u4", "u0")
    left = [(seq, bytes(digest)) for seq, digest in rawsql.rows(url, "SELECT seq, digest FROM prefixes ORDER BY seq")]
    assert left[0] == (0, b"forgotten")  # that something was, not what
    assert [(seq, len(digest) - len(b"forgotten") - 8) for seq, digest in left[1:]] == [
        (1, 1),
        (9, 1),
    ]  # a byte of each


def test_F6_several_messages_at_once(url: str) -> None:
    with open_memory(url) as memory:
        chat = filled(memory, "layered")
        receipt = chat.forget("secret", "u7", "a7", "u29", "u7")
        assert receipt.messages == 4
        assert_forgotten(memory, chat, url)
        assert_gone(url, "Astor7", "Astor29")
        assert "Astor8" in str(chat.facts)


def test_F6_every_message_of_a_chat(url: str) -> None:
    with open_memory(url) as memory:
        chat = filled(memory, "default")
        chat.forget(*(message.id for message in chat.messages()))
        assert_gone(url, SECRET, "Astor")
        assert (chat.summary, chat.facts, chat.entities) == ("", (), [])
        assert memory.verify().ok


def test_F6_a_person_with_a_name(url: str) -> None:
    with open_memory(url) as memory:
        chat = memory.chat("c", preset="rolling")
        for number in range(20):
            chat.add(
                user(f"I prefer hotel number {number}.", id=f"m{number}", name="Quuxford" if number == 2 else "Bob")
            )
            chat.add(assistant("Noted."))
        assert "Quuxford" in str(chat.records)
        chat.forget("m2")
        assert "Quuxford" not in seen(chat)
        assert_gone(url, "Quuxford")


def test_F6_rewinding_after_forgetting_gives_the_memory_of_then(url: str) -> None:
    with open_memory(url) as memory:
        chat = filled(memory, "rolling")
        twin = memory.chat("twin", preset="rolling", context_window=WINDOW)
        for message in conversation():
            twin.add(message)
        chat.forget("secret")
        assert chat.rewind("a15") == twin.rewind("a15")
        assert len(ranges(chat)) > 2
        assert ranges(chat) == ranges(twin)
        twin.delete()
        memory.database.scrub()
        assert_forgotten(memory, chat, url)


def test_F6_removed_entities_stay_removed(url: str) -> None:
    with open_memory(url) as memory:
        chat = filled(memory, "default")
        chat.add(user("Ask Marta Quince about the deadline tomorrow."))
        for number in range(40):
            chat.add(user(f"I prefer hotel Borealis{number}."))
            chat.add(assistant(words(60, f"b{number}")))
        one = next(entity for entity in chat.entities if entity.kind == "person" and "Marta" in entity.name)
        chat.remove_entity(one.id)
        chat.forget("secret")
        assert one.id not in [entity.id for entity in chat.entities]


# Pins and events -----------------------------------------------------------------------------------------


def test_F6_pins_that_say_it_are_removed_and_counted(url: str) -> None:
    with open_memory(url) as memory:
        chat = filled(memory, "default")
        chat.pin(f"I must not eat {SECRET} peanuts")
        kept = chat.pin("Always answer in French")
        receipt = chat.forget("secret")
        assert receipt.pins == 1
        assert [pin.id for pin in chat.memory.pins] == [kept]
        assert_forgotten(memory, chat, url)


@pytest.mark.parametrize(
    ("pin", "said", "same"),
    [
        ("My PIN is 4711", "4711", True),
        ("Never fly before 9", "Please: never fly before 9!", True),
        ("Always say thanks", "thanks", False),
        ("Answer in French", "ok", False),
        ("ok", "OK", True),
        ("Answer in French", "I like French food", False),
    ],
)
def test_F6_when_a_pin_quotes_a_message(pin: str, said: str, same: bool) -> None:
    assert quotes(pin, said) is same


TOLD = [
    ("No peanuts", "I am allergic to peanuts and shellfish.", (), True),
    ("User has a peanut allergy", "I am allergic to peanuts and shellfish.", (), True),
    ("Call Anna on Fridays", "Anna likes jazz.", (), True),
    ("Call Anna on Fridays", "Anna likes jazz.", ("Anna is my sister.",), False),
    ("User earns 5000", "My salary is 5,000 euros.", (), True),
    ("User earns 5000", "My salary is 5,000 euros.", ("I earn 5000 a month.",), False),
    ("Renew on 2026-06-01", "The lease ends June 1.", (), True),
    ("Number 0170 1234567", "Call me: 0170-123-4567", (), True),
    ("Mail ada@x.org first", "my address is ADA@x.org", (), True),
    ("I must not eat peanuts", "I must not eat peanuts.", ("Remember: I must not eat peanuts!",), False),
    ("What about it", "what about it then", ("Hello.",), True),
    ("Answer in French", "I like French food.", (), False),
    ("Always answer in French", "My sister lives in Porto.", (), False),
    ("At most 3 sentences", "I have 3 cats.", (), False),
]


@pytest.mark.parametrize(("text", "said", "kept", "gone"), TOLD)
def test_F6_when_a_text_tells_what_was_forgotten(text: str, said: str, kept: tuple[str, ...], gone: bool) -> None:
    assert retold([text], ["Hello.", said], kept) == ({text} if gone else set())


def test_F6_what_stays_is_read_only_where_something_might_go() -> None:
    kept = iter(["I live in Porto."])
    assert retold(["Answer in French", ""], ["I live in Porto."], kept) == set()
    assert retold([], ["I live in Porto."], kept) == set()
    assert [*kept] == ["I live in Porto."]


def test_F6_pins_titles_and_entities_in_other_words_are_removed_and_counted(url: str) -> None:
    with open_memory(url) as memory:
        chat = filled(memory, "default", user="ada", title=f"About {SECRET}")
        other = memory.chat("other", user="ada", title="Astor")
        chat.pin(f"{SECRET} is dear to the user")
        kept = chat.pin("Always answer in French")
        memory.user("ada").set_entity("person", SECRET.lower())
        memory.user("ada").set_entity("task", "Buy a present", owner=SECRET)
        memory.user("ada").set_entity("task", "Renew the passport", due="2026-12-01")
        chat.set_entity("project", f"Party of {SECRET}")
        other.set_entity("task", f"Write to {SECRET}")
        other.set_entity("task", "Water the plants")
        memory.user("bob").set_entity("task", "Water the flowers")
        receipt = chat.forget("secret")
        assert (receipt.pins, receipt.titles) == (1, 1)
        assert receipt.mentions >= 4
        assert (chat.title, other.title) == (None, "Astor")
        assert [pin.id for pin in chat.memory.pins] == [kept]
        names = {entity.name for entity in memory.user("ada").entities}
        assert {"Renew the passport", "Water the plants"} <= names
        assert len(memory.user("bob").entities) == 1
        assert_forgotten(memory, chat, url)


def test_F6_what_another_message_says_too_stays(url: str) -> None:
    with open_memory(url) as memory:
        chat = memory.chat("c", preset="rolling", title="Peanut allergy", user="ada")
        chat.add([user("I am allergic to peanuts.", id="first"), assistant("Noted.")])
        memory.chat("other", user="ada").add(user("Mind my peanut allergy.", id="second"))
        chat.pin("No peanuts")
        chat.set_entity("problem", "Peanut allergy")
        receipt = chat.forget("first")
        assert (receipt.pins, receipt.titles, receipt.mentions) == (1, 1, 0)
        assert [entity.name for entity in memory.user("ada").entities] == ["Peanut allergy"]
        assert memory.chat("other").forget("second").mentions == 1
        assert memory.user("ada").entities == []


def test_F6_a_damaged_pin_is_forgotten_too(url: str) -> None:
    with open_memory(url) as memory:
        chat = filled(memory, "rolling")
        chat.pin(f"{SECRET} is dear to the user")
    rawsql.change(url, "UPDATE pins SET tokens = 1")
    with open_memory(url) as memory:
        chat = memory.chat("c")
        assert chat.memory.pins == ()
        assert chat.forget("secret").pins == 1
        assert_forgotten(memory, chat, url)


@pytest.mark.parametrize("preset", ["default", "rolling", "layered", "engine", "chunked"])
@pytest.mark.parametrize("wait", [True, False])
def test_D7_what_a_summarizer_wrote_and_said_is_redacted(url: str, preset: str, wait: bool) -> None:
    asked: list[str] = []

    def summarizer(summary: str, messages: list[Message]) -> str:
        asked.append(summary + "".join(message.text for message in messages))
        if len(asked) % 3 == 2:
            raise ValueError(f"cannot bear {SECRET}")
        return f"{summarize_memory(summary, messages)}\n- User's sister is {SECRET}\n- {SECRET} bought 77 goats"

    with open_memory(url, summarizer=summarizer) as memory:
        chat = filled(memory, preset, turns=60, wait=wait)
        assert SECRET in str([event.data for event in chat.events()])
        assert any(record for record in chat.records)
        before = len(asked)
        receipt = chat.forget("secret")
        chat.settle()
        assert receipt.events >= 1
        assert not any(SECRET in text for text in asked[before:])
        proof = memory.verify()
        assert proof.ok, str(proof)
        told = [event.data for event in chat.events()]
        if wait:
            assert SECRET not in str(told)
            assert_forgotten(memory, chat, url)


def test_D7_gate_events_keep_their_reasons(url: str) -> None:
    with open_memory(url, summarizer=lambda summary, _: f"{summary}\n- {SECRET} bought 77 goats") as memory:
        chat = filled(memory, "rolling", wait=True)
        chat.forget("secret")
        gate = [event.data for event in chat.events() if event.type == "gate"]
        assert gate
        assert all(len(finding) == 2 for data in gate for finding in data["findings"])


# While a model writes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("at", [0, 3, 28])
def test_D7_an_answer_that_read_it_is_thrown_away(url: str, fails: bool, at: int) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def summarizer(summary: str, messages: list[Message]) -> str:
        text = summarize_memory(summary, messages)
        if (
            any(SECRET in message.text for message in messages)
            or SECRET in summary
            or (at == 28 and not begun.is_set())
        ):
            begun.set()
            assert go_on.wait(20)
            if fails:
                raise ValueError(f"no word about {SECRET}")
            return f"{text}\n- {SECRET} is the sister\n- {SECRET} bought 77 goats"
        return text

    with open_memory(url, summarizer=summarizer) as memory:
        chat = memory.chat("c", preset="default", context_window=WINDOW)
        chat.pin(f"I must not eat {SECRET} peanuts")
        for message in conversation(at=at):
            chat.add(message)
        assert begun.wait(20)
        chat.forget("secret")
        go_on.set()
        chat.settle()
        assert_forgotten(memory, chat, url)
        assert SECRET not in str(memory.answers._kept)
        assert len(chat.messages()) == 60


def test_F6_messages_added_meanwhile_survive(url: str) -> None:
    with open_memory(url) as memory, Memory(url) as second:
        chat = filled(memory, "default")
        handle = second.chat("c")

        def add(prefix: str, target: Chat) -> None:
            for number in range(30):
                target.add(user(f"I prefer train {prefix}{number}.", id=f"{prefix}{number}"))

        threads = [threading.Thread(target=add, args=args) for args in (("x", handle), ("y", chat))]
        for thread in threads:
            thread.start()
        for id in ("secret", "u5", "u20"):
            chat.forget(id)
        for thread in threads:
            thread.join()
        assert len(chat.messages()) == 120
        assert SECRET not in seen(handle)
        assert memory.verify().ok
        chat.forget("u6")  # now nobody else reads
        assert_forgotten(memory, chat, url)


def test_F6_another_handle_notices(url: str) -> None:
    with open_memory(url) as memory, Memory(url) as second:
        chat = filled(memory, "default", at=29)
        handle, same = second.chat("c"), memory.chat("c")
        assert SECRET in seen(handle)
        assert SECRET in seen(same)
        assert chat.forget("secret").messages == 1
        assert SECRET not in seen(handle)
        assert SECRET not in seen(same)


@pytest.mark.sqlite
def test_F6_a_reader_that_holds_the_file_is_told(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("infold.ledger.sqlite.SCRUB_TIMEOUT", 50)
    with open_memory(url) as memory:
        chat = filled(memory, "rolling")
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM messages").fetchone()
            assert not chat.forget("secret").clean
            assert SECRET not in seen(chat)
            reader.execute("COMMIT")
        assert chat.forget("secret").clean
        assert_forgotten(memory, chat, url)


# Calls ---------------------------------------------------------------------------------------------------


def tool_chat(chat: Chat, form: str) -> list[str]:
    """A call and its result in a format, with the secret in both; returns the ids of those that hold it."""
    spoken = f"Looking for {SECRET}"
    given = f'{{"name": "{SECRET}"}}'
    chat.add(user("Please look it up.", id="q"))
    if form == "chat":
        chat.add({**call("k1", "k2", arguments=given, content=spoken), "id": "call"})
        chat.add({**result("k1", f"{SECRET} found"), "id": "r1"})
        chat.add({**result("k2", "nothing"), "id": "r2"})
    elif form == "responses":
        chat.add({"type": "reasoning", "id": "rs1", "summary": [{"type": "summary_text", "text": SECRET}]})
        chat.add({"type": "function_call", "id": "call", "call_id": "k1", "name": "lookup", "arguments": given})
        chat.add({"type": "function_call_output", "call_id": "k1", "output": f"{SECRET} found", "id": "r1"})
        said = [{"type": "output_text", "text": "Hm", "annotations": [], "logprobs": []}]
        chat.add({"type": "message", "id": "ms1", "role": "assistant", "content": said, "status": "completed"})
    else:
        blocks = [
            {"type": "thinking", "thinking": SECRET, "signature": "s"}, {"type": "text", "text": spoken},
            {"type": "tool_use", "id": "k1", "name": "lookup", "input": {"name": SECRET}},
        ]  # fmt: skip
        chat.add({"role": "assistant", "content": blocks, "id": "call"})
        results = [
            {"type": "tool_result", "tool_use_id": "k1", "content": f"{SECRET} found", "is_error": True},
            {"type": "text", "text": f"Go on with {SECRET}"},
        ]
        chat.add({"role": "user", "content": results})
    chat.add(assistant("Done.", id="done"))
    return [message.id for message in chat.messages() if SECRET in str(message.wire)]


@pytest.mark.parametrize("form", ["chat", "responses", "anthropic"])
@pytest.mark.parametrize("folded", [False, True])
def test_D7_calls_stay_valid_in_every_format(url: str, form: str, folded: bool) -> None:
    with open_memory(url) as memory:
        chat = memory.chat("c", preset="rolling")
        ids = tool_chat(chat, form)
        assert len(ids) >= 2
        if folded:
            more(chat)
        every = [ids, *([id] for id in ids)] if not folded else [ids]
        for some in reversed(every):
            chat.forget(*some)
            context = chat.context()
            for format in ("chat", "responses", "anthropic"):
                check(format, context.to(format))
        assert SECRET not in str(context.to("responses")) + str(context.to("anthropic")) + seen(chat)
        assert_forgotten(memory, chat, url)


@pytest.mark.parametrize(
    "message",
    [
        user("Hello"),
        user([{"type": "text", "text": "Hello"}, {"type": "image_url", "image_url": {"url": "https://x/y.png"}}]),
        call("k1", arguments='{"a": 1}'),
        {"role": "assistant", "content": None, "refusal": "No."},
        {"role": "assistant", "content": None, "tool_calls": [{"id": "k", "custom": {"name": "run", "input": "rm"}}]},
        result("k1", "found"),
        {"role": "system", "content": "Be kind."},
    ],
)
def test_D7_a_redacted_message_is_a_valid_one_and_says_nothing(message: dict[str, Any]) -> None:
    bare = redacted(parse(message, id="m"))
    assert redacted(bare) == bare
    assert parse(bare).wire == bare.wire
    assert read(bare.stored("m", 1, 1, 1), ()) == ()
    assert bare.text in ("", FORGOTTEN)


# Users ---------------------------------------------------------------------------------------------------


def test_F6_a_user_is_forgotten_and_others_are_left_alone(url: str) -> None:
    with open_memory(url) as memory:
        for name, chats in (("alice", 2), ("bob", 1), (None, 1)):
            for number in range(chats):
                chat = memory.chat(f"{name}{number}", user=name, preset="default", context_window=WINDOW)
                told = {"alice": SECRET, "bob": "Borealis"}.get(name or "", "Caspian")
                for message in conversation():
                    chat.add({**message, "content": message["content"].replace(SECRET, told)})
                chat.pin(f"{told} matters")
        memory.user("alice").set_entity("person", f"{SECRET} junior")
        memory.user("bob").set_entity("person", "Borealis junior")
        memory.settle()
        before = (memory.user("bob").facts, memory.user("bob").entities, memory.chat("None0").summary)
        stale = memory.chat("alice1")
        assert SECRET in str(memory.user("alice").recall("sister"))
        receipt = memory.user("alice").forget()
        assert (receipt.chats, receipt.messages, receipt.pins) == (2, 120, 2)
        assert min(receipt.folds, receipt.items, receipt.facts, receipt.mentions, receipt.events) > 0
        assert receipt.clean is not POSTGRES
        assert [info.id for info in memory.chats()] == ["bob0", "None0"]
        assert (memory.user("bob").facts, memory.user("bob").entities, memory.chat("None0").summary) == before
        alice = memory.user("alice")
        assert (alice.facts, alice.entities, alice.recall("sister")) == ((), [], [])
        assert memory.verify().ok
        assert_gone(url, SECRET, "alice")
        assert memory.user("alice").forget().chats == 0
        memory.chat("newcomer", user="bob")
        with pytest.raises(NotFoundError, match="was deleted"):
            stale.add(user("I am still here"))


def test_F6_no_byte_of_a_user_is_left(url: str) -> None:
    """In messages, archives, memory, pins, titles, entities, events, calls, full text, digests and kept answers."""
    name = "Quuxella"
    with open_memory(url) as memory:
        chat = filled(memory, "default", turns=80, user=name, title=f"{SECRET} title", system=f"You talk to {SECRET}.")
        second = memory.chat(f"{name} 2", user=name)
        second.add([user(f"I am {name}, born {SECRET}.", name=name), {**call("k"), "id": "k"}, result("k", SECRET)])
        second.pin(f"{SECRET} first", by="operator")
        second.set_entity("task", f"Call {SECRET}", links=[name])
        memory.user(name).set_entity("person", f"{SECRET} junior", owner=name)
        assert memory.compact(days=1, mode="archive").messages == 0
        rawsql.change(url, "UPDATE messages SET created_at = 1 WHERE seq < 20")
        assert memory.compact(days=1, mode="archive").messages
        memory.settle()
        with memory.database.write() as connection:
            told = Call(SECRET, 1, 1, 1, 1, 0, None, "ok", None, SECRET.encode())
            calls.insert_calls(connection, chat.key, [told], None)
            journal.insert_event(connection, chat.key, Event("gate", 1, {"text": SECRET}, "c"))
            prefixes.put(connection, chat.key, f"{name} {SECRET}", SECRET.encode(), 1)
            service.reserve_answer(connection, "key", "token", b"print", 1)
            service.keep_answer(connection, "key", "token", 200, {"x": SECRET}, SECRET.encode(), quotes=True)
        assert SECRET in dump(url)["idempotent"]
        assert memory.chat("c").recall("sister")
        bystander = memory.chat("bystander", user="bob")
        bystander.add(user("Nothing of it."))
        bystander.pin("Stay.")
        assert memory.user(name).forget().chats == 2
        assert [info.id for info in memory.chats()] == ["bystander"]
        assert_gone(url, SECRET, name, "Astor", "a79")
        assert memory.verify().ok
    assert_gone(url, SECRET, name, "Astor", "a79")


def test_F6_a_handle_of_a_deleted_chat_never_writes_into_another(url: str) -> None:
    with open_memory(url) as memory, Memory(url) as second:
        chat, handle = memory.chat("mine", user="alice"), second.chat("mine")
        handle.add(user("hello"))
        memory.user("alice").forget()
        other = memory.chat("theirs", user="bob")
        other.add(user("hello"))
        with pytest.raises(NotFoundError, match="was deleted"):
            handle.add(user("mine"))
        with pytest.raises(NotFoundError, match="was deleted"):
            chat.messages()
        assert len(other.messages()) == 1


# Crashes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("point", "done"),
    [("forget.redacted", False), ("forget.refolded", False), ("forget.recorded", False), ("forget.committed", True)],
)
def test_F6_killed_in_the_middle_all_or_nothing(url: str, point: str, done: bool) -> None:
    with open_memory(url) as memory:
        filled(memory, "default")
    before = dump(url)
    child = start("tests.victims:forget", url, environ={**os.environ, "INFOLD_FAILPOINT": point})
    assert child.wait(60) == -signal.SIGKILL
    if not done:
        assert dump(url) == before
    with open_memory(url) as memory:
        assert memory.verify().ok
        chat = memory.chat("c")
        assert (SECRET not in seen(chat)) is done
        assert chat.forget("secret").clean is not POSTGRES
        assert_forgotten(memory, chat, url)


# Bytes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tool", [True, False])
def test_D7_long_texts_and_blocks_leave_no_bytes(url: str, tool: bool) -> None:
    """Texts over many pages, and an index that was made of them."""
    with open_memory(url) as memory:
        chat = memory.chat("c", preset="rolling")
        for number in range(90):
            if number == 30:
                long = " ".join(f"{SECRET}{n} is a word" for n in range(3000))
                if tool:
                    chat.add(call("k"))
                    chat.add({**result("k", long), "id": "secret"})
                else:
                    chat.add(user(long, id="secret"))
            chat.add(user(f"I prefer hotel Astor{number}."))
            chat.add(assistant("Noted."))
        chat.settle()
        receipt = chat.forget("secret")
        assert receipt.blocks == 1
        chat.settle()
        assert_forgotten(memory, chat, url)
        assert any("Astor3" in hit.text for hit in chat.recall("hotel Astor3"))
