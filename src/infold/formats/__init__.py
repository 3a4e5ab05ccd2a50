"""Wire formats in and out: Chat Completions, Responses, Anthropic. Pure.

A message keeps its content as it came. What a format needs beyond the Chat Completions skeleton stands in `extra`:
`extra["responses"]` holds the other fields of a Responses item (all of them where the skeleton has no place for it),
`extra["anthropic"]` those of an Anthropic message or tool result. A message with neither came in the Chat format, or in
a shape that is the same in all three.
"""

from infold.formats.anthropic import STUB, to_anthropic
from infold.formats.chat import to_chat
from infold.formats.incoming import parse
from infold.formats.responses import to_responses

__all__ = ["STUB", "parse", "to_anthropic", "to_chat", "to_responses"]
