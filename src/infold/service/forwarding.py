"""Where a request goes, and what the upstream is told of its headers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from multidict import CIMultiDict
from starlette.datastructures import Headers
from yarl import URL

from infold.service.exchange import HOP
from infold.service.keys import PREFIX
from infold.service.problems import Problem
from infold.service.wire import APIS

if TYPE_CHECKING:
    from starlette.types import Scope

    from infold.service.settings import ServiceSettings

_NOT_FORWARDED = HOP | {"host", "content-length", "accept-encoding", "expect"}
_CREDENTIALS = frozenset(("authorization", "x-api-key"))


def address(scope: Scope, upstream: str) -> URL:
    """The upstream's address for one of our paths: below its own path, or below /v1 where it has none."""
    base, path = upstream.rstrip("/"), scope["path"]
    own = base.partition("://")[2].partition("/")[2]
    query = scope.get("query_string", b"").decode("latin-1")
    url = base + (path if not own else path.removeprefix("/v1")) + (f"?{query}" if query else "")
    return URL(url, encoded=True)


def is_apart(scope: Scope, settings: ServiceSettings) -> bool:
    """Whether a request is for Anthropic's API, and that has a provider of its own; both have models."""
    if settings.anthropic_upstream == settings.upstream:
        return False
    asks_for_models = str(scope["path"]).startswith("/v1/models")
    return _is_anthropic(scope) or (asks_for_models and "anthropic-version" in Headers(scope=scope))


def passed_on(scope: Scope, headers: Headers, settings: ServiceSettings) -> CIMultiDict[str]:
    """What the upstream is told: all that the client says, but for what is between it and us."""
    apart = is_apart(scope, settings)
    key = settings.anthropic_upstream_key if apart else settings.upstream_key  # one provider's is not another's
    sent: CIMultiDict[str] = CIMultiDict()
    for raw, value in headers.raw:
        name, text = raw.decode("latin-1"), text_of(value)
        # Our own keys are nobody else's business.
        ours = name in _CREDENTIALS and (key is not None or text.split(" ")[-1].startswith(PREFIX))
        if not ours and name not in _NOT_FORWARDED and not name.startswith("x-infold-"):
            sent.add(name, text)
    if key is not None:
        sent.add(*(("x-api-key", key) if apart or _is_anthropic(scope) else ("authorization", f"Bearer {key}")))
    sent["accept-encoding"] = "identity"
    return sent


def _is_anthropic(scope: Scope) -> bool:
    return str(scope["path"]).startswith(APIS["anthropic"].path)


def text_of(value: bytes) -> str:
    """A header's value: UTF-8, which is how it is written again, or else what HTTP once had."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


REMEMBER = "x-infold-remember"


def remembers(headers: Mapping[str, str]) -> bool:
    """Whether what a request states may be known in other chats."""
    said = headers.get(REMEMBER, "yes").strip().lower()
    if said not in ("yes", "no"):
        raise Problem(400, "bad_remember", f"{REMEMBER} must be yes or no")
    return said == "yes"
