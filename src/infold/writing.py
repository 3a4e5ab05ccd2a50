"""Getting a fold written: passes, the ladder of authors, the gate. Reads and writes no database."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from infold.authors import Author
from infold.errors import sanitized
from infold.folding.gate import Verdict, judge, prepare
from infold.folding.prompting import ITEMS, RECORD, TURNS, AnswerError, Proposal, Task, passes, prompts
from infold.ledger.rows import Call
from infold.lines.line import FACT, FUNCTION, FURTHER, Line, line_tokens, normal
from infold.lines.merging import fold_quotations, fold_text
from infold.lines.rendering import render
from infold.messages import Message
from infold.models.errors import BadAnswerError, TooLargeError, TransportError
from infold.policy import Policy
from infold.quoting.candidate import Candidate
from infold.quoting.history import read_all
from infold.quoting.reading import REACH
from infold.tokens import count
from infold.units import unit_slices

log = logging.getLogger("infold")

MOST_PASSES = 16
"""Passes of one fold; what is left over is the next one's."""
HALVINGS = 2
"""How often a pass that is too much for every author is cut in two."""
_LAYOUTS = {"chain": RECORD, "chunked": TURNS}
_SHOWN = 8  # findings that an event tells


class NobodyLeftError(Exception):
    """No author can be asked: all are left alone for a while, or have failed at exactly this before (`refused`)."""

    def __init__(self, message: str, *, refused: bool = False) -> None:
        super().__init__(message)
        self.refused = refused


