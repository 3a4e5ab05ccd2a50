"""Settings of the service: precedence, origins, validation, the file, and the page that documents them (C11, E6)."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from infold import Chat, Memory
from infold.errors import ConfigError, masked
from infold.models.spec import HOSTED_PROMPT, from_environment
from infold.presets import ENVIRONMENT, FROM_FILE, PRESETS, Settings, preset
from infold.service.kinds import is_loopback
from infold.service.settings import MEMORY_TABLE, ServiceSettings, name_in_file
from tests.conftest import assistant, turn

ROOT = Path(__file__).parent.parent
FIELDS = [field for field in dataclasses.fields(ServiceSettings) if "kind" in field.metadata]

# For each field: a text for the environment, the value it means, and another for file and argument.
EXAMPLES: dict[str, tuple[str, Any, Any]] = {
    "database": ("sqlite:///a.db", "sqlite:///a.db", "postgresql://u@h/d"),
    "host": ("0.0.0.0", "0.0.0.0", "::1"),
    "port": ("0", 0, 9000),
    "upstream": ("http://127.0.0.1:9000", "http://127.0.0.1:9000/v1", "https://api.example.com/v1"),
    "anthropic_upstream": ("http://a.example/x/", "http://a.example/x", "https://b.example/v1"),
    "upstream_key": ("sk-1", "sk-1", "sk-2"),
    "anthropic_upstream_key": ("sk-3", "sk-3", "sk-4"),
    "model": ("gpt-5-nano, ollama:llama3.2", ("openai:gpt-5-nano", "ollama:llama3.2"), ["local", "anthropic:x"]),
    "preset": ("rolling", "rolling", "engine"),
    "context_window": ("4096", 4096, 128_000),
    "workers": ("2", 2, 3),
    "worker_metrics": ("127.0.0.1:9765", "127.0.0.1:9765", "[::1]:9765"),
    "max_body": ("2048", 2048, 4096),
    "max_messages": ("5", 5, 6),
    "rate": ("2.5", 2.5, 3),
    "streams": ("1", 1, 2),
    "upstream_timeout": ("30", 30.0, 31),
    "connect_timeout": ("0.5", 0.5, 1),
    "memory_timeout": ("1", 1.0, 0.25),
    "api_timeout": ("20", 20.0, 0.25),
    "work_timeout": ("90", 90.0, 0.25),
    "grace": ("0", 0.0, 5),
    "retention_days": ("7", 7, 90),
    "retention": ("archive", "archive", "remove"),
    "compact_every": ("60", 60.0, 3600),
    "log_level": ("debug", "debug", "error"),
    "log_format": ("text", "text", "json"),
    "traces": ("console", "console", "http://127.0.0.1:4318/v1/traces"),
}
WRONG: dict[str, list[Any]] = {
    "database": ["mysql://host/name", "", 3, "a\nb", "host=h password=x", "dbname = x"],
    "host": ["http://localhost", "localhost:80", "a b", ""],
    "port": [-1, 65536, "8765", 1.5, True],
    "upstream": ["api.openai.com", "ftp://host", "http://user:pw@host", "http://h?a=1", "http://h:70000", "http://"],
    "anthropic_upstream": ["localhost"],
    "upstream_key": ["", "two\nlines", 5],
    "anthropic_upstream_key": [""],
    "model": ["nobody:x", [3], 3, [""]],
    "preset": ["rollin", 1],
    "context_window": [255, 10**9, "4096"],
    "workers": [-1, 65],
    "worker_metrics": ["9765", ":9765", "127.0.0.1", "h:0", "h:70000", "h:x", "u@h:1", "h:1/m", "http://h:1", 9765],
    "max_body": [0, 1023],
    "max_messages": [0],
    "rate": [-1, float("nan"), float("inf"), "1"],
    "streams": [0],
    "upstream_timeout": [0, -1],
    "connect_timeout": [0],
    "memory_timeout": [0],
    "api_timeout": [0],
    "work_timeout": [0],
    "grace": [-1],
    "retention_days": [0, 1.5, 200_000],
    "retention": ["delete", None, ["keep"]],
    "compact_every": [0.5],
    "log_level": ["INFO", "loud"],
    "log_format": ["xml"],
    "traces": ["stdout", "grpc://host"],
}


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """An empty folder, no variables of ours, and no file in force before or after."""
    monkeypatch.chdir(tmp_path)
    for name in {*MEMORY_TABLE, "INFOLD_CONFIG", *(name for field in FIELDS for name in field.metadata["environment"])}:
        monkeypatch.delenv(name, raising=False)
    FROM_FILE.clear()
    yield
    FROM_FILE.clear()


def as_toml(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(map(as_toml, value)) + "]"
    return f'"{value}"' if isinstance(value, str) else str(value)


def write(text: str, name: str = "infold.toml") -> Path:
    path = Path(name)
    path.write_text(text)
    return path


def test_every_field_has_an_example_and_wrong_values() -> None:
    names = [field.name for field in FIELDS]
    assert list(EXAMPLES) == names
    assert list(WRONG) == names


@pytest.mark.parametrize("name", EXAMPLES)
def test_C11_argument_over_environment_over_file_over_default(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text, parsed, other = EXAMPLES[name]
    (field,) = (one for one in FIELDS if one.name == name)
    default = ServiceSettings.resolve()
    assert default.origin(name) == "default"
    write(f"{name} = {as_toml(other)}")
    from_file = ServiceSettings.resolve()
    value = tuple(other) if isinstance(other, list) else other
    assert getattr(from_file, name) == value != getattr(default, name) or name == "log_format"
    assert from_file.origin(name) == "file infold.toml"
    for variable in reversed(field.metadata["environment"]):  # the first name beats the second
        monkeypatch.setenv(variable, f" {text} ")
        from_environment = ServiceSettings.resolve()
        assert getattr(from_environment, name) == parsed != value
        assert from_environment.origin(name) == f"environment {variable}"
    given = ServiceSettings.resolve(**{name: other})
    assert getattr(given, name) == value
    assert given.origin(name) == "argument"
    for variable in field.metadata["environment"]:
        monkeypatch.setenv(variable, " ")
    assert ServiceSettings.resolve().origin(name) == "file infold.toml"  # empty is not set


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG.items() for value in values])
def test_a_wrong_value_is_an_error_that_names_setting_and_what_is_allowed(name: str, value: Any) -> None:
    (field,) = (one for one in FIELDS if one.name == name)
    with pytest.raises(ConfigError) as caught:
        ServiceSettings(**{name: value})
    assert str(caught.value).startswith(f"{name} (argument) must be {field.metadata['kind'].wanted}, not ")


@pytest.mark.parametrize("name", [field.name for field in FIELDS if not field.metadata["secret"]])
def test_a_wrong_value_says_where_it_comes_from(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (field,) = (one for one in FIELDS if one.name == name)
    write(f"{name} = {{}}")
    with pytest.raises(ConfigError, match=rf"^{name} \(file infold.toml\) must be .*, not {{}}$"):
        ServiceSettings.resolve()
    variable = field.metadata["environment"][0]
    monkeypatch.setenv(variable, "\t:// 1_0 \x07 ")
    with pytest.raises(ConfigError, match=rf"^{name} \(environment {variable}\) must be .*, not "):
        ServiceSettings.resolve()


def test_no_secret_in_errors_output_or_repr() -> None:
    settings = ServiceSettings(database="postgresql://ann:pa%40ss@db/x?sslpassword=hid", upstream_key="sk-hidden")
    shown = f"{settings!r} {settings.shown()}"
    wrong: list[dict[str, Any]] = [
        {"upstream_key": "sk-hidden\n"},
        {"database": "mysql://ann:pa%40ss@db"},
        {"model": ["http://:hid@host/v1", "nobody:x"]},
        {"upstream": "http://hid@host"},
    ]
    for values in wrong:
        with pytest.raises(ConfigError) as caught:
            ServiceSettings(**values)
        shown += str(caught.value)
    assert "hid" not in shown
    assert "pa%40ss" not in shown
    rows = {row.name: row.value for row in settings.shown()}
    assert rows["upstream_key"] == "set"
    assert rows["database"] == "postgresql://ann:***@db/x?sslpassword=***"


@pytest.mark.parametrize(
    ("url", "seen"),
    [
        ("sqlite:////a:b@c/d.db", "sqlite:////a:b@c/d.db"),
        ("postgresql://u@h/d", "postgresql://u@h/d"),
        ("postgresql://u:p@h/d", "postgresql://u:***@h/d"),
        ("postgresql://u:p/x@y@h/d", "postgresql://u:***@h/d"),
        ("postgresql:///d?user=u&password=p&x=1", "postgresql:///d?user=u&password=***&x=1"),
        ("https://token@h/v1", "https://***@h/v1"),
        ("host=h password=p", "host=h password=***"),
        ("'password = 'a b' host=h'", "'password =***"),
    ],
)
def test_masked(url: str, seen: str) -> None:
    assert masked(url) == seen


@pytest.mark.parametrize(
    ("host", "own"),
    [
        *((host, True) for host in ("127.0.0.1", "127.8.8.8", "::1", "localhost")),
        *((host, False) for host in ("0.0.0.0", "::", "192.168.0.1", "localhost.example.com", "127.0.0.1.example.com")),
    ],
)
def test_loopback(host: str, own: bool) -> None:
    assert is_loopback(host) is own
    assert ServiceSettings(host=host).loopback is own


def test_anthropic_goes_where_the_rest_goes_unless_told() -> None:
    assert ServiceSettings(upstream="http://h").anthropic_upstream == "http://h/v1"
    assert ServiceSettings(upstream="http://h", anthropic_upstream="http://a/v1/").anthropic_upstream == "http://a/v1"


def test_a_file_is_found_by_argument_then_variable_then_name(monkeypatch: pytest.MonkeyPatch) -> None:
    write("port = 1")
    write("port = 2", "two.toml")
    write("port = 3", "three.toml")
    assert ServiceSettings.resolve().port == 1
    monkeypatch.setenv("INFOLD_CONFIG", "two.toml")
    assert ServiceSettings.resolve().port == 2
    settings = ServiceSettings.resolve(config="three.toml")
    assert (settings.port, settings.origin("port"), settings.file) == (3, "file three.toml", Path("three.toml"))
    with pytest.raises(ConfigError, match=r"no settings file four.toml.*--config"):
        ServiceSettings.resolve(config="four.toml")
    monkeypatch.setenv("INFOLD_CONFIG", "five.toml")
    with pytest.raises(ConfigError, match=r"no settings file five.toml.*INFOLD_CONFIG"):
        ServiceSettings.resolve()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("prot = 1", r"unknown setting 'prot' in infold.toml; did you mean 'port'\?"),
        ("zzz = 1", "unknown setting 'zzz' in infold.toml; `infold config` lists"),
        ("memory_k_raw_turns = 1", r"'memory_k_raw_turns' in infold.toml; it belongs under \[memory\]"),
        ("[memory]\nmemory_k_raw_turn = 1", r"'memory_k_raw_turn' under \[memory\].*'memory_k_raw_turns'\?"),
        ("[memory]\nmemory_k_raw_turns = 0", r"\[memory\] memory_k_raw_turns \(file infold.toml\).*at least 1, not 0"),
        ("[memory]\nmemory_k_raw_turns = '3'", r"whole number of at least 1, not '3'"),
        ("[memory]\nprompt_version_summary_global = 3", "a text on one line, not 3"),
        ("[memory]\nmemory_role = 'operator'", r"\[memory\] memory_role .*must be one of user, system, not 'operator'"),
        ("[memory]\nmerge = 'yes'", r"\[memory\] merge \(file infold.toml\) must be true or false, not 'yes'"),
        ("[memory]\ninfold_merge = true", "unknown setting 'infold_merge' under"),
        ("merge = true", r"unknown setting 'merge' in infold.toml; it belongs under \[memory\]"),
        ("memory = 3", r"must be a table, \[memory\]"),
        ("[port]\nx = 1", r"port \(file infold.toml\) must be a whole number"),
        ("model = 'local'\n[memory]\nmemory_summarizer_model = 'local'", "both model and .* are the same; keep one"),
        ("port = ?\nhost = 'a'", r"infold.toml is not valid TOML: .*line 1"),
    ],
)
def test_a_bad_file_says_what_is_wrong(text: str, says: str) -> None:
    write(text)
    with pytest.raises(ConfigError, match=says):
        ServiceSettings.resolve()
    assert FROM_FILE == {}


def test_a_file_that_is_no_text_is_an_error() -> None:
    Path("infold.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="not valid TOML"):
        ServiceSettings.resolve()


def test_an_unknown_argument_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"no setting 'prot'; did you mean 'port'\?"):
        ServiceSettings.resolve(prot=1)


@pytest.mark.parametrize("name", ENVIRONMENT)
def test_C11_the_file_sets_knobs_of_memory_below_environment_and_argument(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, field = ENVIRONMENT[name]
    write(f"[memory]\n{name.lower()} = 71")
    settings = ServiceSettings.resolve()
    row = next(row for row in settings.shown() if row.name == f"memory.{name.lower()}")
    assert (row.value, row.origin) == (71, "file infold.toml")
    assert getattr(preset(owner), field) == 71
    monkeypatch.setenv(name, "72")
    assert getattr(preset(owner), field) == 72
    row = next(row for row in settings.shown() if row.name == f"memory.{name.lower()}")
    assert (row.value, row.origin) == (72, f"environment {name}")
    argument: dict[str, Any] = {field: 73}
    assert getattr(preset(owner, **argument), field) == 73
    monkeypatch.setenv(name, "")
    assert getattr(preset(owner), field) == 71
    Path("infold.toml").unlink()
    ServiceSettings.resolve()
    assert getattr(preset(owner), field) == getattr(PRESETS[owner], field)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("MEMORY_K_RAW_TURNS", "none", "MEMORY_K_RAW_TURNS must be a whole number"),
        ("INFOLD_MEMORY_ROLE", "assistant", 'INFOLD_MEMORY_ROLE must be "user" or "system", not \'assistant\''),
        ("INFOLD_MERGE", "perhaps", 'INFOLD_MERGE must be "yes" or "no", not \'perhaps\''),
    ],
)
def test_C11_a_wrong_knob_in_the_environment_is_found_at_once(
    name: str, value: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match=says):
        ServiceSettings.resolve()


def roles(chat: Chat, **arguments: Any) -> list[str]:
    """Who speaks in a context."""
    return [message["role"] for message in chat.context(max_tokens=2000, **arguments).messages]


def shown_row(name: str) -> tuple[Any, str]:
    (row,) = [row for row in ServiceSettings.resolve().shown() if row.name == name]
    return row.value, row.origin


def test_F12_the_role_of_memory_is_argument_over_chat_over_environment_over_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Memory("sqlite:///:memory:") as memory:
        chat, own = memory.chat("a"), memory.chat("b", config=preset("default", memory_role="user"))
        for one in (chat, own):
            one.pin("I want no prices.")
            one.add(assistant("Hello."))
        assert shown_row("memory.memory_role") == ("user", "default")
        assert roles(chat) == ["user", "assistant"]
        write("[memory]\nmemory_role = 'system'")
        assert shown_row("memory.memory_role") == ("system", "file infold.toml")
        assert roles(chat) == ["system", "user", "assistant"]
        assert roles(own) == ["user", "assistant"]
        assert roles(own, memory_role="system") == ["system", "user", "assistant"]
        assert roles(chat, memory_role="user") == ["user", "assistant"]
        monkeypatch.setenv("INFOLD_MEMORY_ROLE", "user")
        assert shown_row("memory.memory_role") == ("user", "environment INFOLD_MEMORY_ROLE")
        assert roles(chat) == ["user", "assistant"]


def test_F12_a_chains_messages_are_merged_by_argument_over_environment_over_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Memory("sqlite:///:memory:") as memory:
        chat = memory.chat("a", preset="chain", system="Be brief.")
        chat.add([message for number in range(8) for message in turn(number)])
        chat.fold()
        assert chat.records
        two, one = ["system", "system", "user", "assistant"], ["system", "user", "assistant", "user"]
        assert shown_row("memory.merge") == ("no", "default")
        assert roles(chat)[:4] == two
        write("[memory]\nmerge = true")
        assert shown_row("memory.merge") == ("yes", "file infold.toml")
        assert roles(chat)[:4] == one
        assert roles(chat, merge=False)[:4] == two
        monkeypatch.setenv("INFOLD_MERGE", "no")
        assert shown_row("memory.merge") == ("no", "environment INFOLD_MERGE")
        assert roles(chat)[:4] == two
        assert roles(chat, merge=True)[:4] == one


@pytest.mark.parametrize("text", ["retention_days = 9", "[memory]\ntranscript_retention_days = 9"])
def test_E6_retention_has_two_names_and_one_value(text: str) -> None:
    write(text)
    assert ServiceSettings.resolve().retention_days == 9
    assert Settings.from_environment().transcript_retention_days == 9


@pytest.mark.parametrize("text", ["model = 'a, b:'", "model = ['a', '']"])
def test_C11_a_bad_model_in_the_file(text: str) -> None:
    write(text)
    with pytest.raises(ConfigError, match=r"^model \(file infold.toml\)"):
        ServiceSettings.resolve()


@pytest.mark.parametrize(
    "text", ["model = ['a', 'ollama:b']", "model = 'a,ollama:b'", "[memory]\nmemory_summarizer_model = 'a, ollama:b'"]
)
def test_C11_models_of_the_file_reach_memory_beside_a_hosted_prompt(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write(f"{text}\n" if "[" in text.partition("=")[0] else f"{text}\n[memory]\n")
    with Path("infold.toml").open("a") as file:
        file.write("prompt_version_summary_global = '4'\n")
    settings = ServiceSettings.resolve()
    assert settings.model == ("openai:a", "ollama:b")
    assert settings.memory_model is None
    assert [model.name for model in from_environment("default")] == ["a", "b"]
    assert [model.provider for model in from_environment("chunked")] == ["prompt", "openai", "openai"]
    monkeypatch.setenv("MEMORY_SUMMARIZER_MODEL", "c,d")
    assert ServiceSettings.resolve().memory_model is None
    assert [model.name for model in from_environment("default")] == ["c", "d"]
    assert ServiceSettings.resolve(model=["e"]).memory_model == ("openai:e",)
    monkeypatch.delenv("MEMORY_SUMMARIZER_MODEL")
    monkeypatch.setenv("INFOLD_MODEL", "f")
    assert ServiceSettings.resolve().memory_model == ("openai:f",)


def test_C11_a_chat_is_created_with_the_files_values(tmp_path: Path) -> None:
    write("[memory]\nmemory_k_raw_turns = 5")
    ServiceSettings.resolve()
    with Memory(f"sqlite:///{tmp_path}/a.db") as memory:
        assert memory.chat("a", preset="chunked").policy.keep == 5


def test_made_by_hand_it_knows_what_was_given() -> None:
    settings = ServiceSettings(port=0)
    assert settings.origin("port") == "argument"
    assert settings.origin("host") == "default"


def test_the_example_file_is_valid_and_names_defaults_where_it_can() -> None:
    path = ROOT / "deploy" / "infold.toml"
    settings, default = ServiceSettings.resolve(config=path), ServiceSettings()
    named = tomllib.loads(path.read_text())
    other = {name for name in named if name != "memory" and getattr(settings, name) != getattr(default, name)}
    assert other <= {"database", "upstream", "workers", "log_format"}
    for name, value in named["memory"].items():
        if name.upper() in ENVIRONMENT:
            owner, field = ENVIRONMENT[name.upper()]
            assert value == getattr(PRESETS[owner], field)
        else:
            assert (name, value) in (("memory_role", "user"), ("merge", False))


# The page ----------------------------------------------------------------------------------------------


def settings_table() -> str:
    """The table of settings as docs/configuration.md must have it."""
    rows = ["| Name | Environment | Default | Meaning |", "|---|---|---|---|"]
    for field in FIELDS:
        about = field.metadata
        default = f"{field.default:g}" if isinstance(field.default, float) else field.default
        shown = about["shown"] or f"`{default}`"
        variables = ", ".join(f"`{name}`" for name in about["environment"])
        rows.append(f"| `{field.name}` | {variables} | {shown} | {about['meaning']} |")
    return "\n".join(rows)


DEFAULTS = {"PROMPT_ID_SUMMARY_GLOBAL": HOSTED_PROMPT, "INFOLD_MEMORY_ROLE": "user", "INFOLD_MERGE": "no"}


def memory_table() -> str:
    """The table of memory's knobs as docs/configuration.md must have it."""
    rows = ["| Name in `[memory]` | Environment | Default | Meaning |", "|---|---|---|---|"]
    for name, meaning in MEMORY_TABLE.items():
        owner, field = ENVIRONMENT.get(name, ("", ""))
        default = f"`{getattr(PRESETS[owner], field)}`" if owner else "none"
        if name in DEFAULTS:
            default = f"`{DEFAULTS[name]}`"
        elif meaning.startswith("the same as"):
            default = "as there"
        meaning = meaning or f"`{field}` of preset `{owner}`"
        rows.append(f"| `{name_in_file(name)}` | `{name}` | {default} | {meaning} |")
    return "\n".join(rows)


def test_the_page_documents_every_setting() -> None:
    page = (ROOT / "docs" / "configuration.md").read_text()
    assert settings_table() in page
    assert memory_table() in page
