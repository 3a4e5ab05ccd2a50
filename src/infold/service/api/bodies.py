"""What requests may hold. Unknown fields and wrong types are refused."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field


def _clean(text: str) -> str:
    """A text that every database can store."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("half a surrogate pair is not valid Unicode") from None
    if "\0" in text:
        raise ValueError("a NUL character cannot be stored")
    return text


Text = Annotated[str, AfterValidator(_clean)]
Name = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_clean)]
Window = Annotated[int, Field(ge=256, le=100_000_000, description="Tokens that the chat's model can read.")]
Preset = Literal["default", "rolling", "chain", "chunked", "layered", "engine"]
Kind = Literal["message", "fact", "summary", "entity"]
EntityKind = Literal["task", "goal", "problem", "person", "project", "file"]
Format = Literal["chat", "responses", "anthropic", "text"]
Moment = Annotated[int | Text, Field(description="Milliseconds since 1970, or ISO text such as 2026-05-01T12:00:00Z.")]
Values = Annotated[
    dict[str, Any], Field(description="Fields of the policy that differ from the preset's.", examples=[{"keep": 4}])
]

Remember = Annotated[bool, Field(description="Whether what the chat says is known in other chats of its user.")]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class NewChat(_Body):
    """A chat to open."""

    id: Name | None = Field(None, description="Yours to choose; without it, one is made.", examples=["trip"])
    user: Name | None = Field(
        None, description="Whose chat it is: users are known across their chats.", examples=["ann"]
    )
    preset: Preset | None = Field(None, description="Policy of a new chat.", examples=["default"])
    system: Text | None = Field(None, description="System prompt.", examples=["You plan trips."])
    context_window: Window | None = None
    title: Name | None = Field(None, examples=["Lisbon in May"])
    config: Values | None = None
    remember: Remember | None = None


class ChatChanges(_Body):
    """What to change about a chat. What is left out stays; null takes a value away."""

    user: Name | None = None
    system: Text | None = None
    title: Name | None = Field(None, examples=["Lisbon in June"])
    context_window: Window | None = None
    preset: Preset | None = None
    config: Values | None = None
    remember: Remember | None = None


class ContextWanted(_Body):
    """What a context is for."""

    query: Text | dict[str, Any] | None = Field(
        None,
        description="The question, which is not stored: a text or a user message. Without it, the last user message.",
        examples=["Which hotel did we choose?"],
    )
    max_tokens: Annotated[int, Field(ge=1, le=100_000_000)] | None = Field(None, examples=[2000])
    tools: list[dict[str, Any]] | None = Field(None, description="Tool definitions that will be sent along.")
    reserve_output: Annotated[int, Field(ge=0, le=100_000_000)] | None = Field(
        None,
        description="Tokens to leave for the reply; without a budget and this, 1,000 or 15 % of the window, what is less.",
    )
    sources: list[Text] | None = Field(None, description="Retrieved texts, best first.")
    format: Format = "chat"
    memory_role: Literal["user", "system"] | None = Field(
        None, description="Role that memory has in the request: quoted data of the user's, or behind the system prompt."
    )
    merge: bool | None = Field(None, description="Whether the two system messages of the preset chain are one.")
    cache: bool = Field(False, description="Whether an Anthropic request carries breakpoints for the prompt cache.")
    tool_text: bool = Field(
        False, description="Whether calls and results of chat messages are text, for templates without tools."
    )


class EntityGiven(_Body):
    """An entity as it is set by hand; what is left out stays as it is known."""

    kind: EntityKind = Field(examples=["task"])
    name: Annotated[Text, Field(min_length=1, max_length=500)] = Field(examples=["Book the hotel"])
    status: Literal["", "open", "done", "dropped"] = ""
    due: Annotated[str, Field(pattern=r"^(\d{4}-\d{2}-\d{2})?$")] = Field("", examples=["2026-12-01"])
    owner: Annotated[Text, Field(max_length=500)] = Field("", examples=["Ann"])
    links: list[Text] = Field(default_factory=list, description="Names of other entities.")


class NewPin(_Body):
    """A text to keep in memory, verbatim."""

    text: Annotated[Text, Field(min_length=1)] = Field(examples=["Ann is allergic to nuts."])
    by: Literal["user", "operator"] = Field("user", description="Whose word it is; an operator's needs an admin key.")


class Correction(_Body):
    """What a line should say."""

    text: Annotated[Text, Field(min_length=1, max_length=2000)] = Field(examples=["I live in Lisbon."])


class UserChanges(_Body):
    """What to change about a user."""

    remember: bool = Field(description="Whether what the user says in one chat is known in the others.")


class Rewind(_Body):
    """Where to go back to."""

    message_id: Text = Field(description="The message that will be the last one.", examples=["m7"])


class Forget(_Body):
    """Messages to forget for good."""

    message_ids: list[Text] = Field(min_length=1, examples=[["m3", "m4"]])


class Rebuild(_Body):
    """How to write memory anew."""

    force: bool = Field(False, description="Also where messages were removed or a model wrote memory.")


class Compact(_Body):
    """Which messages to let go."""

    days: Annotated[int, Field(ge=1, le=36_500)] | None = Field(
        None, description="Of what age; TRANSCRIPT_RETENTION_DAYS, if left out."
    )
    mode: Literal["archive", "remove"] = "archive"
    dry_run: bool = Field(True, description="Only count; nothing is changed unless this is false.")


class Recall(_Body):
    """What to look for."""

    query: Annotated[Text, Field(min_length=1)] = Field(examples=["the hotel in Lisbon"])
    limit: Annotated[int, Field(ge=1, le=1000)] = 8
    kinds: list[Kind] | None = Field(None, description="All kinds, if left out.")
    since: Moment | None = None
    until: Moment | None = None


MESSAGE: dict[str, Any] = {
    "type": "object",
    "description": "A message of the Chat Completions or Anthropic format, or an item of the Responses format, as it is "
    "sent to that API. It may have an `id` (adding it again changes nothing), `created_at` and `model_variant`.",
    "examples": [{"role": "user", "content": "Let us meet in Lisbon.", "id": "m1"}],
}
MESSAGES: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "anyOf": [
                        MESSAGE,
                        {"type": "array", "items": MESSAGE, "minItems": 1},
                        {
                            "type": "object",
                            "required": ["messages"],
                            "properties": {"messages": {"type": "array", "items": MESSAGE, "minItems": 1}},
                            "additionalProperties": False,
                        },
                    ]
                },
                "example": {
                    "messages": [
                        {"role": "user", "content": "Let us meet in Lisbon.", "id": "m1"},
                        {"role": "assistant", "content": "Lisbon it is.", "id": "m2"},
                    ]
                },
            }
        },
    }
}
