"""Stand-in."""

from __future__ import annotations


def kind_of(text: str, role: str) -> str:
    """The kind that outright words name, else "fact"."""
    return "fact"
