"""What the API answers, for its description: routes build these values themselves."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from pydantic import BaseModel, Field

T = TypeVar("T")


class Page(BaseModel, Generic[T]):
    """Part of a list."""

    items: list[T]
    next_cursor: str | None = Field(description="Give it as `cursor` for the next page; null on the last one.")


class Chat(BaseModel):
    id: str = Field(examples=["trip"])
    user: str | None = Field(examples=["ann"])
    title: str | None
    preset: str = Field(examples=["default"])
    system: str | None
    context_window: int = Field(examples=[8192])
    messages: int = Field(description="Messages so far.", examples=[12])
    folded: int = Field(description="Messages that memory covers.", examples=[6])
    created_at: int = Field(description="Milliseconds since 1970.", examples=[1767225600000])
    remember: bool = Field(description="Whether what it says is known in other chats of its user.")


class User(BaseModel):
    name: str = Field(examples=["ann"])
    remember: bool


class ChatWithPolicy(Chat):
    config: dict[str, Any] = Field(description="All fields of the policy.")


class StoredMessage(BaseModel):
    id: str = Field(examples=["m1"])
    seq: int = Field(description="Position in the chat, from 1.", examples=[1])
    created_at: int
    model_variant: str | None
    tokens: int = Field(examples=[9])
    message: dict[str, Any] = Field(
        description="The message as it was added.", examples=[{"role": "user", "content": "Let us meet in Lisbon."}]
    )


class Added(BaseModel):
    items: list[StoredMessage]


class Budget(BaseModel):
    requested: int | None = Field(examples=[2000])
    applied: int = Field(examples=[2000])
    estimated_used: int = Field(examples=[412])


class EngineSources(BaseModel):
    hot_turns: int = Field(examples=[4])
    summaries: int = Field(examples=[1])
    entities: int = Field(examples=[2])


class EngineContext(BaseModel):
    budget: Budget
    sources: EngineSources
    context: list[dict[str, Any]] = Field(examples=[[{"role": "user", "content": "Which hotel did we choose?"}]])


class Piece(BaseModel):
    layer: str
    what: str
    tokens: int
    reason: str


class Explanation(BaseModel):
    items: list[Piece]
    left_out: list[Piece]


class Context(BaseModel):
    format: str
    messages: list[dict[str, Any]] = Field(description="As the format's API takes them; empty for text.")
    system: str | list[dict[str, Any]] | None = Field(description="Beside the messages, for Anthropic.")
    text: str | None
    tokens: int
    budget: int
    sources: dict[str, int]
    bridge: list[int] | None = Field(description="First and last position and number of messages only named.")
    explanation: Explanation
    hash: str = Field(description="Equal contexts, equal hash.")


class Summary(BaseModel):
    summary: str = Field(examples=["## Decisions Made\n- They meet in Lisbon"])


class Place(BaseModel):
    seq: int
    start: int
    end: int


class Line(BaseModel):
    id: str
    section: str
    text: str = Field(examples=["I'm allergic to peanuts."])
    sources: list[int] = Field(description="Positions of the messages it rests on.")
    layer: str
    fold: int
    tokens: int
    kind: str = Field(examples=["constraint"], description="Empty where its author named none.")
    quote: str = Field(description="The exact words that it rests on.")
    places: list[Place] = Field(description="Where those words stand: code points of a message's text.")
    role: str
    said_by: str
    said_at: int
    author: str = Field(examples=["quotation"], description="quotation, person, summarizer or a model's name.")
    worth: int
    standing: int = Field(description="0 to 1000: how sure it is to hold until somebody takes it back.")
    rewrites: int
    chat: str = Field(description="Of a fact: the chat it was said in.")
    status: str = Field(examples=["current"], description="Of a fact: current, superseded or conflicting.")
    valid_to: int | None
    superseded_by: str | None
    conflicts_with: list[str]


class LineSource(BaseModel):
    seq: int
    id: str
    said_by: str
    said_at: int
    sha256: str
    quote: str = Field(description="The words that the line rests on; empty where they were removed.")
    removed: bool


class Rebuilt(BaseModel):
    folds: int = Field(description="Folds that were made again.")


class MemoryState(BaseModel):
    summary: str
    pins: list[Line]
    facts: list[Line]
    long: list[Line]
    leaves: list[Line]
    further: list[Line] = Field(
        description="Quotations that no summary holds; contexts show them where they have room."
    )
    cursor: int = Field(description="Everything up to this position is folded.")
    last_summarized_message_id: str | None
    recent_messages: list[StoredMessage]


class ActionItem(BaseModel):
    task: str
    owner: str | None
    due: str | None


class RecordContext(BaseModel):
    participants: list[str]
    decisions: list[str]
    action_items: list[ActionItem]
    unresolved: list[str]
    domain_entities: list[str]
    raw: Any


class Record(BaseModel):
    id: str
    timestamp: int
    depth: int
    parent_id: str | None
    summary: str
    key_points: list[str]
    context: RecordContext
    original_message_ids: list[str]
    token_estimate: int


class Source(BaseModel):
    chat: str
    seq: int
    id: str


class Entity(BaseModel):
    id: str
    kind: str = Field(examples=["task"])
    name: str = Field(examples=["Book the hotel"])
    status: str = Field(examples=["open"])
    due: str
    owner: str
    links: list[str]
    first_at: int
    last_at: int
    mentions: int
    sources: list[Source] = Field(description="Its newest messages, newest last.")


class Event(BaseModel):
    id: str = Field(description="Give it as Last-Event-ID to hear what happened after it.", examples=["2882400001-17"])
    type: str = Field(examples=["summarization"])
    created_at: int
    chat: str
    data: dict[str, Any]


class Folded(BaseModel):
    folded: bool = Field(description="False where the policy's depth limit forbids another fold.")


class Pin(BaseModel):
    id: str
    text: str = Field(examples=["Ann is allergic to nuts."])
    tokens: int
    by: str = Field(description="user or operator", examples=["user"])


class Rewound(BaseModel):
    removed: int = Field(description="Messages that left the chat.", examples=[2])


class Receipt(BaseModel):
    """What was forgotten, as numbers."""

    at: int
    messages: int
    folds: int
    items: int
    facts: int
    mentions: int
    blocks: int
    events: int
    pins: int
    chats: int
    clean: bool
    titles: int


class Fault(BaseModel):
    chat: str
    what: str


class Proof(BaseModel):
    """Whether every message is kept, bridged or folded exactly once, and nothing was changed."""

    ok: bool
    problems: list[Fault]
    chats: int
    messages: int
    folded: int
    unfolded: int
    folds: int
    removed: int


class Compaction(BaseModel):
    """What retention let go, or would let go."""

    mode: str
    days: int
    dry_run: bool
    chats: int
    messages: int
    archives: int
    bytes_before: int
    bytes_after: int
    skipped_unfolded: int
    skipped_upgrade: int
    failed: int
    clean: bool


class ModelUsage(BaseModel):
    model: str
    calls: int
    failed: int
    tokens_in: int
    tokens_out: int
    cached: int
    cost: float | None = Field(description="US dollars; null where a price is not known.")
    duration: int


class Usage(BaseModel):
    models: list[ModelUsage]
    calls: int
    cost: float | None


class Stats(BaseModel):
    folds: int
    failures: int
    success_rate: float
    mean_latency: float


class Hit(BaseModel):
    kind: str = Field(examples=["message"])
    text: str
    at: int
    chat: str
    sources: list[Source]
    score: float
    speaker: str
    seq: int
    whole: bool
    id: str


class Health(BaseModel):
    status: str = Field(examples=["ok"])
