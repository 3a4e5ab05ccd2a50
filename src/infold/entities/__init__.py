"""Entities: the tasks, goals, problems, people, projects and files a user speaks of. Pure, deterministic.

What is stored are mentions: one thing said in a message, or set by hand. `read` makes them of a message, `resolve` makes
entities of all of a user's, `relevant` orders those for a query, `line` shows one.
"""

from __future__ import annotations

from infold.entities.model import KINDS, STATUSES, Entity, Mention, key_of
from infold.entities.reading import read
from infold.entities.relevance import Entities, line, relevant
from infold.entities.resolving import Things, resolve

__all__ = [
    "KINDS",
    "STATUSES",
    "Entities",
    "Entity",
    "Mention",
    "Things",
    "key_of",
    "line",
    "read",
    "relevant",
    "resolve",
]
