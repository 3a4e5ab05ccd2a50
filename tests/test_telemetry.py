"""Structured logs (C10), metrics, and a span for each fold: numbers and names, never the content of messages."""

from __future__ import annotations

import base64
import gzip
import json
import logging
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client.parser import text_string_to_metric_families

from infold import Memory
from infold.errors import ConfigError
from infold.ledger.rows import Event
from infold.messages import Message
from infold.service.settings import ServiceSettings
from infold.service.telemetry import Metrics, Tracing, configure_logs, log_event, tracing
from tests.conftest import assistant, turn, user
from tests.proxied import eventually
from tests.servers import start_server
from tests.upstream import Upstream

SECRET = "the vault code is 4711"


@pytest.fixture(autouse=True)
def _loggers_as_before() -> Iterator[None]:
    """Logging is global: give it back as it was."""
    loggers = [logging.getLogger(name) for name in ("", "infold", "uvicorn", "uvicorn.access")]
    before = [(one.level, one.propagate, one.disabled, list(one.handlers)) for one in loggers]
    yield
    for logger, (level, propagate, disabled, handlers) in zip(loggers, before, strict=True):
        logger.setLevel(level)
        logger.propagate, logger.disabled, logger.handlers = propagate, disabled, handlers


def folding(memory: Memory) -> list[Event]:
    """Fill a chat until it folds; what happened."""
    seen: list[Event] = []
    memory.on_event = seen.append
    chat = memory.chat("trip", preset="rolling")
    chat.add([user(f"Remember that {SECRET}."), assistant("Noted.")])
    for number in range(8):
        chat.add(turn(number))
    chat.settle()
    return seen


def lines(captured: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in captured.splitlines()]


def sample(metrics: Metrics, name: str, **labels: str) -> float | None:
    text, _ = metrics.render()
    for family in text_string_to_metric_families(text.decode()):
        for one in family.samples:
            if one.name == name and one.labels == labels:
                return float(one.value)
    return None


def test_C10_a_fold_is_logged_with_fields(memory: Memory, capfd: pytest.CaptureFixture[str]) -> None:
    configure_logs("debug", "json")
    folds = [event for event in folding(memory) if event.type == "summarization"]
    found = [line for line in lines(capfd.readouterr().err) if line["event"] == "fold"]
    assert len(found) == len(folds) > 0
    for line, fold in zip(found, folds, strict=True):
        assert line["level"] == "debug"
        assert line["logger"] == "infold"
        assert line["time"].endswith("Z")
        assert line["chat"] == "trip"
        for name in ("tokens_before", "tokens_after", "turns"):
            assert line[name] == fold.data[name]
        assert (line["call_ms"], line["write_ms"]) == (fold.data["call"], fold.data["write"])


def test_C10_a_trimmed_context_is_logged_with_fields(memory: Memory, capfd: pytest.CaptureFixture[str]) -> None:
    chat = memory.chat("a", preset="chunked")
    for number in range(4):
        chat.add(turn(number, 300))
    configure_logs("debug", "json")
    context = chat.context("And now?", max_tokens=900)
    (line,) = [line for line in lines(capfd.readouterr().err) if line["event"] == "context_trimmed"]
    assert (line["budget"], line["tokens"]) == (900, context.tokens)
    assert (line["left_out_messages"], line["bridged"]) == (context.sources["bridged"], context.sources["bridged"])
    assert line["left_out_messages"] > 0
    assert line["left_out_tokens"] >= 300 * line["left_out_messages"]


def test_C10_a_shortened_summary_is_logged_apart_from_the_tail(
    memory: Memory, capfd: pytest.CaptureFixture[str]
) -> None:
    chat = memory.chat("a", preset="chunked", context_window=8192)
    for number in range(8):
        chat.add([user(f"We decided that hotel {number} in street {number * 7} is booked for Ann."), assistant("Ok.")])
    chat.fold()
    configure_logs("debug", "json")
    chat.context("And now?", max_tokens=3000)
    assert not [line for line in lines(capfd.readouterr().err) if line["event"] == "context_trimmed"]
    context = chat.context("And now?", max_tokens=150)
    (line,) = [line for line in lines(capfd.readouterr().err) if line["event"] == "context_trimmed"]
    gone = [piece for piece in context.explain().left_out if piece.layer == "summary"]
    assert line["left_out_lines"] == len(gone) > 0


