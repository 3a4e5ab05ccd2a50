"""What one message says about entities. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from infold.entities.due import due_in
from infold.entities.model import Mention
from infold.entities.naming import MOST, files, is_given, people, projects
from infold.entities.states import broken, denied, done, dropped
from infold.entities.tasks import goal_in, may_be_task, task_in
from infold.folding.likeness import words
from infold.messages import Message
from infold.quoting.candidate import Candidate
from infold.quoting.dates import undated
from infold.quoting.sentences import sentences

_LONGEST = 160  # characters of a name
_MOST_READ = 600  # characters of a sentence
_LISTING = 5  # a tool or a system prompt that names more files than this lists them
_TOOL_CHARS = 4000  # characters of a tool's result or a system prompt that are looked through
_STANDING = frozenset(["rule", "preference", "who"])
# Kinds of an assistant's sentences that may name what the user has to do with: the rest is talk about the world.
_NAMING = frozenset(["open", "decision", "state", "artifact"])


@dataclass(slots=True)
class _Part:
    """What one sentence says: its mentions, which are linked with each other."""

    said: str
    kind: str
    """Of the candidate it is in; empty where it is in none."""
    found: list[Mention] = field(default_factory=list)


def read(message: Message, candidates: Sequence[Candidate], chat: str) -> list[Mention]:
    """What a message says about entities, one mention of each; `candidates` are those that were read from it.

    Tasks and goals come from candidates of the kinds open and goal; a day that is due makes a task, too. Problems are the
    user's. Tools and system prompts name files, nothing else. What says only that something is over is of no kind, and
    `resolve` finds what it is about.
    """
    reader = _Reader(message, chat)
    return reader.read(candidates) if message.role in ("user", "assistant") else reader.listed()


class _Reader:
    """Reads one message."""

    def __init__(self, message: Message, chat: str) -> None:
        self.at, self.chat, self.seq, self.id = message.created_at, chat, message.seq, message.id
        self.by_user = message.role == "user"
        self.named = message.name or ""
        self.speaker = (self.named or "User") if self.by_user else "Assistant"
        self.text = message.text

    def listed(self) -> list[Mention]:
        """The files of a tool's result or a system prompt."""
        named = files(self.text[:_TOOL_CHARS])
        return [self._mention("file", name[:_LONGEST]) for name in named] if len(named) <= _LISTING else []

    def read(self, candidates: Sequence[Candidate]) -> list[Mention]:
        parts = list(self._parts(candidates))
        people_left = files_left = MOST
        for part in parts:
            self._state(part)
            if not self.by_user and part.kind not in _NAMING:
                continue
            who = dict.fromkeys(people(part.said)[:people_left])
            what = files(part.said)[:files_left]
            people_left, files_left = people_left - len(who), files_left - len(what)
            who |= dict.fromkeys(one.owner for one in part.found if self._is_person(one.owner))
            for kind, names in (("person", who), ("project", projects(part.said)), ("file", what)):
                part.found += [self._mention(kind, name[:_LONGEST]) for name in names]
        return _joined(parts)

    def _parts(self, candidates: Sequence[Candidate]) -> Iterator[_Part]:
        """The sentences of the message: those of candidates with the days they meant, then the others."""
        left = every = sentences(self.text)
        for one in candidates:
            own = [(place.start, place.end) for place in one.places if place.seq == self.seq]
            within = [span for span in left for start, end in own if span[0] < end and start < span[1]]
            texts = [one.text] if len(own) == len(one.places) else [self.text[start:end] for start, end in own]
            # Candidates may overlap, and be of more than one sentence.
            if len(within) != 1 and not (one.words[:1].isalpha() and own[-1] in every and one.text == one.words):
                texts = [text[start:end] for text in texts for start, end in sentences(text)]
            yield from (_Part(_evened(text), one.kind) for text in texts)
            left = [span for span in left if span not in within] if within else left
        yield from (_Part(_evened(self.text[start:end]), "") for start, end in left)

    def _state(self, part: _Part) -> None:
        """Add the task, the goal or the problem a sentence states, or that something is over."""
        if self._task(part, part.said.lower()):
            return
        said = undated(part.said)
        low = said.lower()
        if self.by_user and part.kind not in _STANDING and broken(low):
            self._add(part, "problem", said, status="open")
        elif self.by_user and part.kind == "goal":
            due, rest = due_in(part.said, self.at)
            self._add(part, "goal", goal_in(rest), status="open", due=due)
        else:
            ends = done(low)
            drops = (self.by_user or ends) and dropped(low)
            if (ends or drops) and not denied(low):
                self._add(part, "", said, status="dropped" if drops else "done")

    def _task(self, part: _Part, low: str) -> bool:
        """Add the task a sentence states; the assistant's are its own promises for some day."""
        if not part.kind or part.kind in _STANDING or part.kind == "goal" or not may_be_task(low):
            return False
        due, rest = due_in(part.said, self.at)
        task = task_in(rest)
        if task is None or not (due or (part.kind == "open" and task.firm and self.by_user)):
            return False
        if not self.by_user and task.who != "I":
            return False
        self._add(part, "task", task.what, "open", due, self.speaker if task.who == "I" else task.who)
        return True

    def _is_person(self, owner: str) -> bool:
        return bool(owner) and (owner == self.named or is_given(owner))

    def _add(self, part: _Part, kind: str, name: str, status: str = "", due: str = "", owner: str = "") -> None:
        name = name.strip(" ,;:.!?–—-。！？")
        if words(name) and (len(name) <= _LONGEST or not kind):
            name = (name[:1].upper() + name[1:])[:_LONGEST]
            part.found.append(self._mention(kind, name, status, due, owner))

    def _mention(self, kind: str, name: str, status: str = "", due: str = "", owner: str = "") -> Mention:
        return Mention(kind, name, status, due, owner, (), self.at, self.chat, self.seq, self.id)


def _evened(said: str) -> str:
    """A sentence with even spaces and straight apostrophes."""
    return " ".join(said[:_MOST_READ].split()).replace("’", "'")


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
