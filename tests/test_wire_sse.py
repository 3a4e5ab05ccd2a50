"""Server-sent events come out right however their bytes arrive."""

from __future__ import annotations

import itertools
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infold.service.wire.sse import Event, Parser


def parse(*chunks: bytes, limit: int = 1 << 20) -> list[Event]:
    parser = Parser(limit)
    return [event for chunk in chunks for event in parser.feed(chunk)]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (b"data: a\n\n", [("", "a")]),
        (b"data:a\n\n", [("", "a")]),
        (b"data:  a\n\n", [("", " a")]),
        (b"data: a\r\n\r\n", [("", "a")]),
        (b"data: a\r\rdata: b\r\r", [("", "a"), ("", "b")]),
        (b"data: a\r\n\ndata: b\n\r\n", [("", "a"), ("", "b")]),
        (b"event: x\ndata: a\ndata: b\n\n", [("x", "a\nb")]),
        (b"event: x\ndata: a\n\ndata: b\n\n", [("x", "a"), ("", "b")]),
        (b": comment\n\ndata: a\n:\n\n", [("", "a")]),
        (b"id: 7\nretry: 10\ndata: a\nother\n\n", [("", "a")]),
        (b"data\n\n", [("", "")]),
        (b"data: a: b\n\n", [("", "a: b")]),
        (b"event: x\n\n\n\n", []),
        (b"data: not ended\n", []),
        (b"data: not ended", []),
        (b"\xef\xbb\xbfdata: a\n\n", [("", "a")]),
        ("data: Grüße 🌍\n\n".encode(), [("", "Grüße 🌍")]),
        (b"data: \xff\n\n", [("", "\ufffd")]),
    ],
)
def test_events(given: bytes, expected: list[tuple[str, str]]) -> None:
    found = [Event(*pair) for pair in expected]
    assert parse(given) == found
    assert parse(*(given[at : at + 1] for at in range(len(given)))) == found, "byte by byte"
    assert parse(*(piece for at in range(len(given)) for piece in (given[at : at + 1], b""))) == found


PIECES = st.sampled_from(
    [b"data: a", b"data:", b"\n", b"\r", b"\r\n", b": c", b"event: e", "ü🌍".encode(), b" ", b"\xef"]
)


@given(st.lists(PIECES, max_size=30).map(b"".join), st.lists(st.integers(0, 100), max_size=8))
def test_chunks_make_no_difference(stream: bytes, cuts: list[int]) -> None:
    places = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    chunks = [stream[a:b] for a, b in itertools.pairwise(places)]
    assert parse(*chunks) == parse(stream)


@given(st.lists(PIECES | st.binary(max_size=20), max_size=30))
def test_small_limits_lose_whole_events_only(chunks: list[bytes]) -> None:
    every = parse(*chunks)
    left = iter(every)
    assert all(event in left for event in parse(*chunks, limit=12)), "a part of them, in order"


@pytest.mark.parametrize(
    "chunks", [[b"data: " + b"x" * 50 + b"\n\n"], [b"data: xxxx\n"] * 9 + [b"\n"], [b"data: x"] * 9 + [b"\n\n"]]
)
def test_an_event_that_is_too_large_is_left_out_and_the_next_comes(chunks: list[bytes]) -> None:
    parser = Parser(40)
    assert [event for chunk in chunks for event in parser.feed(chunk)] == []
    assert parser.overflown
    assert parser.feed(b"data: next\n\n") == [Event("", "next")]


def test_comments_take_no_room() -> None:
    parser = Parser(40)
    for _ in range(100):
        assert parser.feed(b": keep-alive\n") == []
    assert parser.feed(b"data: a\n\n") == [Event("", "a")]
    assert not parser.overflown


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_memory_is_bounded(end: bytes) -> None:
    parser = Parser(1 << 20)
    chunk = b"data: " + b"x" * 65_000 + end
    tracemalloc.start()
    try:
        for _ in range(200):
            parser.feed(chunk)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert parser.overflown
    assert peak < 3 << 20
