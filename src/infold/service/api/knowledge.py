"""Facts and entities of chats and of users, and what is known of a user over all chats."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated, Any, TypeVar

from fastapi import Query, Request
from starlette.responses import Response

from infold.chat import Chat
from infold.ledger import service as statements
from infold.memory import Memory
from infold.recall.hits import KINDS
from infold.service.api import answers, bodies, shown
from infold.service.api.common import (
    NOT_CHANGED,
    Admin,
    By,
    ChatId,
    Cursor,
    Limit,
    Reads,
    UserName,
    Writes,
    answer,
    listed,
    newest_first,
    no_content,
    page,
    router,
    tagged,
)
from infold.service.core import Desk
from infold.service.problems import Problem
from infold.user import User

T = TypeVar("T")
routes = router("knowledge")
All = Annotated[bool, Query(alias="all", description="Also what was superseded.")]


@routes.get("/v1/chats/{chat_id:id}/facts", response_model=answers.Page[answers.Line], responses=NOT_CHANGED)
async def chat_facts(
    chat_id: ChatId, desk: Reads, request: Request, every: All = False, cursor: Cursor = None, limit: Limit = 100
) -> Response:
    """What was stated in a chat and holds, oldest first."""
    found = await desk.with_chat(chat_id, lambda chat: _facts(chat, every))
    return tagged(request, listed(f"facts {every} {chat_id}", found, cursor, limit))


@routes.get("/v1/chats/{chat_id:id}/entities", response_model=answers.Page[answers.Entity])
async def chat_entities(chat_id: ChatId, desk: Reads, cursor: Cursor = None, limit: Limit = 100) -> Response:
    """Tasks, goals, problems, people, projects and files, newest first: of the chat's user, or of the chat."""
    found = await desk.with_chat(chat_id, _entities)
    return answer(newest_first(f"entities {chat_id}", found, cursor, limit))


@routes.put("/v1/chats/{chat_id:id}/entities", response_model=answers.Entity)
async def set_chat_entity(chat_id: ChatId, body: bodies.EntityGiven, desk: Writes) -> Response:
    """Add an entity by hand, or change what is known of it."""
    return answer(await desk.with_chat(chat_id, lambda chat: _set_entity(chat, body)))


@routes.delete("/v1/chats/{chat_id:id}/entities/{entity_id:id}", status_code=204, response_class=Response)
async def remove_chat_entity(chat_id: ChatId, entity_id: str, desk: Writes) -> Response:
    """Let an entity go."""
    await desk.with_chat(chat_id, lambda chat: chat.remove_entity(entity_id))
    return no_content()


@routes.get("/v1/users/{user:id}/facts", response_model=answers.Page[answers.Line], responses=NOT_CHANGED)
async def user_facts(
    user: UserName, desk: Reads, request: Request, every: All = False, cursor: Cursor = None, limit: Limit = 100
) -> Response:
    """What is known of a user over all chats, oldest first."""
    found = await _with_user(desk, user, lambda known: _facts(known, every))
    return tagged(request, listed(f"user facts {every} {user}", found, cursor, limit))


@routes.get("/v1/users/{user:id}/entities", response_model=answers.Page[answers.Entity])
async def user_entities(user: UserName, desk: Reads, cursor: Cursor = None, limit: Limit = 100) -> Response:
    """Tasks, goals, problems, people, projects and files of a user, newest first."""
    found = await _with_user(desk, user, _entities)
    return answer(newest_first(f"user entities {user}", found, cursor, limit))


@routes.put("/v1/users/{user:id}/entities", response_model=answers.Entity)
async def set_user_entity(user: UserName, body: bodies.EntityGiven, desk: Writes) -> Response:
    """Add an entity by hand, or change what is known of it; the user need not have a chat yet."""
    return answer(await desk.run(lambda memory: _set_entity(memory.user(user), body)))


