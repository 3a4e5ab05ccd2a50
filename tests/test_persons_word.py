"""A person's word about a line: it outranks whoever writes memory, until something new is said."""

from __future__ import annotations

import pytest

from infold import Chat, ConfigError, Memory, MessageError, NotFoundError, preset
from infold.branching import branch
from infold.policy import Policy
from tests.conftest import START, assistant, user

HOUR = 3600 * 1000


def small() -> Policy:
    """Folds early."""
    return preset("default", keep=1, keep_range=(1, 1), chunk_range=(1, 1))


def say(chat: Chat, *texts: str, hour: int = 0) -> None:
    for number, text in enumerate(texts):
        at = START + hour * HOUR + 10 * number
        chat.add([user(text, created_at=at), assistant("I see.", created_at=at + 1)])


def told(chat: Chat, *texts: str) -> Chat:
    """A chat in which this was said and folded."""
    say(chat, *texts)
    say(chat, "And the weather?", "Hm.", "So?", hour=1)
    assert chat.memory.cursor >= 2 * len(texts)
    return chat


def shown(memory: Memory, chat: Chat, name: str = "ann") -> str:
    """All that is said of a user: in the chat, in a new one, in lists."""
    fresh = memory.chat(f"new {len(memory.chats())}", user=name)
    return "\n".join(
        [chat.summary, str([fact.text for fact in chat.facts]), str([fact.text for fact in memory.user(name).facts]),
         fresh.context("What do you know?", max_tokens=3000).to("text")]
    )  # fmt: skip


@pytest.mark.parametrize("folded", [False, True])
@pytest.mark.parametrize("by", ["chat", "user"])
def test_F14_a_retracted_line_is_not_known_any_more(memory: Memory, folded: bool, by: str) -> None:
    chat = memory.chat("a", user="ann", config=small() if folded else None)
    (told if folded else say)(chat, "I prefer tea over coffee.", "I live in Berlin.")
    of = chat if by == "chat" else memory.user("ann")
    of.retract(next(fact for fact in of.facts if "tea" in fact.text))
    after = shown(memory, chat)
    assert "tea" not in after
    assert "Berlin" in after
    assert memory.verify().ok


@pytest.mark.parametrize("folded", [False, True])
def test_F14_a_corrected_line_says_what_the_person_said(memory: Memory, folded: bool) -> None:
    chat = memory.chat("a", user="ann", config=small() if folded else None)
    (told if folded else say)(chat, "I live in Berlin.", "I'm allergic to nuts.")
    made = chat.correct(next(fact for fact in chat.facts if "Berlin" in fact.text), "I live in Bern.", by="support")
    assert (made.text, made.author, made.said_by, made.sources) == ("I live in Bern.", "person", "user", (1,))
    after = shown(memory, chat)
    assert "Berlin" not in after
    assert after.count("I live in Bern.") >= 4
    assert [source.id for source in chat.trace(next(f for f in chat.facts if "Bern" in f.text))]
    event = next(event for event in chat.events() if event.type == "corrected")
    assert (event.data["text"], event.data["by"]) == ("I live in Bern.", "support")


@pytest.mark.parametrize("how", ["folds", "rebuild", "forget", "summarizer", "reopened"])
def test_F14_a_word_survives(url: str, how: str) -> None:
    def summarizer(current: str, messages: object) -> str:
        return "## Facts / Constraints\n- The user lives in Berlin.\n- The user is allergic to nuts."

    with Memory(url, summarizer=summarizer if how == "summarizer" else None) as memory:
        chat = told(memory.chat("a", user="ann", config=small()), "I live in Berlin.", "I'm allergic to nuts.")
        chat.settle()
        chat.correct(next(fact for fact in chat.facts if "Berlin" in fact.text), "I live in Bern.")
        chat.retract(next(fact for fact in chat.facts if "nuts" in fact.text))
        if how in ("folds", "summarizer"):
            say(chat, *(f"The crate number {n} weighs {n} kilos." for n in range(12)), hour=3)
            chat.fold()
            chat.settle()
        elif how == "rebuild":
            chat.rebuild()
        elif how == "forget":
            chat.forget(chat.messages()[6].id)
        if how == "reopened":
            memory.close()
    with Memory(url) as memory:
        chat = memory.chat("a")
        after = shown(memory, chat)
        assert "Bern." in after
        assert "Berlin" not in after
        assert "nuts" not in after
        assert memory.verify().ok


def test_F14_something_new_outranks_it(memory: Memory) -> None:
    chat = told(memory.chat("a", user="ann", config=small()), "I live in Berlin.", "I prefer tea over coffee.")
    chat.correct(next(fact for fact in chat.facts if "Berlin" in fact.text), "I live in Bern.")
    chat.retract(next(fact for fact in chat.facts if "tea" in fact.text))
    say(chat, "I live in Oslo now.", "I prefer tea over coffee.", "So?", "Hm.", hour=5)
    after = shown(memory, chat)
    assert "Oslo" in after
    assert "Bern." not in str([fact.text for fact in chat.facts])
    assert "tea" in after


