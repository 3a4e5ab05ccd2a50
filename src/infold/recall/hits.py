"""What a search gives back. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from infold.knowledge.entity import Reference

KINDS = ("message", "fact", "summary", "entity")


@dataclass(frozen=True, slots=True)
class Hit:
    """Something that was found."""

    kind: str
    """One of KINDS."""
    text: str
    """A message as it was said, or the passage of it that matters; a fact; a line of a summary; an entity."""
    at: int
    """When it was said last, in milliseconds."""
    chat: str
    """The id of its chat."""
    sources: tuple[Reference, ...]
    """The messages it comes from."""
    score: float
    speaker: str = ""
    seq: int = 0
    """Of a message: its position in the chat."""
    whole: bool = True
    """Of a message: all of it is here."""
    id: str = ""
    """Of a fact, a summary's line or an entity."""
