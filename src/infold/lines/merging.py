"""What a fold does to memory: new lines meet those it holds, and every layer keeps within its cap. Pure."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from infold.folding.likeness import words
from infold.lines.kinds import PINNED
from infold.lines.line import (
    FACT,
    FURTHER,
    LEAF,
    LONG,
    MOST,
    QUOTATION,
    STANDING,
    SURE,
    Line,
    is_standing,
    line_tokens,
    newest,
    normal,
    section_of,
)  # fmt: skip
from infold.lines.rendering import block_tokens, heading_tokens, render
from infold.quoting.choosing import choose, stems
from infold.quoting.health import has_condition, is_vital
from infold.quoting.pasted import passing
from infold.quoting.replacing import Effect, Index, effects
from infold.quoting.saying import Said
from infold.tokens import count, excerpt

if TYPE_CHECKING:
    from infold.policy import Policy
    from infold.quoting.candidate import Candidate


LEAST = 40
"""Worth below which a sentence is hardly ever worth a line."""
ASKING = 150
"""The same for a question."""
TELLING, _ENOUGH = 250, 10
"""Where a layer has so many lines of this worth, it takes no others."""
NAMED = 300
"""Worth of a sentence whose kind outright words name, at least."""
_RESERVE = 2
_ANY = 10_000_000  # tokens: no cap


@dataclass(frozen=True, slots=True)
class Change:
    """What a fold does to memory: which lines go, which come, and the whole that results."""

    removed: tuple[str, ...]
    added: tuple[Line, ...]
    lines: tuple[Line, ...]


def fold_quotations(memory: Sequence[Line], found: Sequence[Candidate], policy: Policy, fold: int) -> Change:
    """Memory with the quotations of some messages: the latest word holds, and the best of them stay."""
    draft = _Draft(memory, fold, policy)
    meeting = _Meeting(draft)
    room = policy.facts_cap + (policy.leaf_cap or policy.summary_cap) + policy.further_cap // 3
    meeting.take_all(found, room)
    return draft.finished(memory)


def foreseen(memory: Sequence[Line], found: Sequence[Candidate], policy: Policy, fold: int) -> tuple[Line, ...]:
    """Lines of memory and what the messages after it may be quoted for, as if those were folded without a cap."""
    draft = _Draft(memory, fold, policy)
    _Meeting(draft).take_all(found, _ANY)
    return tuple(draft.lines.values())


def shortlist(found: Sequence[Candidate], room: int) -> list[Candidate]:
    """The candidates that may become lines within a room of tokens, with a reserve, in their order; of messages that hardly say
    anything, the best one."""
    telling = [one for one in found if one.worth >= (ASKING if one.words.endswith(("?", "？")) else LEAST)]
    if not telling:
        return sorted(found, key=lambda one: (-one.worth, one.places))[:1]
    return [telling[at] for at in choose(telling, [_about(one) for one in telling], _RESERVE * room)]


def _about(candidate: Candidate) -> int:
    """Tokens of a line, roughly."""
    return 6 + len(candidate.words) // (4 if candidate.words.isascii() else 2)


def fold_text(
    memory: Sequence[Line], written: Sequence[Line], found: Sequence[Candidate], policy: Policy, fold: int, whole: bool
) -> Change:
    """Memory rewritten by a summarizer: its lines replace the whole summary, leaves and all, or become a new leaf. Of the
    quotations, what surely stands and what the user has promised survives it where it is not mentioned."""
    layer = LONG if whole else LEAF
    draft = _Draft(memory, fold, policy)
    kept = (FACT, FURTHER)
    replaced = {line.id: line for line in draft.lines.values() if line.layer not in kept} if whole else {}
    known = {normal(line.text): line for line in replaced.values()}
    quoted = [line for line in draft.lines.values() if line.quoted and (line.layer in kept or line.id in replaced)]
    for id in replaced:
        draft.remove(id)
    for line in written:
        key = normal(line.text)
        if line.section == PINNED or not key or key in draft.texts:
            continue
        same = known.get(key)
        if same is not None and same.section == line.section:
            draft.put(same)  # said again in the same words: the same line
        else:
            draft.add(line, layer=layer)
    holding = {line.id: line for line in fold_quotations(quoted, found, _uncapped(policy), fold).lines}
    for line in quoted:
        if line.layer in kept and line.id not in holding:
            draft.remove(line.id)  # overruled by what was said since
    surviving = {line.id for line in survivors(holding.values(), [line.text for line in written])}
    for line in holding.values():
        if line.id in draft.lines or normal(line.text) in draft.texts:
            continue
        if line.id not in surviving:  # gives way to what was written, and stays for contexts with room
            if policy.further_cap:
                draft.add(line, layer=FURTHER)
        elif line.id in replaced:
            draft.put(line)
        else:
            draft.add(line, layer=draft.layer_of(line, line.standing, layer))
    return draft.finished(memory)


def _uncapped(policy: Policy) -> Policy:
    caps = ("summary_cap", "leaf_cap", "facts_cap", "further_cap")
    return policy.with_values({cap: _ANY for cap in caps if getattr(policy, cap)})


def roll_up(memory: Sequence[Line], folds: Sequence[int], policy: Policy, fold: int) -> Change:
    """Merge the leaves of some folds into the long summary."""
    draft = _Draft(memory, fold, policy)
    draft.move([line for line in memory if line.layer == LEAF and line.fold in folds])
    return draft.finished(memory)


def rebuild(memory: Sequence[Line], leaves: Sequence[Line], policy: Policy, fold: int) -> tuple[Line, ...]:
    """The long summary made anew from the summaries of all folds, oldest first; facts stay."""
    draft = _Draft([line for line in memory if line.layer in (FACT, FURTHER)], fold, policy)
    for line in leaves:
        if normal(line.text) not in draft.texts:
            draft.add(line, layer=LONG)
    return draft.finished(()).lines


def quotation(candidate: Candidate) -> Line:
    """A candidate as a line; its tokens are counted where it joins memory. What outright words name is worth a place, and where
    that is a kind that stands they are as sure as a score: a rule, or what somebody's health does not bear, surely."""
    kind, worth, standing = candidate.kind, candidate.worth, candidate.standing
    if kind != "fact":
        worth = max(worth, NAMED)
    if candidate.role == "user" and is_standing(kind, 0):
        outright = kind == "rule" or (kind == "constraint" and has_condition(candidate.words))
        standing = max(standing, SURE if outright else STANDING)
    if standing >= SURE and passing(candidate.words):
        standing = SURE - 1
    return Line(
        "", section_of(kind), candidate.text, candidate.sources, kind=kind, quote=candidate.words,
        places=candidate.places, role=candidate.role, said_by=candidate.said_by, said_at=candidate.said_at, author=QUOTATION,
        worth=worth, standing=standing,
    )  # fmt: skip


