"""The settings of the service: argument over environment over file over default, each with where it comes from."""

from __future__ import annotations

import difflib
import os
import sys
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Any

from infold.errors import ConfigError, masked
from infold.models.spec import HOSTED_PROMPT
from infold.policy import MEMORY_ROLES
from infold.presets import ENVIRONMENT, FROM_FILE, PRESETS, memory_role, merges, variable, whole_number
from infold.retention import MOST_DAYS
from infold.service import kinds
from infold.service.kinds import Kind, number, one_of, optional, whole

FILE = "infold.toml"
"""The settings file that is read where none is named."""


def _setting(
    default: Any,
    kind: Kind,
    *environment: str,
    meaning: str,
    shown: str = "",
    secret: bool = False,
) -> Any:
    """A field with what is known of it; `shown` is the default in words, where its value does not tell."""
    about = {"kind": kind, "environment": environment, "meaning": meaning, "shown": shown, "secret": secret}
    return field(default=default, metadata=about, repr=not (secret or kind is kinds.DATABASE))


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSettings:
    """How `infold serve` and `infold worker` run. Made by `resolve`, or by hand with the fields that matter."""

    database: str = _setting(
        "sqlite:///infold.db", kinds.DATABASE, "INFOLD_DATABASE", meaning="where everything is stored"
    )
    host: str = _setting(
        "127.0.0.1", kinds.HOST, "INFOLD_HOST", meaning="address to listen on; any but loopback needs API keys"
    )
    port: int = _setting(8765, whole(0, 65535), "INFOLD_PORT", meaning="port to listen on; 0 takes a free one")
    upstream: str | None = _setting(
        None,
        optional(kinds.UPSTREAM),
        "INFOLD_UPSTREAM",
        meaning="the provider that the proxy forwards to; below its path, or below /v1 where it has none",
        shown="none: no proxy",
    )
    anthropic_upstream: str | None = _setting(
        None,
        optional(kinds.UPSTREAM),
        "INFOLD_ANTHROPIC_UPSTREAM",
        meaning="the provider of Anthropic's API (`/v1/messages`, and models asked for with `anthropic-version`)",
        shown="as `upstream`",
    )
    upstream_key: str | None = _setting(
        None,
        optional(kinds.TEXT),
        "INFOLD_UPSTREAM_KEY",
        meaning="the provider's key, where the server holds it instead of its clients",
        shown="none: clients send theirs",
        secret=True,
    )
    anthropic_upstream_key: str | None = _setting(
        None,
        optional(kinds.TEXT),
        "INFOLD_ANTHROPIC_UPSTREAM_KEY",
        meaning="the same for `anthropic_upstream`, where that is another provider: `upstream_key` never goes there",
        shown="none: clients send theirs",
        secret=True,
    )
    model: tuple[str, ...] = _setting(
        (),
        kinds.MODELS,
        "MEMORY_SUMMARIZER_MODEL",
        "INFOLD_MODEL",
        meaning="models that write summaries, with commas, tried in turn",
        shown="none: folds quote",
    )
    preset: str = _setting(
        "default", one_of(*PRESETS), "INFOLD_PRESET", meaning="policy of a new chat whose request names none"
    )
    context_window: int | None = _setting(
        None,
        optional(kinds.WINDOW),
        "INFOLD_CONTEXT_WINDOW",
        meaning="tokens that the model of a new chat can read",
        shown="8192",
    )
    workers: int = _setting(
        1,
        whole(0, 64),
        "INFOLD_WORKERS",
        meaning="workers that `infold serve` starts on PostgreSQL; 0 where they run elsewhere",
    )
    worker_metrics: str | None = _setting(
        None,
        optional(kinds.ADDRESS),
        "INFOLD_WORKER_METRICS",
        meaning="address and port where `infold worker` serves its `/metrics`, to all who reach it; each worker needs its own",
        shown="none",
    )
    max_body: int = _setting(33_554_432, whole(1024), "INFOLD_MAX_BODY", meaning="bytes of a request body, at most")
    max_messages: int = _setting(10_000, whole(1), "INFOLD_MAX_MESSAGES", meaning="messages of a request, at most")
    rate: float = _setting(0.0, number(0), "INFOLD_RATE", meaning="requests a second for each key; 0 is no limit")
    streams: int = _setting(64, whole(1), "INFOLD_STREAMS", meaning="streams at a time for each key")
    upstream_timeout: float = _setting(
        600.0,
        number(0, above=True),
        "INFOLD_UPSTREAM_TIMEOUT",
        meaning="seconds to wait for the next byte of a reply, and for a client to take it",
    )
    connect_timeout: float = _setting(
        10.0, number(0, above=True), "INFOLD_CONNECT_TIMEOUT", meaning="seconds to wait for a connection upstream"
    )
    memory_timeout: float = _setting(
        2.0,
        number(0, above=True),
        "INFOLD_MEMORY_TIMEOUT",
        meaning="seconds to wait for memory; then a request is forwarded without it",
    )
    api_timeout: float = _setting(
        60.0,
        number(0, above=True),
        "INFOLD_API_TIMEOUT",
        meaning="seconds to wait for the database in a request of the API; then it is answered with 503",
    )
    work_timeout: float = _setting(
        600.0,
        number(0, above=True),
        "INFOLD_WORK_TIMEOUT",
        meaning="the same for what may take long: fold, verify, forget, compact, delete; then it is answered with 504",
    )
    grace: float = _setting(30.0, number(0), "INFOLD_GRACE", meaning="seconds to finish replies and folds at the end")
    retention_days: int = _setting(
        30,
        whole(1, MOST_DAYS),
        "TRANSCRIPT_RETENTION_DAYS",
        meaning="days that covered messages stay verbatim, where `retention` lets them go",
    )
    retention: str = _setting(
        "keep",
        one_of("archive", "remove", "keep"),
        "INFOLD_RETENTION",
        meaning="what becomes of covered messages after that: `archive`, `remove` or `keep`",
    )
    compact_every: float = _setting(
        86_400.0,
        number(1),
        "INFOLD_COMPACT_EVERY",
        meaning="seconds between two runs of retention; workers take the day, hour or minute that is not longer",
    )
    log_level: str = _setting(
        "info",
        one_of("debug", "info", "warning", "error"),
        "INFOLD_LOG_LEVEL",
        meaning="least level of the log: `debug`, `info`, `warning` or `error`; `debug` may quote messages",
    )
    log_format: str = _setting(
        "",
        one_of("json", "text"),
        "INFOLD_LOG_FORMAT",
        meaning="`json` for one object a line, or `text`",
        shown="text on a terminal, else json",
    )
    traces: str | None = _setting(
        None,
        optional(kinds.TRACES),
        "INFOLD_TRACES",
        meaning="OTLP collector that gets a span for each fold, or `console`",
        shown="none",
    )
    origins: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    """Where values come from, by field; see `origin`."""
    file: Path | None = field(default=None, repr=False, compare=False)
    """The settings file that was read."""

    def __post_init__(self) -> None:
        if self.log_format == "":
            object.__setattr__(self, "log_format", "text" if sys.stderr.isatty() else "json")
        for known in _known():
            value = _checked(known, getattr(self, known.name), self.origins.get(known.name, "argument"))
            object.__setattr__(self, known.name, value)
        if self.anthropic_upstream is None:
            object.__setattr__(self, "anthropic_upstream", self.upstream)

    @classmethod
    def resolve(cls, *, config: str | Path | None = None, **arguments: Any) -> ServiceSettings:
        """The settings in force; an argument that is None was not given.

        What the file's [memory] table says is in force for the whole process from then on, below the environment.
        """
        names = [known.name for known in _known()]
        for name in arguments:
            if name not in names:
                raise ConfigError(f"there is no setting {name!r}{_nearest(name, names)}")
        path = _file(config)
        in_file, memory = _read(path) if path else ({}, {})
        values: dict[str, Any] = {}
        origins = dict.fromkeys(names, "default")
        for known in _known():
            name, about = known.name, known.metadata
            variables = [one for one in about["environment"] if os.environ.get(one, "").strip()]
            if arguments.get(name) is not None:
                values[name], origins[name] = arguments[name], "argument"
            elif variables:
                origins[name] = f"environment {variables[0]}"
                values[name] = _parsed(known, os.environ[variables[0]].strip(), origins[name])
            elif name in in_file:
                values[name], origins[name] = in_file[name], f"file {path}"
        settings = cls(**values, origins=origins, file=path)
        FROM_FILE.clear()
        FROM_FILE.update(memory)
        knobs(path)  # or their values are found wrong only when a chat is created
        return settings

    def origin(self, name: str) -> str:
        """ "argument", "environment NAME", "file PATH" or "default"."""
        if name in self.origins:
            return self.origins[name]
        (known,) = (one for one in _known() if one.name == name)
        return "default" if getattr(self, name) == known.default else "argument"

    @property
    def memory_model(self) -> tuple[str, ...] | None:
        """What to give to Memory(model=…): None where it reads the same from environment and file, hosted prompts too."""
        return self.model if self.origin("model") in ("argument", "environment INFOLD_MODEL") else None

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        return kinds.is_loopback(self.host)

    def shown(self) -> list[Shown]:
        """Every setting for people to see, with the knobs of memory; no secrets."""
        rows = []
        for known in _known():
            value: Any = getattr(self, known.name)
            if known.metadata["secret"]:
                value = "set" if value else None
            elif isinstance(value, tuple):
                value = ", ".join(map(masked, value)) or None
            elif isinstance(value, str):
                value = masked(value)
            rows.append(Shown(known.name, known.metadata["environment"], value, self.origin(known.name)))
        return rows + knobs(self.file)


