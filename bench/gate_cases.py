"""Conversations with faithful summaries, made of the material in bench/gate/*.toml.

A row of it is, by its first letter:

    u, a, t      a message of the user, of the assistant, of a tool
    = f1,3 …     a faithful line: its section (f, g, d, o, a for facts, goals, decisions, open, artifacts) and its messages
    + f …        a line that nothing in the conversation supports
    m f … => …   a line of memory from before, and how a summary may put it now
    x f …        a line of memory that the conversation makes obsolete

{name.form:type …} is a value, drawn where it is first named, shown in a form of its type; later {name.form} suffices.
[[right|wrong]] negates, [[~right|wrong]] makes something sure that is not, [[#right|wrong]] takes another unit.
"""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from infold.lines.kinds import PINNED
from infold.lines.line import Line, line_tokens
from infold.messages import Message, parse
from infold.tokens import count

MATERIAL = Path(__file__).resolve().parent / "gate"
MOST_TOKENS = 430
"""Of a proposal and the memory it may carry along: below the cap, so that nothing is cut for length."""
SECTIONS = {"f": "facts", "g": "goals", "d": "decisions", "o": "open", "a": "artifacts"}
SLOT = re.compile(r"\{(\w+)(?:\.(\w+))?(?::([^}]*))?\}")
CHOICE = re.compile(r"\[\[([~#]?)((?:(?!\]\]|\|).)*)\|((?:(?!\]\]).)*)\]\]")
_NOT = re.compile(
    r"\b(is|are|was|were|will|must|may|should|does|do|did|has|have) not\b|\b(?:cannot|no longer|without)\b"
)
_VERB = re.compile(r"\b(?:is|are|was|were|will|must|should|can)\b(?! (?:no|never|only|still|out|due to)\b)(?= \w)")
_UNFIT = re.compile(
    r"(?i)\b(?:no|none|never|nothing|probably|whether|if|while|the will)\b"
)  # a "not" more would be odd
_ROLES = {"u": "user", "a": "assistant", "t": "tool"}


class MaterialError(Exception):
    """The material cannot be used."""


@dataclass(frozen=True, slots=True)
class Value:
    type: str
    raw: Any
    spec: str = ""


@dataclass(slots=True)
class World:
    """What values are drawn from: chance, the day on which is spoken, and names that nobody has yet."""

    rng: random.Random
    day: date
    pools: Mapping[str, list[str]]
    used: set[str] = field(default_factory=set)

    def draw(self, spec: str) -> Value:
        type, _, rest = spec.partition(" ")
        rng, args = self.rng, rest.split()
        if type in ("int", *MONEY):
            number = rng.randrange(int(args[0]), int(args[1]) + 1, int(args[2]) if len(args) > 2 else 1)
            return Value("int", number) if type == "int" else Value("money", (number, type))
        if type == "dec":
            low, high, digits = float(args[0]), float(args[1]), int(args[2])
            return Value("dec", (round(rng.uniform(low, high), digits), digits))
        if type == "time":
            return Value("time", rng.randrange(int(args[0]) * 60, int(args[1]) * 60 + 1, 15))
        if type in ("date", "soon", "next", "past"):
            weekday = self.day.weekday()
            ahead = {
                "soon": range(1, 7), "next": range(7 - weekday, 7) if weekday else range(7, 8),
                "past": range(-weekday - 1, -8, -1), "date": range(0),
            }[type] or range(int(args[0]), int(args[1]) + 1)  # fmt: skip
            return Value("date", self.day + timedelta(days=rng.choice(ahead)), type)
        if type == "id":
            return Value("id", "".join(rng.choice(WILD.get(ch, ch)) for ch in rest), rest)
        if type in ("ref", "pick"):
            return Value(type, rng.choice(rest.split("|")), rest)
        pool = self.pools["person" if type == "person" else rest]
        free = [x for x in pool if x not in self.used and (type == "name" or x.endswith(rest))]
        name = rng.choice(free or pool)
        self.used.add(name)
        return Value(type, name, rest)


