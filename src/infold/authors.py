"""Who can write a summary: a function of the user's, or a language model. Each turns a task into a proposal."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Protocol

from infold.errors import sanitized
from infold.folding.prompting import (
    CALL_TOKENS,
    TURNS,
    AnswerError,
    Prompt,
    Proposal,
    Task,
    build,
    read,
    read_text,
)
from infold.folding.text import check_summary, cite, written
from infold.ledger.rows import Call
from infold.messages import Message
from infold.models.caller import Caller
from infold.models.clients import Ask

log = logging.getLogger("infold")

ANSWER_TOKENS = 2000
"""What an answer may take beyond its lines: JSON around them, and a model's reasoning."""
PROMPT_TOKENS = 600
"""What every request begins with, about."""


class Summarizer(Protocol):
    """Anything with `summarize_memory`'s signature."""

    def __call__(self, current_memory_summary: str, messages_to_summarize: list[Message], /) -> str: ...


class Author(Protocol):
    """One way to get a summary written."""

    @property
    def label(self) -> str: ...

    @property
    def available(self) -> bool:
        """Whether it makes sense to ask now."""
        ...

    @property
    def patience(self) -> float:
        """Seconds that writing may take at most."""
        ...

    def room(self, cap: int) -> int:
        """Tokens of messages that one task may hold, beside memory of `cap` tokens."""
        ...

    def write(self, task: Task, calls: list[Call]) -> Proposal:
        """Write what is asked; calls of a model are added to `calls`."""
        ...


class FunctionAuthor:
    """A function given by the user."""

    label = "summarizer"
    available = True
    patience = 600.0

    def __init__(self, summarizer: Summarizer) -> None:
        self._summarizer = summarizer

    def room(self, cap: int) -> int:  # noqa: ARG002  a function has no window that could be known
        return CALL_TOKENS

    def write(self, task: Task, calls: list[Call]) -> Proposal:  # noqa: ARG002  and reports no calls
        answer = check_summary(self._summarizer(task.summary, list(task.messages)))
        return Proposal(tuple(cite(written(answer), task.messages, task.memory)))


class ModelAuthor:
    """A language model."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self.label = caller.model.label

    @property
    def available(self) -> bool:
        return self._caller.breaker.closed

    @property
    def patience(self) -> float:
        return self._caller.patience

    def room(self, cap: int) -> int:
        window = self._caller.context_window
        if window is None:
            return CALL_TOKENS
        # Prompt, memory and answer share the window with the messages.
        return max(256, min(CALL_TOKENS, window - PROMPT_TOKENS - cap - self._most(cap)))

    def _most(self, cap: int) -> int:
        """Tokens that an answer may take."""
        window = self._caller.context_window
        return min(cap * 3 + ANSWER_TOKENS, window // 4 if window else CALL_TOKENS)

    def write(self, task: Task, calls: list[Call]) -> Proposal:
        hosted = self._caller.model.provider == "prompt"
        if hosted:
            task = replace(task, layout=TURNS)
        prompt = build(task, self.room(task.cap))
        asked = Ask(prompt.system, prompt.user, prompt.schema, prompt.version, self._most(task.cap))
        answer = self._caller.ask(asked, calls)
        try:
            proposal = (
                read_text(answer.text, task, _hosted(prompt, self.label)) if hosted else read(answer.text, task, prompt)
            )
        except AnswerError:
            calls[-1] = replace(calls[-1], outcome="bad answer")
            log.debug("an answer of %s cannot be used: %s", self.label, sanitized(answer.text))
            raise
        return replace(proposal, model=self.label)


def _hosted(prompt: Prompt, label: str) -> Prompt:
    return replace(prompt, version=label)