@dataclass(frozen=True, slots=True)
class Shown:
    """A setting as `infold config` tells it."""

    name: str
    environment: tuple[str, ...]
    value: str | int | float | None
    origin: str


MEMORY_TABLE: dict[str, str] = {
    **dict.fromkeys(ENVIRONMENT, ""),
    "INFOLD_MEMORY_ROLE": "role of memory in contexts whose chat and caller name none: `user` or `system`",
    "INFOLD_MERGE": "whether a chain's two system messages are one: `yes` or `no`; in the file `true` or `false`",
    "PROMPT_ID_SUMMARY_GLOBAL": "id of a hosted prompt that summarizes (preset `chunked`)",
    "PROMPT_VERSION_SUMMARY_GLOBAL": "its version; without one it is not used",
    "MEMORY_SUMMARIZER_MODEL": "the same as `model`",
    "TRANSCRIPT_RETENTION_DAYS": "the same as `retention_days`",
}
"""The environment's names of what the [memory] table sets, and what those mean that are no fields of a preset."""

_SAME = {"MEMORY_SUMMARIZER_MODEL": "model", "TRANSCRIPT_RETENTION_DAYS": "retention_days"}
_KINDS = {
    "PROMPT_ID_SUMMARY_GLOBAL": kinds.TEXT,
    "PROMPT_VERSION_SUMMARY_GLOBAL": kinds.TEXT,
    "INFOLD_MEMORY_ROLE": one_of(*MEMORY_ROLES),
    "INFOLD_MERGE": kinds.YES_OR_NO,
}


