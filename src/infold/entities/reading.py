"""What one message says about entities. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from infold.entities.model import Mention
from infold.entities.naming import MOST, files, is_given, people, projects
from infold.entities.states import broken, denied, done, dropped, over, pending
from infold.folding.dates import resolve as dated
from infold.folding.extractive import TOOL_CHARS, plain_sentences
from infold.folding.likeness import GENERIC, words
from infold.folding.once import Once
from infold.folding.telling import tell
from infold.items import Candidate
from infold.marks import without_own
from infold.messages import Message

_LONGEST = 160  # characters of a name
_LISTING = 5  # a tool or a system prompt that names more files than this lists them

# ---------------------------------------------------------------- tasks and goals

_LISTED = re.compile(r"^(?:to-?do|to do|task|action item|next step)s?\s*[:–-]\s*", re.IGNORECASE)
_MUST = re.compile(
    r"\b(?:will|shall|needs? to|has to|have to|had to|must|should|ought to|promised|owes?|going to|remind|forget to|supposed to|'ll|plans? to|agreed to|tiene que|muss)\b"
)
_CHORE = re.compile(
    r"(?:ask|call|e-?mail|text|check|find out|clarify|confirm|talk|speak|look|figure out)\b", re.IGNORECASE
)
_REMIND = re.compile(
    r"^(?:(?:please|can|could|Assistant|will)\s+)*(?:remind (?P<whom>User|Assistant|[A-Z][\w'-]+)(?: again)?(?: (?:on|at|by) [^,]{0,24}?)? (?:to|about|that)"
    r"|(?:don't|do not|never) (?:let User )?forget (?:to|about)|make sure (?:to|that)|remember to)\s+",
    re.IGNORECASE,
)
_WHO = re.compile(
    r"^(?P<who>User|Assistant|We|[A-Z][\w'’.-]*(?: [A-Z][\w'’-]*)?|(?:The |Our |User's )?[\w' -]{0,30}?)"
    r" ?(?:still |also |then |now |really |definitely |just )*(?:'ll|will|shall|needs? to|ha(?:s|ve) to|'ve got to|has got to|must|should|ought to|is going to|are going to|'re going to|is supposed to"
    r"|plans to|is planning to|promised to|agreed to|is to|tiene que|muss|doit|dois)"
    r" (?:still |also |then |now |definitely |just |finally )*(?!be |have |not\b)"
)
_PROMISED = re.compile(
    r"^(?P<who>User|Assistant|[A-Z][\w'’-]*) (?:has )?promised (?:(?P<whom>[A-Z]\S*|\w+) )?that (?:User|he|she|they|I) (?:will|would) "
)
_AIM = re.compile(
    r"^(?:(?:User|We|Our team|The team)(?:'s|'re| is| are)? ?(?:really |also |now |still )?(?:(?:wants?|hopes?|aims?|plans?|intends?|dreams?|wish(?:es)?|trying|hoping|planning|aiming|working|determined|saving|would like|'d like|would love|'d love|is trying|strives?|tr(?:y|ies))"
    r" (?:to|of|towards?) )|(?:User's|Our|My|The|Main|Long-term|Overall)? ?(?:\w+ ){0,2}(?:goal|aim|dream|objective|ambition|target|resolution|plan|mission)(?: for [\w ]{2,20}?)? (?:is|was|remains)(?: now)? (?:to )?|Goal: ?(?:to )?)",
    re.IGNORECASE,
)
_DAY = r"(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) )?(?P<{0}>\d{{4}}-\d{{2}}-\d{{2}})"
_DUE = re.compile(
    rf"\b(?:by|due(?: on| by| date)?|before|until|till|deadline(?: is|:)?|no later than|on)[ :]+(?:the )?{_DAY.format('day')}",
    re.IGNORECASE,
)
_ANY_DAY = re.compile(_DAY.format("day"))
_DUE_THERE = re.compile(
    rf"[\s,;:(–-]*(?:\b(?:and )?(?:is |it's |it is )?(?:by|due(?: on| by| date)?|before|until|till|deadline(?: is|:)?|no later than|on|latest|at the latest)[ :]+)?(?:the )?{_DAY.format('day')}(?: at the latest)?\)?",
    re.IGNORECASE,
)


@dataclass(slots=True)
class _Part:
    """What one sentence says: its mentions, which are linked with each other."""

    said: str
    sure: bool
    """Whether its names are of somebody or something the user has to do with."""
    found: list[Mention] = field(default_factory=list)


def read(message: Message, candidates: Sequence[Candidate], chat: str) -> list[Mention]:
    """What a message says about entities, one mention of each; `candidates` is what `extract` gives for it.

    Tools and system prompts name files, nothing else. The assistant's sentences count where they gave a candidate: the
    rest is talk about the world. What says only that something is over is of no kind, and `resolve` finds what it is about.
    """

    def make() -> tuple[Mention, ...]:
        reader = _Reader(message, chat)
        return tuple(reader.read(candidates) if message.role in ("user", "assistant") else reader.listed())

    key = (chat, message.id, message.seq, message.created_at, message.role, message.name, message.text)
    return [*_read.get((key, *candidates), make)]


_read: Once[tuple[Mention, ...]] = Once(4096)


class _Reader:
    """Reads one message."""

    def __init__(self, message: Message, chat: str) -> None:
        self.at, self.chat, self.seq, self.id = message.created_at, chat, message.seq, message.id
        self.by_user = message.role == "user"
        self.speaker = (message.name or "User") if self.by_user else "Assistant"
        self.listener = "Assistant" if self.by_user else "User"
        self.named = message.name or ""
        self.text = message.text

    def listed(self) -> list[Mention]:
        """The files of a tool's result or a system prompt."""
        named = files(without_own(self.text)[:TOOL_CHARS])
        return [self._mention("file", name[:_LONGEST]) for name in named] if len(named) <= _LISTING else []

    def read(self, candidates: Sequence[Candidate]) -> list[Mention]:
        every = plain_sentences(self.text)
        parts = [self._of_candidate(candidate, every) for candidate in candidates]
        covered = " ".join(part.said for part in parts)
        parts += [self._of_sentence(one) for one in every if one.rstrip(" .!") not in covered]
        people_left = files_left = MOST
        for part in parts:
            who = people(part.said)[:people_left] if part.sure else []
            what = files(part.said)[:files_left]
            people_left, files_left = people_left - len(who), files_left - len(what)
            owners = [one.owner for one in part.found if self._is_person(one.owner, who)]
            for kind, names in (
                ("person", dict.fromkeys(who + owners)),
                ("project", projects(part.said)),
                ("file", what),
            ):
                part.found += [self._mention(kind, name[:_LONGEST]) for name in names]
        return _joined(parts)

    def _is_person(self, owner: str, who: list[str]) -> bool:
        return bool(owner) and owner not in who and (owner == self.named or is_given(owner))

    def _of_candidate(self, candidate: Candidate, every: Sequence[str]) -> _Part:
        said = candidate.said or _source(candidate.text, every)
        part, text = _Part(said, sure=True), candidate.text
        kind = candidate.kind
        fails = broken(said, self.by_user)
        if candidate.closes and candidate.section != "open" and not fails:
            self._over(part)
        elif (
            _LISTED.match(text)
            or (kind == "question" and _CHORE.match(text))
            or (kind == "commitment" and (_MUST.search(said) or _MUST.search(text) or not fails))
        ):
            self._task(part, text)
        elif kind == "goal":
            due = _due(text)
            self._add(part, "goal", _AIM.sub("", _undated(text, due), count=1), status="open", due=due)
        elif fails or (kind == "question" and not pending(said)):
            self._add(part, "problem", text, status="open")
        elif over(said):
            self._over(part)
        return part

    def _of_sentence(self, sentence: str) -> _Part:
        """A sentence that is not worth a line of memory may still say that something is broken, or over."""
        part = _Part(sentence, sure=self.by_user)
        if done(sentence):
            self._over(part)
        elif self.by_user and broken(sentence, self.by_user):
            text = tell(sentence.rstrip(" ?"), sentence, self.speaker, self.listener, "fact", self.at)
            self._add(part, "problem", text, status="open")
        return part

    def _task(self, part: _Part, text: str) -> None:
        due = _due(text) or _due(dated(part.said, self.at, due=True))
        if not due and text.startswith(f"{self.speaker} ") and not _MUST.search(text):
            return  # somebody tells what was, or is
        text = _undated(_LISTED.sub("", text, count=1), due)
        owner = ""
        if promised := _PROMISED.match(text):
            owner, text = promised["who"], text[promised.end() :]
        elif reminded := _REMIND.match(text):
            owner, text = reminded["whom"] or "User", text[reminded.end() :]
        elif who := _WHO.match(text):
            owner = self._owner(who["who"])
            text = text[who.end() :] if owner or who["who"] == "We" else text
        self._add(part, "task", text, status="open", due=due, owner=owner)

    def _owner(self, who: str) -> str:
        """A subject as an owner: somebody, not something."""
        if who in ("User", "Assistant", self.named):
            return who
        return who if who and who != "We" and who[0].isupper() and is_given(who) and people(f"{who} said") else ""

    def _over(self, part: _Part) -> None:
        if not denied(part.said):
            self._add(part, "", part.said, status="dropped" if dropped(part.said) else "done")

    def _add(self, part: _Part, kind: str, name: str, status: str = "", due: str = "", owner: str = "") -> None:
        name = " ".join(name.split()).strip(" ,;:.!?–—-。！？")[:_LONGEST].rstrip()
        if words(name):
            name = name[:1].upper() + name[1:]
            part.found.append(self._mention(kind, name, status, due, owner))

    def _mention(self, kind: str, name: str, status: str = "", due: str = "", owner: str = "") -> Mention:
        return Mention(kind, name, status, due, owner, (), self.at, self.chat, self.seq, self.id)


