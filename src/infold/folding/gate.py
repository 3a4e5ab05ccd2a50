"""Whether a summary that a language model proposes may be committed to memory. Pure: no model, no I/O.

Each line must be grounded (`grounding`) and speak like memory (`manner`); what still holds must not get lost
(`retention`). A line that fails gives way to its extractive twin, or goes; too many of them, and nothing is committed.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from infold.folding.evidence import claims_of, evidence_of_text, stems_of
from infold.folding.extractive import retold
from infold.folding.grounding import Grounds, Support
from infold.folding.likeness import words
from infold.folding.manner import long_runs, manner, prompted
from infold.folding.merge import Change
from infold.folding.polarity import opposed
from infold.folding.retention import Asked, Lines, Statements, covered, merged, restated, statements, superseded
from infold.items import CLOSING, PINNED, SECTIONS, Candidate, Item, heading_tokens, line_tokens, normal
from infold.messages import Message

_LONGEST = 80  # tokens of one line
_TOO_LARGE = 2  # times the cap
_CONFIDENT = 0.75  # a statement from here on is not left out
_OLD_SHARE, _NEW_SHARE = 0.5, 0.3  # of the telling words: to count as said by a line
_MOST_SOURCES = 6
_RETOLD = 2  # words that a sentence must share with a line to be told in its place
_UNSURE = 0.5  # how sure one can be of such a line
_DETAIL = 120
_KEPT = 8  # bases of judgements


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing the gate found, and what it did about it."""

    reason: str
    """A stable code: number, date, identifier, name, negation, modality, unsupported, transcript, reply, refusal, prompt,
    copy, size, empty, schema, lost, pin, citation, failures."""
    detail: str
    """For a person, at most 120 characters."""
    action: str
    """dropped, replaced (by its extractive twin), carried (kept though the proposal left it out), recited or rejected."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the gate says of a proposal."""

    ok: bool
    lines: tuple[Candidate, ...]
    """What may be committed: sound lines and twins in their order, then what was carried over; none if not ok."""
    findings: tuple[Finding, ...]

    @property
    def reasons(self) -> dict[str, int]:
        """How often each reason was found, by name."""
        return dict(sorted(Counter(finding.reason for finding in self.findings).items()))


def judge(
    lines: Sequence[Candidate],
    sources: Sequence[Message],
    memory: Sequence[Item] = (),
    *,
    pins: Sequence[Item] = (),
    found: Sequence[Candidate] = (),
    cap: int = 500,
    whole: bool = True,
    prompts: Sequence[str] = (),
) -> Verdict:
    """What of a proposal may be committed, and why not the rest.

    `lines` cite messages by seq; `found` are the extractive candidates of `sources`; with `whole` the lines take the
    place of all of `memory`, else they only tell what is new.
    """
    lines = _distinct(lines)
    if not lines:
        return _rejected("empty", "the proposal has no lines")
    tokens = [line_tokens(line.text) for line in lines]
    headings = {line.section for line in lines} & SECTIONS.keys()
    if sum(tokens) + sum(map(heading_tokens, headings)) > _TOO_LARGE * cap:
        return _rejected("size", f"the proposal is more than {_TOO_LARGE} times its cap of {cap} tokens")
    gate = _Gate(sources, memory, pins, found, prompts)
    for line, size in zip(lines, tokens, strict=True):
        gate.weigh(line, size)
    if gate.failed * 2 > len(lines):
        return _rejected("failures", f"{gate.failed} of {len(lines)} lines fail", gate.findings)
    if not gate.sound.every:
        return _rejected("empty", "nothing sound is left", gate.findings)
    if whole:
        gate.keep_memory()
    sound = [line.candidate for line in gate.sound.every]
    return Verdict(True, (*sound, *gate.keep_statements()), tuple(gate.findings))


def _distinct(lines: Sequence[Candidate]) -> list[Candidate]:
    """Lines with words, each once, in their order; pins are not the summarizer's to write."""
    seen: dict[str, Candidate] = {}
    for line in lines:
        key = normal(line.text)
        if key and line.section != PINNED:
            known = seen.get(key)
            seen[key] = replace(known, sources=(*known.sources, *line.sources)) if known else line
    return list(seen.values())


def _rejected(reason: str, detail: str, findings: Sequence[Finding] = ()) -> Verdict:
    return Verdict(False, (), (*findings, Finding(reason, detail, "rejected")))


def _lost(detail: str) -> Finding:
    return Finding("lost", detail[:_DETAIL], "carried")


