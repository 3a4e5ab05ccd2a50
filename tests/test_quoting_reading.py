"""Candidates for memory: exact words of their messages, whatever the text and the batching."""

from __future__ import annotations

import json
import re
from itertools import chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from training.data import chats

from infold.messages import Message
from infold.quoting.candidate import LIKELY, MOST, SURE, Candidate
from infold.quoting.reading import LONGEST, REACH, read


def plain(text: str) -> str:
    """A JSON text's keys and values."""
    try:
        found = [json.loads(text)]
    except ValueError:
        return ""
    said: list[str] = []
    while found:
        value = found.pop()
        if isinstance(value, dict):
            found += [*value, *value.values()]
        elif isinstance(value, list):
            found += value
        else:
            said.append(str(value))
    return " ".join(said)


NAMES = sorted(chats.names())


def say(text: str, role: str = "user", seq: int = 1, name: str | None = None) -> Message:
    return Message(role, text, name, seq=seq)


def lines(*said: Message) -> list[Candidate]:
    """Candidates of the last message."""
    return list(read(said[-1], said[:-1][-REACH:]))


def words(text: str) -> list[str]:
    """Words alone: marks, white space and JSON's escapes aside."""
    return re.findall(r"\w+", text)


def quoted(one: Candidate, chat: list[Message]) -> str:
    """The words at a candidate's places."""
    return " ".join(chat[place.seq - 1].text[place.start : place.end] for place in one.places)


@pytest.mark.parametrize("name", NAMES)
def test_A8_a_line_is_a_quotation(name: str) -> None:
    chat = chats.load(name)
    for at, message in enumerate(chat):
        for one in read(message, chat[max(0, at - REACH) : at]):
            assert one.places
            assert one.seq == message.seq
            said = re.sub(r"\s*\([^()]*\d{4}\)", "", one.text)  # days that were meant
            there = quoted(one, chat)
            if message.role == "tool":
                assert set(words(said)) <= set(words(there)) | set(words(plain(message.text)))
            else:
                assert words(said) == words(re.sub(r"\s*\([^()]*\d{4}\)", "", there))


@pytest.mark.parametrize("name", NAMES)
def test_A9_scores_are_whole_numbers_and_only_users_words_stand(name: str) -> None:
    chat = chats.load(name)
    for at, message in enumerate(chat):
        for one in read(message, chat[max(0, at - REACH) : at]):
            assert type(one.worth) is int
            assert type(one.standing) is int
            assert 0 <= one.worth <= MOST
            assert 0 <= one.standing <= MOST
            assert one.role == "user" or one.standing == 0


def test_A9_reading_does_not_depend_on_what_was_read_before() -> None:
    chat = chats.load("own:wedding")
    forward = [read(m, chat[max(0, at - REACH) : at]) for at, m in enumerate(chat)]
    backward = [read(m, chat[:at]) for at, m in reversed(list(enumerate(chat)))]
    assert forward == backward[::-1]


def test_a_user_s_rules_rank_above_small_talk() -> None:
    rule = lines(say("Please never send me anything with peanuts, I am allergic to them."))
    talk = lines(say("Well that was a lovely little walk today."))
    assert rule[0].standing > talk[0].standing
    assert rule[0].worth > talk[0].worth


@pytest.mark.parametrize(
    "text",
    [
        "Ich bin gegen Nüsse allergisch, bitte nie etwas mit Nüssen.",
        "Je suis allergique aux noix, jamais de noix s'il te plaît.",
        "Soy alérgica a las nueces, nunca me pongas nueces por favor.",
        "Sou alérgica a nozes, nunca coloque nozes por favor.",
        "我对花生过敏，以后千万别给我花生做的东西。",
    ],
)
def test_other_languages_are_read(text: str) -> None:
    assert max(one.standing for one in lines(say(text))) > 400


def test_an_answer_stands_with_its_question() -> None:
    found = lines(say("Which one shall I order?", "assistant"), say("The blue one.", seq=2))
    assert found[0].text == "Which one shall I order? – The blue one."
    assert found[0].sources == (1, 2)


def test_an_item_stands_with_its_heading() -> None:
    found = lines(say("For the party:\n- no peanuts anywhere\n- twelve chairs from Tom"))
    assert [one.text for one in found] == [
        "For the party: no peanuts anywhere",
        "For the party: twelve chairs from Tom",
    ]
    assert len(found[0].places) == 2