def survivors(lines: Iterable[Line], answer: Sequence[str]) -> list[Line]:
    """The quotations that a summarizer's answer may not lose and does not mention: what surely stands, and what the user has
    promised. One is mentioned where all its words stand in one line of the answer."""
    told = [words(text) for text in answer]
    return [
        line
        for line in lines
        if line.quoted and is_promised(line) and not any(words(line.text) <= said for said in told)
    ]


def is_promised(line: Line) -> bool:
    """Whether a quotation surely stands, or is a commitment of the user's that is open."""
    promise = line.own and line.kind == "open" and not line.text.rstrip().endswith(("?", "？"))
    return line.sure or promise


def rank(lines: Sequence[Line]) -> list[Line]:
    """Lines by how much they deserve their place: health, safety and law first; of equals the newer first."""
    return sorted(lines, key=lambda line: (not is_vital_line(line), -value(line), -newest([line]), line.fold, line.id))


def is_vital_line(line: Line) -> bool:
    """Whether a line must not be pushed out by what only matters: a person's own words of health, safety or law."""
    return line.own and is_vital(line.words)


def value(line: Line) -> int:
    """What a line is worth to whoever has to choose: what its author wrote on purpose is worth most."""
    return MOST + line.worth if not line.quoted else max(line.worth, line.standing)


