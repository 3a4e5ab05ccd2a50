"""What a change of mind takes back beside its own slot, as far as it names it. Pure.

A wrong supersession is worse than a missed one: all that tells a thing must be named.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from infold.facts.attributes import CHOICE
from infold.facts.statements import ASSISTANT, TOOL, Saying, Statement
from infold.folding.likeness import GENERIC, about, telling, words

_FEW = 4  # words that name one thing outright
_REVOCABLE = frozenset(["decision", "goal", "preference", "commitment"])


def overruled(known: Sequence[Statement], standing: Sequence[Statement]) -> Iterator[tuple[Statement, Statement, int]]:
    """Statements of `standing` that others take back: the old one, the new one, and when."""
    changes = [one for one in known if one.replaces and one.sayings]
    if not changes:
        return
    gone = {one.id: words(one.replaces) for one in changes}
    wanted = frozenset[str]().union(*gone.values())
    by_word: dict[str, list[Statement]] = {}
    for one in changes:
        for word in sorted(telling(gone[one.id]) or gone[one.id]):
            by_word.setdefault(word, []).append(one)
    for old in standing:
        said = words(old.text)
        if not old.sayings or said.isdisjoint(wanted):
            continue
        near = {one.id: one for word in said & wanted for one in by_word.get(word, ())}
        hits = [
            (saying, new.id, new)
            for new in near.values()
            if new.id != old.id and _names(new, gone[new.id], old, said)
            if (saying := _after(new, old)) is not None
        ]
        if hits:
            first, _, new = min(hits, key=lambda hit: hit[:2])
            yield old, new, first.at


def _after(new: Statement, old: Statement) -> Saying | None:
    """When a change was first said after all that it takes back, by somebody who may; a decision is taken back where it
    was made."""
    last = old.sayings[-1]
    chats = {saying.chat for saying in old.sayings}
    everywhere = old.kind == "preference"
    by_user = any(saying.speaker not in (ASSISTANT, TOOL) for saying in old.sayings)
    for saying in new.sayings:
        later = saying.at > last.at or ((saying.at, saying.chat) == (last.at, last.chat) and saying.seq > last.seq)
        may = saying.speaker not in (ASSISTANT, TOOL) or not by_user
        if later and may and (everywhere or saying.chat in chats):
            return saying
    return None


def _names(new: Statement, gone: frozenset[str], old: Statement, said: frozenset[str]) -> bool:
    """Whether a change names all that tells the old statement, or names it outright."""
    if old.kind not in _REVOCABLE:
        return False
    if new.attribute and new.attribute != CHOICE and (new.subject, new.attribute) != (old.subject, old.attribute):
        return False
    mine = words(new.text)
    if len(gone) <= _FEW and not gone & mine:
        if not gone <= said:
            return False
        topics = words(about(new.text)) - GENERIC, words(about(old.text)) - GENERIC
        if all(topics) and not topics[0] & topics[1]:  # Postgres for the cache is not Postgres for the backend
            return False
        return bool(telling(gone)) or bool(telling(mine) & (said - gone))
    named = telling(said)
    return bool(named) and named <= gone and not named <= mine
