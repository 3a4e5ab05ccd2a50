"""The routes of the API."""

from infold.service.api import chats, events, knowledge, memory, operations

# In this order a route is looked for: what is asked for most comes first.
ROUTERS = (memory.routes, chats.routes, knowledge.routes, events.routes, operations.routes)

__all__ = ["ROUTERS"]
