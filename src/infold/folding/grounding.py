"""Whether what a line claims occurs in the messages and the memory it was made from. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from infold.folding.calendar import LETTERS, Dated, said_in, weekday_of
from infold.folding.clauses import Clause, clauses_of
from infold.folding.evidence import (
    Claims,
    claims_of,
    language_of,
    stems_of,
)
from infold.folding.indexing import Texts
from infold.folding.matching import (
    counts_alike,
    is_bare_hour,
    is_dated,
    is_hour,
    measures_alike,
    named_alike,
)
from infold.folding.placing import Key, Placed, misplaced
from infold.folding.polarity import opposed
from infold.folding.proper import known, names, plain, spelled_out
from infold.folding.quantities import Number
from infold.folding.references import cites, has_digits, unknown_part, written_as

_ENGLISH = frozenset("the is are and of with by for not on at to user wants prefers has needs".split())
_POINT_ZERO = re.compile(r"\d+\.0")
_SPEAKING = 3  # shared words, counted twice, from which on a text is what a line rests on
_SURE = 6  # the same, from which on there is no doubt
_NEAR = 6  # texts beside the cited ones in which a line's clauses are looked for
_TELLING = 1000  # a number from here on is hardly the same by chance


@dataclass(slots=True)
class Support:
    """What was found out about one line."""

    reason: str = ""
    detail: str = ""
    doubtful: bool = False
    """Whether it only may be so."""
    documents: set[int] = field(default_factory=set)
    """Texts that ground its claims beyond those it cites."""
    shared: dict[int, int] = field(default_factory=dict)
    """How many content words each text shares with it; pale ones count half."""


class Grounds(Texts):
    """Everything that lines may rest on, and whether they do."""

    def support(self, text: str, cited: Sequence[int]) -> Support:
        """Whether a line holds, and by what; `cited` are the seqs it names."""
        mine = frozenset(word for word in stems_of(text) if not word.isdigit())
        found = Support(shared=self.sharing(mine))
        own = {at for seq in cited for at in self.by_seq.get(seq, ())}
        near = {at for at, shared in found.shared.items() if shared > 1}  # more than a word like "week"
        claims = claims_of(text)
        for reason, written, having in self._looked_up(claims, own, near):
            if having is None:
                return _failed(found, reason, f"{written[:60].strip()} is in none of its sources")
            found.documents |= having
        if claims.doubtful and (reason := self._mistaken(claims.doubtful, own or _nearest(found.shared))):
            return _failed(found, "identifier", reason)
        if claims.weekdays and (reason := self._days(claims.weekdays, claims.dates, own or near | self.around(near))):
            return _failed(found, "date", reason)
        if reason := self._worded(claims.worded):
            return _failed(found, "number", reason)
        if name := self._unknown(self._names(text, claims, own), own, found):
            return _failed(found, "name", f"the name {name[:60]} is in none of its sources")
        if claims.placed and (one := self._misplaced(text, claims, own, found)):
            return _failed(found, one.keys[0][0], f"{one.text[:60]} belongs elsewhere in its sources")
        return self._said(text, own, found)

    def _mistaken(self, doubtful: Sequence[str], home: set[int]) -> str:
        """Whether what looks like a reference is unknown, where the texts a line rests on have another one like it."""
        mine = set(map(plain, doubtful))
        others = [plain(one) for at in sorted(home) for one in self.documents[at].evidence.doubtful]
        slashed = {"/" in one for one in others if one not in mine}
        for one in doubtful:
            if ("/" in one) in slashed and unknown_part(one, self.naming):
                return f"{one[:60]} is in none of its sources"
        return ""

    def _misplaced(self, text: str, claims: Claims, own: set[int], found: Support) -> Placed | None:
        shared = found.shared
        home = own
        if not own or not (claims.names or any(shared.get(at, 0) > 1 for at in own)):
            home = _nearest(shared)
        said: set[Key] = {key for one in claims.placed for key in one.keys}
        said.update(("number", value) for one in claims.worded for value in (*one.values, *one.bases))
        said.update(("name", word) for word in LETTERS.findall(plain(text)))
        values = ((at, one) for at in sorted(home) for one in self.documents[at].evidence.placed)
        near, sure = (
            home | own | self.around(home | own),
            bool(own or max(map(shared.__getitem__, home), default=0) >= _SURE),
        )
        return misplaced(claims.placed, said, values, near, self.placing(claims.placed), sure)

    def _looked_up(
        self, claims: Claims, own: set[int], related: set[int]
    ) -> Iterator[tuple[str, str, set[int] | None]]:
        """Each exact claim of a line: what it is, as written, and the texts that have it beside the cited ones.

        `related` are the texts that share words with it; what stands next to them counts too: a question and its answer.
        """
        for reference in claims.references:
            yield "identifier", reference, self._reference(reference, own)
        if not (claims.dates or claims.times or claims.numbers):
            return
        close = own | related | self.around(own or related)
        for dated in claims.dates:
            yield "date", dated.text, self._date(dated, own, close, related)
        for written, minutes in claims.times:
            yield "date", written, self._time(minutes, own, close)
        for number in claims.numbers:
            yield "number", number.text, self._number(number, own, close, related)

    @staticmethod
    def _pick(having: Iterable[int], own: set[int], close: set[int] | None) -> set[int] | None:
        """Of the texts that have a claim: nothing to add where a cited one does, else the first that is close."""
        every = set(having)
        if every & own:
            return set()
        near = every if close is None else every & close
        return {min(near)} if near else None

    def _reference(self, reference: str, own: set[int]) -> set[int] | None:
        for loosely in (False, True):
            for at in sorted(own):
                if cites(reference, self.documents[at].evidence, loosely):
                    return set()
            picked = self._pick(self._having(reference, loosely), own, None)
            if picked is not None:
                return picked
        return None

    def _having(self, reference: str, loosely: bool = False) -> set[int]:
        if not cites(reference, self.all, loosely):
            return set()
        near = range(len(self.documents)) if loosely else self.writing(*written_as(reference))
        return {at for at in near if cites(reference, self.documents[at].evidence, loosely)}

    def _number(self, number: Number, own: set[int], close: set[int], related: set[int]) -> set[int] | None:
        if not number.unit and _POINT_ZERO.fullmatch(number.text):  # a grade or a version: 2.0 is not 2
            return self._pick(self._having(number.text), own, close)
        having: set[int] = set()
        loose: set[int] = set()
        for value in {*number.values, *number.bases}:
            for at, other in self.numbers.get(value, ()):
                if measures_alike(number, other):
                    (having if counts_alike(number, other) else loose).add(at)
        if number.unit and any(other.unit and not measures_alike(number, other) for other in self._alike(number, own)):
            having = {at for at in having if any(other.unit for other in self._alike(number, {at}))}
            loose.clear()  # what it cites has just so many of another unit
        kinds = number.kinds
        figures = [one for at in own for one in self.documents[at].evidence.numbers]
        if not having & own and any(
            named_alike(number, one) for one in figures
        ):  # what it cites gives another figure for it
            having, loose = self._counted_so(number), set()
        if figures:  # what it cites has figures, and this is none of them: only the same count elsewhere will do
            loose &= own
        uncounted = self.counted.isdisjoint(kinds)
        if uncounted and not having & close:
            having |= loose
        if uncounted and not having & own:
            having |= self._otherwise(number)
        if figures:
            close = own | related
        distant = number.values[0] >= _TELLING or number.values[0] % 1
        return self._pick(having, own, None if distant else close)

    def _otherwise(self, number: Number) -> set[int]:
        """Texts that have a number as part of a date or a time, or written just so."""
        value = number.values[0]
        having: set[int] = set()
        if value == 1 and number.nouns:  # "a toddler"
            single = re.compile(rf"\b(?:an?|eine?n?|une?|una) (?:{'|'.join(map(re.escape, sorted(number.nouns)))})")
            if single.search(self.folded):
                having.update(at for at, one in enumerate(self.documents) if single.search(one.evidence.folded))
        if not number.unit and value % 1 == 0:
            having.update(self.years.get(int(value), ()))
            if value <= 24:
                having.update(at for at, one in enumerate(self.documents) if is_hour(int(value), one.evidence))
        if having or not (cites(number.text, self.all, False) or has_digits(number.text, self.all)):
            return having
        return {
            at
            for at in self.writing(number.text, *written_as(number.text))
            if (cites(number.text, evidence := self.documents[at].evidence, False) or has_digits(number.text, evidence))
            and not any(other.unit and number.unit for other in self._alike(number, {at}))
        }

    def _alike(self, number: Number, documents: set[int]) -> list[Number]:
        """The numbers of some texts that have the same figure."""
        return [other for value in number.values for at, other in self.numbers.get(value, ()) if at in documents]

    def _counted_so(self, number: Number) -> set[int]:
        """Texts that have just so many of something."""
        return {
            at
            for value in {*number.values, *number.bases}
            for at, other in self.numbers.get(value, ())
            if named_alike(number, other) and measures_alike(number, other)
        }

    def _worded(self, ones: Sequence[Number]) -> str:
        """A number in words is checked only where its noun is counted otherwise: "two options" may be the writer's own count."""
        for one in ones:
            if one.nth or one.values[0] < 2 or self.counted.isdisjoint(one.kinds):
                continue
            values = {*one.values, *one.bases}
            if not any(measures_alike(one, other) for value in values for _, other in self.numbers.get(value, ())):
                return f"{one.text[:60]} is in none of its sources"
        return ""

    def _date(self, dated: Dated, own: set[int], close: set[int], related: set[int]) -> set[int] | None:
        having = {
            at
            for day in dated.days
            for at in (self.days.get(day[1:], frozenset()) | self.nth.get(day[2], frozenset()))
            if is_dated(day, self.documents[at].evidence)
        }
        if any(self.documents[at].evidence.days for at in own):  # what it cites has dates of its own
            close = own | related
        picked = self._pick(having, own, close)
        if picked is None and not dated.text.isalpha():  # "24/7" is no date, but may be said
            picked = self._pick(self._having(dated.text) | self._fraction(dated.text), own, close)
        return picked

    def _fraction(self, written: str) -> set[int]:
        """Texts that say a fraction like 1/2 in other words."""
        above, _, below = written.partition("/")
        if not (above.isdigit() and below.isdigit() and int(below)):
            return set()
        return {at for at, _ in self.numbers.get(int(above) / int(below), ())}

    def _time(self, minutes: frozenset[int], own: set[int], close: set[int]) -> set[int] | None:
        having = [
            at
            for at in self.timed
            if minutes & self.documents[at].evidence.minutes
            or any(is_bare_hour(minute, self.documents[at].evidence) for minute in minutes)
        ]
        return self._pick(having, own, close)

    def _days(self, named: frozenset[int], dated: Sequence[Dated], near: set[int]) -> str:
        """Whether the days of the week that a line names are those of its sources, or of its own dates."""
        said = {day for at in near for day in self.documents[at].evidence.weekdays}
        own = {weekday_of(day) for one in dated for day in one.days if all(day)}
        full = [one for one in dated if all(one.days[0])]
        for day in named:
            if day not in said and day not in own:
                return "a day of the week is in none of its sources"
            if len(named) == len(full) == 1 and day not in own and len(full[0].days) == 1 and day not in said:
                return "the day of the week is not that of the date"
        return ""

    def _names(self, text: str, claims: Claims, own: set[int]) -> Sequence[str]:
        """The names of a line; where it is German like its sources, not every large word is one."""
        if "de" in {self.documents[at].evidence.language for at in own} and not _ENGLISH & set(text.lower().split()):
            return names(text, german=True)
        return claims.names

    def _unknown(self, ones: Sequence[str], own: set[int], found: Support) -> str:
        if not ones:
            return ""
        order: list[int] = []
        for name in ones:
            if having := self.naming.get(plain(name)):
                if own.isdisjoint(having):
                    found.documents.add(max(having, key=lambda at: (found.shared.get(at, 0), -at)))
                continue
            if not order:
                order += sorted(
                    range(len(self.documents)), key=lambda at: (at not in own, -found.shared.get(at, 0), at)
                )
            for at in order:
                evidence = self.documents[at].evidence
                if known(name, evidence.words, evidence.folded):
                    if at not in own:
                        found.documents.add(at)
                    break
            else:
                if not spelled_out(list(ones), self.naming):
                    return name
        return ""

    def _said(self, text: str, own: set[int], found: Support) -> Support:
        """Whether its sources speak of what a line says at all, and say the same."""
        if not found.shared and not found.documents and not self._grounded(text) and not _abroad(text, self, own):
            return _failed(found, "unsupported", "nothing in its sources speaks of it")
        reason = opposed(clauses_of(text), *self.told(own, found.shared))
        match reason:
            case "doubt":
                found.doubtful = True
                return _failed(found, "negation", "its sources may say the opposite")
            case "negation":
                return _failed(found, reason, "its sources say the opposite")
            case "modality":
                return _failed(found, reason, "its sources are not as sure, or surer")
        return found

    def told(self, own: set[int], shared: Mapping[int, int]) -> tuple[list[Clause], list[Clause]]:
        """The clauses of what a line cites, and of their neighbours and other texts that speak of the same."""
        ranked = [(much + 2 if at in own else much, at) for at, much in shared.items()]
        ranked.sort(reverse=True)
        others = self.around(own).union([at for _, at in ranked[:_NEAR]]) - own
        return (
            [clause for at in sorted(own) for clause in self.clauses[at]],
            [clause for at in sorted(others) for clause in self.clauses[at]],
        )

    def _grounded(self, text: str) -> bool:
        claims = claims_of(text)
        return bool(claims.numbers or claims.dates or claims.references or claims.names or claims.times)


def _nearest(shared: Mapping[int, int]) -> set[int]:
    """The text that shares most with a line, the last of them; none where that is too little."""
    best = max(shared, key=lambda at: (shared[at], at), default=-1)
    return {best} if shared.get(best, 0) >= _SPEAKING else set()


def _failed(found: Support, reason: str, detail: str) -> Support:
    found.reason, found.detail = reason, detail
    return found


def _abroad(text: str, grounds: Grounds, own: set[int]) -> bool:
    """Whether line and sources are in different scripts or languages, so that no word can be shared."""
    at = own or set(range(len(grounds.documents)))
    language = language_of(said_in(text))
    return any(grounds.documents[one].evidence.language != language for one in at)