class RejectedError(ValueError):
    """The gate found a summary unfit for memory."""


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be written."""

    base: tuple[Line, ...]
    """Memory to fold into."""
    pins: tuple[Line, ...]
    messages: tuple[Message, ...]
    policy: Policy
    fold: int
    """Number of the fold to come."""
    depth: int
    before: tuple[Message, ...] = ()
    """What was said right before the messages."""

    def read(self, part: Sequence[Message]) -> list[Candidate]:
        """What some of the messages, which follow each other, may be quoted for."""
        first = part[0].seq if part else 0
        before = [one for one in (*self.before, *self.messages) if first - REACH <= one.seq < first]
        return [one for found in read_all(part, before) for one in found]

    @property
    def asks(self) -> bool:
        """Whether there is anything to write about: messages, or lines to rewrite."""
        return bool(self.messages or any(line.layer not in (FACT, FURTHER) for line in self.base))

    @property
    def last(self) -> int:
        return self.messages[-1].seq if self.messages else 0

    @property
    def cap(self) -> int:
        """Most tokens of what is to be written."""
        return self.policy.summary_cap if self.whole else self.policy.leaf_cap

    @property
    def whole(self) -> bool:
        """Whether the summary is rewritten, rather than a leaf added to it."""
        return not (self.policy.leaf_cap and self.messages)


@dataclass(slots=True)
class Written:
    """A fold that passed the gate."""

    lines: tuple[Line, ...]
    """Memory after it."""
    last: int = 0
    """Position up to which messages were read."""
    second: Sequence[Line] = ()
    """The lines of a shorter rewrite, where the first was over its cap."""
    model: str | None = None
    prompt: str | None = None
    narrative: str | None = None
    passes: int = 0
    filtered: list[int] = field(default_factory=list)
    capped: list[int] = field(default_factory=list)
    extracted: list[tuple[int, int]] = field(default_factory=list)
    """Ranges that nobody wrote well: they are folded extractively."""
    failure: Exception | None = None
    """Why it ends before the job does."""

    @property
    def notes(self) -> dict[str, Any]:
        return {
            **({"passes": self.passes} if self.passes > 1 else {}),
            **({"filtered": self.filtered} if self.filtered else {}),
            **({"capped": self.capped} if self.capped else {}),
            **({"extracted": self.extracted} if self.extracted else {}),
        }


@dataclass(slots=True)
class Log:
    """What writing took, whatever came of it."""

    calls: list[Call] = field(default_factory=list)
    verdicts: list[dict[str, Any]] = field(default_factory=list)


class Answers:
    """The newest proposals that passed, by request; and the requests at which an author failed for good."""

    MOST = 128

    def __init__(self) -> None:
        self._kept: dict[tuple[str, ...], Proposal | None] = {}

    def get(self, *key: str) -> Proposal | None:
        return self._kept.get(key)

    def refused(self, *key: str) -> bool:
        return key in self._kept and self._kept[key] is None

    def forget(self, chat: str) -> None:
        """Drop what was answered for a chat."""
        for key in [key for key in self._kept.copy() if key[0] == chat]:
            self._kept.pop(key, None)

    def put(self, *key: str, proposal: Proposal | None) -> None:
        self._kept[key] = proposal
        while len(self._kept) > self.MOST:
            self._kept.pop(next(iter(self._kept)), None)


class Writer:
    """Writes the folds of one chat."""

    def __init__(self, chat: str, authors: Sequence[Author], answers: Answers, renew: Callable[[], None]) -> None:
        self._chat = chat
        self._authors = authors
        self._answers = answers
        self._renew = renew

    def write(self, job: Job, log: Log) -> Written:
        """The job done, or its beginning where a later pass fails; the error of the first pass is raised."""
        room = min(author.room(job.cap) for author in self._authors)
        waiting = deque((part, 0) for part in passes(job.messages, room) or [()])
        written = Written(job.base)
        while waiting and written.passes < MOST_PASSES:
            part, halved = waiting.popleft()
            if written.passes:
                self._renew()
            try:
                self._pass(job, part, written, log)
            except Exception as error:  # whatever an author does, what was read before stays read
                units = unit_slices(part)
                if _is_too_much(error) and len(units) > 1 and halved < HALVINGS:
                    half = len(units) // 2
                    for some in (units[half:], units[:half]):
                        waiting.appendleft((tuple(message for unit in some for message in unit), halved + 1))
                elif _is_refused(error) and job.policy.fallback == "extractive" and waiting:
                    _extracted(job, part, written)  # nobody writes these messages well: later ones need not wait
                elif written.passes:
                    written.failure = error
                    return written
                else:
                    raise
        return written

    def _pass(self, job: Job, part: tuple[Message, ...], written: Written, log: Log) -> None:
        """One pass by the first author whose proposal stands the gate; its error is raised if none does."""
        policy, whole = job.policy, job.whole
        task = Task(
            tuple(line for line in written.lines if line.layer not in (FACT, FURTHER)) if whole else (),
            job.pins,
            part,
            job.cap,
            job.depth,
            _LAYOUTS.get(policy.name, ITEMS),
            sum(message.tokens for message in part),
        )
        found = job.read(part)
        free = [author for author in self._authors if author.available]
        left = [author for author in free if not self._answers.refused(self._chat, author.label, task.key)]
        failure: Exception = NobodyLeftError("no summarizer can be asked at the moment", refused=bool(free))
        for author in left:
            try:
                proposal, lines = self._ask(author, task, log)
                second = self._shorter(author, task, lines, policy, log)
            except Exception as error:
                failure = error
                _note(author, error)
                if isinstance(error, AnswerError | RejectedError | BadAnswerError):  # it would say the same again
                    self._answers.put(self._chat, author.label, task.key, proposal=None)
                continue
            written.lines = fold_text(written.lines, lines, found, policy, job.fold, whole).lines
            written.last = part[-1].seq if part else written.last
            written.passes += 1
            written.second = second
            written.model, written.prompt, written.narrative = proposal.model, proposal.prompt, proposal.narrative
            written.filtered += proposal.filtered
            written.capped += proposal.capped
            return
        raise failure

    def _ask(self, author: Author, task: Task, log: Log) -> tuple[Proposal, tuple[Line, ...]]:
        """An author's proposal, and its lines after the gate."""
        key = (self._chat, author.label, task.key)
        prepare(task.messages, task.memory, pins=task.pins)  # while there is time
        proposal = self._answers.get(*key) or author.write(task, log.calls)
        verdict = judge(proposal.lines, task.messages, task.memory, pins=task.pins, cap=2 * task.cap, prompts=prompts())
        log.verdicts.append(_told(verdict, author, task))
        if not verdict.ok:
            if log.calls and log.calls[-1].outcome == "ok":
                log.calls[-1] = replace(log.calls[-1], outcome="rejected")
            first = next(iter(verdict.findings), None)
            raise RejectedError(f"the gate rejected the summary: {first.detail if first else 'nothing in it holds'}")
        self._answers.put(*key, proposal=proposal)
        if proposal.narrative and not _sound(proposal.narrative, task):
            proposal = replace(proposal, narrative=None)
        return proposal, tuple(_signed(verdict.lines, task, proposal.model or FUNCTION))

    def _shorter(self, author: Author, task: Task, lines: Sequence[Line], policy: Policy, log: Log) -> Sequence[Line]:
        """A chain's second pass where a summary is over its cap; elsewhere the least durable lines give way."""
        tokens = count(render(lines))
        if not policy.max_depth or tokens <= task.cap:
            return ()
        if task.depth + 1 < policy.max_depth:
            known = tuple(replace(line, id=f"0.{at}", tokens=line_tokens(line.shown)) for at, line in enumerate(lines))
            again = replace(task, memory=known, messages=(), depth=task.depth + 1, tokens=0)
            _, shorter = self._ask(author, again, log)
            tokens = count(render(shorter))
            if tokens <= task.cap:
                return shorter
        raise RejectedError(f"the summary has {tokens} tokens, more than its cap of {task.cap}")