def name_in_file(variable: str) -> str:
    """What an environment variable is called in the [memory] table."""
    return variable.lower().removeprefix("infold_")


def knobs(file: Path | None) -> list[Shown]:
    """The knobs of memory that are in force in this process."""
    rows = []
    for name in (name for name in MEMORY_TABLE if name not in _SAME):
        value: str | int | None
        if name in ENVIRONMENT:
            preset, attribute = ENVIRONMENT[name]
            value = whole_number(name) or getattr(PRESETS[preset], attribute)
        elif name == "INFOLD_MEMORY_ROLE":
            value = memory_role()
        elif name == "INFOLD_MERGE":
            value = "yes" if merges() else "no"
        else:
            value = variable(name) or (HOSTED_PROMPT if name == "PROMPT_ID_SUMMARY_GLOBAL" else None)
        origin = f"file {file}" if name in FROM_FILE else "default"
        if os.environ.get(name, "").strip():
            origin = f"environment {name}"
        rows.append(Shown(f"memory.{name_in_file(name)}", (name,), value, origin))
    return rows


def _known() -> list[Field[Any]]:
    return [one for one in fields(ServiceSettings) if "kind" in one.metadata]


def _parsed(known: Field[Any], text: str, origin: str) -> Any:
    try:
        return known.metadata["kind"].parse(text)
    except ValueError:
        raise _wrong(known, text, origin) from None


