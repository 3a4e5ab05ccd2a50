"""What a chat goes on with where its policy or its marks cannot be read."""

from __future__ import annotations

import functools
import json
import logging
from dataclasses import fields, replace

from infold.errors import ConfigError
from infold.ledger.rows import ChatRow
from infold.policy import Policy
from infold.presets import PRESETS
from infold.triggers import Marks

log = logging.getLogger("infold")

STAND_IN = replace(PRESETS["default"], enabled=False, fallback="none")
"""In place of a policy that cannot be read: contexts as usual, but nothing is folded, and no model is asked that the policy may
have forbidden. All messages wait for a policy that says what to do with them."""


@functools.lru_cache(maxsize=64)
def policy_from(text: str) -> Policy | None:
    """The policy of a stored text; None where it is none."""
    try:
        return Policy.from_json(json.loads(text))
    except (ValueError, TypeError, AttributeError, LookupError, ConfigError):
        return None


def policy_of(row: ChatRow) -> tuple[Policy, bool]:
    """The policy of a chat, and whether it is damaged and another one stands in."""
    found = policy_from(row.policy)
    if found is None:
        log.warning(
            "table chats, row %s of chat %s: its policy is damaged; nothing is folded until it is opened with its preset or "
            "config, or chat.set_policy sets one",
            row.key,
            row.id,
        )
    return found or STAND_IN, found is None


def marks_from(text: str) -> Marks | None:
    """The marks of a stored text; None where it is none."""
    try:
        found = Marks(**json.loads(text))
    except (ValueError, TypeError):
        return None
    sound = isinstance(found.armed, bool) and all(
        type(getattr(found, one.name)) is int for one in fields(Marks) if one.name != "armed"
    )
    return found if sound else None


def marks_of(row: ChatRow) -> Marks:
    """The marks of a chat; where they are damaged, those of a new one, until the next message."""
    found = marks_from(row.marks)
    if found is None:
        log.warning(
            "table chats, row %s of chat %s: the marks of its triggers are damaged; they begin anew", row.key, row.id
        )
    return found or Marks()
