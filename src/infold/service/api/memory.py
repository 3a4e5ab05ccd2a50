"""What a chat remembers, and what can be done with it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import Query, Request
from starlette.responses import Response

from infold.chat import Chat
from infold.engine import assemble_open
from infold.memory import Memory
from infold.recall.hits import KINDS
from infold.retention import Compaction
from infold.service.api import answers, bodies, shown
from infold.service.api.common import (
    NOT_CHANGED,
    Admin,
    By,
    ChatId,
    Cursor,
    Limit,
    Reads,
    Writes,
    answer,
    listed,
    no_content,
    page,
    router,
    tagged,
)
from infold.service.core import Desk
from infold.service.problems import Problem

routes = router("memory")


@routes.get("/v1/memory/context", response_model=answers.EngineContext)
async def engine_context(
    desk: Reads,
    chat_id: Annotated[str, Query(description="Id of the chat.", examples=["trip"])],
    query: Annotated[str, Query(description="The question.", examples=["Which hotel did we choose?"])],
    max_tokens: Annotated[int | None, Query(ge=1, le=100_000_000, description="Budget; a cap applies.")] = None,
    user_id: Annotated[str | None, Query(description="Whose chat it must be.", examples=["ann"])] = None,
) -> Response:
    """What to send for a query, as the memory engine assembles it. Reads only: it never folds."""

    def work(chat: Chat) -> dict[str, Any]:
        if user_id is not None:
            with chat.reading() as (_, state):
                user = state.row.user
            if user_id != user:
                told = f"there is no chat {chat_id[:200]!r} of the user {user_id[:200]!r}"
                raise Problem(404, "chat_not_found", told)
        return assemble_open(chat, query, max_tokens)

    return answer(await desk.with_chat(chat_id, work))


@routes.post("/v1/chats/{chat_id:id}/context", response_model=answers.Context)
async def chat_context(chat_id: ChatId, body: bodies.ContextWanted, desk: Reads) -> Response:
    """The request to send next, within a budget, with what it was made of and why."""

    def work(chat: Chat) -> dict[str, Any]:
        made = chat.context(
            body.query,
            max_tokens=body.max_tokens,
            tools=body.tools,
            reserve_output=body.reserve_output,
            sources=body.sources,
            memory_role=body.memory_role,
            merge=body.merge,
        )
        return shown.context(made, body.format, cache=body.cache, tool_text=body.tool_text)

    return answer(await desk.with_chat(chat_id, work))


@routes.get("/v1/chats/{chat_id:id}/summary", response_model=answers.Summary, responses=NOT_CHANGED)
async def get_summary(chat_id: ChatId, desk: Reads, request: Request) -> Response:
    """All of memory as headings and bullets; empty while nothing is folded or pinned."""
    return tagged(request, {"summary": await desk.with_chat(chat_id, lambda chat: chat.summary)})


@routes.get("/v1/chats/{chat_id:id}/memory", response_model=answers.MemoryState, responses=NOT_CHANGED)
async def get_memory(chat_id: ChatId, desk: Reads, request: Request) -> Response:
    """The whole structured state."""
    return tagged(request, await desk.with_chat(chat_id, lambda chat: shown.memory(chat.memory)))


@routes.get("/v1/chats/{chat_id:id}/records", response_model=answers.Page[answers.Record], responses=NOT_CHANGED)
async def list_records(
    chat_id: ChatId, desk: Reads, request: Request, cursor: Cursor = None, limit: Limit = 100
) -> Response:
    """The active records, oldest first; each names the messages it newly covers."""
    found = await desk.with_chat(chat_id, lambda chat: [asdict(record) for record in chat.records])
    return tagged(request, listed(f"records {chat_id}", found, cursor, limit))


@routes.post("/v1/chats/{chat_id:id}/fold", response_model=answers.Folded)
async def fold(chat_id: ChatId, desk: Writes) -> Response:
    """Fold now all that the policy lets go; with nothing to fold, memory is rewritten."""
    return answer({"folded": await desk.with_chat(chat_id, Chat.fold, slow=True)})


@routes.get("/v1/chats/{chat_id:id}/pins", response_model=answers.Page[answers.Pin])
async def list_pins(chat_id: ChatId, desk: Reads) -> Response:
    """Texts that stay in memory, verbatim."""
    return answer(page(await desk.with_chat(chat_id, lambda chat: [shown.pin(one) for one in chat.memory.pins])))


@routes.post("/v1/chats/{chat_id:id}/pins", status_code=201, response_model=answers.Pin)
async def pin(chat_id: ChatId, body: bodies.NewPin, desk: Writes) -> Response:
    """Keep a text verbatim, whatever is folded: as a standing wish of the user, or of the operator, who needs an admin key."""
    if body.by == "operator":
        _check_operator(desk)

    def work(chat: Chat) -> dict[str, Any]:
        id = chat.pin(body.text, by=body.by)
        return next(shown.pin(one) for one in chat.memory.pins if one.id == id)

    return answer(await desk.with_chat(chat_id, work), 201)


@routes.delete("/v1/chats/{chat_id:id}/pins/{pin_id:id}", status_code=204, response_class=Response)
async def unpin(chat_id: ChatId, pin_id: str, desk: Writes) -> Response:
    """Let a pin go; an operator's needs an admin key."""
    if "\0" in pin_id:
        raise Problem(404, "not_found", "no pin has such an id")

    def work(chat: Chat) -> None:
        if any(one.id == pin_id and one.said_by == "operator" for one in chat.memory.pins):
            _check_operator(desk)
        chat.unpin(pin_id)

    await desk.with_chat(chat_id, work)
    return no_content()


