"""The chats that were written for infold, as tests read them."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent.parent / "training" / "data"
NAMES = sorted(path.stem for path in (DATA / "own").glob("*.json"))


@cache
def _read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DATA / "own" / f"{name}.json").read_text("utf-8"))
    return found


def messages(name: str) -> list[dict[str, Any]]:
    """The messages of a chat, as `chat.add` takes them."""
    found = []
    for at, message in enumerate(_read(name)["messages"], 1):
        one = {key: value for key, value in message.items() if value is not None or key == "content"}
        if "name" in one:
            one["name"] = re.sub(r"\W+", "_", one["name"])[:60]
        found.append({"id": f"m{at}", **one})
    return found
