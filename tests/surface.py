"""Every public name of infold, read from the code that has it: one line a name, for each surface."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
import re
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import typer
from prometheus_client.metrics import MetricWrapperBase
from starlette.routing import Route

import infold
from infold import Memory
from infold.presets import PRESETS, Settings
from infold.service.app import create_app
from infold.service.settings import MEMORY_TABLE, ServiceSettings, name_in_file
from infold.service.telemetry import Metrics
from tests.conftest import START, assistant, counted_ids, ticking_clock, user, words

SOURCE = Path(infold.__file__).parent
_GIVEN = {"AsyncChat", "AsyncUser", "Chat", "User"}  # a Memory makes them: nobody calls these classes


# Python ------------------------------------------------------------------------------------------------------


def python(_: Path) -> Iterator[str]:
    """What can be imported from infold, with the attributes and methods of the classes."""
    for name in infold.__all__:
        thing = getattr(infold, name)
        if not inspect.isclass(thing):
            yield name + (_signature(thing) if callable(thing) else "")
        elif issubclass(thing, Exception):
            yield f"{name}({thing.__mro__[1].__name__})"
            yield from _members(thing, since=Exception)
        else:
            yield name if name in _GIVEN else name + _signature(thing)
            yield from _members(thing, since=object)


def _members(owner: type, since: type) -> Iterator[str]:
    """The public names of a class that `since` has not."""
    types = {one.name: one.type for one in dataclasses.fields(owner)} if dataclasses.is_dataclass(owner) else {}
    for name in dir(owner):
        if name.startswith("_") or hasattr(since, name):
            continue
        found = inspect.getattr_static(owner, name)
        if name in types:
            yield f"{owner.__name__}.{name}: {types[name]}"
        elif isinstance(found, property):
            yield f"{owner.__name__}.{name}: {inspect.signature(found.fget).return_annotation}"  # type: ignore[arg-type]
        else:
            waits = " (async)" if inspect.iscoroutinefunction(found) else ""
            yield f"{owner.__name__}.{name}{_signature(getattr(owner, name))}{waits}"


def _signature(called: Callable[..., Any]) -> str:
    """Parameters and result; annotations are the text that the code has."""
    signature = inspect.signature(called)
    shown = [one for one in signature.parameters.values() if one.name != "self"]
    bare = inspect.Signature([one.replace(annotation=one.empty) for one in shown])
    text = str(bare.replace(parameters=[one.replace(annotation=_Text(one.annotation)) for one in shown]))
    result = "" if inspect.isclass(called) else f" -> {signature.return_annotation}"
    return text + result


class _Text:
    """An annotation that is shown without quotation marks."""

    def __init__(self, annotation: Any) -> None:
        self._text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)

    def __repr__(self) -> str:
        return self._text


# HTTP --------------------------------------------------------------------------------------------------------


def http(_: Path) -> Iterator[str]:
    """Operations with their parameters and bodies, the fields of these, and the routes of the proxy."""
    service = create_app(ServiceSettings())
    described = service.openapi()
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            name = f"{method.upper()} {path}"
            yield name
            for one in operation.get("parameters", ()):
                yield f"{name} {one['in']} {one['name']}{_if_required(one.get('required', False))}"
            for kind, body in operation.get("requestBody", {}).get("content", {}).items():
                yield f"{name} takes {kind} {_schema(body)}".rstrip()
            for status, answer in operation["responses"].items():
                for kind, body in answer.get("content", {"": {}}).items():
                    yield f"{name} answers {status} {kind} {_schema(body)}".rstrip()
    for name, schema in described["components"]["schemas"].items():
        for field in schema.get("properties", {}):
            yield f"{name}.{field}{_if_required(field in schema.get('required', ()))}"
    for route in service.router.routes:
        if type(route) is Route and route.path not in described["paths"]:
            yield from (f"{method} {route.path}" for method in route.methods or () if method != "HEAD")


def _if_required(required: bool) -> str:
    return " (required)" if required else ""


def _schema(body: dict[str, Any]) -> str:
    return str(body.get("schema", {}).get("$ref", "")).rpartition("/")[2]


# Command line ------------------------------------------------------------------------------------------------


def cli(_: Path) -> Iterator[str]:
    """Commands, their arguments and options."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("COLUMNS", raising=False)  # a console that is made now would keep it as its width
        from infold.cli.app import app
    yield from _commands(typer.main.get_command(app), "infold")


def _commands(command: Any, name: str) -> Iterator[str]:
    yield name
    for one in command.params:
        if one.param_type_name == "argument":
            yield f"{name} {one.name.upper()}{_if_required(one.required)}"
        else:
            yield f"{name} {' '.join([*one.opts, *one.secondary_opts])}{_if_required(one.required)}"
    for part, below in getattr(command, "commands", {}).items():
        yield from _commands(below, f"{name} {part}")


# Events ------------------------------------------------------------------------------------------------------