def _checked(known: Field[Any], value: Any, origin: str) -> Any:
    try:
        return known.metadata["kind"].check(value)
    except (ValueError, TypeError):
        raise _wrong(known, value, origin) from None


def _wrong(known: Field[Any], value: Any, origin: str) -> ConfigError:
    said = "what is given" if known.metadata["secret"] else masked(repr(value))
    return ConfigError(f"{known.name} ({origin}) must be {known.metadata['kind'].wanted}, not {said}")


def _file(config: str | Path | None) -> Path | None:
    """The settings file; one that is named must be there."""
    named = str(config) if config is not None else os.environ.get("INFOLD_CONFIG", "").strip()
    if named:
        if not Path(named).is_file():
            said = "--config" if config is not None else "INFOLD_CONFIG"
            raise ConfigError(f"there is no settings file {named}; create it, or correct {said}")
        return Path(named)
    return Path(FILE) if Path(FILE).is_file() else None


def _read(path: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """The fields that a file sets, and its knobs of memory under the environment's names."""
    try:
        with path.open("rb") as file:
            content = tomllib.load(file)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}") from None
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}; check its permissions") from None
    table = content.pop("memory", {})
    if not isinstance(table, dict):
        raise ConfigError(f"memory in {path} must be a table, [memory], not {table!r}")
    names = [known.name for known in _known()]
    in_memory = {name_in_file(name): name for name in MEMORY_TABLE}
    for key in content:
        if key not in names:
            known = [*names, *(f"[memory] {name}" for name in in_memory)]
            near = f"; it belongs under [memory] in {path}" if key in in_memory else _nearest(key, known)
            raise ConfigError(f"unknown setting {key!r} in {path}{near}")
    memory: dict[str, str] = {}
    for key, value in table.items():
        if key not in in_memory:
            raise ConfigError(f"unknown setting {key!r} under [memory] in {path}{_nearest(key, in_memory)}")
        name = in_memory[key]
        if name in _SAME:
            if _SAME[name] in content:
                raise ConfigError(f"{path} has both {_SAME[name]} and [memory] {key}, which are the same; keep one")
            content[_SAME[name]] = value
            continue
        kind = _KINDS.get(name) or whole(1)
        try:
            memory[name] = str(kind.check(value))
        except ValueError:
            raise ConfigError(f"[memory] {key} (file {path}) must be {kind.wanted}, not {value!r}") from None
    for name, same in _SAME.items():
        if same in content:  # what does not ask the service reads it under this name
            value = content[same]
            memory[name] = ",".join(map(str, value)) if isinstance(value, list) else str(value)
    return content, memory


def _nearest(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(known), 1)
    return f"; did you mean {near[0]!r}?" if near else "; `infold config` lists all there are"
