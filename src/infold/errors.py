"""Every error infold raises on purpose. Each message says what is wrong and what to do about it."""

from __future__ import annotations

import re


def sanitized(text: str, most: int = 200) -> str:
    """The beginning of a foreign text on one line, without characters that could do anything to a terminal or a log."""
    return " ".join("".join(ch if ch.isprintable() else " " for ch in text[:most]).split())


def masked(url: str) -> str:
    """An address without its password, for people to see."""
    # Up to the last @, for a password may have one too: hiding too much is better than too little.
    url = re.sub(r"(://[^:/@?]*):.*@", r"\1:***@", url)
    url = re.sub(r"(https?://)[^/]*@", r"\1***@", url)  # there the name alone may be a token
    url = re.sub(
        r"((?:^|[\s'\"])(?:ssl)?password\s*=).*", r"\1***", url, flags=re.IGNORECASE | re.DOTALL
    )  # as libpq has it
    return re.sub(r"([?&][^=&]*(?:password|secret|key|token)[^=&]*=)[^&]*", r"\1***", url, flags=re.IGNORECASE)


class InfoldError(Exception):
    """Base of all errors raised by infold."""


class MessageError(InfoldError, ValueError):
    """A message is not a valid Chat Completions message."""


class OrphanResultError(MessageError):
    """A tool result was added whose call is not waiting for it."""


class DuplicateIdError(MessageError):
    """A message id is already taken by a message with other content."""


class ConfigError(InfoldError, ValueError):
    """A policy, setting or argument has a value that cannot work."""


class UnknownPresetError(ConfigError):
    """No preset has this name."""


class PolicyMismatchError(ConfigError):
    """A chat was reopened with a policy other than the one stored with it."""


class BudgetError(InfoldError, ValueError):
    """A token budget is not a sensible number, or too small for what must be in the context."""


class NotFoundError(InfoldError, LookupError):
    """No such chat, message, pin or file."""


class MovedOnError(InfoldError):
    """A chat has other messages by now than it was expected to have."""


class SummarizerError(InfoldError):
    """The summarizer failed or returned something unusable, and the policy says to raise."""


class ClosedError(InfoldError):
    """The memory was closed, or the chat deleted."""


class DatabaseError(InfoldError):
    """The database cannot be used as asked. Nothing was changed."""


class ForeignDatabaseError(DatabaseError):
    """The file is not an infold database."""


class NewerDatabaseError(DatabaseError):
    """The database was written by a newer infold."""


class OlderDatabaseError(DatabaseError):
    """The database was written by an older infold, and was not to be changed."""


class ReadOnlyDatabaseError(DatabaseError):
    """The database cannot be written to."""


class DatabaseFullError(DatabaseError):
    """The disk, or the page limit of the database, is full."""


class DatabaseBusyError(DatabaseError):
    """Another process held the database longer than the timeout."""


class EmbedderError(InfoldError):
    """The embedder of recall gave no vectors."""
