"""Every number of the five documents, counted in what contexts show, turn by turn."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from typing import Any

import pytest

from infold import BudgetError, Chat, Memory, Settings, SummarizationConfig, assemble_context, preset
from infold.presets import PRESETS
from infold.tokens import count
from tests.conftest import assistant, call, counted_ids, result, ticking_clock, user, words
from tests.shown import CUT, Shown, Wire, request_tokens, shown, tokens

HEADINGS = {
    "Facts / Constraints",
    "Goals / Preferences",
    "Decisions Made",
    "Open Items / Pending Commitments",
    "Key Artifacts / References",
}
ASKED = "And now?"


def look(chat: Chat, query: str | None = ASKED, **more: Any) -> Shown:
    return shown(chat.context(query, **more))


def decided(n: int) -> str:
    return f"We decided to use rope {n} for crate {n}."


def exchange(n: int, size: int = 0) -> list[Wire]:
    """A turn that decides something; each message of `size` tokens, where that is given."""
    said, answer = decided(n), f"a{n} is noted"
    if size:
        said = f"{said} {words(size - count(said) - 2, f'Q{n}')}"
        answer = words(size, f"a{n}")
    assert not size or size - 2 <= count(said) <= size
    return [user(said), assistant(answer)]


def turn(n: int, size: int) -> list[Wire]:
    """A turn of so many tokens."""
    half = size // 2
    return [user(words(half - 4, f"q{n}")), assistant(words(size - half - 4, f"a{n}"))]


def rule(n: int) -> str:
    return f"Rule {n} says that part {n} is never shipped before {1 + n % 28} May."


def written(url: str, number: int) -> Memory:
    """A memory whose summarizer always writes so many rules."""
    text = "\n".join(["## Facts / Constraints", *(f"- {rule(n)}" for n in range(number))])
    return Memory(url, summarizer=lambda known, new: text, clock=ticking_clock(), ids=counted_ids())


def with_rules(memory: Memory, name: str, number: int, keep: int, id: str = "a", **more: Any) -> Chat:
    """A chat with a summary of so many rules and `keep` turns after it, of 8 tokens a message; it folds no more."""
    messages = PRESETS[name].unit == "message"
    chat = memory.chat(id, config=preset(name, keep=2 * keep if messages else keep), wait=True, **more)
    chat.add([user(" ".join(f"The r{rule(n)[1:]}" for n in range(number))), assistant("Noted.")])
    for n in range(keep):
        chat.add([user(words(8, f"q{n}")), assistant(words(8, f"a{n}"))])
    assert chat.fold()
    chat.set_policy(preset(name, enabled=False))
    seen = look(chat)
    assert (len(seen.statements), seen.turns) == (number, keep)
    return chat


# 000: rolling -------------------------------------------------------------------------------------------


def test_A3_A4_rolling_shows_at_most_ten_messages_and_six_after_a_fold(memory: Memory) -> None:
    chat = memory.chat("a", preset="rolling", system="Be brief.", context_window=100_000)
    said: list[Wire] = []
    recent, folded, numbers = 0, False, set[int]()
    for n in range(1, 61):
        wires = exchange(n)
        chat.add(wires[0])
        if n % 10 == 0 and recent > 6:  # every 10 user turns
            recent, folded = 6, True
        seen = look(chat, None)
        assert seen.tail == said[len(said) - recent :], n
        assert seen.question == wires[0]["content"]
        assert seen.order == ["system", *(["memory"] if folded else []), *["user", "assistant"] * (recent // 2), "user"]
        assert seen.system == ["Be brief."]
        chat.add(wires[1])
        said += wires
        recent += 2
        if recent > 10:  # K + B
            recent, folded = 6, True
        numbers.add(recent)
        seen = look(chat)
        assert seen.tail == said[len(said) - recent :], n
        assert seen.bridge is None
        if seen.memory:
            assert set(seen.memory.headings) <= HEADINGS
            assert all(row.startswith("> ") for row in seen.summary), "no model has written anything"
    assert numbers == {2, 4, 6, 8, 10}


def test_A4_rolling_the_eleventh_message_folds_once_it_is_answered(memory: Memory) -> None:
    chat = memory.chat("a", preset="rolling")
    said = [wire for n in range(1, 6) for wire in exchange(n)]
    chat.add(said)
    assert look(chat).tail == said  # 10, more than K
    asked, answer = exchange(6)
    chat.add(asked)
    seen = look(chat, None)
    assert (seen.tail, seen.question, seen.memory) == (said, asked["content"], None)
    chat.add(answer)
    assert look(chat).tail == [*said, asked, answer][6:]


def test_A4_rolling_a_working_agent_counts(memory: Memory) -> None:
    chat = memory.chat("a", preset="rolling")
    said = [wire for n in range(1, 6) for wire in exchange(n)]
    chat.add(said)
    work = [user("Look it up."), call("x"), result("x")]
    chat.add(work)  # the call is the twelfth
    assert look(chat, None).spoken == [*said[-4:], *work]


@pytest.mark.parametrize(("over", "left"), [(0, 8), (1, 6)])
def test_A6_rolling_folds_above_seventy_percent(memory: Memory, over: int, left: int) -> None:
    chat = memory.chat("a", preset="rolling", context_window=4000)
    said = [user(words(300, "q0")), assistant(words(300, "a0"))] * 4
    chat.add(said)
    chat.add(user(words(2800 + over - 3 - 8 * 304 - 4, "new")))
    seen = look(chat, None)
    assert len(seen.tail) == left
    assert over or seen.tokens == 2800


@pytest.mark.parametrize("size", [150, 300, 600])
def test_A6_rolling_never_shows_more_than_seventy_percent(memory: Memory, size: int) -> None:
    chat = memory.chat("a", preset="rolling", context_window=4000)
    fewest = 99
    for n in range(1, 31):
        chat.add(exchange(n, size))
        seen = look(chat, None)
        assert seen.tokens <= 2800
        fewest = min(fewest, len(seen.spoken)) if n > 5 else fewest
    assert fewest == {150: 6, 300: 6, 600: 3}[size]


def test_A6_rolling_the_tenth_user_turn_folds_what_is_beyond_six(memory: Memory) -> None:
    chat = memory.chat("a", preset="rolling", context_window=100_000)
    said = [assistant("Hello."), *(wire for n in range(1, 10) for wire in exchange(n))]
    chat.add(said)
    assert len(look(chat).tail) == 8
    chat.add(user(decided(10)))
    assert look(chat, None).tail == said[-6:]


@pytest.mark.parametrize("name", ["rolling", "chain"])
def test_decision_7_the_oldest_recent_messages_go_first(url: str, name: str) -> None:
    with written(url, 12) as memory:
        chat = with_rules(memory, name, 12, 3, system="Be brief.")
        more = [wire for n in range(3, 5) for wire in ([user(words(60, f"q{n}")), assistant(words(60, f"a{n}"))])]
        chat.add(more)
        every = [m.wire for m in chat.messages()][2:]
        whole = look(chat)
        assert whole.tail == every
        seen: list[tuple[int, int]] = []
        for budget in range(chat.context(ASKED).tokens, 105, -1):
            now = look(chat, max_tokens=budget)
            left, lines = len(now.tail), len(now.summary)
            assert now.tail == every[len(every) - left :]
            assert (now.system, now.question) == (["Be brief."], ASKED)
            assert left == 0 or lines == 12, "the summary stays while there is a message to leave out"
            assert left == 10 or now.bridge == (3, 12 - left, 10 - left)
            seen.append((left, lines))
        assert {left for left, _ in seen} >= {0, 1, 2, 3, 10}
        assert {lines for _, lines in seen} >= set(range(3, 13))
        assert seen == sorted(seen, reverse=True)


# 001: chain ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("window", [2_000, 8_192, 32_768])
def test_B4_B8_chain_shows_exactly_six_messages_after_a_fold(memory: Memory, window: int) -> None:
    chat = memory.chat("a", preset="chain", system="Be brief.", context_window=window)
    said: list[Wire] = []
    number, depths = 0, list[int]()
    while len(depths) < 3:
        before = chat.context().tokens
        said.append(exchange(len(said) // 2, window // 16)[len(said) % 2])
        chat.add(said[-1])
        context = chat.context()
        now = shown(context)
        ratio = (before + tokens(said[-1])) / window
        active = number + 1 + bool(depths)
        if ratio >= 0.8 and active >= 12:
            number = 6
            depths.append(len(depths))
            order = ["user", "assistant"] if said[-6]["role"] == "user" else ["assistant", "user"]
            assert now.order == ["system", "tagged", *order * 3]
            assert context.tokens < 0.8 * window
        else:
            number += 1
        assert now.spoken == said[-number:]
        assert now.depth == (depths[-1] if depths else None)
        assert context.bridge is None
        assert now.bridge is None
        if now.tagged:
            assert now.system == ["Be brief."]
            assert any(decided(0) in row for row in now.summary), "the next fold compresses what the last one said"
            assert set(now.tagged.headings) <= HEADINGS
    assert depths == [0, 1, 2]


def test_B3_chain_three_records_and_then_the_bridge(memory: Memory) -> None:
    chat = memory.chat("a", preset="chain", context_window=2_000)
    depths, bridged = set[int | None](), 0
    for n in range(60):
        chat.add(exchange(n, 125))
        now = look(chat)
        depths.add(now.depth)
        assert now.bridge is None or now.depth == 2, "nothing is bridged before the last record"
        bridged += now.bridge is not None
        assert now.tokens <= 1_700
        assert now.turns >= min(3, n + 1)
    assert depths == {None, 0, 1, 2}
    assert bridged > 10


def test_B3_chain_the_tail_shrinks_to_two_messages_and_no_further(memory: Memory) -> None:
    chat = memory.chat("a", preset="chain", context_window=2_000)
    for n in range(6):
        chat.add(turn(n, 1_400))
    now = shown(chat.context())
    assert now.depth == 0
    assert len(now.spoken) == 2
    assert now.bridge is None


def test_B2_chain_needs_twelve_messages(memory: Memory) -> None:
    """At eleven nothing folds, whatever the ratio; a burst of four after a fold shows ten."""
    chat = memory.chat("a", preset="chain", context_window=8_192)
    said = [wire for n in range(6) for wire in exchange(n, 600)]
    chat.add(said[:11])
    assert shown(chat.context()).spoken == said[:11]
    chat.add(said[11])
    assert shown(chat.context()).spoken == said[-6:]
    burst = [wire for n in range(6, 9) for wire in exchange(n, 800)]
    for number in range(1, 5):
        chat.add(burst[number - 1])
        assert len(shown(chat.context()).spoken) == 6 + number
    chat.add(burst[4])
    assert len(shown(chat.context()).spoken) == 6


def test_B2_chain_hysteresis(memory: Memory) -> None:
    """A fold that leaves more than 70 % is followed by the next one only after twelve messages."""
    chat = memory.chat("a", preset="chain", context_window=8_192)
    chat.add([wire for n in range(3) for wire in exchange(n, 120)])
    chat.add([wire for n in range(3, 6) for wire in exchange(n, 980)])
    context = chat.context()
    assert len(shown(context).spoken) == 6
    assert 0.7 < context.tokens / 8_192 < 0.8
    for since in range(1, 12):
        chat.add(exchange(since // 2, 120 if since <= 5 else 20)[(since + 1) % 2])
        context = chat.context()
        assert len(shown(context).spoken) == 6 + since
    assert context.tokens / 8_192 > 0.81
    chat.add(exchange(6, 20)[1])
    assert len(shown(chat.context()).spoken) == 6


def test_B13_chain_refreshes_after_so_many_messages(memory: Memory) -> None:
    config = SummarizationConfig(force_refresh_after_messages=15)
    chat = memory.chat("a", config=config, context_window=100_000)
    numbers = []
    for at in range(50):
        chat.add(exchange(at // 2)[at % 2])
        numbers.append(len(shown(chat.context()).spoken))
    assert numbers == [*range(1, 15), *range(6, 21), *range(6, 21), *range(6, 12)]


def test_B2_chain_an_emergency_does_not_wait(memory: Memory) -> None:
    config = SummarizationConfig(cooldown_messages=20)
    chat = memory.chat("a", config=config, context_window=8_192)
    chat.add([wire for n in range(6) for wire in exchange(n, 600)])
    assert shown(chat.context()).depth == 0
    number = 6
    while (before := chat.context(reserve_output=1).tokens) + 604 < 8_192 - 20:
        chat.add(exchange(number, 600)[number % 2])
        number += 1
        now = shown(chat.context(reserve_output=1))
        assert (now.depth, len(now.spoken)) == (0, number)  # above 80 %, but not cooled down
    assert before / 8_192 > 0.85
    chat.add(exchange(number, 700)[number % 2])
    now = shown(chat.context())
    assert (now.depth, len(now.spoken)) == (1, 6)


# 002: chunked -------------------------------------------------------------------------------------------


def test_C3_C5_chunked_turn_by_turn(memory: Memory) -> None:
    """Never fewer than three turns, more while they fit 3,000 tokens; above 6,000 all but three are folded."""
    chat = memory.chat("a", preset="chunked", context_window=50_000)
    said: list[Wire] = []
    folded, most = 0, 0
    for n in range(1, 61):
        wires = exchange(n, 196)
        size = sum(map(tokens, wires))
        said += wires
        summary = count(chat.summary)
        chat.add(wires)
        if summary + size * (n - folded) > 6000:
            assert n - folded > 3
            folded = n - 3
        now = look(chat)
        assert now.tail == said[len(said) - 2 * now.turns :]
        hidden = now.bridge[2] // 2 if now.bridge else 0
        assert folded + hidden + now.turns == n, "no turn is absent"
        used = now.memory_tokens + now.tail_tokens
        assert used <= 3000
        assert count(chat.summary) <= 500
        assert now.turns >= min(3, n - folded)
        if n - folded == 3:
            assert hidden == 0
        if now.memory and hidden:
            assert used - now.memory.bridge_tokens + size > 2_980, "an older turn would have fitted"
        most = max(most, now.turns)
    assert folded > 40
    assert most == 7


def large(url: str, rules: int, *sizes: int) -> Iterator[Shown]:
    """A chunked chat with a summary of so many rules and turns of these sizes: what it shows for a question."""
    with written(url, rules) as memory:
        chat = with_rules(memory, "chunked", rules, 0, context_window=20_000)
        for n, size in enumerate(sizes):
            chat.add(turn(n, size))
        yield look(chat)
        yield look(chat, words(900, "long"), sources=[words(300, "s1"), words(300, "s2")])


SIZES = [
    ((900, 900, 900), 3, 3),
    ((1_400, 1_400, 1_400), 3, 2),
    ((1_000, 1_000, 1_000), 3, 2),
    ((2_000, 2_000, 2_000), 3, 1),
    ((100, 2_000, 1_400), 3, 1),
    ((2_000, 100, 1_400), 3, 2),
    ((1_400, 1_400), 3, 2),
]


@pytest.mark.parametrize(("sizes", "rules", "turns"), SIZES)
def test_C4_chunked_three_turns_then_two_then_one(url: str, sizes: tuple[int, ...], rules: int, turns: int) -> None:
    for now in large(url, rules, *sizes):
        assert now.turns == turns
        assert now.tail_tokens == sum(sizes[-turns:])
        assert len(now.summary) == rules
        assert now.memory_tokens + now.tail_tokens <= 3000


def test_C4_chunked_the_3000_cover_summary_and_turns_only(url: str) -> None:
    """A system prompt of 4,000 tokens, tools, sources and a long question come on top."""
    with written(url, 20) as memory:
        plain = with_rules(memory, "chunked", 20, 3, context_window=20_000)
        loaded = with_rules(memory, "chunked", 20, 3, context_window=20_000, id="b", system=words(4_000, "s"))
        tool = {"type": "function", "function": {"name": "find", "description": words(500), "parameters": {}}}
        numbers: set[tuple[int, int]] = set()
        for size in (100, 300, 500, 700, 1_100, 1_300, 1_420, 2_000, 60, 900, 450, 330, 340, 1_490):
            wires = [user(words(size, f"q{size}")), assistant(words(size, f"a{size}"))]
            plain.add(wires)
            loaded.add(wires)
            one = look(plain)
            context = loaded.context(words(900, "long"), tools=[tool], sources=[words(300, "s1")])
            other = shown(context, [tool])
            assert one.memory is not None
            assert other.memory is not None
            assert (other.tail, other.memory.rows[1:-1]) == (one.tail, one.memory.rows[1:-1])
            assert context.tokens > 5_700
            numbers.add((one.turns, len(one.summary)))
        assert {turns for turns, _ in numbers} >= {1, 2, 3}
        assert len({lines for _, lines in numbers}) > 2


def test_C4_chunked_at_3000_and_one_above(url: str) -> None:
    with written(url, 10) as memory:
        fits: list[int] = []
        for total in range(2_990, 3_006):
            chat = with_rules(memory, "chunked", 10, 0, id=f"{total}", context_window=20_000)
            chat.add([*turn(1, 800), *turn(2, 800)])
            now = look(chat)
            chat.add(turn(3, total - now.memory_tokens - now.tail_tokens))
            now = look(chat)
            assert now.turns in (2, 3)
            if now.turns == 3:
                fits.append(total)
        assert fits == [*range(2_990, fits[-1] + 1)]
        assert 2_995 <= fits[-1] <= 3_000


@pytest.mark.parametrize("size", [2_560, 2_600, 2_800, 2_950])
def test_C4_chunked_only_as_many_lines_go_as_must(url: str, size: int) -> None:
    every = 28
    line = count(f"- {rule(9)}\n")
    for now in large(url, every, size):
        assert now.turns == 1
        assert now.tail_tokens == size, "the turn is whole"
        left = len(now.summary)
        used = now.memory_tokens + now.tail_tokens
        assert used <= 3000
        assert 0 <= left < every
        quoted = now.memory.bridge_tokens if now.memory else 0
        more = line if left else line + 45  # and the block with its headings
        assert used - quoted + more > 2_995, "another line would have fitted"


def test_C4_chunked_a_turn_of_4000_is_excerpted_and_no_more_than_must(url: str) -> None:
    for now in large(url, 20, 4_000):
        assert now.turns == 1
        assert now.summary == []
        assert [CUT in str(wire["content"]) for wire in now.tail] == [True, True]
        for wire, salt in zip(now.tail, ("q0", "a0"), strict=True):
            assert str(wire["content"]).startswith(f"{salt} word word")
            assert str(wire["content"]).endswith("word word")
        assert 2_970 <= now.memory_tokens + now.tail_tokens <= 3_000


def test_C4_chunked_only_the_large_message_of_a_turn_is_excerpted(url: str) -> None:
    with written(url, 3) as memory:
        chat = with_rules(memory, "chunked", 3, 3, context_window=20_000)
        chat.add([user("Write it all down."), assistant(words(4_000, "a"))])
        now = look(chat)
    assert now.tail[0] == user("Write it all down.")
    assert CUT in str(now.tail[1]["content"])
    assert 2_970 <= now.memory_tokens + now.tail_tokens <= 3_000


def test_C4_chunked_an_agents_turn_is_never_missing(memory: Memory) -> None:
    """It has more messages than 3,000 tokens have room for the least of."""
    chat = memory.chat("a", preset="chunked", context_window=20_000)
    chat.add(exchange(1))
    work: list[Wire] = [user("Look at all of them.")]
    for n in range(90):
        work += [call(f"c{n}"), result(f"c{n}", words(30, f"r{n}"))]
    chat.add([*work, assistant("All are fine.")])
    now = look(chat)
    assert now.tail[-1] == assistant("All are fine.")
    assert len(now.tail) > 40
    assert now.bridge is not None


@pytest.mark.parametrize("stored", [True, False])
def test_C4_chunked_what_gives_way_in_a_given_budget(url: str, stored: bool) -> None:
    with written(url, 12) as memory:
        chat = with_rules(memory, "chunked", 12, 0)
        for n in range(3):
            chat.add([user(words(36, f"q{n}")), assistant(words(36, f"a{n}"))])
        if stored:
            chat.add(user(ASKED))
        seen: list[tuple[int, int, bool]] = []
        for budget in range(700, 130, -1):
            now = look(chat, None if stored else ASKED, max_tokens=budget)
            assert now.question == ASKED
            state = (now.turns, len(now.summary), CUT in now.said)
            if state not in seen[-1:]:
                seen.append(state)
    by_item = [(1, lines, False) for lines in range(12, -1, -1)]
    assert seen == [(3, 12, False), (2, 12, False), *by_item, (1, 0, True)]


def test_C3_chunked_an_unanswered_message_is_no_turn(url: str) -> None:
    """What a user said before the question, and nobody answered, does not take the place of a turn."""
    with written(url, 3) as memory:
        chat = with_rules(memory, "chunked", 3, 0, context_window=20_000)
        for n in range(3):
            chat.add([user(words(696, f"q{n}")), assistant(words(696, f"a{n}"))])
        chat.add([user("Wait."), user("One more thing.")])
        now = look(chat, None)
        assert [str(wire["content"])[:2] for wire in now.spoken] == ["q1", "a1", "q2", "a2", "Wa"]
        assert now.question == "Wait.\n\nOne more thing."


@pytest.mark.parametrize("rules", [12])
def test_C10_the_log_tells_dropped_turns_and_dropped_lines_apart(
    url: str, rules: int, caplog: pytest.LogCaptureFixture
) -> None:
    with written(url, rules) as memory, caplog.at_level(logging.DEBUG, "infold"):
        chat = with_rules(memory, "chunked", rules, 0)
        for n in range(3):
            chat.add([user(words(36, f"q{n}")), assistant(words(36, f"a{n}"))])
        kinds: set[tuple[bool, bool]] = set()
        for budget in range(700, 150, -5):
            caplog.clear()
            now = look(chat, max_tokens=budget)
            told = [record for record in caplog.records if getattr(record, "event", "") == "context_trimmed"]
            turns, lines = 3 - now.turns, rules - len(now.summary)
            assert len(told) == (1 if turns or lines or CUT in now.said else 0)
            if told and CUT not in now.said:
                assert vars(told[0])["left_out_messages"] == 2 * turns == vars(told[0])["bridged"]
                assert vars(told[0])["left_out_lines"] == lines
                kinds.add((turns > 0, lines > 0))
        assert kinds == {(True, False), (True, True)}


def test_C10_a_fold_logs_its_tokens_turns_and_times(url: str, caplog: pytest.LogCaptureFixture) -> None:
    with written(url, 3) as memory, caplog.at_level(logging.DEBUG, "infold"):
        chat = memory.chat("a", preset="chunked", wait=True)
        said = f"The r{rule(0)[1:]} The r{rule(1)[1:]} The r{rule(2)[1:]}"
        chat.add([user(said), assistant(words(2_000, "a")), *(wire for n in range(4) for wire in exchange(n, 500))])
        folds = [vars(record) for record in caplog.records if getattr(record, "event", "") == "fold"]
    assert [(fold["turns"], fold["compressed_messages"]) for fold in folds] == [(2, 4)]
    assert folds[0]["tokens_before"] - folds[0]["tokens_after"] > 2_900
    assert isinstance(folds[0]["call_ms"], int)
    assert isinstance(folds[0]["write_ms"], int)


def test_C12_chunked_order(url: str) -> None:
    with written(url, 3) as memory:
        chat = with_rules(memory, "chunked", 3, 3, system="Be brief.")
        context = chat.context(ASKED, sources=["Lease, page 2", "Calendar"])
        now = shown(context)
        assert now.order == ["system", "memory", *["user", "assistant"] * 3, "recalled", "user"]
        assert now.recalled is not None
        assert now.recalled.under("Retrieved sources:") == ["> [1] Lease, page 2", "> [2] Calendar"]
        text = context.to("text")
    places = [text.index(sign) for sign in ("Be brief.", "BACKGROUND – PRIOR", rule(0), "User: q0", "Lease, page 2")]
    assert places == sorted(places)
    assert "Assistant: a2" in text
    assert text.endswith(f"User: {ASKED}")


def test_C12_chunked_without_a_summary_is_a_plain_window(memory: Memory) -> None:
    chat = memory.chat("a", preset="chunked")
    chat.add([wire for n in range(3) for wire in exchange(n)])
    now = look(chat)
    assert (now.memory, now.order) == (None, ["user", "assistant"] * 3 + ["user"])
    assert "BACKGROUND" not in chat.context(ASKED).to("text")


# 003: layered -------------------------------------------------------------------------------------------

STARTS = "Al Bren Cor Dor Ev Fal Gor Hel".split()
ENDS = "bert dis fina gan lena mund ric tova".split()


def wish(n: int) -> str:
    """What a user wants from now on of one of many people."""
    who = STARTS[n // 8 % 8] + ENDS[n % 8]
    return f"From now on, always put {who} in copy of everything you write for me, and never use emojis with {who}."


def told(n: int) -> list[Wire]:
    """A turn with one decision and one wish."""
    return [user(f"{decided(n)}\n\n\n{wish(n)}"), assistant(f"{'word ' * 16}{n}.")]


def numbers_in(rows: list[str]) -> list[int]:
    """Which decisions some lines tell."""
    return [n for n in range(1, 200) for row in rows if decided(n) in row]


def held(now: Shown) -> list[int]:
    """Whose wishes of the first 48 turns a context has among its facts."""
    rows = [*now.memory.wishes, *now.memory.under("What holds:")] if now.memory else []
    return [n for n in range(1, 49) for row in rows if wish(n) in row]


def test_D2_layered_turn_by_turn(memory: Memory) -> None:
    """4 to 11 turns; at 12 the oldest 8 are a medium summary; the fourth of those joins the long one."""
    chat = memory.chat("a", config=preset("layered", facts_cap=4000, summary_cap=2000), context_window=60_000)
    said: list[Wire] = []
    turns = mediums = folded = 0
    for n in range(1, 65):
        wires = told(n)
        chat.add(wires)
        said += wires
        turns += 1
        if turns == 12:
            turns, mediums, folded = 4, mediums + 1, folded + 8
        if mediums == 4:
            mediums = 0
        now = look(chat)
        assert now.tail == said[len(said) - 2 * turns :], n
        assert now.bridge is None
        leaves = now.memory.under("Lately:") if now.memory else []
        assert numbers_in(leaves) == list(range(folded - 8 * mediums + 1, folded + 1))
        assert numbers_in(now.summary) == list(range(1, folded - 8 * mediums + 1))
        assert held(now) == list(range(1, min(48, folded) + 1))
    assert folded == 56


@pytest.mark.parametrize(("lines", "mediums"), [(5, 2), (6, 0)])
def test_D2_layered_mediums_above_1500_tokens_join_the_long_summary(url: str, lines: int, mediums: int) -> None:
    def medium(known: str, new: Any) -> str:
        return "\n".join(f"- {said}" for message in new for said in re.findall(r"Rule \d+ says[^.]*\.", message.text))

    with Memory(url, summarizer=medium, clock=ticking_clock(), ids=counted_ids()) as memory:
        config = preset("layered", leaf_cap=1_000, summary_cap=2_000)
        chat = memory.chat("a", config=config, wait=True, context_window=60_000)
        for n in range(20):
            chat.add([user(" ".join(rule(10 * n + at) for at in range(lines))), assistant("Noted.")])
        now = look(chat)
    assert now.turns == 4
    assert now.memory is not None
    every = [rule(10 * n + at) for n in range(16) for at in range(lines)]
    assert (1_300 < count("\n".join(f"- {text}" for text in every)) <= 1_500) == (mediums == 2)
    leaves = [row[2:] for row in now.memory.under("Lately:")]
    assert leaves == (every if mediums else [])
    assert [row[2:] for row in now.summary] == ([] if mediums else every)


def test_D4_layered_order(memory: Memory) -> None:
    chat = memory.chat("a", preset="layered", system="Be brief.", context_window=60_000)
    chat.add([wire for n in range(1, 53) for wire in told(n)])
    now = look(chat)
    assert now.order == ["system", "memory", *["user", "assistant"] * now.turns, "user"]
    assert now.memory is not None
    rows = now.memory.rows
    facts = max(at for at, row in enumerate(rows) if "in copy of" in row)
    long, leaves = rows.index(f"> {decided(1)}"), rows.index("Lately:")
    assert facts < long < leaves < rows.index(f"> {decided(48)}")


def test_D4_layered_trim_order(memory: Memory) -> None:
    chat = memory.chat("a", preset="layered", system="Be brief.", context_window=60_000)
    chat.add([wire for n in range(1, 53) for wire in told(n)])
    whole = look(chat)
    tail = [m.wire for m in chat.messages()][-2 * whole.turns :]
    assert whole.memory is not None
    every = (
        len(numbers_in(whole.memory.under("Lately:"))),
        len(numbers_in(whole.summary)),
        whole.turns,
        len(held(whole)),
    )
    assert every[0] == 16
    seen: list[tuple[int, int, int, int]] = []
    for budget in range(whole.tokens + 20, 75, -1):
        now = look(chat, max_tokens=budget)
        leaves = numbers_in(now.memory.under("Lately:")) if now.memory else []
        assert leaves in ([*range(33, 49)], [*range(41, 49)], []), "medium summaries go whole, oldest first"
        assert (now.system, now.question) == (["Be brief."], ASKED)
        if CUT not in now.said:
            assert now.tail == tail[len(tail) - len(now.tail) :]
        state = (len(leaves), len(numbers_in(now.summary)), now.turns, len(held(now)))
        for earlier in range(3):
            assert state[earlier] == 0 or state[earlier + 1 :] == every[earlier + 1 :], (budget, state)
        seen.append(state)
    assert {long for _, long, _, _ in seen} == set(range(every[1] + 1)), "the long one goes by item"
    assert {turns for _, _, turns, _ in seen} >= {0, 1, every[2]}
    assert {facts for *_, facts in seen} == set(range(every[3] + 1))


def test_D4_layered_facts_near_the_question_go_last(memory: Memory) -> None:
    chat = memory.chat("a", preset="layered", context_window=60_000)
    liked = [
        "I love the smell of rain on warm stone in the evening.",
        "I prefer tea from the small blue pot in the morning.",
        "I live in Lisbon, near the old tram depot.",
        "My name is Oda and I work as a piano tuner.",
        "I prefer window seats on every train I take.",
        "Never send me voice messages, I cannot hear them at work.",
    ]
    for n in range(30):
        chat.add([user(liked[n] if n < len(liked) else f"{decided(n)}"), assistant("Fine.")])
    asked = "Which seats on the train?"
    order: list[str] = []
    whole = look(chat, asked)
    assert whole.memory is not None
    facts = [text for text in liked if any(text in row for row in whole.memory.rows)]
    assert {liked[4], liked[5]} < set(facts)
    assert len(facts) > 3
    for budget in range(whole.tokens, 70, -1):
        now = look(chat, asked, max_tokens=budget)
        rows = now.memory.rows if now.memory else []
        order += [text for text in facts if text not in order and not any(text in row for row in rows)]
    assert set(order[-2:]) == {liked[4], liked[5]}, "what is near the question, and a rule"


@pytest.mark.parametrize("system", [None, "Be brief."])
def test_D7_layered_an_empty_history_is_system_and_question(memory: Memory, system: str | None) -> None:
    chat = memory.chat("a", preset="layered", system=system)
    now = look(chat)
    assert now.order == [*(["system"] if system else []), "user"]
    assert now.system == ([system] if system else [])
    assert now.spoken == [user(ASKED)]
    text = chat.context(ASKED).to("text")
    assert text == (f"{system}\n\n" if system else "") + f"User: {ASKED}"


def test_D7_layered_no_empty_headings(memory: Memory) -> None:
    chat = memory.chat("a", preset="layered", context_window=60_000)
    chat.add([wire for n in range(40) for wire in (user(words(20, f"q{n}")), assistant(words(20, f"a{n}")))])
    now = look(chat)
    assert (now.memory, now.turns) == (None, 8)


def test_D5_layered_a_summary_that_says_the_same_is_shown_once(url: str) -> None:
    with written(url, 6) as memory:
        chat = memory.chat("a", preset="layered", wait=True, context_window=60_000)
        said = [user(" ".join(f"The r{rule(n)[1:]}" for n in range(6))), assistant("Noted.")]
        for _ in range(20):
            chat.add(said)
        now = look(chat)
        assert now.turns == 4
        assert now.memory is not None
        assert [row[2:] for row in now.memory.under("Lately:")] == [rule(n) for n in range(6)]


# 004: engine --------------------------------------------------------------------------------------------


def test_E2_engine_at_most_eight_hot_turns(memory: Memory) -> None:
    chat = memory.chat("a", preset="engine", system="Be brief.", context_window=50_000)
    said: list[Wire] = []
    for n in range(1, 31):
        wires = exchange(n)
        chat.add(wires[0])
        now = look(chat, None)
        assert now.tail == said[-16:]
        assert now.question == wires[0]["content"], "the question is no hot turn"
        chat.add(wires[1])
        said += wires
        context = chat.context(ASKED)
        now = shown(context)
        assert now.tail == said[-16:]
        assert now.turns == context.sources["hot_turns"] == min(n, 8)
        assert now.order == ["system", *(["memory"] if n > 8 else []), *["user", "assistant"] * now.turns, "user"]
        assert context.bridge is None
        policy, _, own = now.system[0].partition("\n\n")
        assert policy.startswith("[infold memory policy]")
        assert own == "Be brief."
        assert now.tokens <= 3_000


@pytest.mark.parametrize("size", [60, 150, 300, 900])
@pytest.mark.parametrize("system", ["Be brief.", words(1_500, "s")], ids=["", "system prompt of 1,500"])
def test_E2_engine_3000_tokens_for_all_of_it(memory: Memory, size: int, system: str) -> None:
    chat = memory.chat("a", preset="engine", system=system, context_window=50_000)
    said: list[Wire] = []
    most = 0
    for n in range(1, 25):
        said += exchange(n, size)
        chat.add(said[-2:])
        context = chat.context(ASKED)
        now = shown(context)
        assert context.budget == 3_000
        assert now.tail == said[len(said) - len(now.tail) :], "hot turns give way oldest first"
        assert len(now.tail) == (2 * now.turns or len(now.tail) % 2), "and whole, but the newest"
        if now.turns < min(n, 8):  # in steps of an eighth of the budget
            assert context.tokens + 2 * (size + 4) + 3_000 // 8 + 400 > 3_000
            assert now.bridge is not None
        most = max(most, now.tokens)
    assert most > 1_000


def tasked(memory: Memory, number: int, user_id: str = "ada") -> Chat:
    """A chat of a user with so many tasks, and 12 turns, of which four are folded."""
    ada = memory.user(user_id)
    for n in range(number):
        ada.set_entity("task", f"repaint hall {n}")
    chat = memory.chat("a", user=user_id, preset="engine", context_window=50_000)
    for n in range(1, 13):
        chat.add(exchange(n, 40))
    return chat


@pytest.mark.parametrize(("number", "most"), [(3, 3), (25, 25), (60, 25)])
def test_E2_engine_at_most_25_entities(memory: Memory, number: int, most: int) -> None:
    chat = tasked(memory, number)
    for query in (ASKED, "What of hall 2?"):
        assert len(entities(look(chat, query))) == most


def entities(now: Shown) -> list[str]:
    return now.recalled.under("Tasks, goals, problems and others that may matter:") if now.recalled else []


def test_E2_engine_trim_order(memory: Memory) -> None:
    chat = tasked(memory, 30)
    query = words(60, "What is open?")
    whole = look(chat, query)
    every = (whole.turns, len(entities(whole)), len(whole.summary))
    assert every == (8, 25, 4)
    tail, things = whole.tail, entities(whole)
    seen: list[tuple[int, int, int, bool]] = []
    for budget in range(whole.tokens + 20, 150, -1):
        now = look(chat, query, max_tokens=budget)
        assert now.system == whole.system
        assert now.tail == tail[len(tail) - len(now.tail) :]
        assert entities(now) == things[: len(entities(now))], "least relevant first"
        state = (now.turns, len(entities(now)), len(now.summary), CUT in now.question)
        assert state[0] == 0 or state[1] == every[1], "hot turns before entities"
        assert state[1] == 0 or state[2] == every[2], "entities before the summary"
        assert state[2] == 0 or not state[3], "the summary before the question"
        seen.append(state)
    assert {turns for turns, *_ in seen} >= {0, 1, 2, 8}
    assert {number for _, number, *_ in seen} == set(range(26))
    assert {lines for *_, lines, _ in seen} == set(range(5))
    assert seen[-1][3], "the question is cut last"


def test_E2_engine_the_policy_alone_over_budget_is_an_error(memory: Memory) -> None:
    chat = memory.chat("a", preset="engine")
    alone = look(chat, "Hi.")
    assert alone.order == ["system", "user"]
    assert look(chat, "Hi.", max_tokens=alone.tokens).spoken == [user("Hi.")]
    with pytest.raises(BudgetError, match="raise max_tokens"):
        chat.context("Hi.", max_tokens=alone.tokens - tokens(user("Hi.")))


@pytest.mark.parametrize(
    ("requested", "applied"), [(None, 3_000), (9_000, 3_000), (3_000, 3_000), (700, 700), (300, 300)]
)
def test_E5_what_the_envelope_counts_is_what_is_shown(memory: Memory, requested: int | None, applied: int) -> None:
    chat = tasked(memory, 30)
    before = (chat.events(), chat.memory)
    told = assemble_context("ada", "a", "What is open?", requested, memory=memory)
    now = Shown(0)
    assert told["budget"]["requested"] == requested
    assert told["budget"]["applied"] == applied
    assert told["budget"]["estimated_used"] <= applied
    assert told == assemble_context("ada", "a", "What is open?", requested, memory=memory)
    context = chat.context("What is open?", max_tokens=applied)
    now = shown(context)
    assert told["sources"]["hot_turns"] == sum(w["role"] == "assistant" for w in told["context"])
    assert now.spoken == [w for w in told["context"] if w["role"] != "system"][-len(now.spoken) :] or now.memory
    assert told["sources"]["entities"] == len(entities(now))
    assert told["sources"]["summaries"] == bool(now.summary)
    assert (chat.events(), chat.memory) == before


def test_E6_settings_reach_what_is_shown(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Settings() == Settings(3_000, 8, 25, 30)
    monkeypatch.setenv("MEMORY_CONTEXT_MAX_TOKENS", "900")
    monkeypatch.setenv("MEMORY_HOT_TURNS_LIMIT", "2")
    monkeypatch.setenv("MEMORY_RELATED_ENTITIES_LIMIT", "3")
    chat = tasked(memory, 30)
    context = chat.context(ASKED)
    now = shown(context)
    assert (context.budget, now.turns, len(entities(now)), len(now.summary)) == (900, 2, 3, 10)
    told = assemble_context("ada", "a", ASKED, memory=memory)
    assert told["budget"]["applied"] == 900
    assert told["sources"] == {"hot_turns": 2, "summaries": 1, "entities": 3}


# Every preset -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["default", "rolling", "chain", "chunked", "layered", "engine"])
@pytest.mark.parametrize(
    ("window", "left"),
    [(None, 7_192), (1_000, 850), (2_000, 1_700), (6_666, 5_667), (6_668, 5_668), (8_192, 7_192), (32_768, 31_768)],
)
def test_default_budget_of_a_context(memory: Memory, name: str, window: int | None, left: int) -> None:
    """The window less 1,000 tokens or 15 %, whichever is less; of the engine 3,000."""
    chat = memory.chat("a", preset=name, context_window=window)
    own = min(3_000, left) if name == "engine" else left
    assert chat.context("Hi.").budget == own
    assert chat.context("Hi.", reserve_output=400).budget == min(own, (window or 8_192) - 400) or name != "engine"
    if name != "engine":
        assert chat.context("Hi.", reserve_output=400).budget == (window or 8_192) - 400
    assert chat.context("Hi.", max_tokens=500).budget == 500
    assert chat.context("Hi.", max_tokens=500, reserve_output=100).budget == 400


@pytest.mark.parametrize("name", ["default", "rolling", "chain", "layered", "engine"])
@pytest.mark.parametrize("window", [2_000, 8_192])
def test_default_nothing_is_bridged_before_a_fold_is_due(memory: Memory, name: str, window: int) -> None:
    """For layered and engine, whose folds do not depend on tokens, with turns that fit."""
    chat = memory.chat("a", preset=name, context_window=window)
    size = window // 64 if name in ("layered", "engine") else window // 20
    for n in range(1, 41):
        chat.add(exchange(n, size))
        context = chat.context()
        assert context.bridge is None or (name == "chain" and len(chat.records) == 3), n


@pytest.mark.parametrize("name", ["rolling", "chain", "chunked", "layered", "engine"])
@pytest.mark.parametrize("layout", [{}, {"memory_role": "system"}, {"merge": True}], ids=["", "system", "merge"])
def test_E3_a_budget_of_just_what_is_needed_trims_nothing(url: str, name: str, layout: dict[str, Any]) -> None:
    with written(url, 6) as memory:
        chat = with_rules(memory, name, 6, 3, system="Be brief.\n")
        whole = chat.context(ASKED, **layout)
        assert whole.tokens == sum(piece.tokens for piece in whole.explain().items)
        assert whole.tokens - 9 <= request_tokens(whole.messages) <= whole.tokens
        assert str(whole.messages[0]["content"]).partition("Be brief.\n")[1]
        assert chat.context(ASKED, max_tokens=whole.tokens, **layout).messages == whole.messages
        assert chat.context(ASKED, max_tokens=whole.tokens - 1, **layout).messages != whole.messages


def test_F7_the_users_opening_is_explained(memory: Memory) -> None:
    chat = memory.chat("a", preset="rolling")
    chat.add(assistant("Hello."))
    context = chat.context(ASKED)
    assert context.messages[0]["role"] == "user"
    assert context.tokens == sum(piece.tokens for piece in context.explain().items)
