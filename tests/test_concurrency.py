"""F9: many writers on one file at once, and slow summarizers, lose nothing and duplicate nothing."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from infold import AsyncMemory, Memory, Message
from infold.units import NO_RESULT

from .conftest import assistant, call, counted_ids, result, ticking_clock, user, words
from .databases import fresh

THREADS = 8
STEPS = 6
SLOW = 60  # seconds after which something that must not wait has waited for ever


def steps(writer: str) -> list[list[dict[str, Any]]]:
    """What one writer adds: messages, and whole tool units as lists."""
    said: list[list[dict[str, Any]]] = []
    for at in range(STEPS):
        ids = [f"{writer}-{at}-{call_id}" for call_id in "xyz"[: at % 3 + 1]]
        said.append([user(f"My budget for {writer} is {at}50 euros.")])
        said.append([call(*ids), *(result(id, words(20)) for id in reversed(ids))])
        said.append([assistant(words(30, writer))])
    numbered = iter(range(1000))
    return [[{**message, "id": f"{writer}/{next(numbered)}"} for message in step] for step in said]


def write(memory: Memory, writer: str, preset: str) -> None:
    chat = memory.chat("c", preset=preset)
    for step in steps(writer):
        chat.add(step if len(step) > 1 else step[0])


def all_at_once(work: list[Callable[[], object]]) -> None:
    """Run each piece of work in its own thread, started together; the first error is raised."""
    barrier = threading.Barrier(len(work))

    def one(job: Callable[[], object]) -> None:
        barrier.wait()
        job()

    with ThreadPoolExecutor(len(work)) as threads:
        for future in [threads.submit(one, job) for job in work]:
            future.result()


@contextmanager
def processes(*commands: list[str]) -> Iterator[Callable[[], list[str]]]:
    """Child processes of this module; each call lets all of them go on at once and gives what they say then."""
    root, pipe = Path(__file__).parent.parent, subprocess.PIPE
    children = [
        subprocess.Popen([sys.executable, "-m", __name__, *command], stdin=pipe, stdout=pipe, text=True, cwd=root)
        for command in commands
    ]

    def go() -> list[str]:
        for child in children:
            assert child.stdin is not None
            child.stdin.write("go\n")
            child.stdin.flush()
        return said()

    def said() -> list[str]:
        return [child.stdout.readline().strip() for child in children if child.stdout is not None]

    try:
        assert said() == ["ready"] * len(children)
        yield go
    finally:
        for child in children:
            child.kill()
            child.communicate()


@pytest.mark.parametrize("preset", ["default", "rolling"])
def test_F9_two_processes_with_eight_threads_each_write_one_chat(url: str, preset: str) -> None:
    with Memory(url) as memory:
        memory.chat("c", preset=preset, context_window=1000)
    with processes(["write", url, preset, "p0"], ["write", url, preset, "p1"]) as go:
        assert go() == ["done", "done"]
    with Memory(url) as memory:
        proof = memory.verify()
        assert proof.ok, str(proof)
        assert proof.folded
        kept = memory.chat("c").messages(limit=100_000)
    place = {message.id: at for at, message in enumerate(kept)}
    writers = [f"p{process}t{thread}" for process in (0, 1) for thread in range(THREADS)]
    assert len(kept) == len(place) == sum(len(step) for writer in writers for step in steps(writer))
    for writer in writers:
        places = [[place[message["id"]] for message in step] for step in steps(writer)]
        order = [at for unit in places for at in unit]
        assert order == sorted(order), f"the order of {writer} changed"
        assert all(unit == list(range(unit[0], unit[0] + len(unit))) for unit in places), "a unit was torn"
        said = [message for step in steps(writer) for message in step]
        assert [{**kept[place[m["id"]]].wire, "id": m["id"]} for m in said] == said


@pytest.fixture
def nothing() -> Iterator[list[str]]:
    """Databases in which infold never was."""
    with ExitStack() as stack:
        yield [stack.enter_context(fresh(migrated=False)) for _ in range(THREADS)]


def test_F9_four_processes_open_a_new_database_at_once(nothing: list[str]) -> None:
    with processes(*(["open", f"p{number}", *nothing[:5]] for number in range(4))) as go:
        for _ in range(5):
            assert go() == ["opened"] * 4
    for url in nothing[:5]:
        with Memory(url, create=False) as memory:
            assert sorted(chat.id for chat in memory.chats()) == ["p0", "p1", "p2", "p3"]
            assert memory.verify().messages == 4
            assert memory.verify().ok


@pytest.mark.parametrize("same", [True, False])
def test_F9_eight_threads_open_new_databases_at_once(nothing: list[str], same: bool) -> None:
    def opened(at: int) -> Callable[[], None]:
        def work() -> None:
            with Memory(nothing[0 if same else at]) as memory:
                memory.chat(f"c{at}").add(user("hello"))

        return work

    all_at_once([opened(at) for at in range(THREADS)])
    found = []
    for url in nothing[: 1 if same else THREADS]:
        with Memory(url) as memory:
            assert memory.verify().ok
            found += [chat.id for chat in memory.chats() if chat.messages == 1]
    assert sorted(found) == [f"c{at}" for at in range(THREADS)]


def test_F2_contexts_made_while_others_add_show_whole_units(memory: Memory) -> None:
    chat = memory.chat("c", preset="chunked")
    writing = threading.Event()
    writing.set()

    def writer() -> None:
        try:
            for at in range(60):
                chat.add(user(f"{3 * at}"))
                chat.add([call(f"x{at}", content=f"{3 * at + 1}"), result(f"x{at}", f"{3 * at + 2}")])
        finally:
            writing.clear()

    def reader() -> None:
        while writing.is_set():
            shown = [message["content"] for message in chat.context(max_tokens=100_000).messages]
            assert NO_RESULT not in shown
            assert shown == [str(at) for at in range(len(shown))]

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        all_at_once([writer, reader, reader])
    finally:
        sys.setswitchinterval(interval)
    assert [message.text for message in chat.messages()] == [str(at) for at in range(180)]


# A summarizer that takes its time ------------------------------------------------------------------------------


class Slow:
    """A summarizer that does something, or waits for a sign, in its first call."""

    def __init__(self, meanwhile: Callable[[], object] | None = None, fail: bool = False) -> None:
        self.entered, self.release = threading.Event(), threading.Event()
        self.meanwhile = meanwhile or self.wait
        self.fail = fail
        self.asked: list[list[str]] = []

    def wait(self) -> None:
        self.entered.set()
        assert self.release.wait(SLOW)

    def __call__(self, summary: str, messages: list[Message]) -> str:
        self.asked.append([message.id for message in messages])
        if len(self.asked) == 1:
            self.meanwhile()
            if self.fail:
                raise RuntimeError("the model is down")
        return "\n".join(f"- {message.text}" for message in messages if "budget" in message.text)


def fill(chat: Any, first: int, last: int, after: str = "") -> None:
    if after:
        chat.rewind(after)
    for number in range(first, last + 1):
        text = f"My budget for trip {number} is {number}50 euros."
        chat.add(user(text) if number % 2 else assistant(text), id=f"m{number}")


def ids_of(chat: Any) -> list[str]:
    return [message.id for message in chat.messages()]


CHANGES: dict[str, Callable[[Any], object]] = {
    "nothing": lambda chat: None,
    "add": lambda chat: fill(chat, 13, 16),
    "unit": lambda chat: chat.add([call("x", "y"), result("y"), result("x")]),
    "fold": lambda chat: chat.fold(),
    "pin": lambda chat: chat.pin("Gate B7."),
    "rewind": lambda chat: chat.rewind("m4"),
    "replace": lambda chat: fill(chat, 30, 33, after="m4"),
    "policy": lambda chat: chat.set_policy("layered"),
}


@pytest.mark.parametrize("fail", [False, True])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("preset", ["rolling", "default", "chain"])
def test_F9_a_fold_survives_what_another_handle_does_meanwhile(url: str, preset: str, change: str, fail: bool) -> None:
    with Memory(url, ids=counted_ids("other")) as other:
        slow = Slow(lambda: CHANGES[change](other.chat("c")), fail)
        with Memory(url, summarizer=slow, ids=counted_ids()) as memory:
            chat = memory.chat("c", preset=preset, wait=True)
            fill(chat, 1, 10)
            assert not slow.asked
            chat.fold()
            assert slow.asked
            proof = memory.verify()
            assert proof.ok, str(proof)
            kept = ids_of(chat)
            rewound = change in ("rewind", "replace")
            mine = [f"m{n}" for n in range(1, 5 if rewound else 11)]
            assert kept[: len(mine)] == mine
            assert len(kept) == len(set(kept)) == len(mine) + {"add": 4, "unit": 3, "replace": 4}.get(change, 0)
            texts = [item.text for item in chat.memory.items]
            assert not rewound or not any(f"trip {n} " in text for n in range(5, 11) for text in texts)
            assert chat.memory.cursor or rewound or (fail and preset == "chain"), "nothing was folded"
            assert change != "pin" or "Gate B7." in chat.summary
            assert change != "policy" or chat.policy.name == "layered"


@pytest.mark.parametrize("preset", ["rolling", "default", "chain"])
def test_F2_a_late_result_and_its_call_stay_together_although_a_fold_was_on_its_way(url: str, preset: str) -> None:
    with Memory(url, ids=counted_ids("other")) as other:
        slow = Slow(lambda: other.chat("c").add(result("late")))
        with Memory(url, summarizer=slow, ids=counted_ids()) as memory:
            chat = memory.chat("c", preset=preset, wait=True)
            chat.add([user("My budget is 5."), call("late"), assistant("I go on."), user("And?"), assistant("Good.")])
            fill(chat, 1, 4)
            chat.fold()
            assert slow.asked
            proof = memory.verify()
            assert proof.ok, str(proof)
            cursor = chat.memory.cursor
            assert cursor < 2 or cursor == len(chat.messages()), "the call is folded, its result is not"


def test_F9_a_background_fold_that_is_overtaken_counts_for_what_it_read(url: str) -> None:
    slow = Slow()
    with Memory(url, summarizer=slow, clock=ticking_clock(), ids=counted_ids()) as memory:
        chat = memory.chat("c", preset="rolling")
        try:
            fill(chat, 1, 12)  # message 12 folds at once; the rewrite is on its way
            assert slow.entered.wait(SLOW)
            assert chat.memory.cursor == 6
            fill(chat, 13, 16)
            chat.pin("Gate B7.")
            assert chat.rewind("m14") == 2
            fill(chat, 20, 27)  # and folds again, over the head of the waiting rewrite
            folded = chat.memory.cursor
            assert folded > 6
        finally:
            slow.release.set()
        chat.settle()
        assert ids_of(chat) == [f"m{n}" for n in (*range(1, 15), *range(20, 28))]
        assert memory.verify().ok
        assert slow.asked == [ids_of(chat)[:6], ids_of(chat)[6:folded]]
        assert [e.data["author"] for e in chat.events() if e.type == "summarization"][-1] == "summarizer"
        covered = [tuple(ids_of(chat)[:6]), tuple(ids_of(chat)[6:folded])]
        assert [record.original_message_ids for record in chat.records] == covered
        assert "Gate B7." in chat.summary


def test_A5_nothing_leaves_recent_messages_before_a_summary_is_committed(url: str) -> None:
    slow = Slow()
    with Memory(url, summarizer=slow) as memory:
        chat = memory.chat("c", preset="chain", context_window=256)
        try:
            fill(chat, 1, 20)
            assert slow.entered.wait(SLOW)
            assert chat.memory.cursor == 0
            assert [m.id for m in chat.memory.recent_messages] == ids_of(chat)
            context = chat.context(max_tokens=100_000)
            assert context.bridge is None
            assert context.sources["messages"] == 20
        finally:
            slow.release.set()
        chat.settle()
        assert chat.memory.cursor > 0
        assert ids_of(chat) == [f"m{n}" for n in range(1, 21)]
        assert memory.verify().ok


# asyncio -------------------------------------------------------------------------------------------------------


def test_F9_fifty_concurrent_async_adds(url: str) -> None:
    async def main() -> None:
        async with AsyncMemory(url) as memory:
            chat = await memory.chat("c", preset="rolling", title="Trip")
            await asyncio.gather(*(chat.add(user(f"My budget for trip {n} is 5."), id=f"m{n}") for n in range(50)))
            await chat.add([call("x", "y"), result("y"), result("x")])
            await chat.add(assistant("Done."))
            assert sorted(m.id for m in await chat.messages(limit=50)) == sorted(f"m{n}" for n in range(50))
            state = await chat.memory
            assert state.cursor + len(state.recent_messages) == 54
            assert await chat.summary == state.summary
            assert await chat.title == "Trip"
            assert (await chat.policy).name == "rolling"
            assert sum(len(record.original_message_ids) for record in await chat.records) == state.cursor > 0
            assert await chat.last_summarization is not None
            assert (await chat.stats()).folds == len([e for e in await chat.events() if e.type == "summarization"])
            pin = await chat.pin("Gate B7.")
            assert "Gate B7." in str((await chat.context("Where?", max_tokens=500)).messages)
            await chat.unpin(pin)
            assert await chat.rewind("m49") == 54 - (await chat.messages(limit=60))[-1].seq
            await chat.set_policy("layered")
            await chat.update(title="Other")
            assert [info.title for info in await memory.chats()] == ["Other"]
            assert await chat.fold() in (True, False)
            assert (await chat.verify()).ok
            assert (await memory.verify()).ok
            await chat.delete()
            assert await memory.chats() == []

    asyncio.run(main())


@pytest.mark.parametrize("preset", ["rolling", "chain"])
def test_C6_a_background_fold_does_not_block_the_loop(url: str, preset: str) -> None:
    slow = Slow()

    async def main() -> None:
        async with AsyncMemory(url, summarizer=slow) as memory:
            chat = await memory.chat("c", preset=preset, context_window=400)
            try:
                for number in range(1, 21):
                    await chat.add(user("a" * number) if number % 2 else assistant(words(30)), id=f"m{number}")
                assert await asyncio.to_thread(slow.entered.wait, SLOW)
                settled = asyncio.create_task(chat.settle())
                closing = asyncio.create_task(memory.settle())
                await asyncio.wait_for(chat.add(user("still here"), id="m21"), SLOW)
                context = await asyncio.wait_for(chat.context(max_tokens=2000), SLOW)
                assert context.messages[-1]["content"] == "still here"
                assert not settled.done()
                assert not closing.done()
            finally:
                slow.release.set()
            await asyncio.wait_for(asyncio.gather(settled, closing), SLOW)
            assert [m.id for m in await chat.messages()] == [f"m{n}" for n in range(1, 22)]
            assert (await memory.verify()).ok

    asyncio.run(main())


def test_C6_an_add_whose_caller_is_gone_is_whole_or_absent(url: str) -> None:
    async def main() -> None:
        async with AsyncMemory(url) as memory:
            chat = await memory.chat("c", preset="rolling")
            tasks = [asyncio.create_task(chat.add(step)) for step in steps("w")]
            await tasks[0]
            for task in tasks[1::2]:
                task.cancel()
            done = await asyncio.gather(*tasks, return_exceptions=True)
            whole = [step for step, outcome in zip(steps("w"), done, strict=True) if isinstance(outcome, list)]
            kept = {message.id for message in await chat.messages()}
            assert {message["id"] for step in whole for message in step} <= kept
            assert all(len({message["id"] for message in step} & kept) in (0, len(step)) for step in steps("w"))
            assert (await memory.verify()).ok

    asyncio.run(main())


def main(what: str, *args: str) -> None:
    """The child processes of these tests; each answer waits for its line."""

    def say(line: str) -> None:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
        sys.stdin.readline()

    if what == "write":
        url, preset, process = args
        with Memory(url) as memory:
            steps("warm")  # loads the tokenizer
            say("ready")
            all_at_once([partial(write, memory, f"{process}t{at}", preset) for at in range(THREADS)])
            say("done")
    else:
        process, *urls = args
        Memory("sqlite:///:memory:").close()  # whatever loads on first use is loaded
        say("ready")
        for url in urls:
            with Memory(url) as memory:
                memory.chat(process).add(user("hello"))
            say("opened")


if __name__ == "__main__":
    main(*sys.argv[1:])