@pytest.mark.parametrize("format", ["json", "text"])
def test_C10_at_info_each_fold_is_a_line_without_content(
    memory: Memory, capfd: pytest.CaptureFixture[str], format: str
) -> None:
    configure_logs("info", format)
    events = folding(memory)
    for event in events:
        log_event(event)
    log_event(Event("summarization_failed", 0, {"reason": "tokens", "error": "BadAnswerError", "message": SECRET}, "b"))
    text = capfd.readouterr().err
    assert "4711" not in text
    folds = sum(event.type == "summarization" for event in events)
    assert len(text.splitlines()) == folds + 1
    assert "BadAnswerError" in text
    if format == "json":
        *made, failed = lines(text)
        assert {line["event"] for line in made} == {"summarization"}
        assert {"tokens_before", "tokens_after", "turns", "call_ms", "write_ms"} < set(made[0])
        assert (failed["level"], failed["event"], failed["chat"]) == ("warning", "summarization_failed", "b")


@pytest.mark.parametrize("format", ["json", "text"])
def test_an_error_is_logged_with_its_place_and_not_with_what_it_says(
    capfd: pytest.CaptureFixture[str], format: str
) -> None:
    configure_logs("info", format)
    try:
        raise ValueError(SECRET)
    except ValueError:
        logging.getLogger("infold.service").error("it failed", exc_info=True)
        logging.getLogger("uvicorn.error").error("it failed too", exc_info=True)
    text = capfd.readouterr().err
    assert "4711" not in text
    assert text.count("ValueError") >= 2
    assert "test_telemetry.py" in text
    if format == "json":
        first, second = lines(text)
        assert first["error"] == second["error"] == "ValueError"
        assert [first["event"], second["event"]] == ["it failed", "it failed too"]
        assert first["logger"] == "infold.service"


def test_C10_lines_of_libraries_are_like_our_own(capfd: pytest.CaptureFixture[str]) -> None:
    configure_logs("debug", "json")
    try:
        raise ValueError(SECRET)
    except ValueError:
        logging.getLogger("psycopg.pool").warning("error connecting", exc_info=True)
    logging.getLogger("openai").debug("they asked %s", SECRET)
    (line,) = lines(capfd.readouterr().err)
    assert (line["logger"], line["level"], line["error"]) == ("psycopg.pool", "warning", "ValueError")
    assert "4711" not in str(line)
    configure_logs("error", "json")
    logging.getLogger("psycopg.pool").warning("error connecting")
    assert capfd.readouterr().err == ""


def test_a_line_stays_one_line_and_takes_any_value(capfd: pytest.CaptureFixture[str]) -> None:
    configure_logs("info", "json")
    logging.getLogger("infold").info("a\nb %s", "ü", extra={"at": object, "n": 3})
    (line,) = lines(capfd.readouterr().err)
    assert (line["event"], line["n"], line["at"]) == ("a\nb ü", 3, "<class 'object'>")


def test_logs_configured_again_are_not_doubled_and_keep_to_their_level(capfd: pytest.CaptureFixture[str]) -> None:
    configure_logs("debug", "json")
    configure_logs("warning", "text")
    logging.getLogger("infold").info("quiet")
    logging.getLogger("infold").warning("loud")
    text = capfd.readouterr().err
    assert "quiet" not in text
    assert text.count("loud") == 1


def test_addresses_are_not_logged(capfd: pytest.CaptureFixture[str]) -> None:
    configure_logs("debug", "json")
    logging.getLogger("uvicorn.access").info("GET /v1/memory/context?query=%s", SECRET)
    assert capfd.readouterr().err == ""


def test_metrics_count_folds_from_events(memory: Memory) -> None:
    metrics = Metrics()
    events = folding(memory)
    for event in events:
        metrics.on_event(event)
    folds = [event for event in events if event.type == "summarization"]
    reasons = {event.data["reason"] for event in folds}
    counted = [sample(metrics, "infold_folds_total", reason=one, author="extractive") for one in reasons]
    assert sum(n or 0 for n in counted) == len(folds) > 0
    assert sample(metrics, "infold_fold_seconds_count", author="extractive") == len(folds)
    took = sum(event.data["duration"] for event in folds) / 1000
    assert sample(metrics, "infold_fold_seconds_sum", author="extractive") == pytest.approx(took)
    saved = sum(max(0, event.data["tokens_before"] - event.data["tokens_after"]) for event in folds)
    assert sample(metrics, "infold_tokens_folded_total") == saved
    assert sample(metrics, "infold_events_total", type="summarization") == len(folds)
    assert sample(metrics, "infold_events_total", type="chat_created") == 1


