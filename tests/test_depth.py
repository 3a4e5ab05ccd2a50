"""How far memory may be from the messages it comes from: rewrites are counted, and leaves are gone back to."""

from __future__ import annotations

from infold import Memory, Message, preset
from infold.lines.rendering import parse
from tests.conftest import assistant, counted_ids, ticking_clock, user

TURNS = 14
LEADS = ("It is known that ", "By now ", "As before, ", "Still, ", "Noted: ", "So far ", "In short, ")


class Rephrasing:
    """A summarizer that says everything again in slightly other words each time."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, summary: str, messages: list[Message], /) -> str:
        lead = LEADS[self.calls % len(LEADS)]
        self.calls += 1
        known = [text for _, text in parse(summary)]
        for old in LEADS:
            known = [text.removeprefix(old) for text in known]
        said = [f"box {word} is blue" for m in messages if m.role == "user" for word in m.text.split() if "-" in word]
        return "\n".join(f"- {lead}{text}" for text in [*known, *said])


def test_B3_in_default_no_line_is_more_than_three_rewrites_away_from_its_messages(url: str) -> None:
    policy = preset("default", {}, keep_range=(100, 200), chunk_range=(100, 200))
    with Memory(url, summarizer=Rephrasing(), clock=ticking_clock(), ids=counted_ids()) as memory:
        chat = memory.chat("c", config=policy, wait=True)
        for number in range(TURNS):
            chat.add([user(f"The box B-{number} is blue. {'so it is ' * 12}"), assistant("Fine. " * 12)])
        deepest = []
        for _ in range(6):  # "resummarize", again and again
            assert chat.fold()
            lines = [*chat.memory.long, *chat.memory.leaves]
            deepest.append(max(line.rewrites for line in lines))
            assert {seq for line in lines for seq in line.sources} <= set(range(1, chat.memory.cursor + 1))
        assert deepest[:2] == [2, 3]  # a leaf, rewritten, and again
        assert max(deepest) == 3
        assert deepest[2] == 2  # made anew from the leaves, then rewritten once
        assert all("is blue" in line.text for line in lines)
        assert memory.verify().ok
