"""What recall costs: python -m bench.recall_speed [--messages 10000]

Indexing, laying a stored chat out, and answering, on a long chat that repeats our own conversations with some of their words
changed; and the bytes a message takes in the index.
"""

from __future__ import annotations

import argparse
import random
from dataclasses import replace
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter, process_time

from bench.recall_data import OURS, Talk, load
from infold.recall.corpus import Corpus
from infold.recall.pack import pack
from infold.recall.query import read
from infold.recall.rank import rank
from infold.recall.segment import Said, Segment, segment
from infold.recall.vectors import WordLlamaEmbedder

BLOCK = 256


def long_chat(talks: list[Talk], size: int) -> list[Said]:
    """Messages of all conversations over and over, two speakers, every tenth word another one's."""
    chance = random.Random(7)
    every = [message for talk in talks for message in talk.messages]
    pool = [word for message in every for word in message.text.split()]
    found: list[Said] = []
    at = 1_600_000_000_000
    for number in range(size):
        message = every[number % len(every)]
        text = " ".join(chance.choice(pool) if chance.random() < 0.1 else word for word in message.text.split())
        at += 36 * 3_600_000 if number % 25 == 0 else 30_000
        found.append(replace(message, seq=number + 1, text=text, speaker=("Ann", "Bob")[number % 2], at=at))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=OURS)
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--queries", type=int, default=200)
    options = parser.parse_args()
    talks = load(options.data)
    start = perf_counter()
    embedder = WordLlamaEmbedder()
    embedder.near(["word"])
    print(f"load the embedder           {1e3 * (perf_counter() - start):8.1f} ms")
    said = long_chat(talks, options.messages)
    start = perf_counter()
    stored = [segment(said[at : at + BLOCK], embedder).to_bytes() for at in range(0, len(said), BLOCK)]
    print(f"index, {BLOCK} at a time        {len(said) / (perf_counter() - start):8.0f} messages/s")
    start = perf_counter()
    for message in said[:1000]:
        segment([message], embedder)
    print(f"index, one by one           {1000 / (perf_counter() - start):8.0f} messages/s")
    start = perf_counter()
    corpus = Corpus()
    for block in stored:
        corpus.extend(Segment.from_bytes(block))
    corpus.settle()
    print(f"lay out {corpus.size:,} passages     {1e3 * (perf_counter() - start):8.1f} ms")
    size = sum(map(len, stored)) / len(said)
    print(
        f"bytes a message             {size:8.1f} ({sum(len(m.text) for m in said) / len(said):.0f} characters of text)"
    )
    texts = {message.seq: message.text for message in said}
    asked = [question.text for talk in talks for question in talk.questions]
    random.Random(7).shuffle(asked)
    spent: dict[str, list[float]] = {"read": [], "rank": [], "pack": [], "all": [], "all, processor time": []}
    for text in asked[: options.queries]:
        busy = process_time()
        t0 = perf_counter()
        query = read(text, tuple(corpus.speakers), said[-1].at)
        t1 = perf_counter()
        ranked = rank(corpus, query, embedder)
        t2 = perf_counter()
        pack(ranked, texts, 2000)
        t3 = perf_counter()
        busy = process_time() - busy
        for name, time in zip(spent, (t1 - t0, t2 - t1, t3 - t2, t3 - t0, busy), strict=True):
            spent[name].append(1e3 * time)
    print(f"first query                 {spent['all'][0]:8.1f} ms")
    for name, times in spent.items():
        print(f"{name:<28}{median(times):8.2f} ms p50 {quantiles(times, n=20)[-1]:8.2f} ms p95")


if __name__ == "__main__":
    main()