class _Draft:
    """Memory being rewritten; new lines carry a running id of their fold."""

    def __init__(self, memory: Sequence[Line], fold: int, policy: Policy) -> None:
        self.lines: dict[str, Line] = {}
        self.texts: dict[str, str] = {}
        self.fold, self.policy = fold, policy
        # A fold in several passes goes on numbering.
        self.made = max((int(line.id.split(".")[1]) for line in memory if line.fold == fold), default=0)
        for line in memory:
            self.put(line)
        # After a change of policy: what layers it does not have held joins the long summary.
        gone = {layer for layer, cap in ((LEAF, policy.leaf_cap), (FACT, policy.facts_cap)) if not cap}
        self.move([line for line in self.lines.values() if line.layer in gone])
        if not policy.further_cap:
            for line in [line for line in self.lines.values() if line.layer == FURTHER]:
                self.remove(line.id)

    def put(self, line: Line) -> None:
        self.lines[line.id] = line
        self.texts[normal(line.text)] = line.id

    def add(self, line: Line, **values: Any) -> Line:
        """Put a line, with these values, under a new id."""
        self.made += 1
        sources = tuple(sorted({*values.pop("sources", line.sources)}))
        line = replace(
            line,
            id=f"{self.fold}.{self.made}",
            fold=self.fold,
            sources=sources,
            tokens=line_tokens(line.shown),
            **values,
        )
        self.put(line)
        return line

    def remove(self, id: str) -> None:
        line = self.lines.pop(id)
        if self.texts.get(normal(line.text)) == id:
            del self.texts[normal(line.text)]

    def move(self, lines: Sequence[Line]) -> None:
        """Lines become part of the long summary."""
        for line in lines:
            self.remove(line.id)
        for line in lines:
            self.add(line, layer=LONG)

    def let_go(self, line: Line) -> None:
        """A quotation that a summary has no room for stays for contexts that have."""
        self.remove(line.id)
        if self.policy.further_cap and line.quoted and line.layer != FURTHER:
            self.add(line, layer=FURTHER)

    def layer_of(self, line: Line, standing: int, other: str) -> str:
        """Where a quotation goes: what people said that holds has a share of its own, where the policy has one."""
        return FACT if line.own and standing >= STANDING and self.policy.facts_cap else other

    def finished(self, memory: Sequence[Line]) -> Change:
        policy = self.policy
        shown: list[Line] = []
        for layer, cap in ((FACT, policy.facts_cap), (LONG, policy.summary_cap), (LEAF, policy.leaf_cap)):
            if cap:
                self._cap(layer, cap, shown)
                shown += [line for line in self.lines.values() if line.layer == layer]
        if policy.further_cap:
            self._cap(FURTHER, policy.further_cap, shown)
        before = {line.id for line in memory}
        lines = tuple(self.lines.values())
        return Change(
            tuple(line.id for line in memory if line.id not in self.lines),
            tuple(line for line in lines if line.id not in before),
            lines,
        )

    def _cap(self, layer: str, cap: int, shown: Sequence[Line]) -> None:
        """Let the least telling lines of a layer go until it fits; a leaf is capped by itself. What other layers show already
        is not shown again."""
        mine = [line for line in self.lines.values() if line.layer == layer]
        by_seq: dict[int, list[Line]] = {}
        for other in shown:
            for place in other.places[-1:]:
                by_seq.setdefault(place.seq, []).append(other)
        for line in mine:
            near = [other for place in line.places[-1:] for other in by_seq.get(place.seq, ())]
            if line.quoted and any(overlap(line, other) for other in near):
                self.remove(line.id)
        mine = [line for line in mine if line.id in self.lines]
        folds = sorted({line.fold for line in mine}) if layer == LEAF else [0]
        for fold in folds:
            group = [line for line in mine if line.fold == fold] if layer == LEAF else mine
            kept = _best(group, cap, shown if layer == FURTHER else ())
            for line in group:
                if line.id not in kept:
                    self.let_go(line)
            if group and not kept and layer != FURTHER:  # a single line longer than the cap is cut, not lost
                line = rank(group)[0]
                self.add(replace(line, text=excerpt(line.text, max(8, cap - 16), " … ")))


def overlap(one: Line, other: Line) -> bool:
    """Whether two quotations have words of a message in common."""
    return any(
        a.seq == b.seq and a.start < b.end and b.start < a.end for a in one.places[-1:] for b in other.places[-1:]
    )


def _best(group: Sequence[Line], cap: int, shown: Sequence[Line] = ()) -> set[str]:
    """The lines that stay within a cap: what was written on purpose, then the quotations that tell most beside those shown."""
    written = rank([line for line in group if not line.quoted])
    while written and _shown_tokens(group, written) > cap:
        written.pop()
    quoted = [line for line in group if line.quoted]
    telling = [line for line in quoted if line.worth >= TELLING or line.standing >= STANDING]
    if len(telling) >= _ENOUGH and not all(line.layer == FURTHER for line in quoted):
        quoted = telling  # a short memory takes what there is
    headings = {line.section for line in quoted}
    room = cap - block_tokens(written) - sum(heading_tokens(section, True) for section in headings)
    first = [line for line in quoted if is_vital_line(line)]
    ids = {line.id for line in first}
    kept = [*written]
    for some in (first, [line for line in quoted if line.id not in ids]):
        tokens = [line.tokens for line in some]
        known = {stem for line in (*kept, *shown) for stem in stems(line.text)}
        kept += [some[at] for at in choose(some, tokens, room, known)]
        room = cap - block_tokens(kept)
    kept = rank(kept)
    while kept and _shown_tokens(group, kept) > cap:  # headings and marks take more than was thought
        kept.pop()
    return {line.id for line in kept}