CLASSES = {
    "numbers": ("int", "dec", "money"), "dates": ("date", "time"), "identifiers": ("id", "ref"), "names": ("person", "name"),
}  # fmt: skip
MONEY = {"usd": ("$", "dollars"), "eur": ("€", "euros"), "gbp": ("£", "pounds"), "chf": ("CHF ", "francs")}
WILD = {"#": "0123456789", "@": "ABCDEFGHKLMNPRSTUVWXYZ", "%": "0123456789abcdef"}
_ONES = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
_TENS = "_ _ twenty thirty forty fifty sixty seventy eighty ninety".split()
_FRENCH = "zéro un deux trois quatre cinq six sept huit neuf dix onze douze".split()
_MONTHS = {
    "": "January February March April May June July August September October November December",
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
}
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_TAGE = "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag".split()


def show(value: Value, form: str) -> str:
    """A value in one of the forms of its type; hidden where the text says it in other words."""
    raw = value.raw
    if form == "hide":
        return ""
    match value.type:
        case "int":
            return _number(raw, form)
        case "dec":
            return f"{raw[0]:.{raw[1]}f}"
        case "money":
            return _money(raw[0], raw[1], form)
        case "date":
            return _date(raw, form, value.spec)
        case "time":
            return f"{raw // 60}:{raw % 60:02}" if form != "ap" else _clock(raw)
        case "person":
            return _person(raw, form)
        case _:
            return str(raw)


