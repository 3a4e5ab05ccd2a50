"""A reply, read while it passes by."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from infold.service.wire import Api, Reply

_MOST_REPLY = 1 << 23


class Reader:
    """Reads a reply while it passes by."""

    def __init__(self, api: Api | None, status: int, media: str, encoding: str) -> None:
        self._api = api
        self._status = status
        self._media = media
        self._stream = api.stream() if api is not None and "event-stream" in media and status < 300 else None
        self._whole = bytearray()
        self._unpack = zlib.decompressobj(wbits=47) if encoding in ("gzip", "deflate") else None
        self._readable = encoding in ("", "identity", "gzip", "deflate")

    def feed(self, chunk: bytes) -> None:
        if self._api is None or not self._readable:
            return
        if self._unpack is not None:
            try:
                chunk = self._unpack.decompress(chunk)
            except zlib.error:
                self._readable = False
                return
        if self._stream is not None:
            self._stream.feed(chunk)
        elif len(self._whole) <= _MOST_REPLY:
            self._whole += chunk

    def reply(self) -> Reply | None:
        """What was said; None where there is nothing to keep."""
        if self._api is None or not self._readable:
            return None
        if self._stream is not None:
            return self._stream.reply()
        return self._api.replies(bytes(self._whole), self._status, self._media)