def _shown_tokens(group: Sequence[Line], kept: Sequence[Line]) -> int:
    """Tokens of some lines of a group as they are shown: in the group's order, on which their number depends a little."""
    ids = {line.id for line in kept}
    return count(render(line for line in group if line.id in ids))


class _Meeting:
    """New quotations meeting the lines of memory, one by one."""

    def __init__(self, draft: _Draft) -> None:
        self.draft = draft
        self.index = Index()
        self.at: dict[int, str] = {}  # place in the index -> line
        self.places: dict[str, int] = {}  # the other way round
        for line in draft.lines.values():
            self._know(said_of(line), line)

    def _know(self, said: Said, line: Line) -> None:
        at = self.index.add(said)
        self.at[at], self.places[line.id] = line.id, at

    def _repeat(self, old: Line, line: Line) -> None:
        """What is said again is one line, which rests on both messages."""
        self.draft.remove(old.id)
        new = self.draft.add(old, sources=(*old.sources, *line.sources))
        at = self.places.pop(old.id)
        self.at[at], self.places[new.id] = new.id, at

    def take_all(self, found: Sequence[Candidate], room: int) -> None:
        """Let candidates change what memory holds; those become lines that may find a place in a room of tokens."""
        short = {id(one) for one in shortlist(found, room)}
        for candidate in found:
            if id(candidate) in short or candidate.role == "user":  # whose word may change what memory holds
                self.take(candidate, id(candidate) in short)

    def take(self, candidate: Candidate, worthy: bool) -> None:
        """Let a candidate change what memory holds; it becomes a line if it is worthy of one, or takes the place of one."""
        draft, line = self.draft, quotation(candidate)
        same = draft.lines.get(draft.texts.get(normal(line.text), ""))
        if same is not None and same.quoted and same.said_by == line.said_by:  # said again in the same words
            self._repeat(same, line)
            return
        worth, standing, said = line.worth, line.standing, said_of(line)
        worthy = worthy or line.kind != "fact"
        for at, effect in effects(said, self.index):
            old = draft.lines[self.at[at]]
            if effect is Effect.CONFLICTS:
                continue
            if effect is Effect.REPEATS:
                self._repeat(old, line)
                return
            if effect is Effect.REPLACES:  # the new one is never the one that is lost
                worth, standing, worthy = max(worth, old.worth, NAMED), max(standing, old.standing), True
            draft.remove(old.id)
            self.index.remove(at)
        if not worthy:
            return
        asked = {(place,) for place in line.places[:-1]}
        # A question stands before its answer.
        for question in [one for one in draft.lines.values() if one.places in asked] if asked else ():
            draft.remove(question.id)
            self.index.remove(self.places[question.id])
        layer = draft.layer_of(line, standing, LEAF if draft.policy.leaf_cap else LONG)
        self._know(said, draft.add(line, worth=worth, standing=standing, layer=layer))


def said_of(line: Line) -> Said:
    """A line as it is compared with others."""
    text = line.text if line.quoted else _as_said(line.text)
    return _said(text, line.role or "user", line.said_by, newest([line]), line.said_at, line.kind, line.chat)


def _as_said(text: str) -> str:
    """What was written of the user, as the user would say it: "The user's budget" is "My budget"."""
    mine = _OF_USER.sub("My ", text, count=1)
    return (
        mine if mine != text else _BY_USER.sub(lambda found: f"I {_DO.get(found[1]) or found[1][:-1]} ", text, count=1)
    )


_OF_USER = re.compile(r"^(?:the )?user['’]s ", re.IGNORECASE)
_BY_USER = re.compile(r"^(?:the )?user (\w+s) ", re.IGNORECASE)
_DO = {"is": "am", "was": "was", "has": "have", "does": "do"}
_said = functools.lru_cache(maxsize=8192)(Said.of)
