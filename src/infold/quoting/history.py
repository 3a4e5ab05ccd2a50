"""Reading messages in their order, each once. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from infold.messages import Message
from infold.once import Once
from infold.quoting.candidate import Candidate
from infold.quoting.reading import REACH, read

_ENDLESS = 80  # characters
_FEW, _MANY = 6, 8  # words
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_ORDERS = re.compile(
    r"\b(?:ignore|disregard|forget) (?:all |any |the |your )*(?:previous|earlier|prior|above) (?:instructions|prompts?)\b"
    r"|\byour (?:policy|system prompt) (?:is|must be) to (?:keep|fold|store|never|always)\b|\bwrite (?:in|into|to) (?:the |your )?(?:memory|summary)\b",
    re.IGNORECASE,
)
_MANNERS = frozenset(
    "ok okay okey k kk yes yeah yep yup no nope nah sure right alright fine good great perfect nice cool lovely super wow haha lol hmm oh ah ugh phew "
    "thanks thank you thx ta cheers please sorry welcome noted understood got it done will do sounds exactly agreed indeed absolutely of course "
    "hi hello hey morning evening afternoon bye goodbye night see then so well very much a lot so is that all for now my pleasure no worries problem i see know guess think hope "
    "danke bitte ja nein gut genau klar super hallo guten tag morgen abend tschüss alles "
    "merci oui non bien bonjour bonsoir salut parfait super d'accord au revoir de rien "
    "gracias sí si vale bueno perfecto hola adiós claro de nada genial "
    "obrigado obrigada sim não bom boa ótimo perfeito olá tchau certo "
    "好 好的 谢谢 是 是的 对 不 行 可以 你好 再见 嗯".split()
)
_read: Once[tuple[Candidate, ...]] = Once(4096)


def read_all(messages: Sequence[Message], before: Sequence[Message]) -> list[tuple[Candidate, ...]]:
    """What each of some messages, which follow each other, may be quoted for; `before` are those right before them. It does
    not depend on where a run of messages begins or ends."""
    every = [*before, *messages]
    start = len(before)
    return [read_once(message, every[max(0, start + at - REACH) : start + at]) for at, message in enumerate(messages)]


def says_nothing(text: str) -> bool:
    """Whether a text states nothing: thanks and yeses, a few words over and over, or one endless word."""
    words = text.split()
    if len(words) <= _FEW and all(word in _MANNERS for word in _WORD.findall(text.lower())):
        return True
    if _ORDERS.search(text):
        return True  # to whoever writes memory: no memory
    endless = len(words) == 1 and len(text) > _ENDLESS and text.isascii()
    return endless or (len(words) >= _MANY and len(set(words)) * 4 <= len(words))


def read_once(message: Message, before: Sequence[Message]) -> tuple[Candidate, ...]:
    """What a message may be quoted for; `before` are the messages right before it, REACH at most."""
    said = tuple((one.seq, one.role, one.name, one.text) for one in before)
    key = (message.seq, message.role, message.name, message.created_at, message.text, said)
    return _read.get(key, lambda: tuple(one for one in read(message, before) if not says_nothing(one.words)))


def clear() -> None:
    """Drop what was read so far."""
    _read.clear()
