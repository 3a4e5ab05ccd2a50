"""infold: conversation memory that fits the window, loses nothing and shows its sources."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Public names and where they live. They load on first use, so that `import infold` stays light.
_HOMES = {
    "Memory": "memory",
    "ChatInfo": "memory",
    "AsyncMemory": "aio",
    "AsyncChat": "aio",
    "Chat": "chat",
    "MemoryState": "reports",
    "Context": "context",
    "Message": "messages",
    "Item": "items",
    "Event": "ledger.store",
    "Proof": "audit",
    "Policy": "policy",
    "Settings": "presets",
    "SummarizationConfig": "presets",
    "preset": "presets",
    "SummaryRecord": "records",
    "summarize_memory": "folding.text",
    "InfoldError": "errors",
    "MessageError": "errors",
    "OrphanResultError": "errors",
    "DuplicateIdError": "errors",
    "ConfigError": "errors",
    "UnknownPresetError": "errors",
    "PolicyMismatchError": "errors",
    "BudgetError": "errors",
    "NotFoundError": "errors",
    "SummarizerError": "errors",
    "ClosedError": "errors",
    "DatabaseError": "errors",
    "ForeignDatabaseError": "errors",
    "NewerDatabaseError": "errors",
    "ReadOnlyDatabaseError": "errors",
    "DatabaseFullError": "errors",
    "DatabaseBusyError": "errors",
}

__all__ = [*_HOMES, "__version__"]  # noqa: PLE0604  the names are strings, spelled in _HOMES

if TYPE_CHECKING:
    from infold.aio import AsyncChat, AsyncMemory
    from infold.audit import Proof
    from infold.chat import Chat
    from infold.context import Context
    from infold.errors import (
        BudgetError,
        ClosedError,
        ConfigError,
        DatabaseBusyError,
        DatabaseError,
        DatabaseFullError,
        DuplicateIdError,
        ForeignDatabaseError,
        InfoldError,
        MessageError,
        NewerDatabaseError,
        NotFoundError,
        OrphanResultError,
        PolicyMismatchError,
        ReadOnlyDatabaseError,
        SummarizerError,
        UnknownPresetError,
    )
    from infold.folding.text import summarize_memory
    from infold.items import Item
    from infold.ledger.store import Event
    from infold.memory import ChatInfo, Memory
    from infold.messages import Message
    from infold.policy import Policy
    from infold.presets import Settings, SummarizationConfig, preset
    from infold.records import SummaryRecord
    from infold.reports import MemoryState


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'infold' has no attribute {name!r}")
    return getattr(importlib.import_module(f"infold.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
