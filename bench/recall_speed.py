"""What recall costs, through the public API: python -m bench.recall_speed [--queries 200] [--small]

A chat of 10,000 messages and a user with 100,000 in ten chats, made of our own conversations with every tenth word changed.
Timed: a search and a context of 2,000 tokens, also right after new messages; indexing; looking up whether a fact is
known, among few and among a hundred thousand. And what a message takes on disk.
"""

from __future__ import annotations

import argparse
import random
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from statistics import median
from time import perf_counter

from bench.common import Figure, folder, report, tracked, url
from bench.recall_data import OURS, load
from infold import Chat, Memory
from infold.ledger import derived
from infold.quoting.replacing import Effect, Index, effects
from infold.quoting.saying import Said

AT_ONCE = 250
MOST_MS, MOST_MS_USER, LEAST_RATE, MOST_BYTES, MOST_TIMES = (
    10.0,
    50.0,
    2000.0,
    900.0,
    2.0,
)  # times: the tree is two levels deeper
Wire = dict[str, object]


def messages(size: int, seed: int) -> Iterator[Wire]:
    """A long chat of a user and an assistant."""
    chance = random.Random(seed)
    every = [message for talk in load(OURS) for message in talk.messages]
    pool = [word for message in every for word in message.text.split()]
    at = 1_600_000_000_000
    for number in range(size):
        said = every[(number + 97 * seed) % len(every)].text.split()
        text = " ".join(chance.choice(pool) if chance.random() < 0.1 else word for word in said)
        at += 36 * 3_600_000 if number % 25 == 0 else 30_000
        yield {"role": ("user", "assistant")[number % 2], "content": text, "created_at": at}


def fill(chat: Chat, size: int, seed: int) -> None:
    every = list(messages(size, seed))
    for first in tracked(range(0, size, AT_ONCE), f"filling {chat.id}", size // AT_ONCE):
        chat.add(every[first : first + AT_ONCE])


def timed(work: Callable[[str], object], asked: Sequence[str]) -> list[float]:
    spent: list[float] = []
    for question in asked:
        start = perf_counter()
        work(question)
        spent.append(1e3 * (perf_counter() - start))
    return spent


def indexing(memory: Memory, chat: Chat) -> float:
    """Messages a second that are indexed in bulk, on one thread."""
    with memory.database.write() as connection:
        for first in derived.blocks_made(connection, chat._key, memory.recaller.maker):
            derived.drop_block(connection, chat._key, first)
    made = chat.memory.cursor // derived.BLOCK * derived.BLOCK
    start = perf_counter()
    memory.recaller.index(chat._key)
    return made / (perf_counter() - start)


def known_facts(sizes: Sequence[int]) -> list[float]:
    """Microseconds to find that something was stated before, among so many statements."""
    spent: list[float] = []
    index = Index()
    added = 0
    for size in sizes:
        for number in tracked(range(added, size), f"{size:,} statements", size - added):
            index.add(_fact(number))
        added = size
        some = [_fact(number) for number in range(0, size, max(1, size // 2000))]
        rounds: list[float] = []
        for _ in range(5):
            start = perf_counter()
            known = sum(any(effect is Effect.REPEATS for _, effect in effects(one, index)) for one in some)
            rounds.append(1e6 * (perf_counter() - start) / len(some))
            assert known == len(some), "a statement was not recognised"
        spent.append(median(rounds))
    return spent


def after_folds(chat: Chat, asked: Sequence[str]) -> list[float]:
    """Milliseconds of contexts that are asked for in the moment in which a fold was made."""
    spent: list[float] = []
    more = messages(10_000, 98)
    for text in asked:
        cursor = chat.memory.cursor
        while chat.memory.cursor == cursor:
            chat.add([{**next(more), "created_at": None}, {**next(more), "created_at": None}])
        spent += timed(lambda text: chat.context(text, max_tokens=2000), [text])
    return spent


def _fact(number: int) -> Said:
    return Said.of(f"I like {_name(number)} more than {_name(7 * number + 3)}.", "user", "user", number)


def _name(number: int) -> str:
    """A name of its own for each number."""
    parts = "bal cor den fir gam hol jur kel lom mir nas pol quin rad sel tor vin wes yor zan".split()
    found = ""
    while number or not found:
        number, at = divmod(number, len(parts))
        found += parts[at]
    return found.title()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--small", action="store_true", help="a tenth of everything, to see that it works")
    options = parser.parse_args()
    share = 10 if options.small else 1
    asked = [question.text for talk in load(OURS) for question in talk.questions]
    random.Random(7).shuffle(asked)
    asked = asked[: options.queries]
    with folder() as path, Memory(url(path / "one.db")) as memory:
        chat = memory.chat("long")
        fill(chat, 10_000 // share, 1)
        memory.settle()
        with closing(sqlite3.connect(path / "one.db")) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        size = (path / "one.db").stat().st_size / (10_000 // share)
        rate = indexing(memory, chat)
        first = timed(chat.recall, asked[:1])[0]
        timed(chat.recall, asked[:20])
        found = timed(lambda text: chat.recall(text, kinds=("message",)), asked)
        every = timed(chat.recall, asked)
        context = timed(lambda text: chat.context(text, max_tokens=2000), asked)
        more = messages(2 * len(asked), 99)

        def after_a_turn(text: str) -> None:
            chat.recall(text, kinds=("message",))

        grown: list[float] = []
        for text in asked:
            chat.add([next(more), next(more)])
            grown += timed(after_a_turn, [text])
    few, many = known_facts((1000, 100_000 // share))
    with folder() as path, Memory(url(path / "user.db")) as memory:
        for number in range(10):
            fill(memory.chat(f"chat {number}", user="ann"), 10_000 // share, number)
        memory.settle()
        user = memory.user("ann")
        first_user = timed(user.recall, asked[:1])[0]
        of_user = timed(lambda text: user.recall(text, kinds=("message",)), asked)
        folded = after_folds(memory.chat("chat 9"), asked[:10])
    report(
        "recall_speed",
        [
            Figure("a search in a chat of 10,000 messages, p50", median(found), "ms", MOST_MS),
            Figure("a search over 100,000 messages of a user, p50", median(of_user), "ms", MOST_MS_USER),
            Figure("indexing a message, in bulk", 1e6 / rate, "µs", 1e6 / LEAST_RATE),
            Figure("bytes a message, with facts, entities and indexes", size, "B", MOST_BYTES),
            Figure("finding a known fact among 100,000, against a thousand", many / few, "x", MOST_TIMES),
        ],
        {
            "first search of a process, ms": round(first, 1),
            "first search over the user's messages, ms": round(first_user, 1),
            "search over messages, facts, summaries and entities, p50 ms": round(median(every), 1),
            "search right after two new messages, p50 ms": round(median(grown), 1),
            "context of 2,000 tokens with recall, p50 ms": round(median(context), 1),
            "context right after a fold, in a chat of that user, p50 ms": round(median(folded), 1),
            "finding a known fact among 100,000, µs": round(many, 1),
            "messages indexed a second": round(rate),
        },
    )


if __name__ == "__main__":
    main()
