"""What an operator sees: structured logs, Prometheus metrics, a span for each fold. Never the content of messages."""

from __future__ import annotations

import copy
import json
import logging
import sys
import traceback
from collections import OrderedDict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from infold.errors import ConfigError
from infold.ledger.rows import Event
from infold.service.kinds import host_and_port
from infold.service.settings import ServiceSettings

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
    from prometheus_client import Counter, Histogram

log = logging.getLogger("infold")

_LOGGERS = ("infold", "uvicorn")
_USUAL = {*vars(logging.makeLogRecord({})), "message", "asctime", "event", "color_message"}
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
_PENDING = 1000  # chats whose gate has spoken and whose fold is yet to come


class JsonLines(logging.Formatter):
    """A record as one JSON object on one line: time, level, logger, event, and what was given as `extra`."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC)
            .isoformat(timespec="milliseconds")
            .replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": getattr(record, "event", None) or record.getMessage(),
            **{name: value for name, value in vars(record).items() if name not in _USUAL},
        }
        if record.exc_info and record.exc_info[0] is not None:
            kind, error, trace = record.exc_info
            line["error"] = kind.__name__
            # What an error says may quote a message; where it happened does not.
            line["trace"] = [f"{at.filename}:{at.lineno} {at.name}" for at in traceback.extract_tb(trace)]
            if record.levelno <= logging.DEBUG:
                line["detail"] = str(error)
        return json.dumps(line, ensure_ascii=False, default=str)


class TextLines(logging.Formatter):
    """A record as a line for people, with an error's type and place, not its text."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        own = copy.copy(record)
        own.exc_text = None  # another handler's words for the error, text and all
        return super().format(own)

    def formatException(self, ei: Any) -> str:  # noqa: N802 — the name is logging's
        kind, _, trace = ei
        return "".join(traceback.format_tb(trace)) + (kind.__name__ if kind else "")


class _Handler(logging.StreamHandler[Any]):
    """Our handler: a later call replaces it, and leaves those of others alone."""


def configure_logs(level: str, format: str) -> None:
    """Log to standard error, all lines of the process alike; `format` is "json" or "text"."""
    handler = _Handler(sys.stderr)
    handler.setFormatter(JsonLines() if format == "json" else TextLines())
    handler.setLevel(level.upper())  # some libraries set the level of their own loggers
    for logger in (logging.root, *map(logging.getLogger, _LOGGERS)):
        for old in [one for one in logger.handlers if isinstance(one, _Handler)]:
            logger.removeHandler(old)
        logger.addHandler(handler)
        logger.setLevel(level.upper())
        logger.propagate = False
    # What others, such as the database's driver, have to say to people; at debug level some would quote messages.
    logging.root.setLevel(max(logging.WARNING, logging.getLogger(_LOGGERS[0]).level))
    # Its lines have the whole address, and a query is somebody's words.
    logging.getLogger("uvicorn.access").disabled = True


def log_event(event: Event) -> None:
    """A line for each fold and each that failed, for `on_event`: numbers and names, no text."""
    data = event.data
    if event.type == "summarization":
        fields = {
            "chat": event.chat, "reason": data["reason"], "author": data.get("model") or data["author"],
            "tokens_before": data["tokens_before"], "tokens_after": data["tokens_after"], "turns": data["turns"],
            "call_ms": data["call"], "write_ms": data["write"],
        }  # fmt: skip
        log.info(
            "chat %(chat)s was folded by %(author)s because of %(reason)s: %(tokens_before)d → %(tokens_after)d tokens",
            fields,
            extra={"event": "summarization", **fields},
        )
    elif event.type == "summarization_failed":
        fields = {"chat": event.chat, "reason": data["reason"], "error": data["error"]}
        log.warning(
            "a fold of chat %(chat)s failed: %(error)s", fields, extra={"event": "summarization_failed", **fields}
        )


