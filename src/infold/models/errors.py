"""What can go wrong when a model is called, by what to do about it."""

from __future__ import annotations


class ModelError(Exception):
    """A model did not give an answer."""

    kind = "failed"


class TransportError(ModelError):
    """Network, timeout, overload: worth another try; `wait` is the provider's wish, in seconds."""

    kind = "transport"

    def __init__(self, message: str, wait: float | None = None, *, late: bool = False) -> None:
        super().__init__(message)
        self.wait = wait
        self.late = late
        """The time was up: a smaller request may do."""


class DeniedError(ModelError):
    """Key, name or address are wrong: asking again changes nothing until somebody repairs them."""

    kind = "denied"


class TooLargeError(ModelError):
    """The request or its answer is more than the model takes: a smaller one may do."""

    kind = "too large"


class BadAnswerError(ModelError):
    """The answer cannot be used, and the same request would get the same one."""

    kind = "bad answer"