def _check_operator(desk: Desk) -> None:
    """Refuse who may not speak for the operator."""
    if not desk.principal.may("admin"):
        raise Problem(403, "forbidden", f"this key may {desk.principal.role}; admin is needed for the operator's pins")


@routes.post("/v1/chats/{chat_id:id}/rewind", response_model=answers.Rewound)
async def rewind(chat_id: ChatId, body: bodies.Rewind, desk: Writes) -> Response:
    """Go back to a message: later ones leave the chat, and memory is what it was then."""
    return answer({"removed": await desk.with_chat(chat_id, lambda chat: chat.rewind(body.message_id))})


@routes.post("/v1/chats/{chat_id:id}/rebuild", response_model=answers.Rebuilt)
async def rebuild(chat_id: ChatId, body: bodies.Rebuild, desk: Admin) -> Response:
    """Write all lines of a chat anew from its messages, without a model."""
    return answer({"folds": await desk.with_chat(chat_id, lambda chat: chat.rebuild(force=body.force), slow=True)})


@routes.get("/v1/chats/{chat_id:id}/lines/{line_id:id}/sources", response_model=answers.Page[answers.LineSource])
async def sources(chat_id: ChatId, line_id: str, desk: Reads) -> Response:
    """The messages that a line of memory or a fact rests on, each with its hash."""
    found = await desk.with_chat(chat_id, lambda chat: chat.trace(line_id))
    return answer(page([asdict(one) for one in found]))


@routes.post("/v1/chats/{chat_id:id}/lines/{line_id:id}/correct", response_model=answers.Line)
async def correct(chat_id: ChatId, line_id: str, body: bodies.Correction, desk: Writes, by: By = "user") -> Response:
    """Say what a line of memory or a fact should say; it holds until somebody says something new."""
    return answer(await desk.with_chat(chat_id, lambda chat: shown.line(chat.correct(line_id, body.text, by=by))))


@routes.post("/v1/chats/{chat_id:id}/lines/{line_id:id}/retract", status_code=204, response_class=Response)
async def retract(chat_id: ChatId, line_id: str, desk: Writes, by: By = "user") -> Response:
    """Take a line of memory or a fact back."""
    await desk.with_chat(chat_id, lambda chat: chat.retract(line_id, by=by))
    return no_content()


@routes.post("/v1/chats/{chat_id:id}/lines/{line_id:id}/confirm", response_model=answers.Line)
async def confirm(chat_id: ChatId, line_id: str, desk: Writes, by: By = "user") -> Response:
    """Say that a line of memory or a fact is so."""
    return answer(await desk.with_chat(chat_id, lambda chat: shown.line(chat.confirm(line_id, by=by))))


@routes.post("/v1/chats/{chat_id:id}/forget", response_model=answers.Receipt)
async def forget(chat_id: ChatId, body: bodies.Forget, desk: Admin) -> Response:
    """Forget what messages said, in the ledger and in everything made of it."""
    receipt = await desk.with_chat(chat_id, lambda chat: chat.forget(*body.message_ids), slow=True)
    return answer(asdict(receipt))


@routes.post("/v1/chats/{chat_id:id}/recall", response_model=answers.Page[answers.Hit])
async def recall(chat_id: ChatId, body: bodies.Recall, desk: Reads) -> Response:
    """What a chat holds that answers a query, best first: messages, facts, lines of summaries, entities."""

    def work(chat: Chat) -> list[dict[str, Any]]:
        kinds = KINDS if body.kinds is None else body.kinds
        hits = chat.recall(body.query, limit=body.limit, kinds=kinds, since=body.since, until=body.until)
        return [shown.hit(hit) for hit in hits]

    return answer(page(await desk.with_chat(chat_id, work)))


@routes.get("/v1/chats/{chat_id:id}/verify", response_model=answers.Proof)
async def verify_chat(chat_id: ChatId, desk: Reads) -> Response:
    """The no-loss and integrity proof for a chat."""
    return answer(asdict(await desk.with_chat(chat_id, Chat.verify, slow=True)))


@routes.get("/v1/chats/{chat_id:id}/usage", response_model=answers.Usage)
async def usage(chat_id: ChatId, desk: Reads) -> Response:
    """What folding a chat with models took: calls, tokens, cost."""
    return answer(shown.usage(await desk.with_chat(chat_id, Chat.usage)))


@routes.get("/v1/chats/{chat_id:id}/stats", response_model=answers.Stats)
async def stats(chat_id: ChatId, desk: Reads) -> Response:
    """Success rate and mean latency (in milliseconds) of a chat's folds."""
    return answer(asdict(await desk.with_chat(chat_id, Chat.stats)))


@routes.get("/v1/verify", response_model=answers.Proof)
async def verify(desk: Admin) -> Response:
    """The no-loss and integrity proof for all chats."""
    return answer(asdict(await desk.run(Memory.verify, slow=True)))


@routes.post("/v1/compact", response_model=answers.Compaction)
async def compact(desk: Admin, body: bodies.Compact) -> Response:
    """Let old messages that are folded go, to an archive or for good; at first only count them."""

    def work(memory: Memory) -> Compaction:
        return memory.compact(body.days, body.mode, body.dry_run)

    return answer(asdict(await desk.run(work, slow=True)))
