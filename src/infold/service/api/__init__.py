"""The routes of the API."""

from infold.service.api import chats, events, knowledge, memory, operations

ROUTERS = (chats.routes, memory.routes, knowledge.routes, events.routes, operations.routes)

__all__ = ["ROUTERS"]
