"""Words in our blocks against SQLite's FTS5: python -m bench.full_text [--size 100000]

Both rank the passages of our own conversations, merged to long ones, by words alone; counted is the share of the messages
that hold an answer among the twenty best. Then each chat is put beside others of other people: how many questions get another order?
And in one table of many chats: what a question to one of them takes, and what a message takes on disk.
"""

from __future__ import annotations

import argparse
import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from statistics import mean, median
from time import thread_time

import numpy as np

from bench.common import Figure, folder, report
from bench.recall_data import OURS, Talk, load, merged
from infold.recall.corpus import Corpus
from infold.recall.query import read
from infold.recall.segment import Said, Segment, segment
from infold.recall.signals import best, signals
from infold.recall.vectors import WordLlamaEmbedder
from infold.recall.words import words

TOP = 20
CHATS = 10
_MAKE = "CREATE VIRTUAL TABLE said USING fts5(chat, text, content='', tokenize='porter unicode61')"
_ASK = "SELECT rowid, bm25(said, 0.0, 1.0) AS score FROM said WHERE said MATCH ? ORDER BY score, rowid DESC LIMIT ?"


class Fts5:
    """A table of all chats, whose ids are words of their own; rows are numbered chat by chat."""

    def __init__(self, path: str) -> None:
        self.connection = sqlite3.connect(path)
        self.connection.execute(_MAKE)

    def add(self, chat: int, messages: Sequence[Said], first: int) -> None:
        rows = [(first + at, f"chat{chat}", message.text) for at, message in enumerate(messages)]
        with self.connection:
            self.connection.executemany("INSERT INTO said(rowid, chat, text) VALUES (?, ?, ?)", rows)

    def ask(self, chat: int, text: str) -> list[int]:
        found = [re.sub(r'"', "", word) for word in words(text)]
        if not found:
            return []
        match = f"chat : chat{chat} AND text : (" + " OR ".join(f'"{word}"' for word in found) + ")"
        return [row[0] for row in self.connection.execute(_ASK, (match, TOP))]


class Ours:
    """The corpus of one chat, ranked by the one signal that is BM25."""

    def __init__(self, parts: Sequence[Segment], embedder: WordLlamaEmbedder) -> None:
        self.corpus, self.embedder = Corpus(), embedder
        for part in parts:
            self.corpus.extend(part)

    def ask(self, text: str) -> list[int]:
        pool = self.corpus.everything()
        total = signals(pool, read(text).asked(self.embedder))["message"]
        return [int(pool.seq[at]) for at in best(np.round(total, 6), TOP) if total[at] > 0]


def held(talk: Talk, found: Sequence[Sequence[int]]) -> list[float]:
    """Of each question, the share of its evidence that was found."""
    return [
        len({one.seq for one in question.evidence} & set(seqs)) / len({one.seq for one in question.evidence})
        for question, seqs in zip(talk.questions, found, strict=True)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=100_000, help="messages in the table of many chats")
    options = parser.parse_args()
    embedder = WordLlamaEmbedder()
    talks = merged(load(OURS))
    theirs, ours, moved = [], [], []
    for number, talk in enumerate(talks):
        alone, beside = Fts5(":memory:"), Fts5(":memory:")
        alone.add(number, talk.messages, 1)
        beside.add(number, talk.messages, 1)
        for other, one in enumerate(talks):
            if other != number:
                beside.add(other, one.messages, 1_000_000 * (other + 1))
        own = Ours([segment(talk.messages, embedder)], embedder)
        places = [alone.ask(number, question.text) for question in talk.questions]
        seqs = [[talk.messages[place - 1].seq for place in found] for found in places]
        theirs += held(talk, seqs)
        ours += held(talk, [own.ask(question.text) for question in talk.questions])
        moved += [alone.ask(number, question.text) != beside.ask(number, question.text) for question in talk.questions]
    every = [message for talk in talks for message in talk.messages]
    each = options.size // CHATS
    long = [[every[(at + 97 * chat) % len(every)] for at in range(each)] for chat in range(CHATS)]
    asked = [question.text for talk in talks for question in talk.questions][:200]
    with folder() as path:
        many = Fts5(str(path / "many.db"))
        for chat, messages in enumerate(long):
            many.add(chat, messages, 1 + chat * each)
        many.connection.execute("INSERT INTO said(said) VALUES ('optimize')")
        many.connection.commit()
        many.connection.execute("VACUUM")
        on_disk = (path / "many.db").stat().st_size / options.size
        spent: list[float] = []
        for text in asked:
            start = thread_time()
            many.ask(3, text)
            spent.append(1e3 * (thread_time() - start))
        with closing(many.connection):
            pass
    some = [segment(long[3][first : first + 128], embedder) for first in range(0, each, 128)]
    stored = sum(len(part.to_bytes()) - part.vectors.nbytes for part in some) / each
    report(
        "full_text",
        [
            Figure("evidence among the twenty best, words in our blocks", 100 * mean(ours), "%"),
            Figure("evidence among the twenty best, FTS5", 100 * mean(theirs), "%"),
            Figure("questions with another order in FTS5 once others write", 100 * mean(moved), "%"),
            Figure("bytes a message, words in our blocks and all else but vectors", stored, "B"),
            Figure("bytes a message, FTS5 without the text", on_disk, "B"),
            Figure(
                f"a question to one of {CHATS} chats with {options.size:,} messages, FTS5, p50", median(spent), "ms"
            ),
        ],
        {},
    )


if __name__ == "__main__":
    main()
