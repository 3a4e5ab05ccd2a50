"""What a change of mind takes back beside its own slot, as far as it names it. Pure.

A wrong supersession is worse than a missed one: all that tells a thing must be named.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence

from infold.facts.attributes import CHOICE
from infold.facts.statements import ASSISTANT, TOOL, Saying, Statement
from infold.folding.likeness import GENERIC, about, telling, words

_ANYWHERE = "\0"  # no chat has this id
_SOON = 64  # changes with a word in common that are looked at
_FEW = 4  # words that name one thing outright
_REVOCABLE = frozenset(["decision", "goal", "preference", "commitment"])


def overruled(known: Sequence[Statement], standing: Sequence[Statement]) -> Iterator[tuple[Statement, Statement, int]]:
    """Statements of `standing` that others take back: the old one, the new one, and when."""
    changes = [one for one in known if one.replaces and one.sayings]
    if not changes:
        return
    changes.sort(key=lambda one: (one.sayings[-1].at, one.id))  # so is each list below
    # By word and chat; by word alone for what is taken back anywhere.
    outright: dict[tuple[str, str], list[Statement]] = {}
    wordy: dict[tuple[str, str], list[Statement]] = {}
    counts = Counter(word for one in changes for word in words(one.replaces))
    for one in changes:
        gone = words(one.replaces)
        for chat in sorted({saying.chat for saying in one.sayings} | {_ANYWHERE}):
            if _is_outright(one):  # all of its words must be found: the rarest will do to look for it
                outright.setdefault((chat, min(gone, key=lambda word: (counts[word], word))), []).append(one)
            else:
                for word in telling(gone):
                    wordy.setdefault((chat, word), []).append(one)
    for old in standing:
        if old.kind not in _REVOCABLE or not old.sayings:
            continue
        said = words(old.text)
        named = telling(said)
        rarest = min(named, key=lambda word: (counts[word], word), default="")
        chats = {_ANYWHERE} if old.kind == "preference" else {saying.chat for saying in old.sayings}
        last = old.sayings[-1]
        near = [new for chat in chats for word in said for new in _since(outright.get((chat, word), ()), last.at)]
        near += [new for chat in chats for new in _since(wordy.get((chat, rarest), ()), last.at)]
        near = [new for new in near if new.id != old.id]
        hits = [
            (saying, new.id, new) for new in near if (saying := _after(new, old)) is not None and _names(new, old, said)
        ]
        if hits:
            first, _, new = min(hits, key=lambda hit: hit[:2])
            yield old, new, first.at


def _since(changes: Sequence[Statement], at: int) -> Sequence[Statement]:
    """The first changes that were said at some time or later: what is taken back is taken back soon."""
    start = bisect_left(changes, at, key=lambda one: one.sayings[-1].at)
    return changes[start : start + _SOON]


def _is_outright(new: Statement) -> bool:
    """Whether a change names the old thing and nothing else."""
    gone = words(new.replaces)
    return 0 < len(gone) <= _FEW and not gone & words(new.text)


def _after(new: Statement, old: Statement) -> Saying | None:
    """When a change was first said after all that it takes back, by somebody who may; a decision is taken back where it
    was made."""
    last = old.sayings[-1]
    for saying in new.sayings:
        if saying.at < last.at or (saying.at == last.at and (saying.chat != last.chat or saying.seq <= last.seq)):
            continue
        here = old.kind == "preference" or any(saying.chat == other.chat for other in old.sayings)
        if here and (_by_user(saying) or not any(map(_by_user, old.sayings))):
            return saying
    return None


def _by_user(saying: Saying) -> bool:
    return saying.speaker not in (ASSISTANT, TOOL)


def _names(new: Statement, old: Statement, said: frozenset[str]) -> bool:
    """Whether a change names all that tells the old statement, or names it outright."""
    if new.attribute and new.attribute != CHOICE and (new.subject, new.attribute) != (old.subject, old.attribute):
        return False
    gone, mine = words(new.replaces), words(new.text)
    if not _is_outright(new):
        named = telling(said)
        return bool(named) and named <= gone and not named <= mine
    if not gone <= said:
        return False
    topics = words(about(new.text)) - GENERIC, words(about(old.text)) - GENERIC
    if all(topics) and not topics[0] & topics[1]:  # Postgres for the cache is not Postgres for the backend
        return False
    return bool(telling(gone)) or bool(telling(mine) & (said - gone))