class _Basis:
    """What all proposals for the same messages are judged by."""

    def __init__(
        self, sources: Sequence[Message], memory: Sequence[Item], pins: Sequence[Item], found: Sequence[Candidate]
    ) -> None:
        self.remembered = {normal(item.text): item for item in memory}
        self.grounds = Grounds(sources, (*memory, *pins))
        self.seqs = {message.seq for message in sources}
        self.older = {seq for item in (*memory, *pins) for seq in item.sources}
        change = merged(memory, found) if found else Change((), (), tuple(memory))
        self.stated = Statements(statements(change, found, 0.0), _CONFIDENT, _NEW_SHARE)
        self.losses = [_lost(f"kept from the messages: {one.text}") for one in self.stated.every]
        gone = superseded(memory, change)
        self.lasting = [(item, Asked.of(item.text, item.sources)) for item in memory if item.id not in gone]
        """What memory holds and no message supersedes."""


_Key = tuple[tuple[Message | bytes, ...], tuple[Item, ...], tuple[Item, ...], tuple[Candidate, ...]]
_bases: list[tuple[_Key, _Basis]] = []
_lock = threading.Lock()


def _basis(
    sources: Sequence[Message], memory: Sequence[Item], pins: Sequence[Item], found: Sequence[Candidate]
) -> _Basis:
    """The basis of a judgement; the last ones are kept, for `prepare` and for proposals that follow a rejected one.

    Keys are compared, not hashed: what is the very same object costs nothing. A message that can be changed from outside
    goes by its hash.
    """
    messages = tuple([message if message.plain else message.sha256 for message in sources])
    key = (messages, tuple(memory), tuple(pins), tuple(found))
    with _lock:
        for at in range(len(_bases) - 1, -1, -1):
            if _bases[at][0] == key:
                _bases.append(_bases.pop(at))
                return _bases[-1][1]
    basis = _Basis(sources, memory, pins, found)
    with _lock:
        _bases.append((key, basis))
        del _bases[:-_KEPT]
    return basis


def forget_bases() -> None:
    """Drop what judgements were based on so far."""
    with _lock:
        _bases.clear()


def prepare(
    sources: Sequence[Message],
    memory: Sequence[Item] = (),
    *,
    pins: Sequence[Item] = (),
    found: Sequence[Candidate] = (),
) -> None:
    """Read what a proposal will be judged by, while the model still writes; optional, it only saves time."""
    _basis(sources, memory, pins, found)


