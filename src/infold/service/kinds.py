"""What values a setting may have: how its text is read, what is checked, and how that is said. Pure."""

from __future__ import annotations

import functools
import ipaddress
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from infold.ledger.addresses import is_keywords
from infold.memory import check_window
from infold.models.spec import listed, models


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of value."""

    wanted: str
    """What is allowed, as an error says it."""
    check: Callable[[Any], Any]
    """The value as it is used; ValueError, TypeError or ConfigError where it is not allowed."""
    parse: Callable[[str], Any] = str
    """A value from the text of an environment variable."""


def whole(least: int, most: int | None = None) -> Kind:
    """A whole number."""

    def check(value: Any) -> int:
        if type(value) is not int or value < least or (most is not None and value > most):
            raise ValueError
        return value

    wanted = f"a whole number of at least {least}" if most is None else f"a whole number from {least} to {most}"
    return Kind(wanted, check, _int)


def number(least: float, *, above: bool = False) -> Kind:
    """A number with or without a fraction; `above`: more than the least one."""

    def check(value: Any) -> float:
        if type(value) not in (int, float) or not math.isfinite(value) or value < least or (above and value == least):
            raise ValueError
        return float(value)

    return Kind(f"a number above {least:g}" if above else f"a number of at least {least:g}", check, _float)


def one_of(*names: str) -> Kind:
    """One of several words."""

    def check(value: Any) -> str:
        if value not in names:
            raise ValueError
        return str(value)

    return Kind(f"one of {', '.join(names)}", check)


def _yes_or_no(value: Any) -> str:
    if type(value) is not bool:
        raise ValueError
    return "yes" if value else "no"


def optional(kind: Kind) -> Kind:
    """A value that may also be left out."""
    return Kind(kind.wanted, lambda value: None if value is None else kind.check(value), kind.parse)


def _int(text: str) -> int:
    if not re.fullmatch(r"[0-9]+", text):
        raise ValueError
    return int(text)


def _float(text: str) -> float:
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)?", text):
        raise ValueError
    return float(text)


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isprintable():
        raise ValueError
    return value.strip()


def _host(value: Any) -> str:
    text = _text(value)
    if re.search(r"[\s/\[\]@]", text) or (":" in text and not _is_address(text)):
        raise ValueError
    return text


def _database(value: Any) -> str:
    text = _text(value)
    scheme, mark, _ = text.partition("://")
    if is_keywords(text) or (mark and scheme not in ("sqlite", "postgresql", "postgres")):
        raise ValueError
    return text


def _upstream(value: Any) -> str:
    """The address that the paths of an API are appended to: /v1 is added where there is no path."""
    text = _text(value).rstrip("/")
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        raise ValueError
    if parts.query or parts.fragment or (parts.port is not None and not parts.port):  # .port checks its range
        raise ValueError
    return text if parts.path else f"{text}/v1"


def _traces(value: Any) -> str:
    text = _text(value)
    if text == "console":
        return text
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        raise ValueError
    return text if parts.path.strip("/") else f"{text.rstrip('/')}/v1/traces"


def _address(value: Any) -> str:
    text = _text(value)
    host, port = host_and_port(text)
    if not port or _host(host) != host or urlsplit(f"//{text}").netloc != text or "@" in text:
        raise ValueError
    return text


def host_and_port(address: str) -> tuple[str, int]:
    """The parts of an address such as 127.0.0.1:9765 or [::1]:9765; a part that is not there is empty, or 0."""
    parts = urlsplit(f"//{address}")
    return parts.hostname or "", parts.port or 0


def _models(value: Any) -> tuple[str, ...]:
    if not isinstance(value, str | list | tuple):
        raise TypeError
    names = tuple(name for one in ([value] if isinstance(value, str) else value) for name in listed(_text(one)))
    models(names)
    return names


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


YES_OR_NO = Kind("true or false", _yes_or_no)
TEXT = Kind("a text on one line", _text)
HOST = Kind("a host name or an address, without scheme and port", _host)
DATABASE = Kind("a database such as sqlite:///infold.db or postgresql://user:password@host/name", _database)
UPSTREAM = Kind(
    "the address of a provider's API, such as https://api.openai.com/v1 or http://127.0.0.1:9000, "
    "without user, password, query or fragment",
    _upstream,
)
TRACES = Kind('"console", or the address of an OTLP collector such as http://127.0.0.1:4318', _traces)
ADDRESS = Kind("an address and a port, such as 127.0.0.1:9765", _address)
MODELS = Kind("one or more models, with commas, such as openai:gpt-5-nano, ollama:llama3.2 or local", _models)
WINDOW = Kind("a whole number of tokens from 256 to 100,000,000", check_window, _int)


@functools.lru_cache(maxsize=8)
def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server that is bound to this host."""
    return host == "localhost" or (_is_address(host) and ipaddress.ip_address(host).is_loopback)