def test_metrics_of_requests_and_the_proxy() -> None:
    metrics = Metrics()
    metrics.request("/v1/chats/{id}", "GET", 200, 0.004)
    metrics.request("/v1/chats/{id}", "GET", 204, 0.2)
    metrics.request("/v1/chats/{id}", "BREW", 418, 0.1)
    metrics.proxied("chat", "ok")
    metrics.first_byte("chat", 0.003)
    metrics.upstream_error("chat", "timeout")
    metrics.memory_failed("chat")
    metrics.on_event(Event("gate", 0, {"verdict": "mended"}, "a"))
    metrics.on_event(Event("summarization_failed", 0, {"error": "BadAnswerError"}, "a"))
    route = "/v1/chats/{id}"
    assert sample(metrics, "infold_requests_total", route=route, method="GET", status="2xx") == 2
    assert sample(metrics, "infold_requests_total", route=route, method="other", status="4xx") == 1
    assert sample(metrics, "infold_request_seconds_bucket", route=route, method="GET", le="0.005") == 1
    assert sample(metrics, "infold_request_seconds_count", route=route, method="GET") == 2
    assert sample(metrics, "infold_proxied_requests_total", api="chat", outcome="ok") == 1
    assert sample(metrics, "infold_first_byte_seconds_count", api="chat") == 1
    assert sample(metrics, "infold_upstream_errors_total", api="chat", kind="timeout") == 1
    assert sample(metrics, "infold_memory_failures_total", api="chat") == 1
    assert sample(metrics, "infold_gate_verdicts_total", verdict="mended") == 1
    assert sample(metrics, "infold_folds_failed_total", error="BadAnswerError") == 1
    _, content_type = metrics.render()
    assert content_type.startswith("text/plain")
    assert sample(Metrics(), "infold_memory_failures_total", api="chat") is None  # each has its own


def spans(url: str, summarizer: Any = None) -> tuple[list[Event], Sequence[ReadableSpan]]:
    """What happens to a chat that folds, and the spans of it."""
    exporter = InMemorySpanExporter()
    traced = Tracing(SimpleSpanProcessor(exporter))
    seen: list[Event] = []

    def on_event(event: Event) -> None:
        seen.append(event)
        traced.on_event(event)

    with Memory(url, summarizer=summarizer, on_event=on_event) as memory:
        chat = memory.chat("trip", preset="rolling", wait=summarizer is not None)
        chat.add([user("My gate is B12."), assistant("Gate B12, noted.")])
        for number in range(8):
            chat.add(turn(number))
    found = exporter.get_finished_spans()
    traced.close()
    return seen, found


def summarize(current: str, messages: Sequence[Message]) -> str:
    return "## Facts / Constraints\n- My gate is B12."


@pytest.mark.parametrize("summarizer", [None, summarize], ids=["extractive", "summarizer"])
def test_one_span_for_each_fold_with_tokens_and_verdict(url: str, summarizer: Any) -> None:
    events, found = spans(url, summarizer)
    folds = [event for event in events if event.type == "summarization"]
    assert len(found) == len(folds) > 0
    verdicts = [event.data["verdict"] for event in events if event.type == "gate"]
    for span, fold in zip(found, folds, strict=True):
        told = dict(span.attributes or {})
        assert span.name == "fold"
        assert span.end_time == fold.created_at * 1_000_000
        assert span.start_time == (fold.created_at - fold.data["duration"]) * 1_000_000
        for name in ("reason", "author", "tokens_before", "tokens_after", "turns", "fold"):
            assert told[f"infold.{name}"] == fold.data[name]
        assert told.get("infold.model") == fold.data.get("model")
        assert "B12" not in str(told)
    told_verdicts = [dict(span.attributes or {}).get("infold.verdict") for span in found]
    assert told_verdicts == (verdicts if summarizer else [None] * len(found))


def fold_event(chat: str, author: str = "summarizer") -> Event:
    data = {"reason": "tokens", "author": author, "fold": 1, "tokens_before": 9, "tokens_after": 5, "turns": 1}
    return Event("summarization", 1000, {**data, "duration": 10}, chat)


def test_a_verdict_goes_to_the_fold_of_its_chat_only() -> None:
    exporter = InMemorySpanExporter()
    traced = Tracing(SimpleSpanProcessor(exporter))
    traced.on_event(Event("gate", 0, {"verdict": "rejected"}, "a"))
    traced.on_event(Event("summarization_failed", 0, {"error": "RejectedError"}, "a"))
    traced.on_event(fold_event("a", "extractive"))
    traced.on_event(Event("gate", 0, {"verdict": "accepted"}, "b"))
    traced.on_event(fold_event("a"))
    traced.on_event(fold_event("b"))
    told = [dict(span.attributes or {}) for span in exporter.get_finished_spans()]
    assert [one.get("infold.verdict") for one in told] == [None, None, "accepted"]
    traced.close()