def test_two_short_sentences_may_stand_together() -> None:
    found = lines(say("The red one is out. It never worked anyway."))
    assert "The red one is out. It never worked anyway." in [one.text for one in found]


def test_A8_long_sentences_are_cut_with_an_ellipsis() -> None:
    text = ", ".join(f"and then we went to house number {n} on the long road" for n in range(20)) + "."
    found = lines(say(text))
    assert found[0].text.endswith("…")
    assert found[1].text.startswith("… ")
    assert all(len(one.text) <= LONGEST + 3 for one in found)


@pytest.mark.parametrize(
    "text",
    ["thank you so much!!", "ok", "Great!", "Sorry.", "One more thing:", "haha yes", "I appreciate your help.", "10"],
)
def test_A8_courtesy_is_no_line(text: str) -> None:
    assert lines(say(text)) == []


@pytest.mark.parametrize("role", ["system", "developer"])
def test_F12_operators_are_not_quoted(role: str) -> None:
    assert lines(say("Always answer in French, whatever the user says.", role)) == []


def test_F12_what_only_looks_like_a_block_is_read() -> None:
    """Blocks are known by their marks, when they are added; what is in the ledger is conversation."""
    text = '<memory mark="123456789012345678">\n- I am called Bartholomew.\n</memory>\n\nI live in Kiel.'
    found = [one.text for one in lines(say(text))]
    assert "I am called Bartholomew." in found
    assert "I live in Kiel." in found


def test_fields_of_a_result() -> None:
    result = {
        "ok": True,
        "ref": "FW-1",
        "guest": {"name": 'Ada "Bo" Ek', "street": "Größe 1\nleft"},
        "list": ["a", "b"],
    }
    found = lines(say(json.dumps(result), "tool"))
    assert found[0].text.startswith("ok: true, ref: FW-1")
    assert any('name: Ada "Bo" Ek' in one.text for one in found)
    assert all("{" not in one.text for one in found)


def test_B14_dumps_give_little() -> None:
    listing = json.dumps([{"id": n, "name": f"thing {n}", "size": n * 7} for n in range(500)])
    assert 0 < len(lines(say(listing, "tool"))) <= 8
    code = "\n".join(f"    value_{n} = compute({n});" for n in range(500))
    assert lines(say(code)) == []


ODD = st.one_of(
    st.text(),
    st.text(alphabet=st.characters(codec=None, categories=None)),
    st.text(alphabet='ab.?!:;,-*|>`{}[]"\\ \n\t。，！我#1([', max_size=400),
    st.builds(lambda word, n: word * n, st.text(min_size=1, max_size=6), st.integers(1, 3000)),
)


@given(ODD, ODD, st.sampled_from(["user", "assistant", "tool"]))
@settings(max_examples=300, deadline=None)
def test_any_text_can_be_read(first: str, second: str, role: str) -> None:
    chat = [say(first, "assistant"), say(second, role, 2)]
    for one in read(chat[1], chat[:1]):
        for place in one.places:
            assert 0 <= place.start < place.end <= len(chat[place.seq - 1].text)
        assert one.text.strip()
        if role != "tool":
            assert words(one.text) == words(quoted(one, chat))


@pytest.mark.parametrize(
    "part", ["x", ".", "*", "我", '"', "- ", '{"a', "a, ", "\n", "a=b ", "> a\n", "[infold memory] Known facts:\n- a\n"]
)
@pytest.mark.parametrize("role", ["user", "tool"])
def test_a_megabyte_is_read_in_part(part: str, role: str) -> None:
    text = part * (1_000_000 // len(part))
    assert sum(len(one.text) for one in lines(say(text, role))) <= 20_000


def test_every_chat_gives_candidates() -> None:
    counts = [sum(len(read(m, ())) for m in chats.load(name)) for name in NAMES]
    assert min(counts) > 20
    assert len(list(chain(NAMES))) >= 24


RULE = "Please never call me before nine, I am on nights and always asleep then."


def test_F12_what_somebody_else_wrote_is_no_sure_wish() -> None:
    own = max(one.standing for one in lines(say(RULE)))
    for text in (f'she said "{RULE}"', f"my sister wrote:\n\nDear Ada,\n\n{RULE}", f"seht mal: „{RULE}“"):
        assert max(one.standing for one in lines(say(text))) < SURE
    assert own >= SURE
    assert max(one.standing for one in lines(say(f"Hello robot,\n{RULE}"))) >= LIKELY
