"""Earlier messages as they are quoted in a context. Pure."""

from __future__ import annotations

import functools
from collections.abc import Container, Mapping, Sequence

from infold.context.view import Quotation
from infold.recall.pack import Shown, lines_of, measured, pack, written
from infold.recall.passages import WHOLE
from infold.recall.query import Query
from infold.recall.rank import Ranked
from infold.recall.segment import Said
from infold.recall.words import term, words
from infold.tokens import count_cached

_FAR = 7.0  # what is a thousand times less likely than the best is not worth its tokens
_LIKELY = 4.5  # nearly all questions about a chat find better; half of those about other things do not
_SOURCE = 2  # tokens of a line's source beyond what scaffolding takes in a message


def count_line(said: Said) -> None:
    """Have the tokens of a message's line at hand, unless it is so long that only parts of it will be quoted."""
    if 0 < len(said.text) <= WHOLE:
        count_cached(f"{written(said.seq, said.speaker, said.text)}\n")


class Quoted:
    """A ranking of earlier messages, ready to be quoted."""

    def __init__(
        self, ranked: Sequence[Ranked], texts: Mapping[int, str], tokens: Mapping[int, int], query: Query
    ) -> None:
        self._ranked = ranked
        self._tokens = tokens
        self._texts = texts
        self._query = query

    @property
    def likely(self) -> bool:
        """Whether the best of them is probably what is asked for."""
        return bool(self._ranked) and self._ranked[0].score >= _LIKELY

    def pack(self, room: int, visible: Container[int], sure: bool = False) -> tuple[list[str], int, list[Quotation]]:
        """As much as fits so many tokens: as lines of a block, their tokens, and piece by piece; nothing that is visible
        anyway. With `sure`, nothing that is far behind the best."""
        shown, tokens = self._shown(room, visible, sure)
        return lines_of(shown), tokens, [self._quotation(one) for one in shown]

    def tokens(self, room: int, sure: bool = False) -> int:
        """What `pack` would take if nothing else were visible, about."""
        if sum(map(self._size, self._near(sure))) > room:
            return room
        return self._shown(room, (), sure)[1]

    def _near(self, sure: bool) -> Sequence[Ranked]:
        """Those that are not far behind the best."""
        if not sure or not self._ranked:
            return self._ranked
        least = self._ranked[0].score - _FAR
        return [one for one in self._ranked if one.score >= least]

    def _shown(self, room: int, visible: Container[int], sure: bool) -> tuple[list[Shown], int]:
        ranked = [one for one in self._near(sure) if one.seq not in visible]
        shown = pack(ranked, self._texts, room, count_cached, self._size)
        return shown, measured(shown, count_cached)

    def _size(self, one: Ranked) -> int:
        """Tokens of a line, about: of a whole message they are known."""
        text = self._texts[one.seq]
        return self._tokens[one.seq] * (one.end - one.start) // max(len(text), 1) + _SOURCE

    def _quotation(self, one: Shown) -> Quotation:
        return Quotation(one.seq, one.text, functools.partial(self._why, one))

    def _why(self, one: Shown) -> str:
        own = {term(word) for word in words(one.text)}
        shared = [word for word in self._query.words if term(word) in own]
        reasons = [f"has {', '.join(shared)}"] if shared else ["near in meaning"]
        if one.speaker in self._query.speakers:
            reasons.append(f"said by {one.speaker}")
        return "; ".join(reasons)
