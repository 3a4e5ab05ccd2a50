"""The chats of this folder as messages: `load("own:weeks")`, and the names there are."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from infold.messages import Message, milliseconds

DATA = Path(__file__).parent
DEMO = DATA.parent.parent / "src" / "infold" / "demo" / "conversation.jsonl"
_TAU = DATA / "tau-airline.json"


@cache
def names() -> tuple[str, ...]:
    """Every chat: our own, the demo, and six of tau-bench."""
    own = [f"own:{path.stem}" for path in sorted((DATA / "own").glob("*.json"))]
    return (*own, "demo", *(f"tau:{key}" for key in json.loads(_TAU.read_text("utf-8"))))


def load(name: str) -> list[Message]:
    """One chat as it stands in a ledger, system messages left out."""
    kind, _, key = name.partition(":")
    if kind == "own":
        raw = json.loads((DATA / "own" / f"{key}.json").read_text("utf-8"))["messages"]
    elif kind == "demo":
        raw = [json.loads(line) for line in DEMO.read_text("utf-8").splitlines()]
    else:
        raw = json.loads(_TAU.read_text("utf-8"))[key]["messages"]
    return messages(raw)


def messages(raw: Sequence[Mapping[str, Any]]) -> list[Message]:
    """Messages numbered from 1, system messages left out."""
    found: list[Message] = []
    for one in raw:
        if one["role"] == "system":
            continue
        when = milliseconds(one["created_at"]) if one.get("created_at") else 0
        name = re.sub(r"\W+", "_", one["name"])[:60] if one.get("name") else None
        calls, call_id = tuple(one.get("tool_calls") or ()), one.get("tool_call_id")
        found.append(
            Message(one["role"], one.get("content"), name, calls, call_id, seq=len(found) + 1, created_at=when)
        )
    return found


def rows(name: str) -> list[dict[str, Any]]:
    """The rows of a file of gold data."""
    return [json.loads(line) for line in (DATA / name).read_text("utf-8").splitlines() if line.strip()]
