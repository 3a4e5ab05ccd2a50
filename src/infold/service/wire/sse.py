"""Server-sent events out of bytes that arrive in any pieces. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

LIMIT = 4 << 20  # bytes of one event that are held

_END = re.compile(rb"\r\n|\n|\r")
_MARK = b"\xef\xbb\xbf"  # a byte order mark, which may stand at the very beginning


@dataclass(frozen=True, slots=True)
class Event:
    """One event: its name, empty where it has none, and its data."""

    name: str
    data: str


class Parser:
    """Reads a stream of events, as browsers do. An event that was not ended by an empty line is none."""

    def __init__(self, limit: int = LIMIT) -> None:
        self.overflown = False
        """Whether an event was too large and left out."""
        self._limit = limit
        self._line: list[bytes] = []  # pieces of the line that has not ended
        self._data: list[bytes] = []
        self._name = b""
        self._size = 0  # bytes held of the event so far
        self._skipping = False  # the event is too large: nothing of it is held
        self._lost = False  # the line that has not ended was not empty, but is not held
        self._after_cr = False  # a line feed that comes next belongs to it
        self._begun = False

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that end in this chunk."""
        if not chunk:
            return []
        if self._after_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        self._after_cr = chunk.endswith(b"\r")
        *ends, rest = _END.split(chunk)
        found: list[Event] = []
        for end in ends:
            self._hold(end)
            line = b"".join(self._line)
            self._line.clear()
            if not self._begun:
                self._begun, line = True, line.removeprefix(_MARK)
            if line or self._lost:
                self._field(line)
            else:
                found += self._event()
            self._lost = False
        self._hold(rest)
        return found

    def _hold(self, piece: bytes) -> None:
        if not piece:
            return
        self._size += len(piece)
        if self._size > self._limit:
            self.overflown = self._skipping = True
            self._line.clear()
            self._data.clear()
        if self._skipping:
            self._lost = True
        else:
            self._line.append(piece)

    def _field(self, line: bytes) -> None:
        if self._skipping:
            return
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
        else:  # a comment, or a field that says nothing about the reply, is not held
            self._size -= len(line)
            if field == b"event":
                self._name = value[:200]

    def _event(self) -> list[Event]:
        data, name, skipped = self._data, self._name, self._skipping
        self._data, self._name, self._size, self._skipping = [], b"", 0, False
        if skipped or not data:
            return []
        return [Event(name.decode(errors="replace"), b"\n".join(data).decode(errors="replace"))]
