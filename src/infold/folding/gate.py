"""Whether a summary that a language model proposes may be committed to memory. Pure: no model, no I/O."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from infold.folding.likeness import figures, words
from infold.items import Candidate, Item, line_tokens, normal
from infold.messages import Message

_LONGEST = 80  # tokens of one line


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing the gate found wrong, and what it did about it."""

    reason: str
    detail: str
    action: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the gate says of a proposal."""

    ok: bool
    lines: tuple[Candidate, ...]
    findings: tuple[Finding, ...]

    @property
    def reasons(self) -> dict[str, int]:
        """How often each reason was found."""
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
    """What of a proposal may be committed, and why not the rest."""
    said = words(" ".join([*(m.text for m in sources), *(item.text for item in (*memory, *pins))]))
    sound: list[Candidate] = []
    findings: list[Finding] = []
    for line in lines:
        if not normal(line.text) or line_tokens(line.text) > _LONGEST:
            findings.append(Finding("size", "a line is empty or too long", "dropped"))
        elif missing := sorted(figures(words(line.text)) - said):
            findings.append(Finding("number", f"{missing[0][:60]} is in none of its sources", "dropped"))
        else:
            sound.append(line)
    if not sound or len(findings) * 2 > len(lines):
        return Verdict(False, (), (*findings, Finding("empty", "too little of the proposal is sound", "rejected")))
    return Verdict(True, tuple(sound), tuple(findings))