def _number(n: int, form: str) -> str:
    if form == "w":
        return _ONES[n] if n < 20 else "-".join([_TENS[n // 10], *([_ONES[n % 10]] if n % 10 else [])])
    ending = "th" if n // 10 % 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return {"c": f"{n:,}", "k": f"{n / 1000:g}k", "th": f"{n}{ending}", "fr": _FRENCH[n % 13]}.get(form, str(n))


def _money(n: int, currency: str, form: str) -> str:
    sign, name = MONEY[currency]
    foreign = {"eur": "Euro", "chf": "Franken", "usd": "Dollar", "gbp": "Pfund"}[currency]
    return {
        "": f"{sign}{n:,}", "n": str(n), "c": f"{n:,}", "name": f"{n:,} {name}", "k": f"{n / 1000:g}k",
        "sk": f"{sign}{n / 1000:g}k", "ek": f"{sign}{n / 1000:g}k", "de": f"{n:,} {foreign}".replace(",", "."),
        "eu": f"{n:,} {sign.strip()}".replace(",", "."), "mil": f"{n / 1e6:g} million {name}", "m": f"{sign}{n / 1e6:g}m",
    }[form]  # fmt: skip


def _date(d: date, form: str, spec: str) -> str:
    month = {language: names.split()[d.month - 1] for language, names in _MONTHS.items()}
    day = _DAYS[d.weekday()]
    return {
        "iso": d.isoformat(), "md": f"{month['']} {d.day}", "mdth": f"{month['']} {_number(d.day, 'th')}",
        "dm": f"{d.day} {month['']}", "mdy": f"{month['']} {d.day}, {d.year}", "dmy": f"{d.day} {month['']} {d.year}",
        "num": f"{d.day:02}.{d.month:02}.{d.year}", "us": f"{d.month}/{d.day}/{d.year}", "month": month[""],
        "de": f"{d.day}. {month['de']}", "es": f"{d.day} de {month['es']}", "fr": f"{d.day} {month['fr']}",
        "dow": f"next {day}" if spec == "next" else day, "dow_last": f"last {day}", "de_dow": _TAGE[d.weekday()],
        "dowmd": f"{day}, {month['']} {d.day}", "day": _number(d.day, "th"),
    }[form]  # fmt: skip


def _clock(minutes: int) -> str:
    hour, rest = (minutes // 60 - 1) % 12 + 1, minutes % 60
    return f"{hour}{f':{rest:02}' if rest else ''} {'am' if minutes < 720 else 'pm'}"


def _person(whole: str, form: str) -> str:
    first, last, gender = whole.split()
    she = gender == "f"
    return {
        "": f"{first} {last}", "first": first, "last": last, "title": f"{'Ms.' if she else 'Mr.'} {last}",
        "title_de": f"{'Frau' if she else 'Herrn'} {last}", "she": "she" if she else "he", "She": "She" if she else "He",
        "him": "her" if she else "him", "her": "her" if she else "his", "his": "her" if she else "his",
        "his_de": "ihre" if she else "seine",
    }[form]  # fmt: skip


Values = dict[str, Value]


def filled(text: str, values: Values, draw: Callable[[str], Value] | None = None) -> str:
    """A text with its slots filled; values that it is the first to name are drawn."""

    def fill(match: re.Match[str]) -> str:
        name, form, spec = match[1], match[2] or "", match[3]
        if spec is not None and name not in values and draw is not None:
            values[name] = draw(spec)
        return show(values[name], form)

    return SLOT.sub(fill, text)


def right(text: str) -> str:
    """The text with every choice made rightly."""
    return CHOICE.sub(lambda m: m[2], text)


def negated(text: str) -> tuple[str, str]:
    """The text with a "not" taken out or put in, and which of the two; empty where there is no place for one."""
    if match := _NOT.search(text):
        instead = {"cannot": "can", "no longer": "still", "without": "with"}.get(match[0], match[1])
        return "not taken out", f"{text[: match.start()]}{instead}{text[match.end() :]}"
    if _UNFIT.search(text) or not (match := _VERB.search(text)):
        return "", ""
    return "not put in", f"{text[: match.end()]}{'' if match[0] == 'can' else ' '}not{text[match.end() :]}"


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a summary, with what it may be spoilt by."""

    section: str
    text: str
    sources: tuple[int, ...] = ()
    again: str = ""
    """Of memory: how a summary may put it now."""
    values: Values = field(default_factory=dict)

    @property
    def told(self) -> str:
        return filled(right(self.text), self.values)


@dataclass(frozen=True, slots=True)
class Pair:
    talk: list[tuple[str, str]]
    rows: dict[str, list[Row]]
    """By the mark they begin with; sources are the pair's messages, from 1."""
    pools: Mapping[str, list[str]]


@dataclass(frozen=True, slots=True)
class Book:
    pairs: list[Pair]
    memory: list[Row]
    filler: list[tuple[str, str]]
    pools: Mapping[str, list[str]]


@cache
def book(half: str) -> Book:
    """All material of a half."""
    pairs: list[Pair] = []
    memory: list[Row] = []
    filler: list[tuple[str, str]] = []
    pools: dict[str, list[str]] = {}  # of all files: what is invented comes from here
    for path in sorted(MATERIAL.glob(f"{half}-*.toml")):
        content = tomllib.loads(path.read_text())
        for name, pool in content["pools"].items():
            pools[name] = [*pools.get(name, []), *pool]
        for pair in content["pair"]:
            talk, rows = _read(pair["text"])
            pairs.append(Pair(talk, rows, content["pools"]))
        memory += [_line(f"m {text}") for text in content.get("memory", "").strip().splitlines()]
        filler += _read(content.get("filler", ""))[0]
    return Book(pairs, memory, filler, pools)


def _read(text: str) -> tuple[list[tuple[str, str]], dict[str, list[Row]]]:
    talk: list[tuple[str, str]] = []
    rows: dict[str, list[Row]] = {mark: [] for mark in "=+mx"}
    for row in text.strip().splitlines():
        if row[0] in _ROLES:
            talk.append((_ROLES[row[0]], row[2:]))
        else:
            rows[row[0]].append(_line(row))
    return talk, rows


def _line(row: str) -> Row:
    match = re.fullmatch(r"[=+mx] ([fgdoa])([\d,]*) (.*)", row)
    if match is None:
        raise MaterialError("a row of the material cannot be read")
    text, _, again = match[3].partition(" => ")
    return Row(SECTIONS[match[1]], text, tuple(map(int, filter(None, match[2].split(",")))), again)


@dataclass(slots=True)
class Draft:
    """A conversation with its faithful summary."""

    messages: list[Message]
    memory: list[Line]
    """Still valid."""
    obsolete: list[Line]
    pins: list[Line]
    pinned: list[Row]
    lines: list[Row]
    invented: list[Row]
    pools: Mapping[str, list[str]]

    @property
    def everything(self) -> str:
        """All that is said in it."""
        said = [m.text for m in self.messages] + [i.text for i in (*self.memory, *self.pins)]
        return "\n".join([*said, *(line.told for line in self.lines)])


class Writer:
    """Writes conversations of one half."""

    def __init__(self, half: str, rng: random.Random) -> None:
        self.book = book(half)
        self.rng = rng

    def write(self, size: int, remembered: int, pins: int, most: int = MOST_TOKENS, pairs: int = 0) -> Draft:
        """A conversation of about so many messages, after a memory of so many lines."""
        rng = self.rng
        world = World(rng, date(2025, 1, 1) + timedelta(days=rng.randrange(900)), self.book.pools)
        old = self._remembered(world, remembered)
        pinned = self._remembered(world, pins)
        first = rng.randrange(12, 60) if old else 1
        draft = Draft([], [], [], [], pinned, [], [], self.book.pools)
        chosen = rng.sample(self.book.pairs, k=pairs or max(1, size // 5 if size <= 30 else size // 6))
        talk = _Talk(rng, draft.messages, first, rng.randrange(7 * 60, 11 * 60))
        for number, pair in enumerate(chosen):
            if number and rng.random() < 0.35:
                world.day += timedelta(days=rng.randrange(1, 4))
                talk.minutes = rng.randrange(7 * 60, 11 * 60)
            world.pools = pair.pools
            room = max(0, size - len(draft.messages) - sum(len(p.talk) for p in chosen[number:]))
            for role, text in rng.choices(self.book.filler, k=rng.randrange(0, room // (len(chosen) - number) + 1)):
                talk.say(role, text, world.day)
            values: Values = {}
            seqs = [talk.say(role, filled(text, values, world.draw), world.day) for role, text in pair.talk]
            for row in pair.rows["="]:
                cited = tuple(seqs[n - 1] for n in row.sources)
                draft.lines.append(Row(row.section, row.text, cited, values=values))
            draft.invented += [Row(x.section, x.text, (rng.choice(seqs),), values=values) for x in pair.rows["+"]]
            if old:
                filled("".join(row.text for row in pair.rows["m"]), values, world.draw)
                old += [Row(x.section, x.text, (), x.again, values) for x in pair.rows["m"]]
                draft.obsolete += [_item(rng, x, first) for x in pair.rows["x"]]
        for role, text in rng.choices(self.book.filler, k=max(0, size - len(draft.messages))):
            talk.say(role, text, world.day)
        draft.pins = [_item(rng, x, first, PINNED) for x in pinned]
        room = most
        for line in old:
            item = _item(rng, line, first)
            draft.memory.append(item)
            now = line.again if line.again and rng.random() < 0.4 else line.text
            draft.lines.append(Row(line.section, now, item.sources, values=line.values))
            room -= item.tokens
        rng.shuffle(draft.lines)
        draft.lines.sort(key=lambda line: line.sources[0] >= first)  # memory first: it is not what is left out
        draft.lines = [x for x in draft.lines if (room := room - line_tokens(x.told)) >= 0]
        rng.shuffle(draft.lines)
        return draft

    def _remembered(self, world: World, number: int) -> list[Row]:
        made: list[Row] = []
        for line in self.rng.sample(self.book.memory, k=number):
            values: Values = {}
            filled(line.text, values, world.draw)
            made.append(Row(line.section, line.text, (), line.again, values))
        return made


def _item(rng: random.Random, line: Row, first: int, section: str = "") -> Line:
    text = line.told
    sources = (rng.randrange(1, max(2, first)),)
    return Line(f"1.{rng.randrange(10**6)}", section or line.section, text, sources, tokens=line_tokens(text))


@dataclass(slots=True)
class _Talk:
    rng: random.Random
    messages: list[Message]
    first: int
    minutes: int
    """Of the day."""

    def say(self, role: str, text: str, day: date) -> int:
        """Add a message, and before a tool's result its call; its position."""
        wires: list[dict[str, Any]] = [{"role": role, "content": text}]
        if role == "tool":
            id = f"call_{len(self.messages)}"
            call = {"id": id, "type": "function", "function": {"name": "lookup", "arguments": "{}"}}
            wires = [{"role": "assistant", "content": None, "tool_calls": [call]}, {**wires[0], "tool_call_id": id}]
        for wire in wires:
            self.minutes = min(self.minutes + self.rng.randrange(1, 9), 23 * 60)
            at = datetime.combine(day, time(self.minutes // 60, self.minutes % 60), UTC)
            seq = self.first + len(self.messages)
            self.messages.append(parse(wire).stored(f"m{seq}", seq, int(at.timestamp() * 1000), count(text)))
        return self.messages[-1].seq


def cited(rng: random.Random, line: Row, messages: Sequence[Message]) -> Line:
    """A line as a summarizer gives it: mostly with the right sources, sometimes a neighbour too, sometimes none."""
    chance, near = rng.random(), line.sources[-1] + 1
    sources = line.sources
    if chance < 0.2:
        sources = ()
    elif chance < 0.4 and sources[0] >= messages[0].seq and near <= messages[-1].seq:
        sources = (*sources, near)
    return Line("", line.section, line.told, sources)
