"""Wire formats in and out: Chat Completions, Responses, Anthropic. Pure.

A message keeps its content as it came. What a format needs beyond the Chat Completions skeleton stands in `extra`:
`extra["responses"]` holds the other fields of a Responses item (all of them where the skeleton has no place for it),
`extra["anthropic"]` those of an Anthropic message or tool result. A message with neither came in the Chat format, or in
a shape that is the same in all three.
"""

from infold.formats.anthropic import to_anthropic
from infold.formats.chat import to_chat
from infold.formats.incoming import parse
from infold.formats.joining import (
    STUB,
    joined_anthropic,
    joined_chat,
    joined_responses,
    with_breakpoints,
    without_breakpoints,
)
from infold.formats.responses import to_responses
from infold.formats.worded import calls_text, worded

__all__ = [
    "STUB",
    "calls_text",
    "joined_anthropic",
    "joined_chat",
    "joined_responses",
    "parse",
    "to_anthropic",
    "to_chat",
    "to_responses",
    "with_breakpoints",
    "without_breakpoints",
    "worded",
]
