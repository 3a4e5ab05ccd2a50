"""A seeded conversation in plain English: messages of about 60 tokens, some with statements worth remembering."""

from __future__ import annotations

import random
import re

Wire = dict[str, object]
USUAL = 0.15
"""Of messages that may hold questions: 14 of 100 turns then ask for something earlier, as with people (bench.asking)."""

_WORDS = {
    "name": "Anna Bruno Carla Dmitri Elif Farid Greta Hugo Ines Jonas Keiko Lena Marek Nadia Olga Pavel Rosa Sven",
    "city": "Lisbon Porto Vienna Prague Zagreb Milan Lyon Ghent Turin Krakow Dresden Basel Seville Oslo Riga",
    "day": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
    "thing": "invoice contract ticket itinerary draft spreadsheet report booking backup poster letter receipt",
    "place": "station office harbour museum hotel workshop library market bridge garden bakery terminal",
    "quality": "crowded quiet expensive reliable slow pleasant confusing bright narrow modern noisy simple",
    "topic": "weather luggage breakfast parking heating music insurance lighting seating paperwork traffic",
}
_SLOTS = {slot: words.split() for slot, words in _WORDS.items()}
_SLOT = re.compile(r"\{(\w+)\}")

# What people say most of the time: nothing that has to be remembered.
_USER = """
Yesterday {name} told a long story about the {place} in {city}, and everybody laughed.
The {place} near {city} looked {quality} when {name} walked past it on {day}.
Can you compare the {topic} in {city} with the {topic} in {city2} for a group of {n}?
There were about {n} people in front of the {place}, and the {topic} was {quality}.
How long does it take to get from {city} to {city2} with {n} bags and a bicycle?
{name} thinks the {thing} looks {quality}, while {name2} finds it rather {quality2}.
The {thing} has {n} pages, most of them about {topic} and the {place} in {city}.
It rained for {n} hours on {day}, so the {place} in {city} stayed empty.
What did {name} say about the {thing} that came from {city} last {day}?
On the way back the {place} was {quality}, and the {topic} turned out {quality2}.
""".strip().splitlines()

_REPLY = """
The {place} in {city} is usually {quality} on {day}, and {topic} there is rarely a problem.
Compared with {city}, the {topic} in {city2} is more {quality} and costs about {n} euros.
A typical trip from {city} to {city2} takes {n} minutes, with one change at the {place}.
The {thing} mentions {topic} on page {n}, next to a short note by {name}.
Most visitors describe the {place} as {quality}, though {name} found the {topic} {quality2}.
For a group of {n}, the {place} offers {quality} seating and a {quality2} entrance.
Here is a short overview: the {thing} covers {topic}, the {place} and the way to {city}.
Between {city} and {city2} there are {n} trains on {day}, most of them {quality}.
The part about {topic} is {quality}; the part about the {place} is longer and more {quality2}.
""".strip().splitlines()

# What has to be remembered: facts, preferences, decisions, open items, references.
_USER_STATES = """
My budget is {n} euros.
My sister is called {name}.
I prefer {quality} hotels near the {place}.
We decided to take the night train to {city}.
Let's go with the {place} in {city} instead of {city2}.
I live in {city} and work at the {place}.
I will send the {thing} to {name} on {day}.
The deadline for the {thing} is {day} at {n} o'clock.
I'm allergic to peanuts, so {name} must check the menu.
Remind me to call {name} about the {thing}.
The order number is ORD-{long}.
We want to visit {city} with {n} friends.
""".strip().splitlines()

_REPLY_STATES = """
I have booked {n} seats to {city} under reference TR-{long}.
I will send the {thing} to {name} on {day}.
The {thing} was confirmed for {day} as number {long}.
""".strip().splitlines()


class Talk:
    """Endless turns of a user and an assistant; the same seed gives the same ones."""

    def __init__(self, seed: int = 1, asks: float = USUAL) -> None:
        """`asks`: how many of the user's messages may hold questions, of which two in three then do."""
        self._random = random.Random(seed)
        self._asks = asks

    def turn(self) -> tuple[Wire, Wire]:
        plain = _USER if self._random.random() < self._asks else [one for one in _USER if not one.endswith("?")]
        # About one user message in three and one reply in ten hold a statement.
        return (
            {"role": "user", "content": self._text(plain, _USER_STATES, 0.35)},
            {"role": "assistant", "content": self._text(_REPLY, _REPLY_STATES, 0.10)},
        )

    def turns(self, number: int) -> list[tuple[Wire, Wire]]:
        return [self.turn() for _ in range(number)]

    def messages(self, number: int) -> list[Wire]:
        """An even number of messages: whole turns."""
        return [message for turn in self.turns(number // 2) for message in turn]

    def _text(self, plain: list[str], states: list[str], share: float) -> str:
        chosen: list[str] = []
        if self._random.random() < share:
            chosen.append(self._filled(self._random.choice(states)))
        while sum(map(len, chosen)) < self._random.randint(190, 260):
            chosen.append(self._filled(self._random.choice(plain)))
        self._random.shuffle(chosen)
        return " ".join(chosen)

    def _filled(self, template: str) -> str:
        return _SLOT.sub(lambda match: self._word(match[1]), template)

    def _word(self, slot: str) -> str:
        if slot == "n":
            return str(self._random.randint(2, 900))
        if slot == "long":
            return str(self._random.randint(10_000, 999_999))
        return self._random.choice(_SLOTS[slot.rstrip("2")])