def _is_too_much(error: Exception) -> bool:
    """Whether fewer messages may do."""
    return isinstance(error, TooLargeError) or (isinstance(error, TransportError) and error.late)


def _is_refused(error: Exception) -> bool:
    """Whether everybody who could be asked has failed at exactly this before."""
    return isinstance(error, NobodyLeftError) and error.refused


def _extracted(job: Job, part: tuple[Message, ...], written: Written) -> None:
    """Fold a pass extractively, as a part of a fold that others write."""
    written.lines = fold_quotations(written.lines, job.read(part), job.policy, job.fold).lines
    written.last = part[-1].seq
    written.extracted.append((part[0].seq, part[-1].seq))


def _signed(lines: Sequence[Line], task: Task, author: str) -> list[Line]:
    """Lines with their author, and the number of rewrites between them and the messages."""
    read = {message.seq for message in task.messages}
    kept = {normal(line.text): line for line in task.memory}
    signed = []
    for line in lines:
        known = kept.get(normal(line.text))
        if known is not None:  # as memory had it
            signed.append(replace(known, section=line.section, sources=line.sources))
            continue
        older = [
            one.rewrites
            for one in task.memory
            if not read.issuperset(line.sources) and set(one.sources) & set(line.sources)
        ]
        signed.append(replace(line, author=author, rewrites=1 + max(older, default=0)))
    return signed


def _sound(narrative: str, task: Task) -> bool:
    """Whether a record's prose may be kept: it says nothing that its sources do not."""
    sentences = [part.strip() for part in narrative.replace("? ", ". ").split(". ") if part.strip()]
    lines = [Line("", "facts", sentence, ()) for sentence in sentences]
    verdict = judge(lines, task.messages, task.memory, pins=task.pins, cap=10 * task.cap, prompts=prompts())
    return verdict.ok and not any(finding.action in ("dropped", "rejected") for finding in verdict.findings)


def _told(verdict: Verdict, author: Author, task: Task) -> dict[str, Any]:
    """A verdict as an event tells it."""
    mended = any(finding.action == "dropped" for finding in verdict.findings)
    return {
        "verdict": "rejected" if not verdict.ok else "mended" if mended else "accepted",
        "author": author.label,
        "first": task.messages[0].seq if task.messages else None,
        "last": task.messages[-1].seq if task.messages else None,
        "lines": len(verdict.lines),
        "reasons": verdict.reasons,
        "findings": [[f.reason, f.action, f.detail] for f in verdict.findings[:_SHOWN]],
    }


def _note(author: Author, error: Exception) -> None:
    """A debug line: what an author returned may quote messages."""
    log.debug("the summarizer %s failed: %s: %s", author.label, type(error).__name__, sanitized(str(error)))
