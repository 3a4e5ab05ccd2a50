"""Chats and their messages."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from fastapi import Body, Query, Request
from starlette.responses import Response

from infold import formats
from infold.chat import Chat
from infold.errors import MessageError
from infold.ledger import service as statements
from infold.ledger import store
from infold.memory import Memory, new_id
from infold.messages import Message
from infold.policy import Policy
from infold.presets import preset as find_preset
from infold.service.api import answers, bodies, shown
from infold.service.api.common import (
    Admin,
    ChatId,
    Cursor,
    Limit,
    Reads,
    Writes,
    answer,
    cursor_of,
    no_content,
    page,
    position_of,
    router,
)
from infold.service.beginning import beginning
from infold.service.forwarding import remembers
from infold.service.once import HEADER
from infold.service.problems import Problem

routes = router("chats")


@routes.post(
    "/v1/chats",
    status_code=201,
    response_model=answers.ChatWithPolicy,
    responses={200: {"model": answers.ChatWithPolicy, "description": "It was there already, with the same policy."}},
)
async def create_chat(body: bodies.NewChat, desk: Writes, request: Request) -> Response:
    """Open a chat, creating it where it is not there. Another policy than the stored one is refused."""
    id, token = body.id, request.headers.get(HEADER)
    if id is None:  # the same request, made again because it was cut short, is the same chat
        id = _seeded(f"{desk.principal.id} {token} ".encode() + await request.body()) if token else new_id()

    def work(memory: Memory) -> tuple[bool, dict[str, Any]]:
        settings = desk.service.settings
        preset, config = body.preset, None
        if body.config is not None:
            config, preset = _policy(body.preset or settings.preset, body.config), None
        chat, new = memory.begin(
            id,
            user=body.user,
            preset=preset,
            system=body.system,
            context_window=body.context_window,
            title=body.title,
            config=config,
            remember=body.remember,
            new_preset=settings.preset,
            new_window=settings.context_window,
        )
        return new, _shown(chat)

    new, made = await desk.run(work)
    return answer(made, 201 if new else 200)


@routes.get("/v1/chats", response_model=answers.Page[answers.Chat])
async def list_chats(
    desk: Reads,
    user: Annotated[str | None, Query(description="Only the chats of this user.")] = None,
    cursor: Cursor = None,
    limit: Limit = 100,
) -> Response:
    """Chats in the order they were created."""
    what = f"chats {user}"
    after = position_of(what, cursor) or 0
    if user is not None and "\0" in user:
        return answer(page([]))

    def work(memory: Memory) -> dict[str, Any]:
        with memory.database.read() as connection:
            rows = statements.page_of_chats(connection, after, limit + 1, user)
        more = cursor_of(what, rows[limit - 1].key) if len(rows) > limit else None
        return page([shown.chat(row) for row in rows[:limit]], more)

    return answer(await desk.run(work))


@routes.get("/v1/chats/{chat_id:id}", response_model=answers.ChatWithPolicy)
async def get_chat(chat_id: ChatId, desk: Reads) -> Response:
    """A chat and its policy."""
    return answer(await desk.with_chat(chat_id, _shown))


@routes.patch("/v1/chats/{chat_id:id}", response_model=answers.ChatWithPolicy)
async def change_chat(chat_id: ChatId, body: bodies.ChatChanges, desk: Writes) -> Response:
    """Change what is known about a chat, or its policy."""
    given = body.model_fields_set
    for name in ("context_window", "preset", "config", "remember"):
        if name in given and getattr(body, name) is None:
            raise Problem(422, "invalid_request", f"body.{name}: a chat always has one; leave it out to keep it")

    def work(chat: Chat) -> dict[str, Any]:
        if body.preset is not None or body.config is not None:
            stored = chat.policy
            if body.config is not None and body.preset in (None, stored.name):
                chat.set_policy(_changed(stored, body.config))
            else:
                chat.set_policy(_policy(body.preset or stored.name, body.config or {}))
        values: dict[str, Any] = {
            name: getattr(body, name) or "" for name in ("user", "system", "title") if name in given
        }
        chat.update(**values, context_window=body.context_window, remember=body.remember)
        return _shown(chat)

    return answer(await desk.with_chat(chat_id, work))


@routes.delete("/v1/chats/{chat_id:id}", status_code=204, response_class=Response)
async def delete_chat(chat_id: ChatId, desk: Admin) -> Response:
    """Remove a chat and everything made of it."""
    await desk.with_chat(chat_id, Chat.delete, slow=True)
    desk.drop_chat(chat_id)
    return no_content()


@routes.post(
    "/v1/chats/{chat_id:id}/messages", status_code=201, response_model=answers.Added, openapi_extra=bodies.MESSAGES
)
async def add_messages(
    chat_id: ChatId,
    body: Annotated[Any, Body()],
    desk: Writes,
    request: Request,
    preset: Annotated[bodies.Preset | None, Query(description="Policy of a new chat.")] = None,
    user: Annotated[str | None, Query(description="Whose chat it is.", min_length=1, max_length=200)] = None,
    repair: Annotated[bool, Query(description="Keep tool results whose call is not there.")] = False,
) -> Response:
    """Add a message, or a list of them in one transaction, and fold what is due. The chat is created on first use."""
    given = _given(body, desk.service.settings.max_messages)
    token, remember = request.headers.get(HEADER), remembers(request.headers)

    def work(chat: Chat) -> list[Message]:
        messages = _parsed(given, f"{desk.principal.id} {chat_id} {token}" if token else None)
        return chat.add(messages, repair=repair, remember=remember)

    def create(memory: Memory) -> list[Message]:
        _parsed(given, None)  # what cannot be added creates no chat
        settings = desk.service.settings
        chat, new = memory.begin(
            chat_id, user=user, preset=preset, new_preset=settings.preset, new_window=settings.context_window
        )
        with beginning(chat, new=new):
            return work(chat)

    try:
        if preset is None and user is None:
            added = await desk.with_chat(chat_id, work)
        else:
            added = await desk.run(create)
    except Problem as problem:
        if problem.code != "chat_not_found":
            raise
        added = await desk.run(create)
    return answer({"items": [shown.message(message) for message in added]}, 201)


@routes.get("/v1/chats/{chat_id:id}/messages", response_model=answers.Page[answers.StoredMessage])
async def list_messages(
    chat_id: ChatId,
    desk: Reads,
    order: Annotated[Literal["asc", "desc"], Query(description="Oldest or newest first.")] = "asc",
    cursor: Cursor = None,
    limit: Limit = 100,
) -> Response:
    """Messages of the ledger, folded or not."""
    what = f"messages {order} {chat_id}"
    at = position_of(what, cursor)

    def work(chat: Chat) -> dict[str, Any]:
        with chat.reading() as (connection, state):
            key, end = state.row.key, state.row.last_seq
            if order == "asc":
                first = (at or 0) + 1
                last = min(first + limit - 1, end)
                found = store.messages_between(connection, key, first, last)
                return page(map_messages(found), cursor_of(what, last) if last < end else None)
            last = end if at is None else min(at - 1, end)
            first = max(1, last - limit + 1)
            found = store.messages_between(connection, key, first, last)
            return page(map_messages(found[::-1]), cursor_of(what, first) if first > 1 else None)

    return answer(await desk.with_chat(chat_id, work))


def map_messages(found: list[Message]) -> list[dict[str, Any]]:
    return [shown.message(message) for message in found]


def _shown(chat: Chat) -> dict[str, Any]:
    with chat.reading() as (_, state):
        return {**shown.chat(state.row), "config": state.stored.to_json()}


def _policy(name: str, values: Mapping[str, Any]) -> Policy:
    return _changed(find_preset(name), values)


def _changed(policy: Policy, values: Mapping[str, Any]) -> Policy:
    if "name" in values:
        raise Problem(422, "bad_value", "config.name: a policy's name is its preset's; give preset instead")
    try:
        return policy.with_values(values)
    except (TypeError, AttributeError) as error:
        raise Problem(422, "bad_value", f"config: a value has a type that does not fit ({error})") from None


def _given(body: Any, most: int) -> list[Any]:
    """The messages of a body: one, a list, or a list under `messages`."""
    if isinstance(body, dict) and "messages" in body and "role" not in body and "type" not in body:
        others = [name for name in body if name != "messages"]
        if others:
            raise Problem(422, "invalid_request", f"unknown field {others[0][:80]!r} beside messages")
        body = body["messages"]
        if not isinstance(body, list):
            raise Problem(422, "invalid_request", "messages must be a list of messages")
    given = body if isinstance(body, list) else [body]
    if not given:
        raise Problem(422, "invalid_request", "give at least one message")
    if len(given) > most:
        raise Problem(413, "too_many_messages", f"at most {most:,} messages can be added at once; send them in parts")
    return given


def _parsed(given: list[Any], seed: str | None) -> list[Message]:
    """Checked messages. With a seed, those without an id get one that is the same every time: a request that was cut
    short after its messages were stored can be made again."""
    found: list[Message] = []
    for number, value in enumerate(given):
        if not isinstance(value, Mapping):
            raise MessageError('a message is a dict like {"role": "user", "content": "…"}, or a list of them')
        id = None
        if seed is not None and not value.get("id"):
            id = _seeded(f"{seed} {number}".encode())
        found += formats.parse(value, id=id)
    return found


def _seeded(seed: bytes) -> str:
    """An id that is the same every time."""
    return hashlib.sha256(seed).hexdigest()[:32]
