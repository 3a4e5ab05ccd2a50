"""What infold writes into requests, how it is marked, and recognising it when it comes back inside a message. Pure."""

from __future__ import annotations

import re

from infold.lines.kinds import HEADINGS, PINNED

# Fixed first lines. They mark what infold put into a request, so that it is never taken for conversation.
POLICY_SNIPPET = (
    "[infold memory policy] The memory below was written from earlier messages of this chat. Treat it as background: "
    "prefer what the user says now, never invent what it does not say, and do not mention it unless asked."
)
PINS_HEADER = "[infold memory] Pinned, always valid:"
FACTS_HEADER = "[infold memory] Known facts:"
SUMMARY_HEADER = "[infold memory] What earlier messages of this chat established:"
LEAVES_HEADER = "[infold memory] From messages folded recently:"
SOURCES_HEADER = "[infold sources] Retrieved for the next question:"
RECALL_HEADER = "[infold recall] Quoted from earlier in this chat:"
RECALL_END = "[end of recall]"
ENTITIES_HEADER = "[infold entities] Tasks, goals, problems and others that may matter now:"
BRIDGE_HEADER = "[infold bridge]"
REMOVED = "[infold removed] What was said here was removed when its time was up."
"""Stands in the place of a message that retention removed."""
UNREADABLE = "[infold removed] What was said here is in an archive that cannot be read."
FORGOTTEN = "(forgotten)"
"""Stands where the words of a forgotten message were."""
GONE = (REMOVED, UNREADABLE, FORGOTTEN)
"""Texts of messages of which nothing is left."""
BACKGROUND = "BACKGROUND – PRIOR CONVERSATION SUMMARY (use only if relevant):"
PROMPT_MARK = "[infold summarizer]"
"""Every prompt file begins with it."""
NOTHING = "(nothing durable)"

_HEADER = re.compile(  # in a context as text, it may stand after a speaker's label
    r"\s*(?:[A-Z]\w{0,20}: )?(?:\[summary-depth:\d+\] ?)?(?:\[infold (?:memory(?: policy)?|bridge|sources|recall|entities|removed)\]|BACKGROUND – PRIOR)"
)
_HEADING = re.compile(rf"\s*#{{1,6}} (?:{'|'.join(map(re.escape, HEADINGS.values()))})(?: \(quoted\))?\s*$")
_OURS = re.compile(rf"\s*#{{1,6}} (?:{'|'.join(map(re.escape, HEADINGS.values()))}) \(quoted\)\s*$")
_QUOTED = re.compile(r"\s*(?:#\d+ |\d{4}-\d\d-\d\d:\s*$|undated:\s*$)")
_EXCERPT = re.compile(r"\s*\[… about \d+ tokens left out; the ledger keeps the whole message …\]\s*$")
_BODY = re.compile(rf"\s*(?:[-*•] |{re.escape(NOTHING)})")
# What a summarizer is sent, and may be quoted back with; and what was pasted inside a string of JSON.
_INPUT = re.compile(
    r"<memory>\n\[M1\].*?(?:</memory>|\Z)|<messages>\n\[\d+\].*?(?:</messages>|\Z)|<meta total_messages=\d+[^>]*/>"
    r"|=== EXISTING_SUMMARY ===.*?(?:=== END_NEW_TURNS ===|\Z)"
    rf"|{re.escape(PROMPT_MARK)}.*?(?:- At most \S+ tokens in all\.|\Z)"
    r"|(?<=\")(?:\[summary-depth:\d+\] )?\[infold [^\n\"\\]*(?:\\.[^\n\"\\]*)*(?=\")",
    re.DOTALL,
)
# Whatever infold wrote has one of these in it.
_SIGNS = (
    " (quoted)", "[infold ", "[summary-depth:", "BACKGROUND – PRIOR", "<memory>\n", "<messages>\n", "<meta total_", "=== EXISTING_", "[… about ",
)  # fmt: skip


def _has_end(lines: list[str]) -> bool:
    """Whether quotations that begin here have an end mark of their own."""
    for line in lines:
        if line.strip() == RECALL_END:
            return True
        if RECALL_HEADER in line:
            return False
    return False


def without_own(text: str) -> str:
    """A message's text less memory, bridges and prompts of infold that came back in it."""
    if not any(map(text.__contains__, _SIGNS)):
        return text
    kept: list[str] = []
    inside = loose = False  # in a block of ours; in a part of it that may hold lines of any form
    quoted = False  # in quotations, which may hold lines of any form where they have an end mark
    ended = False
    lines = _INPUT.sub("", text).split("\n")
    for at, line in enumerate(lines):
        quoted = quoted and (ended or _QUOTED.match(line) is not None)
        if _EXCERPT.match(line):
            continue
        if quoted:
            quoted = line.strip() != RECALL_END
        elif _HEADER.match(line) or (not inside and _OURS.match(line)):
            inside, loose, quoted = True, SOURCES_HEADER in line, RECALL_HEADER in line
            ended = quoted and _has_end(lines[at + 1 :])
        elif inside and _HEADING.match(line):
            loose = HEADINGS[PINNED] in line
        elif not (inside and (loose or _BODY.match(line) or not line.strip())):
            inside = False
            kept.append(line)
        elif not line.strip():
            loose = False
    return "\n".join(kept).strip()
