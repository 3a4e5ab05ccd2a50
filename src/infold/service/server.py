"""The HTTP server."""

from __future__ import annotations

import socket

import uvicorn
from fastapi import FastAPI


class Server(uvicorn.Server):
    """Uvicorn, which waits for open answers when it stops; streams of events would keep it waiting, so it ends them."""

    def __init__(self, config: uvicorn.Config, app: FastAPI) -> None:
        super().__init__(config)
        self._app = app

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._app.state.service.feed.end()
        await super().shutdown(sockets)