def _source(text: str, every: Sequence[str]) -> str:
    """The sentence whose telling words a candidate is that has nothing else."""
    wanted = {*text.split()}
    return next((one for one in every if wanted <= words(one) - GENERIC), text)


def _due(text: str) -> str:
    """The day a text gives as the last one, or its only one."""
    if "-" not in text:
        return ""
    found = _DUE.search(text)
    days = [found["day"]] if found else [*dict.fromkeys(match["day"] for match in _ANY_DAY.finditer(text))]
    if len(days) != 1:
        return ""
    try:
        return date.fromisoformat(days[0]).isoformat()
    except ValueError:
        return ""


def _undated(text: str, due: str) -> str:
    """A text without the day it is due, which is kept beside it and may change."""
    return _DUE_THERE.sub(lambda match: "" if match["day"] == due else match[0], text) if due else text


def _joined(parts: Sequence[_Part]) -> list[Mention]:
    """One mention of each entity, linked with what it is said together with in any sentence."""
    found: dict[tuple[str, str], Mention] = {}
    for part in parts:
        names = {one.name for one in part.found if one.kind}
        for one in part.found:
            links = names - {one.name} if one.kind else set()
            known = found.get((one.kind, one.key))
            if known is not None:
                links |= {*known.links}
                one = replace(
                    known, status=one.status or known.status, due=one.due or known.due, owner=one.owner or known.owner
                )
            found[one.kind, one.key] = replace(one, links=tuple(sorted(links))) if links else one
    return [*found.values()]
