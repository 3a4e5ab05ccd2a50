"""The kinds of lines, and the heading each of them stands under. Pure."""

from __future__ import annotations

from dataclasses import dataclass

# Section key -> heading, in the order they are shown.
SECTIONS = {
    "facts": "Facts / Constraints",
    "goals": "Goals / Preferences",
    "decisions": "Decisions Made",
    "open": "Open Items / Pending Commitments",
    "artifacts": "Key Artifacts / References",
}
PINNED = "pinned"
HEADINGS = {PINNED: "Pinned", **SECTIONS}


@dataclass(frozen=True, slots=True)
class Kind:
    """What a line is."""

    section: str
    standing: bool = False
    """Whether it holds until somebody takes it back or replaces it."""


KINDS = {
    "rule": Kind("facts", standing=True),  # how the assistant shall always or never act
    "constraint": Kind("facts", standing=True),  # what limits the user: allergies, budgets, deadlines, times
    "preference": Kind("goals", standing=True),  # what they like, how they want things
    "who": Kind("facts", standing=True),  # who somebody is: name, job, place, family
    "goal": Kind("goals"),  # what they want to reach
    "decision": Kind("decisions"),  # what was settled
    "open": Kind("open"),  # a question, task or promise
    "artifact": Kind("artifacts"),  # file, link, order number, version, place of things
    "state": Kind("facts"),  # the result of an action, where things stand
    "fact": Kind("facts"),  # what has no clear kind and still says something
}
