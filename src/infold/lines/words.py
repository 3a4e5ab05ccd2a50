"""A person's word about a line: corrected, retracted or confirmed. It outranks whoever writes memory, until something new is
said. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from infold.lines.line import FACT, MOST, PERSON, Line, Place, line_tokens, normal, section_of
from infold.lines.merging import overlap, said_of

CORRECTED, RETRACTED, CONFIRMED = "corrected", "retracted", "confirmed"
WORDS = (CORRECTED, RETRACTED, CONFIRMED)
_KEPT = ("kind", "text", "quote", "sources", "role", "said_by", "said_at", "author", "worth", "standing", "rewrites")


@dataclass(frozen=True, slots=True)
class Word:
    """What a person said of a line."""

    how: str
    """One of WORDS."""
    line: Line
    """As it was then."""
    upto: int
    """The newest message then: of what is said later it says nothing."""
    at: int
    """When, in milliseconds since 1970."""
    by: str
    """Who said it."""
    text: str = ""
    """What a corrected line says."""
    messages: tuple[str, ...] = ()
    """Ids of the messages that the line rests on: without them the word is void."""

    @property
    def result(self) -> Line | None:
        """The line as it is now; None where it was retracted."""
        if self.how == RETRACTED:
            return None
        if self.how == CORRECTED:
            standing = max(self.line.standing, 0)
            return replace(
                self.line, text=self.text, quote=self.text, places=(), author=PERSON, said_at=self.at,
                role="user", worth=MOST, standing=standing, rewrites=0,
            )  # fmt: skip
        author = self.line.author if self.line.own else PERSON
        return replace(self.line, author=author, worth=MOST, standing=MOST)

    def concerns(self, line: Line) -> bool:
        """Whether it speaks of a line, in whatever words somebody has put it since."""
        if max(line.sources, default=0) > self.upto:
            return False
        if normal(line.words) == normal(self.line.words) or (line.quoted and overlap(line, self.line)):
            return True
        about = said_of(self.line).core
        return (
            bool(not line.quoted and line.author != PERSON and {*line.sources} & {*self.line.sources} and about)
            and about <= said_of(line).core
        )

    def data(self) -> dict[str, Any]:
        """As an event tells it."""
        known = asdict(self.line)
        line = {name: known[name] for name in _KEPT}
        places = [[place.seq, place.start, place.end] for place in self.line.places]
        return {
            "line": self.line.id, "upto": self.upto, "by": self.by, "text": self.text, "messages": list(self.messages),
            "was": {**line, "places": places},
        }  # fmt: skip

    @classmethod
    def read(cls, how: str, at: int, data: Mapping[str, Any]) -> Word | None:
        """The word of an event; None where it is damaged."""
        try:
            was = dict(data["was"])
            places = tuple(Place(*map(int, place)) for place in was.pop("places"))
            was["sources"] = tuple(map(int, was["sources"]))
            line = Line(data["line"], section_of(was["kind"]), places=places, **was)
            return cls(how, line, int(data["upto"]), at, data["by"], data["text"], tuple(data["messages"]))
        except (LookupError, TypeError, ValueError):
            return None


def kept_to(lines: Sequence[Line], words: Sequence[Word], fold: int) -> tuple[Line, ...]:
    """Lines of memory as people's words leave them; what those put into it has ids of this fold."""
    if not words:
        return tuple(lines)
    left = list(lines)
    made = max((int(line.id.split(".")[1]) for line in left if line.fold == fold), default=0)
    for word in words:
        result = word.result
        there = result is None
        for at in reversed(range(len(left))):
            line = left[at]
            if result is not None and (line.text, line.author, line.standing) == (
                result.text,
                result.author,
                result.standing,
            ):
                there = True
            elif word.concerns(line):
                del left[at]
        if result is not None and not there:
            made += 1
            tokens = line_tokens(result.shown)
            left.append(replace(result, id=f"{fold}.{made}", fold=fold, layer=FACT, tokens=tokens))
    return tuple(left)
