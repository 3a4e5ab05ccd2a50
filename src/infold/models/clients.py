"""Calling providers: one request, one answer, errors by what to do about them. Retries are not made here."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from infold.errors import ConfigError
from infold.models.errors import BadAnswerError, DeniedError, TooLargeError, TransportError
from infold.models.spec import Model

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic
    from openai import AsyncOpenAI

MOST_CHARACTERS = 200_000
"""Of an answer; anything longer is no summary."""
_TOOL = "write_memory"


@dataclass(frozen=True, slots=True)
class Ask:
    """One request, whatever the provider."""

    system: str
    user: str
    schema: Mapping[str, Any]
    version: str
    """Of the prompt: equal beginnings share a provider's cache."""
    most: int
    """Tokens of the answer."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    text: str
    tokens_in: int = 0
    tokens_out: int = 0
    cached: int = 0
    model: str = ""
    """As the provider names what answered."""


class Client(Protocol):
    """One model of one provider."""

    async def complete(self, ask: Ask) -> Answer: ...

    async def close(self) -> None: ...


def client(model: Model) -> Client:
    """The client of a model; a ConfigError says what to install."""
    if model.provider == "local":
        return Local(model)
    return Anthropic(model) if model.provider == "anthropic" else OpenAI(model)


class OpenAI:
    """OpenAI's API, or any server that speaks it; also its hosted prompts."""

    def __init__(self, model: Model) -> None:
        try:
            import openai
        except ImportError:
            raise ConfigError('the openai package is missing; install it with: pip install "infold[openai]"') from None
        self._model = model
        self._name = model.name
        self._schema = True
        key = model.api_key or ("none" if model.base_url else None)
        try:
            self._client: AsyncOpenAI = openai.AsyncOpenAI(api_key=key, base_url=model.base_url, max_retries=0)
        except openai.OpenAIError as error:
            raise ConfigError(f"the model {model.label} cannot be used: {error}") from None

    async def complete(self, ask: Ask) -> Answer:
        if self._model.provider == "prompt":
            return await self._hosted(ask)
        if not self._name:
            self._name = await self._first()
        body: dict[str, Any] = {
            "model": self._name,
            "messages": [{"role": "system", "content": ask.system}, {"role": "user", "content": ask.user}],
            "max_tokens" if self._model.base_url else "max_completion_tokens": ask.most,
        }
        if not self._model.base_url:
            body["prompt_cache_key"] = f"infold {ask.version}"
        if self._schema:
            named = {"name": "memory", "schema": ask.schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        try:
            data = await self._post("/chat/completions", {**body, **self._model.options})
        except _UnknownFormatError as error:  # servers that know no schemas: the prompt asks for JSON anyway
            if not self._schema:
                raise BadAnswerError(f"HTTP 400: {error}") from None
            self._schema = False
            return await self.complete(ask)
        choice = _first(data.get("choices"))
        message = choice.get("message") or {}
        if not isinstance(message, dict):
            raise BadAnswerError("the answer has no message")
        if message.get("refusal"):
            raise BadAnswerError("the model refused")
        if choice.get("finish_reason") == "length":
            raise TooLargeError("the answer was cut off")
        usage = _dict(data.get("usage"))
        return Answer(
            _text(message.get("content")),
            _number(usage.get("prompt_tokens")),
            _number(usage.get("completion_tokens")),
            _number(_dict(usage.get("prompt_tokens_details")).get("cached_tokens")),
            str(data.get("model") or self._name),
        )

    async def _hosted(self, ask: Ask) -> Answer:
        prompt = {"id": self._model.name, **({"version": self._model.version} if self._model.version else {})}
        data = await self._post("/responses", {"prompt": prompt, "input": ask.user, **self._model.options})
        parts = [
            part.get("text")
            for item in data.get("output") or []
            if isinstance(item, dict) and item.get("type") == "message"
            for part in item.get("content") or []
            if isinstance(part, dict) and part.get("type") == "output_text"
        ]
        if data.get("status") == "incomplete":
            raise TooLargeError("the answer was cut off")
        usage = _dict(data.get("usage"))
        return Answer(
            _text("".join(part for part in parts if isinstance(part, str))),
            _number(usage.get("input_tokens")),
            _number(usage.get("output_tokens")),
            _number(_dict(usage.get("input_tokens_details")).get("cached_tokens")),
            str(data.get("model") or ""),
        )

    async def _first(self) -> str:
        """The first model that the server lists."""
        data = await self._send("get", "/models", None)
        listed = _first(data.get("data")).get("id")
        if not isinstance(listed, str):
            raise DeniedError(f"{self._model.base_url} lists no model; name one: {self._model.base_url}#name")
        return listed

    async def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        return await self._send("post", path, body)

    async def _send(self, verb: str, path: str, body: dict[str, Any] | None) -> dict[str, Any]:
        import httpx2
        import openai

        options: Any = {"timeout": self._model.timeout}
        if verb == "get":
            return await _data(openai, self._client.get(path, cast_to=httpx2.Response, options=options))
        return await _data(openai, self._client.post(path, cast_to=httpx2.Response, body=body, options=options))

    async def close(self) -> None:
        await self._client.close()


class Anthropic:
    """Anthropic's API; the answer comes as the input of a tool, which is how a schema is enforced there."""

    def __init__(self, model: Model) -> None:
        try:
            import anthropic
        except ImportError:
            raise ConfigError(
                'the anthropic package is missing; install it with: pip install "infold[anthropic]"'
            ) from None
        self._model = model
        key = model.api_key or ("none" if model.base_url else None)
        try:
            self._client: AsyncAnthropic = anthropic.AsyncAnthropic(api_key=key, base_url=model.base_url, max_retries=0)
        except anthropic.AnthropicError as error:
            raise ConfigError(f"the model {model.label} cannot be used: {error}") from None

    async def complete(self, ask: Ask) -> Answer:
        import anthropic
        import httpx2

        body: dict[str, Any] = {
            "model": self._model.name,
            "max_tokens": ask.most,
            "system": [{"type": "text", "text": ask.system, "cache_control": {"type": "ephemeral"}}],
            "messages": [{"role": "user", "content": ask.user}],
            "tools": [{"name": _TOOL, "description": "Write the memory.", "input_schema": ask.schema}],
            "tool_choice": {"type": "tool", "name": _TOOL},
            **self._model.options,
        }
        options: Any = {"timeout": self._model.timeout}
        data = await _data(
            anthropic, self._client.post("/v1/messages", cast_to=httpx2.Response, body=body, options=options)
        )
        if data.get("stop_reason") == "max_tokens":
            raise TooLargeError("the answer was cut off")
        if data.get("stop_reason") == "refusal":
            raise BadAnswerError("the model refused")
        usage = _dict(data.get("usage"))
        blocks = [block for block in data.get("content") or [] if isinstance(block, dict)]
        used = [block["input"] for block in blocks if block.get("type") == "tool_use" and "input" in block]
        said = [str(block.get("text", "")) for block in blocks if block.get("type") == "text"]
        cached = _number(usage.get("cache_read_input_tokens"))
        fresh = _number(usage.get("input_tokens")) + _number(usage.get("cache_creation_input_tokens"))
        return Answer(
            _text(json.dumps(used[0]) if used else "".join(said)),
            fresh + cached,
            _number(usage.get("output_tokens")),
            cached,
            str(data.get("model") or self._model.name),
        )

    async def close(self) -> None:
        await self._client.close()


class Local:
    """The small model of the extra `infold[local]`, in this process."""

    def __init__(self, model: Model) -> None:
        from infold.models.local import LocalModel

        self._model = model
        self._local = LocalModel()

    async def complete(self, ask: Ask) -> Answer:
        work = asyncio.to_thread(
            self._local.complete, ask.system, ask.user, dict(ask.schema), min(ask.most, 512), self._model.timeout
        )
        text, tokens_in, tokens_out = await work
        return Answer(_text(text), tokens_in, tokens_out, 0, self._model.label)

    async def close(self) -> None:
        return None


async def _data(library: Any, request: Awaitable[Any]) -> dict[str, Any]:
    """What a request brings; errors as infold sorts them. Both providers' libraries name theirs alike."""
    try:
        response = await request
    except library.APITimeoutError:
        raise TransportError("the model did not answer in time", late=True) from None
    except library.APIConnectionError as error:
        raise TransportError(f"no connection ({type(error.__cause__ or error).__name__})") from None
    except library.APIStatusError as error:
        raise _status_error(error.status_code, error.response.headers, error.body) from None
    except library.APIError as error:
        raise BadAnswerError(type(error).__name__) from None
    return _body(response)


class _UnknownFormatError(Exception):
    """The server does not know `response_format`."""


def _status_error(status: int, headers: Mapping[str, str], body: object) -> Exception:
    """What an HTTP status means for whoever asked."""
    error = _dict(_dict(body).get("error", body))
    code, said = str(error.get("code") or error.get("type") or ""), str(error.get("message") or "")[:160]
    told = f"HTTP {status} {code}".rstrip()
    if status in (401, 403, 404):
        return DeniedError(f"{told}: {said}" if said else told)
    if status == 413 or "context_length" in code or "context length" in said or "too long" in said:
        return TooLargeError(told)
    if status in (400, 422):
        unknown = "response_format" in said or "json_schema" in said
        return _UnknownFormatError(said) if unknown else BadAnswerError(f"{told}: {said}" if said else told)
    return TransportError(told, wait=_wait(headers))


def _wait(headers: Mapping[str, str]) -> float | None:
    """Seconds a provider asks us to wait."""
    for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        try:
            return max(0.0, float(headers.get(name, "")) / unit)
        except ValueError:
            continue
    return None


def _body(response: Any) -> dict[str, Any]:
    if len(response.content) > 8 * MOST_CHARACTERS:
        raise BadAnswerError("the answer is too long to be a summary")
    try:
        data = json.loads(response.content)
    except (ValueError, RecursionError):
        raise BadAnswerError("the server's answer is not JSON") from None
    if not isinstance(data, dict):
        raise BadAnswerError("the server's answer is not a JSON object")
    return data


def _text(value: object) -> str:
    if isinstance(value, list):  # content parts
        value = "".join(str(part.get("text", "")) for part in value if isinstance(part, dict))
    if not isinstance(value, str) or not value.strip():
        raise BadAnswerError("the answer is empty")
    if len(value) > MOST_CHARACTERS:
        raise BadAnswerError("the answer is too long to be a summary")
    return value


def _first(value: object) -> dict[str, Any]:
    if not isinstance(value, list) or not value or not isinstance(value[0], dict):
        raise BadAnswerError("the server's answer has no choices")
    return value[0]


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _number(value: object) -> int:
    """A count as a server reports it; what cannot be one is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 10**12 else 0