class Metrics:
    """What is counted, in a registry of its own."""

    def __init__(self) -> None:
        from prometheus_client import CollectorRegistry, Counter, Histogram, PlatformCollector, ProcessCollector

        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)

        def counter(name: str, help: str, *labels: str) -> Counter:
            return Counter(f"infold_{name}", help, labels, registry=registry)

        def seconds(name: str, help: str, *labels: str) -> Histogram:
            return Histogram(f"infold_{name}_seconds", help, labels, registry=registry, buckets=_SECONDS)

        self._requests = counter("requests", "Requests answered", "route", "method", "status")
        self._request = seconds("request", "From the request to the last byte of the answer", "route", "method")
        self._proxied = counter("proxied_requests", "Requests forwarded to the upstream", "api", "outcome")
        self._first_byte = seconds("first_byte", "From a proxied request to the first byte of its reply", "api")
        self._upstream_errors = counter("upstream_errors", "Failures of the upstream", "api", "kind")
        self._memory_failures = counter("memory_failures", "Requests forwarded without memory, as it failed", "api")
        self._folds = counter("folds", "Folds committed", "reason", "author")
        self._fold = seconds("fold", "How long a fold took", "author")
        self._folds_failed = counter("folds_failed", "Folds that a model failed to write", "error")
        self._tokens_folded = counter("tokens_folded", "Tokens that folds took out of the next request")
        self._verdicts = counter("gate_verdicts", "What the gate said of summaries", "verdict")
        self._events = counter("events", "Events of chats", "type")

    def request(self, route: str, method: str, status: int, seconds: float) -> None:
        """A request was answered; `route` is the template, so that ids do not become labels."""
        method = method if method in _METHODS else "other"
        self._requests.labels(route, method, f"{status // 100}xx").inc()
        self._request.labels(route, method).observe(seconds)

    def proxied(self, api: str, outcome: str) -> None:
        """A proxied request came to its end."""
        self._proxied.labels(api, outcome).inc()

    def first_byte(self, api: str, seconds: float) -> None:
        """The first byte of a reply was sent on."""
        self._first_byte.labels(api).observe(seconds)

    def upstream_error(self, api: str, kind: str) -> None:
        """The upstream could not be reached, broke off, or answered with an error."""
        self._upstream_errors.labels(api, kind).inc()

    def memory_failed(self, api: str) -> None:
        """A request went on without memory."""
        self._memory_failures.labels(api).inc()

    def on_event(self, event: Event) -> None:
        """Count what happened to a chat: the `on_event` of a Memory."""
        data = event.data
        self._events.labels(event.type).inc()
        if event.type == "summarization":
            self._folds.labels(data["reason"], data["author"]).inc()
            self._fold.labels(data["author"]).observe(data["duration"] / 1000)
            self._tokens_folded.inc(max(0, data["tokens_before"] - data["tokens_after"]))
        elif event.type == "summarization_failed":
            self._folds_failed.labels(data["error"]).inc()
        elif event.type == "gate":
            self._verdicts.labels(data["verdict"]).inc()

    def serve(self, address: str) -> None:
        """Answer Prometheus on an address of its own, in the background, as long as the process lives."""
        from prometheus_client import start_http_server

        host, port = host_and_port(address)
        try:
            start_http_server(port, host, self.registry)
        except OSError as error:
            raise ConfigError(
                f"cannot serve metrics on {address}: {error.strerror}; give each worker a port of its own (worker_metrics)"
            ) from None

    def render(self) -> tuple[bytes, str]:
        """The text that Prometheus reads, and its content type."""
        from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

        return generate_latest(self.registry), CONTENT_TYPE_LATEST


class Tracing:
    """A span for each fold; without a processor, nothing."""

    def __init__(self, processor: SpanProcessor | None = None) -> None:
        self._provider: TracerProvider | None = None
        self._verdicts: OrderedDict[str, str] = OrderedDict()
        if processor is not None:
            from opentelemetry.sdk.resources import Resource
            from opentelemetry.sdk.trace import TracerProvider

            self._provider = TracerProvider(resource=Resource.create({"service.name": "infold"}))
            self._provider.add_span_processor(processor)

    def on_event(self, event: Event) -> None:
        """Make the span of a fold: the `on_event` of a Memory."""
        if self._provider is None:
            return
        data = event.data
        if event.type == "gate":  # it comes right before its fold
            self._verdicts[event.chat] = data["verdict"]
            self._verdicts.move_to_end(event.chat)
            if len(self._verdicts) > _PENDING:
                self._verdicts.popitem(last=False)
        elif event.type == "summarization_failed":
            self._verdicts.pop(event.chat, None)
        elif event.type == "summarization":
            self._span(event, self._verdicts.pop(event.chat, None) if data["author"] != "extractive" else None)

    def _span(self, event: Event, verdict: str | None) -> None:
        assert self._provider is not None
        data = event.data
        attributes = {
            "infold.chat": event.chat,
            "infold.fold": data["fold"],
            "infold.reason": data["reason"],
            "infold.author": data["author"],
            "infold.model": data.get("model"),
            "infold.verdict": verdict,
            "infold.tokens_before": data["tokens_before"],
            "infold.tokens_after": data["tokens_after"],
            "infold.turns": data["turns"],
        }
        tracer = self._provider.get_tracer("infold")
        span = tracer.start_span(
            "fold",
            start_time=(event.created_at - data["duration"]) * 1_000_000,
            attributes={name: value for name, value in attributes.items() if value is not None},
        )
        span.end(end_time=event.created_at * 1_000_000)

    def close(self) -> None:
        """Send what is left."""
        if self._provider is not None:
            self._provider.shutdown()


def tracing(settings: ServiceSettings) -> Tracing:
    """The spans that the settings ask for."""
    if settings.traces is None:
        return Tracing()
    try:
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter, SimpleSpanProcessor
    except ImportError:
        log.warning("no traces: opentelemetry-sdk is not installed (pip install 'infold[traces]')")
        return Tracing()
    if settings.traces == "console":
        return Tracing(SimpleSpanProcessor(ConsoleSpanExporter(out=sys.stderr)))
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    except ImportError:
        raise ConfigError(
            f"traces ({settings.origin('traces')}) is {settings.traces}, but the exporter is missing; "
            "install it with: pip install 'infold[traces]', or use traces=console"
        ) from None
    return Tracing(BatchSpanProcessor(OTLPSpanExporter(endpoint=settings.traces)))