class _Gate:
    """One proposal being judged."""

    def __init__(
        self,
        sources: Sequence[Message],
        memory: Sequence[Item],
        pins: Sequence[Item],
        found: Sequence[Candidate],
        prompts: Sequence[str],
    ) -> None:
        self.pins, self.prompts = pins, prompts
        self.messages = {message.seq: message for message in sources}
        self.basis = basis = _basis(sources, memory, pins, found)
        self.grounds, self.stated = basis.grounds, basis.stated
        self.remembered, self.seqs, self.older = basis.remembered, basis.seqs, basis.older
        self.sound = Lines()
        self.findings: list[Finding] = []
        self.failed = 0

    def note(self, reason: str, detail: str, action: str) -> None:
        self.findings.append(Finding(reason, detail[:_DETAIL], action))

    def weigh(self, line: Candidate, size: int) -> None:
        """Keep a line that is sound, put its twin in the place of one that is not."""
        item = self.remembered.get(normal(line.text))
        if item is not None:  # said before in the same words
            self._add(replace(line, sources=item.sources), False)
            return
        support = Support()
        reason, detail = self._form(line, size)
        if not reason:
            support = self.grounds.support(line.text, line.sources)
            reason, detail = support.reason, support.detail
        if reason in ("", "negation", "modality") and any(_against(line.text, pin) for pin in self.pins):
            reason, detail = "pin", "it contradicts a pinned line"
        if not reason:
            self._add(self._cited(line, support), self._is_new(line, support))
            return
        self.failed += not support.doubtful  # one that is only doubtful does not speak against the others
        twin = self._twin(line) or (self._retold(line) if support.doubtful else None)
        if twin is not None:
            self._add(twin, True)
        self.note(reason, detail, "replaced" if twin is not None else "dropped")

    def _form(self, line: Candidate, size: int) -> tuple[str, str]:
        if line.section not in SECTIONS:
            return "schema", f"there is no section {line.section[:40]!r}"
        reason = manner(line.text)
        if reason:
            return reason, "it does not speak like a line of memory"
        if size > _LONGEST:
            return "size", f"the line has more than {_LONGEST} tokens"
        if prompted(line.text, self.prompts):
            return "prompt", "it repeats the instructions"
        if (runs := long_runs(line.text)) and self.grounds.repeated(runs):
            return "copy", "it repeats too many words of a message in a row"
        return "", ""

    def _add(self, line: Candidate, new: bool) -> None:
        self.sound.add(line, new)

    def _is_new(self, line: Candidate, support: Support) -> bool:
        return any(seq in self.seqs for seq in line.sources) or any(
            self.grounds.documents[at].new for at in (*support.documents, *support.shared)
        )

    def _cited(self, line: Candidate, support: Support) -> Candidate:
        """The line with the sources it rests on: what it cites rightly, and what else has its claims."""
        documents = self.grounds.documents
        right = [
            seq
            for seq in dict.fromkeys(line.sources)
            if seq in self.older or (seq in self.seqs and self._speaks_of(seq, support))
        ]
        more = [seq for at in sorted(support.documents) for seq in documents[at].seqs if seq not in right]
        if not right and not more and support.shared:
            best = max(support.shared, key=lambda at: (support.shared[at], documents[at].new, at))
            more = list(documents[best].seqs)
        if not right and not more:
            right = [seq for seq in line.sources if seq in self.seqs]
        sources = tuple(sorted({*right, *more[:_MOST_SOURCES]}))
        if sources != tuple(sorted(set(line.sources))):
            self.note("citation", "it rests on other messages than it cites", "recited")
        return line if sources == line.sources else replace(line, sources=sources)

    def _speaks_of(self, seq: int, support: Support) -> bool:
        """Whether a cited message shares a word with the line, or no message does."""
        at = self.grounds.by_seq.get(seq, ())
        return not support.shared or any(
            one in support.shared or one - 1 in support.shared or one + 1 in support.shared for one in at
        )

    def _twin(self, line: Candidate) -> Candidate | None:
        """The extractive statement that says what a failing line should have said, where no line says it yet."""
        mine = words(line.text)
        best: tuple[float, int] | None = None
        near = {at for word in stems_of(line.text) for at in self.stated.speaking.get(word, ())}
        for at in sorted(near):
            one = self.stated.every[at]
            theirs = words(one.text)
            shared = len(mine & theirs) / max(1, min(len(mine), len(theirs)))
            cites = not set(line.sources).isdisjoint(one.sources)
            if shared >= (0.34 if cites else 0.5) and (best is None or shared > best[0]):
                best = (shared, at)
        if best is None or covered(self.stated.asked[best[1]], self.sound, _NEW_SHARE):
            return None
        return self.stated.every[best[1]]

    def _retold(self, line: Candidate) -> Candidate | None:
        """What a doubtful line rests on, told without the model: nothing of it shall be lost."""
        mine = words(line.text)
        told = [(*retold(self.messages[seq], mine), seq) for seq in line.sources if seq in self.messages]
        text, shared, seq = max(told, key=lambda one: (one[1], one[2]), default=("", 0, 0))
        if shared < _RETOLD or manner(text) or line_tokens(text) > _LONGEST:
            return None
        if covered(Asked.of(text, (seq,)), self.sound, _NEW_SHARE):
            return None
        return Candidate(line.section, text, (seq,), confidence=min(line.confidence, _UNSURE))

    def keep_memory(self) -> None:
        """Carry over what memory held, no message supersedes, and no line says any more."""
        lost = [
            item
            for item, asked in self.basis.lasting
            if not covered(asked, self.sound, _OLD_SHARE) and not restated(item, self.sound.every)
        ]
        for item in lost:
            self._add(Candidate(item.section, item.text, item.sources, confidence=item.confidence), False)
            self.findings.append(_lost(f"kept from memory: {item.text}"))

    def keep_statements(self) -> list[Candidate]:
        """What the messages state confidently and no line says, to be carried over."""
        missing = self.stated.missing(self.sound)
        self.findings += [self.basis.losses[at] for at in missing]
        return [self.stated.every[at] for at in missing]


def _against(text: str, pin: Item) -> bool:
    """Whether a line contradicts a pin: the same words with another figure, or denied."""
    mine, theirs = evidence_of_text(text), evidence_of_text(pin.text)
    if opposed(mine.clauses, theirs.clauses) == "negation":
        return True
    plain = frozenset(word for word in theirs.stems if not any(map(str.isdigit, word)))
    if len(plain & mine.stems) * 10 < 6 * len(plain) or not plain:
        return False
    ours, pinned = claims_of(text), claims_of(pin.text)
    values = {value for number in ours.numbers for value in number.values}
    kinds = {kind for number in ours.numbers for kind in number.kinds}
    figures = {value for number in pinned.numbers for value in number.values}
    if values and figures and values.isdisjoint(figures):
        return any(kinds & number.kinds for number in pinned.numbers)
    days = {day[1:] for one in ours.dates for day in one.days}
    pinned_days = {day[1:] for one in pinned.dates for day in one.days}
    return bool(days and pinned_days and days.isdisjoint(pinned_days))


assert CLOSING not in SECTIONS  # candidates that only close others are no lines
