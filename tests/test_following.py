"""A memory that stays open follows what others write: it knows what one knows that is opened only now."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from infold import Chat, Memory, preset
from tests.conftest import START, assistant, counted_ids, ticking_clock, user
from tests.databases import fresh

SAID = [
    "I'll send the report to Anna by Friday.", "I sent the report to Anna.", "Tom moved to Berlin.", "Anna knows Tom well.",
    "I need to fix the login page in src/app.py.", "The login page is fixed.", "My goal is to learn Spanish.",
    "Where is the report?", "I have to call the plumber.", "Scrap that, no plumber.", "I live in Rome now.",
]  # fmt: skip
ASKED = ["What about the report for Anna?", "plumber", "Tom in Berlin", "src/app.py"]
ADD, BY_HAND, REMOVE, FORGET, REWIND, DELETE, MOVE = "add by-hand remove forget rewind delete move".split()
STEP = st.tuples(
    st.sampled_from([ADD] * 6 + [BY_HAND, REMOVE, FORGET, REWIND, DELETE, MOVE]), st.integers(0, 2), st.integers(0, 10)
)


def opened(url: str, clock: Callable[[], int]) -> Memory:
    return Memory(url, clock=clock, ids=counted_ids())


def told(memory: Memory) -> list[Any]:
    """All that is known of Ann, and of the chats."""
    ann = memory.user("ann")
    found: list[Any] = [list(ann.facts(all=True)), ann.entities]
    found += [[(hit.kind, hit.text, hit.chat, hit.sources, hit.score) for hit in ann.recall(text)] for text in ASKED]
    for info in memory.chats():
        chat = memory.chat(info.id)
        found += [list(chat.facts(all=True)), chat.entities]
        for text in ASKED:
            found.append([(hit.kind, hit.text, hit.sources, hit.score) for hit in chat.recall(text)])
            found.append(chat.context(text, max_tokens=600).messages)
    return found


def opened_chat(memory: Memory, which: int) -> Chat:
    """A chat that folds early; the first one has no user."""
    policy = preset("default", keep=1, keep_range=(1, 1), chunk_range=(1, 1))
    return memory.chat(f"chat {which}", config=policy, user="ann" if which else None)


def take(memory: Memory, what: str, which: int, number: int, step: int) -> None:
    chat = opened_chat(memory, which)
    last = chat.messages()[-1].seq if chat.messages() else 0
    if what == ADD:
        for more in range(2):
            text = SAID[(number + 3 * more) % len(SAID)]
            # Chats are told of in another order than that in which they are folded.
            at = START + 1000 * (step + 50 * which * (number % 2))
            chat.add([user(text, created_at=at), assistant("All right.", created_at=at)])
    elif what == BY_HAND:
        chat.set_entity("task", f"Paint room {number % 3}", status="open", links=("Anna",))
    elif what == REMOVE and chat.entities:
        chat.remove_entity(chat.entities[number % len(chat.entities)].id)
    elif what == FORGET and last:
        chat.forget(chat.messages()[number % last].id)
    elif what == REWIND and last > 2:
        chat.rewind(chat.messages()[last - 2].id)
    elif what == DELETE and number < 3:
        chat.delete()
    elif what == MOVE:
        memory.chat(f"chat {which}", user=("ann", "bob")[number % 2])


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(STEP, min_size=3, max_size=14))
def test_D3_what_is_followed_is_what_is_read_anew(steps: list[tuple[str, int, int]]) -> None:
    with fresh() as url, opened(url, ticking_clock()) as writer, opened(url, ticking_clock()) as follower:
        for number, step in enumerate(steps):
            take(writer, *step, number)
            writer.settle()
            with opened(url, ticking_clock()) as anew:
                assert told(follower) == told(anew)
        assert told(writer) == told(follower)


def test_E8_what_was_set_by_hand_and_removed_elsewhere_is_gone_here_too() -> None:
    with fresh() as url, opened(url, ticking_clock()) as writer, opened(url, ticking_clock()) as follower:
        for name in ("Paint the fence", "Mow the lawn"):
            writer.user("zoe").set_entity("task", name)
        assert [one.name for one in follower.user("zoe").entities] == ["Mow the lawn", "Paint the fence"]
        writer.user("zoe").remove_entity(writer.user("zoe").entities[0].id)
        assert [one.name for one in follower.user("zoe").entities] == ["Paint the fence"], "without any chat of hers"


def test_E8_what_is_said_of_a_task_elsewhere_is_known_here_too() -> None:
    with fresh() as url, opened(url, ticking_clock()) as writer, opened(url, ticking_clock()) as follower:
        for text, status in (("I have to call the plumber.", "open"), ("I've called the plumber.", "done")):
            chat = opened_chat(writer, 1)
            for said in (text, "The weather is nice.", "The weather was nice."):
                chat.add([user(said), assistant("All right.")])
            writer.settle()
            found = [(one.kind, one.name, one.status) for one in follower.user("ann").entities]
            assert found == [("task", "Call the plumber", status)]
