"""Whether a summary that a language model proposes may be committed to memory. Pure: no model, no I/O.

Each line must be grounded (`grounding`) and speak like memory (`manner`). A line that fails goes; too many of them, and
nothing is committed.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from infold.folding.evidence import claims_of, evidence_of_text
from infold.folding.grounding import Grounds, Support
from infold.folding.manner import long_runs, manner, prompted
from infold.folding.polarity import opposed
from infold.lines.kinds import PINNED, SECTIONS
from infold.lines.line import Line, line_tokens, normal
from infold.lines.rendering import heading_tokens
from infold.messages import Message

_LONGEST = 80  # tokens of one line
_TOO_LARGE = 2  # times the cap
_MOST_SOURCES = 6
_DETAIL = 120
_KEPT = 8  # bases of judgements


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing the gate found, and what it did about it."""

    reason: str
    """A stable code: number, date, identifier, name, negation, modality, unsupported, transcript, reply, refusal, prompt,
    copy, size, empty, schema, pin, citation, failures."""
    detail: str
    """For a person, at most 120 characters."""
    action: str
    """dropped, recited or rejected."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the gate says of a proposal."""

    ok: bool
    lines: tuple[Line, ...]
    """What may be committed: the sound lines, in their order; none if not ok."""
    findings: tuple[Finding, ...]

    @property
    def reasons(self) -> dict[str, int]:
        """How often each reason was found, by name."""
        return dict(sorted(Counter(finding.reason for finding in self.findings).items()))


def judge(
    lines: Sequence[Line],
    sources: Sequence[Message],
    memory: Sequence[Line] = (),
    *,
    pins: Sequence[Line] = (),
    cap: int = 500,
    prompts: Sequence[str] = (),
) -> Verdict:
    """What of a proposal may be committed, and why not the rest. `lines` cite messages by seq."""
    lines = _distinct(lines)
    if not lines:
        return _rejected("empty", "the proposal has no lines")
    tokens = [line_tokens(line.text) for line in lines]
    headings = {line.section for line in lines} & SECTIONS.keys()
    if sum(tokens) + sum(heading_tokens(section, False) for section in headings) > _TOO_LARGE * cap:
        return _rejected("size", f"the proposal is more than {_TOO_LARGE} times its cap of {cap} tokens")
    gate = _Gate(sources, memory, pins, prompts)
    for line, size in zip(lines, tokens, strict=True):
        gate.weigh(line, size)
    if gate.failed * 2 > len(lines):
        return _rejected("failures", f"{gate.failed} of {len(lines)} lines fail", gate.findings)
    if not gate.sound:
        return _rejected("empty", "nothing sound is left", gate.findings)
    return Verdict(True, tuple(gate.sound), tuple(gate.findings))


def _distinct(lines: Sequence[Line]) -> list[Line]:
    """Lines with words, each once, in their order; pins are not the summarizer's to write."""
    seen: dict[str, Line] = {}
    for line in lines:
        key = normal(line.text)
        if key and line.section != PINNED:
            known = seen.get(key)
            seen[key] = replace(known, sources=(*known.sources, *line.sources)) if known else line
    return list(seen.values())


def _rejected(reason: str, detail: str, findings: Sequence[Finding] = ()) -> Verdict:
    return Verdict(False, (), (*findings, Finding(reason, detail, "rejected")))


class _Basis:
    """What all proposals for the same messages are judged by."""

    def __init__(self, sources: Sequence[Message], memory: Sequence[Line], pins: Sequence[Line]) -> None:
        self.remembered = {normal(line.text): line for line in memory}
        self.grounds = Grounds(sources, (*memory, *pins))
        self.seqs = {message.seq for message in sources}
        self.older = {seq for line in (*memory, *pins) for seq in line.sources}


_Key = tuple[tuple[Message | bytes, ...], tuple[Line, ...], tuple[Line, ...]]
_bases: list[tuple[_Key, _Basis]] = []
_lock = threading.Lock()


def _basis(sources: Sequence[Message], memory: Sequence[Line], pins: Sequence[Line]) -> _Basis:
    """The basis of a judgement; the last ones are kept, for `prepare` and for proposals that follow a rejected one.

    Keys are compared, not hashed: what is the very same object costs nothing. A message that can be changed from outside
    goes by its hash.
    """
    messages = tuple([message if message.plain else message.sha256 for message in sources])
    key = (messages, tuple(memory), tuple(pins))
    with _lock:
        for at in range(len(_bases) - 1, -1, -1):
            if _bases[at][0] == key:
                _bases.append(_bases.pop(at))
                return _bases[-1][1]
    basis = _Basis(sources, memory, pins)
    with _lock:
        _bases.append((key, basis))
        del _bases[:-_KEPT]
    return basis


def forget_bases() -> None:
    """Drop what judgements were based on so far."""
    with _lock:
        _bases.clear()


def prepare(sources: Sequence[Message], memory: Sequence[Line] = (), *, pins: Sequence[Line] = ()) -> None:
    """Read what a proposal will be judged by, while the model still writes; optional, it only saves time."""
    _basis(sources, memory, pins)


class _Gate:
    """One proposal being judged."""

    def __init__(
        self, sources: Sequence[Message], memory: Sequence[Line], pins: Sequence[Line], prompts: Sequence[str]
    ) -> None:
        self.pins, self.prompts = pins, prompts
        basis = _basis(sources, memory, pins)
        self.grounds, self.remembered = basis.grounds, basis.remembered
        self.seqs, self.older = basis.seqs, basis.older
        self.sound: list[Line] = []
        self.findings: list[Finding] = []
        self.failed = 0

    def note(self, reason: str, detail: str, action: str) -> None:
        self.findings.append(Finding(reason, detail[:_DETAIL], action))

    def weigh(self, line: Line, size: int) -> None:
        """Keep a line that is sound."""
        known = self.remembered.get(normal(line.text))
        if known is not None:  # said before in the same words
            self.sound.append(replace(line, sources=known.sources))
            return
        support = Support()
        reason, detail = self._form(line, size)
        if not reason:
            support = self.grounds.support(line.text, line.sources)
            reason, detail = support.reason, support.detail
        if reason in ("", "negation", "modality") and any(_against(line.text, pin) for pin in self.pins):
            reason, detail = "pin", "it contradicts a pinned line"
        if not reason:
            self.sound.append(self._cited(line, support))
            return
        self.failed += not support.doubtful  # one that is only doubtful does not speak against the others
        self.note(reason, detail, "dropped")

    def _form(self, line: Line, size: int) -> tuple[str, str]:
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

    def _cited(self, line: Line, support: Support) -> Line:
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


def _against(text: str, pin: Line) -> bool:
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
