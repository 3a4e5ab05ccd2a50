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
    "AsyncUser": "aio",
    "Chat": "chat",
    "User": "user",
    "MemoryState": "reports",
    "Context": "context",
    "Message": "messages",
    "Line": "lines.line",
    "Entity": "knowledge.entity",
    "Hit": "recall.hits",
    "Event": "ledger.rows",
    "Proof": "audit",
    "Receipt": "forgetting",
    "Compaction": "retention",
    "Policy": "policy",
    "Settings": "presets",
    "SummarizationConfig": "presets",
    "preset": "presets",
    "SummaryRecord": "records",
    "summarize_memory": "folding.text",
    "summarize_conversation": "conversation",
    "assemble_context": "engine",
    "SummarizationInput": "conversation",
    "SummarizeResult": "conversation",
    "Model": "models.spec",
    "Usage": "reports",
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
    "EmbedderError": "errors",
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
    from infold.aio import AsyncChat as AsyncChat
    from infold.aio import AsyncMemory as AsyncMemory
    from infold.aio import AsyncUser as AsyncUser
    from infold.audit import Proof as Proof
    from infold.chat import Chat as Chat
    from infold.context import Context as Context
    from infold.conversation import SummarizationInput as SummarizationInput
    from infold.conversation import SummarizeResult as SummarizeResult
    from infold.conversation import summarize_conversation as summarize_conversation
    from infold.engine import assemble_context as assemble_context
    from infold.knowledge.entity import Entity as Entity
    from infold.errors import BudgetError as BudgetError
    from infold.errors import ClosedError as ClosedError
    from infold.errors import ConfigError as ConfigError
    from infold.errors import DatabaseBusyError as DatabaseBusyError
    from infold.errors import DatabaseError as DatabaseError
    from infold.errors import DatabaseFullError as DatabaseFullError
    from infold.errors import DuplicateIdError as DuplicateIdError
    from infold.errors import EmbedderError as EmbedderError
    from infold.errors import ForeignDatabaseError as ForeignDatabaseError
    from infold.errors import InfoldError as InfoldError
    from infold.errors import MessageError as MessageError
    from infold.errors import NewerDatabaseError as NewerDatabaseError
    from infold.errors import NotFoundError as NotFoundError
    from infold.errors import OrphanResultError as OrphanResultError
    from infold.errors import PolicyMismatchError as PolicyMismatchError
    from infold.errors import ReadOnlyDatabaseError as ReadOnlyDatabaseError
    from infold.errors import SummarizerError as SummarizerError
    from infold.errors import UnknownPresetError as UnknownPresetError
    from infold.folding.text import summarize_memory as summarize_memory
    from infold.forgetting import Receipt as Receipt
    from infold.lines.line import Line as Line
    from infold.ledger.rows import Event as Event
    from infold.memory import ChatInfo as ChatInfo
    from infold.memory import Memory as Memory
    from infold.messages import Message as Message
    from infold.models.spec import Model as Model
    from infold.policy import Policy as Policy
    from infold.presets import Settings as Settings
    from infold.presets import SummarizationConfig as SummarizationConfig
    from infold.presets import preset as preset
    from infold.recall.hits import Hit as Hit
    from infold.records import SummaryRecord as SummaryRecord
    from infold.reports import MemoryState as MemoryState
    from infold.reports import Usage as Usage
    from infold.retention import Compaction as Compaction
    from infold.user import User as User


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'infold' has no attribute {name!r}")
    return getattr(importlib.import_module(f"infold.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