def events(folder: Path) -> Iterator[str]:
    """The types of events, and the names in their data: those that the code spells, and those that chats have."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for path in SOURCE.rglob("*.py"):
        for type, names in _spelled(ast.parse(path.read_text())):
            found[type].update(names)
    for type, data in _lived(folder):
        assert type in found, f"the code writes {type!r}, but nowhere spells it"
        found[type].update(data)
    for type in found:
        yield type
        yield from (f"{type}.{name}" for name in found[type])


_WRITING = {"Event": (0, 2), "record": (1, 2), "noted": (2, 3)}  # what writes events: where it takes type and data


def _spelled(module: ast.Module) -> Iterator[tuple[str, list[str]]]:
    """Types and names of data in the calls that write events."""
    constants = _assigned(module.body)
    for function in (node for node in ast.walk(module) if isinstance(node, ast.FunctionDef)):
        local = _assigned(ast.walk(function))
        for call in (node for node in ast.walk(function) if isinstance(node, ast.Call)):
            places = _WRITING.get(getattr(call.func, "attr", getattr(call.func, "id", "")))
            if places is None or len(call.args) <= places[1]:
                continue
            type, data = (call.args[at] for at in places)
            type, data = constants.get(ast.unparse(type), type), local.get(ast.unparse(data), data)
            if isinstance(type, ast.Constant):
                keys = data.keys if isinstance(data, ast.Dict) else []
                yield str(type.value), [str(key.value) for key in keys if isinstance(key, ast.Constant)]


def _assigned(nodes: Iterable[ast.AST]) -> dict[str, ast.expr]:
    """What is assigned to names, by name."""
    found = (node for node in nodes if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name))
    return {node.targets[0].id: node.value for node in found}  # type: ignore[attr-defined]


def _lived(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Types and data of the events of a small chat under each preset, without and with a summarizer."""
    for number, summarizer in enumerate((None, lambda memory, messages: "- We decided to use rope.")):
        url = f"sqlite:///{folder / f'{number}.db'}"
        with Memory(url, summarizer=summarizer, clock=ticking_clock(), ids=counted_ids()) as memory:
            for preset in PRESETS:
                chat = memory.chat(preset, preset=preset, user="ann", context_window=1024)
                for n in range(24):
                    text = f"We decided to use rope {n % 20}. My budget is {n % 20 + 1} EUR. {words(40, f'q{n % 20}')}"
                    chat.add([user(text, id=f"{preset}-u{n}"), assistant(words(20, f"a{n}"), id=f"{preset}-a{n}")])
                chat.fold()
                chat.settle()
                chat.unpin(chat.pin("Keep this."))
                chat.update(title="Rope")
                chat.set_policy("rolling" if preset != "rolling" else "chain")
                chat.settle()
                chat.forget(f"{preset}-u3")
                chat.settle()
                chat.rewind(f"{preset}-a20")
        with Memory(url, clock=ticking_clock(START + 365 * 86_400_000)) as memory:
            memory.compact()
        with closing(sqlite3.connect(folder / f"{number}.db")) as database:
            for type, data in database.execute("SELECT type, data FROM events"):
                yield type, json.loads(data)


# SQL ---------------------------------------------------------------------------------------------------------


def views(folder: Path) -> Iterator[str]:
    """The views of a SQLite file and their columns; a PostgreSQL database has these and those of its tables."""
    Memory(f"sqlite:///{folder / 'chats.db'}").close()
    with closing(sqlite3.connect(folder / "chats.db")) as database:
        for (view,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'view'").fetchall():
            yield view
            for (column,) in database.execute("SELECT name FROM pragma_table_info(?)", [view]):
                yield f"{view}.{column}"


# What operators know -----------------------------------------------------------------------------------------


def metrics(_: Path) -> Iterator[str]:
    """What Prometheus reads, with the labels."""
    for one in vars(Metrics()).values():
        if isinstance(one, MetricWrapperBase):
            (known,) = one.describe()
            name = f"{known.name}_total" if known.type == "counter" else known.name
            yield f"{known.type} {name}{{{', '.join(one._labelnames)}}}"


_VARIABLE = re.compile(r"(INFOLD|MEMORY|PROMPT|TRANSCRIPT|OLLAMA|OPENAI|ANTHROPIC)(_[A-Z]+)+")


def settings(_: Path) -> Iterator[str]:
    """Settings of the service and the file, environment variables, presets and their values."""
    for one in dataclasses.fields(ServiceSettings):
        if "kind" in one.metadata:
            yield f"setting {one.name}: {', '.join(one.metadata['environment'])}"
    yield from (f"setting memory.{name_in_file(name)}: {name}" for name in MEMORY_TABLE)
    variables = {one.name.upper() for one in dataclasses.fields(Settings)}
    for path in SOURCE.rglob("*.py"):
        nodes = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant))
        variables.update(str(node.value) for node in nodes if _VARIABLE.fullmatch(str(node.value)))
    yield from (f"variable {name}" for name in variables)
    yield from (f"preset {name}" for name in PRESETS)


SURFACES: dict[str, Callable[[Path], Iterator[str]]] = {
    one.__name__: one for one in (python, http, cli, events, views, metrics, settings)
}


def names(surface: str, folder: Path) -> list[str]:
    """The public names of a surface, sorted."""
    return sorted(set(SURFACES[surface](folder)))