@routes.delete("/v1/users/{user:id}/entities/{entity_id:id}", status_code=204, response_class=Response)
async def remove_user_entity(user: UserName, entity_id: str, desk: Writes) -> Response:
    """Let an entity go."""
    await _with_user(desk, user, lambda known: known.remove_entity(entity_id))
    return no_content()


@routes.post("/v1/users/{user:id}/lines/{line_id:id}/correct", response_model=answers.Line)
async def correct(user: UserName, line_id: str, body: bodies.Correction, desk: Writes, by: By = "user") -> Response:
    """Say what a fact should say; it holds until somebody says something new."""
    return answer(await _with_user(desk, user, lambda known: shown.line(known.correct(line_id, body.text, by=by))))


@routes.post("/v1/users/{user:id}/lines/{line_id:id}/retract", status_code=204, response_class=Response)
async def retract(user: UserName, line_id: str, desk: Writes, by: By = "user") -> Response:
    """Take a fact back."""
    await _with_user(desk, user, lambda known: known.retract(line_id, by=by))
    return no_content()


@routes.post("/v1/users/{user:id}/lines/{line_id:id}/confirm", response_model=answers.Line)
async def confirm(user: UserName, line_id: str, desk: Writes, by: By = "user") -> Response:
    """Say that a fact is so."""
    return answer(await _with_user(desk, user, lambda known: shown.line(known.confirm(line_id, by=by))))


@routes.get("/v1/users/{user:id}", response_model=answers.User)
async def get_user(user: UserName, desk: Reads) -> Response:
    """Whether what a user says is known over all chats."""
    return answer(await _with_user(desk, user, _shown))


@routes.patch("/v1/users/{user:id}", response_model=answers.User)
async def change_user(user: UserName, body: bodies.UserChanges, desk: Writes) -> Response:
    """Let a user be known over all chats, or each chat be kept to itself; the user need not have a chat yet."""

    def work(memory: Memory) -> dict[str, Any]:
        known = memory.user(user)
        known.remember = body.remember
        return _shown(known)

    return answer(await desk.run(work))


@routes.post("/v1/users/{user:id}/recall", response_model=answers.Page[answers.Hit])
async def user_recall(user: UserName, body: bodies.Recall, desk: Reads) -> Response:
    """What was said in the chats of a user that answers a query, best first."""

    def work(known: User) -> list[dict[str, Any]]:
        kinds = KINDS if body.kinds is None else body.kinds
        hits = known.recall(body.query, limit=body.limit, kinds=kinds, since=body.since, until=body.until)
        return [shown.hit(hit) for hit in hits]

    return answer(page(await _with_user(desk, user, work)))


@routes.post("/v1/users/{user:id}/forget", response_model=answers.Receipt)
async def forget_user(user: UserName, desk: Admin) -> Response:
    """Forget a person: all chats of the user, everything made of them, and the entities set by hand."""
    return answer(asdict(await _with_user(desk, user, User.forget, slow=True)))


async def _with_user(desk: Desk, name: str, work: Callable[[User], T], *, slow: bool = False) -> T:
    """Do something with a user of whom anything is known."""

    def found(memory: Memory) -> T:
        known = False
        if 0 < len(name) <= 200 and "\0" not in name:
            with memory.database.read() as connection:
                known = statements.is_user(connection, name)
        if not known:
            raise Problem(404, "user_not_found", f"there is no user {name[:200]!r}; no chat has one of this name")
        return work(memory.user(name))

    return await desk.run(found, slow=slow)


def _shown(user: User) -> dict[str, Any]:
    return {"name": user.name, "remember": user.remember}


def _facts(of: Chat | User, every: bool) -> list[dict[str, Any]]:
    return [shown.line(fact) for fact in of.facts(all=every)]


def _entities(of: Chat | User) -> list[dict[str, Any]]:
    return [shown.entity(entity) for entity in of.entities]


def _set_entity(of: Chat | User, given: bodies.EntityGiven) -> dict[str, Any]:
    made = of.set_entity(
        given.kind, given.name, status=given.status, due=given.due, owner=given.owner, links=given.links
    )
    return shown.entity(made)