@pytest.mark.parametrize("other", [False, True])
@pytest.mark.parametrize(
    ("said", "corrected", "later"),
    [
        ("I live in Berlin.", "I live in Bremen.", "I live in Kiel now."),
        ("I live in Berlin.", "I live in Bremen.", "I moved to Kiel."),
        ("I live in Berlin.", "I live in Bremen.", "I live in Berlin."),
        ("Always answer in English.", "Always answer in Dutch.", "From now on answer in Polish."),
    ],
)
def test_F14_a_later_word_of_the_user_outranks_it_at_once(
    memory: Memory, said: str, corrected: str, later: str, other: bool
) -> None:
    chat = memory.chat("a", user="ann")
    say(chat, said)
    memory.user("ann").correct(memory.user("ann").facts[0], corrected, by="support")
    # Later than the correction, whose time is the clock's.
    say(memory.chat("b", user="ann") if other else chat, later, hour=1000)
    assert [fact.text for fact in memory.user("ann").facts] == [later]
    shown = memory.chat("new", user="ann").context("What do you know?", max_tokens=3000).to("text")
    assert later in shown
    assert corrected not in shown


def test_F14_what_was_corrected_can_be_confirmed_and_retracted(memory: Memory) -> None:
    say(memory.chat("a", user="ann"), "I live in Berlin.")
    ann = memory.user("ann")
    fact = ann.correct(ann.facts[0], "I live in Bremen.")
    assert ann.confirm(fact).standing == 1000
    ann.retract(fact)
    assert ann.facts == ()


def test_F14_a_fact_that_was_said_twice_is_retracted_once(memory: Memory) -> None:
    for name in "ab":
        say(memory.chat(name, user="ann"), "I'm allergic to kiwi.")
    memory.user("ann").retract(memory.user("ann").facts[0])
    assert memory.user("ann").facts == ()


def test_F14_a_fact_that_only_took_the_place_of_another_chats_can_be_retracted(memory: Memory) -> None:
    say(memory.chat("a", user="ann"), "I live in Berlin.")
    say(memory.chat("b", user="ann"), "I moved to Lyon last month.", hour=1)
    (fact,) = memory.user("ann").facts
    memory.user("ann").retract(fact)
    assert [fact.text for fact in memory.user("ann").facts] == ["I live in Berlin."]


def test_F14_a_confirmed_line_is_sure(memory: Memory) -> None:
    chat = told(memory.chat("a", user="ann", config=small()), "mornings are hopeless for me")
    line = next(line for line in chat.memory.items if "mornings" in line.text)
    assert not line.wish
    made = chat.confirm(line)
    assert made.wish
    assert next(fact for fact in chat.facts if "mornings" in fact.text).standing == 1000
    context = str(chat.context(max_tokens=3000).messages)
    assert context.index("Standing wishes") < context.index("mornings") < context.index("Background")


def test_F14_a_word_goes_with_what_it_rests_on(memory: Memory) -> None:
    chat = told(memory.chat("a", user="ann", config=small()), "I live in Berlin.", "I'm allergic to nuts.")
    chat.correct(next(fact for fact in chat.facts if "Berlin" in fact.text), "I live in Bern.")
    chat.forget(chat.messages()[0].id)
    after = shown(memory, chat) + str([event.data for event in chat.events()])
    assert "Bern" not in after
    assert "nuts" in after
    assert memory.verify().ok


def test_F14_a_word_is_void_when_its_message_is_rewound(memory: Memory) -> None:
    chat = memory.chat("a", user="ann")
    say(chat, "Good morning.")
    kept = chat.messages()[-1]
    say(chat, "I live in Berlin.", hour=1)
    chat.correct(chat.facts[0], "I live in Bern.")
    chat.rewind(kept.id)
    assert not chat.facts
    say(chat, "I live in Berlin.", hour=2)
    assert [fact.text for fact in chat.facts] == ["I live in Berlin."]


def test_F14_a_word_holds_in_a_branch(memory: Memory) -> None:
    chat = memory.chat("a", user="ann")
    say(chat, "I live in Berlin.")
    chat.correct(chat.facts[0], "I live in Bern.")
    fork = branch(memory, "a", 2, "b")
    assert [fact.text for fact in fork.facts] == ["I live in Bern."]


def test_F14_bad_words_are_refused(memory: Memory) -> None:
    chat = memory.chat("a", user="ann")
    say(chat, "I live in Berlin.")
    fact = chat.facts[0]
    for text in ("", " ", "x" * 2001, 7, "a\0b"):
        with pytest.raises(MessageError):
            chat.correct(fact, text)  # type: ignore[arg-type]
    for of in (chat, memory.user("ann")):
        with pytest.raises(NotFoundError, match="nowhere"):
            of.retract("nowhere")
    with pytest.raises(ConfigError, match="by"):
        chat.confirm(fact, by="")
    with pytest.raises(ConfigError, match="pin"):
        chat.retract(chat.pin("Never mention prices."))
    assert [fact.text for fact in chat.facts] == ["I live in Berlin."]
