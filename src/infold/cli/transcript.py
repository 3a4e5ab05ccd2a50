"""Reading transcripts: JSON (a list of messages, or an object with "messages") or JSON Lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from infold.errors import MessageError, NotFoundError


def read_transcript(path: Path) -> list[dict[str, Any]]:
    """The messages of a file, as they stand there."""
    try:
        text = path.read_text("utf-8-sig")
    except FileNotFoundError:
        raise NotFoundError(f"no file {path}") from None
    except IsADirectoryError:
        raise NotFoundError(f"{path} is a folder; give a JSON or JSONL file") from None
    except UnicodeDecodeError as error:
        raise MessageError(f"{path} is not UTF-8 (byte {error.start}); convert it first") from None
    except OSError as error:
        raise NotFoundError(f"cannot read {path}: {error.strerror}") from None
    try:
        value = json.loads(text)
    except ValueError:
        value = _lines(text, path)
    if isinstance(value, dict):
        value = value["messages"] if isinstance(value.get("messages"), list) else [value]
    if not isinstance(value, list) or not value:
        raise MessageError(f"{path} holds no messages: give a list of messages, or one message a line")
    for number, message in enumerate(value, 1):
        if not isinstance(message, dict):
            raise MessageError(f"{path}: entry {number} is {type(message).__name__}, not a message")
    return value


def _lines(text: str, path: Path) -> list[Any]:
    found: list[Any] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                found.append(json.loads(line))
            except ValueError as error:
                raise MessageError(f"{path}, line {number}: not JSON ({error})") from None
    return found


def split_system(messages: list[dict[str, Any]]) -> tuple[str | None, list[dict[str, Any]]]:
    """A leading system message is the chat's system prompt, not part of the conversation."""
    if messages and messages[0].get("role") in ("system", "developer") and isinstance(messages[0].get("content"), str):
        return messages[0]["content"], messages[1:]
    return None, messages