def test_without_traces_nothing_happens() -> None:
    traced = tracing(ServiceSettings())
    traced.on_event(fold_event("a"))
    traced.close()


def test_spans_on_the_console_go_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    traced = tracing(ServiceSettings(traces="console"))
    traced.on_event(fold_event("a"))
    traced.close()
    captured = capsys.readouterr()
    assert captured.out == ""
    assert json.loads(captured.err)["attributes"]["infold.tokens_after"] == 5


def test_a_missing_exporter_is_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)  # not installed
    settings = ServiceSettings(traces="http://127.0.0.1:4318")
    assert settings.traces == "http://127.0.0.1:4318/v1/traces"
    with pytest.raises(ConfigError, match=r"traces \(argument\).*pip install 'infold\[traces\]'"):
        tracing(settings)


def test_without_opentelemetry_a_warning_and_no_traces(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace.export", None)  # not installed
    traced = tracing(ServiceSettings(traces="console"))
    traced.on_event(fold_event("a"))
    assert "opentelemetry-sdk is not installed" in caplog.text


# A collector that gets them ----------------------------------------------------------------------------

_RECEIVER = """
import base64, http.server, sys

class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        told = [self.path, self.headers["content-type"], self.headers["content-encoding"] or "identity"]
        print(*told, base64.b64encode(body).decode(), file=sys.stderr, flush=True)
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass

server = http.server.HTTPServer(("127.0.0.1", 0), Receiver)
print(server.server_port, flush=True)
server.serve_forever()
"""


@contextmanager
def receiver(log: Path) -> Iterator[int]:
    """The port of a process that takes OTLP over HTTP, and writes down what it got."""
    with log.open("wb") as output:
        process = subprocess.Popen([sys.executable, "-c", _RECEIVER], stdout=subprocess.PIPE, stderr=output)
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_collector_gets_the_span_of_a_fold(tmp_path: Path, upstream: Upstream) -> None:
    from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as wire

    log = tmp_path / "spans"
    with receiver(log) as port:
        settings: dict[str, Any] = {
            "traces": f"http://127.0.0.1:{port}",
            "model": [f"{upstream.url}#gpt-test"],
            "preset": "rolling",
        }
        with start_server(tmp_path, **settings) as running, running.client() as api:
            for number in range(8):
                said = [{"role": "user", "content": f"My gate is B{number}."}, assistant(f"Gate B{number}, noted.")]
                assert api.post("/v1/chats/trip/messages", json=said).status_code == 201
            events = eventually(
                lambda: api.get("/v1/chats/trip/events?limit=1000").json()["items"],
                lambda rows: any(row["data"].get("author") == "summarizer" for row in rows if row["type"] != "gate"),
            )
        found = list(_spans(log.read_text(), wire.ExportTraceServiceRequest))
    folds = [event["data"] for event in events if event["type"] == "summarization"]
    verdicts = [event["data"]["verdict"] for event in events if event["type"] == "gate"]
    assert verdicts
    assert len(found) >= len(folds) > 0  # more may have come after the last look
    for span, fold in zip(found, folds, strict=False):
        for name in ("reason", "author", "tokens_before", "tokens_after", "turns", "fold"):
            assert span[f"infold.{name}"] == fold[name]
    told = [span["infold.verdict"] for span in found if span["infold.author"] == "summarizer"]
    assert told[: len(verdicts)] == verdicts
    assert "B7" not in str(found)


def _spans(log: str, kind: Any) -> Iterator[dict[str, Any]]:
    """The attributes of the spans that a receiver wrote down."""
    for line in log.splitlines():
        path, media, packed, body = line.split()
        assert (path, media) == ("/v1/traces", "application/x-protobuf")
        raw = base64.b64decode(body)
        for resource in kind.FromString(gzip.decompress(raw) if packed == "gzip" else raw).resource_spans:
            names = {one.key: one.value.string_value for one in resource.resource.attributes}
            assert names["service.name"] == "infold"
            for span in (span for scope in resource.scope_spans for span in scope.spans):
                assert span.name == "fold"
                yield {one.key: one.value.string_value or one.value.int_value for one in span.attributes}
