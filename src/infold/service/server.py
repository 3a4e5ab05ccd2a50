"""The HTTP server."""

from __future__ import annotations

import signal
import socket
from types import FrameType
from typing import TYPE_CHECKING

import uvicorn
from fastapi import FastAPI

from infold.service.connection import Connection

if TYPE_CHECKING:
    from infold.service.crew import Crew


class Server(uvicorn.Server):
    """Uvicorn, which waits for open answers when it stops; streams of events would keep it waiting, so it ends them."""

    def __init__(self, config: uvicorn.Config, app: FastAPI, crew: Crew | None = None) -> None:
        config.http = Connection
        super().__init__(config)
        self._app = app
        self._crew = crew
        if crew is not None:
            crew.count_with(app.state.service.metrics.on_event)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002  as uvicorn calls it
        """Begin to end. Unlike uvicorn's own, the signal is not raised again afterwards: there are workers to end, too."""
        self.force_exit |= self.should_exit and sig == signal.SIGINT
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._app.state.service.end()
        if self._crew is not None:
            self._crew.end()
        await super().shutdown(sockets)
