"""What memory holds of what a careful reader would want known, on real chats, without a model.

    python -m bench.memory PATH [--preset NAME] [--shipped] [--misses]

PATH is a folder of conversations with gold data (`key-facts.jsonl`, `chats.py`); without it there is nothing to measure. A
chat that the scores were trained on is measured with scores trained without it; `--shipped` uses the shipped ones for all.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.common import ROOT, Figure, console, report, tracked, url
from infold import Memory, preset
from infold.context import Context
from infold.quoting import history, reading
from infold.quoting.scoring import Model, shipped
from infold.tokens import count

Wire = dict[str, Any]
Fact = dict[str, Any]
RULES = ("rule", "preference", "constraint")
CAPS = {
    "default": {"summary_cap": 510, "leaf_cap": 0, "facts_cap": 0},
    "layered": {"summary_cap": 250, "leaf_cap": 60, "facts_cap": 80},
}
"""Caps with which `chat.summary` has at most 510 tokens."""
LANGUAGES = {"own:de": "German", "own:fr": "French", "own:es": "Spanish", "own:zh": "Chinese", "own:pt": "Portuguese"}
SUMMARY = "summary"


# The material -------------------------------------------------------------------------------------------


class Data:
    """A folder of conversations with gold data."""

    def __init__(self, folder: Path) -> None:
        spec = importlib.util.spec_from_file_location("conversations", folder / "chats.py")
        assert spec is not None
        assert spec.loader is not None
        self._chats = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self._chats)
        self.facts: dict[tuple[str, int], list[Fact]] = defaultdict(list)
        for row in (folder / "key-facts.jsonl").read_text("utf-8").splitlines():
            fact = json.loads(row)
            self.facts[fact["chat"], fact["upto"]].append(fact)

    def messages(self, name: str, upto: int) -> list[Wire]:
        """The first messages of a chat, as `chat.add` takes them."""
        demo = ROOT / "src" / "infold" / "demo" / "conversation.jsonl"
        found = []
        for message in self._chats.load(name, demo=demo)["messages"][:upto]:
            one = {key: value for key, value in message.items() if value is not None or key == "content"}
            if "name" in one:
                one["name"] = re.sub(r"\W+", "_", one["name"])[:60]
            found.append(one)
        return found


def text_of(message: Mapping[str, Any]) -> str:
    """A message's text on one line."""
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"text": content or ""}]
    return " ".join(" ".join(part.get("text") or "" for part in parts).split())


def spoken(message: Mapping[str, Any]) -> str:
    """A message as a line with its speaker."""
    return f"{message.get('name') or message['role']}: {text_of(message)}"


def holds(fact: Fact, text: str) -> bool:
    """Whether one line of a text says what should be known."""
    return any(
        all(re.search(pattern, line, re.I) for pattern in fact["find"])
        and not any(re.search(pattern, line, re.I) for pattern in fact.get("not") or ())
        for line in text.splitlines()
    )


def shown(context: Context, messages: Sequence[Wire]) -> str:
    """The lines of a context: a message that stands in it whole is one, with its speaker."""
    whole = {text_of(message): spoken(message) for message in messages if text_of(message)}
    lines: list[str] = []
    for message in context.messages:
        text = text_of(message)
        if text in whole:
            lines.append(whole[text])
            continue
        lines += str(message.get("content") or "").splitlines()
        lines += [line for said, line in whole.items() if len(said) > 30 and said in text]
    return "\n".join(lines)


# Plain baselines ----------------------------------------------------------------------------------------

SMALL = set(
    "the a an and or of to in on at for with is are was were be been i you he she it they we his her their my your that this as by "
    "from not no do does did have has had will would can could should what when where who how which about into than then there here "
    "so if but also more most some any all".split()
)


def stems(text: str) -> set[str]:
    """The words of a sentence that tell something, without the endings of English."""
    words = re.findall(r"[a-z0-9][a-z0-9'.:-]*", text.lower())
    return {re.sub(r"(ing|ed|es|s|ly)$", "", word) for word in words if word not in SMALL and len(word) > 1}


def dense(messages: Sequence[Wire], budget: int) -> str:
    """Whole sentences by how much rare wording, figures and names they pack into a token; a user's words count double."""
    every: list[tuple[str, str]] = []
    for message in messages:
        if message["role"] in ("user", "assistant"):
            plain = re.sub(r"```.*?```", " ", str(message.get("content") or ""), flags=re.S)
            parts = (part.strip() for part in re.split(r"(?<=[.!?])\s+|\n+", plain))
            every += [(message.get("name") or message["role"], part) for part in parts if 15 < len(part) < 400]
    often = Counter(stem for _, sentence in every for stem in stems(sentence))

    def density(at: int) -> float:
        speaker, sentence = every[at]
        value = sum(math.log(len(every) / often[stem]) for stem in sorted(stems(sentence)) if often[stem] > 1)
        value += 2 * len(re.findall(r"\d+", sentence))
        value += 4 * len(re.findall(r"(?<!^)(?<![.!?] )\b[A-Z][a-z]+", sentence))
        told = r"\b(always|never|must|prefer|please|allergic|budget|deadline|decided|let's)\b"
        value += 8 * bool(re.search(told, sentence, re.I))
        value *= (0.4 if speaker == "assistant" else 1) * (0.3 if sentence.endswith("?") else 1)
        return value / (count(sentence) + 8)

    kept: list[int] = []
    for at in sorted(range(len(every)), key=lambda at: (density(at), at), reverse=True):
        tokens = count(every[at][1]) + 4
        if tokens <= budget:
            budget -= tokens
            kept.append(at)
    return "\n".join("- {}: {}".format(*every[at]) for at in sorted(kept))


def newest(messages: Sequence[Wire], budget: int) -> tuple[str, int]:
    """The newest messages, and how many come before them."""
    lines: list[str] = []
    for message in reversed(messages):
        budget -= count(spoken(message)) + 4
        if budget < 0:
            break
        lines.append(spoken(message))
    return "\n".join(reversed(lines)), len(messages) - len(lines)


def dense_and_newest(messages: Sequence[Wire], budget: int) -> str:
    """A third of the budget in dense sentences from before the newest messages, which have the rest."""
    tail, before = newest(messages, budget - budget // 3)
    return f"{dense(messages[:before], budget // 3)}\n{tail}"


# Measuring ----------------------------------------------------------------------------------------------


@contextmanager
def scored_by(model: Model) -> Iterator[None]:
    """Sentences are scored by another model."""
    setattr(reading, "shipped", lambda: model)  # noqa: B010  it is not the module's own name
    history.clear()
    try:
        yield
    finally:
        setattr(reading, "shipped", shipped)  # noqa: B010
        history.clear()


def texts(data: Data, name: str, upto: int, policy: str, folder: Path) -> dict[str, str]:
    """What is known of a chat: its summary, contexts of it, and what plain baselines say in as many tokens."""
    messages = data.messages(name, upto)
    found: dict[str, str] = {}
    more = {f"lines of {cap}": {**CAPS["default"], "summary_cap": cap} for cap in (1000, 1500) if policy == "default"}
    configs: dict[str, dict[str, Any] | None] = {SUMMARY: CAPS.get(policy, {"summary_cap": 510}), **more, "": None}
    for what, config in configs.items():
        with Memory(url(Path(tempfile.mkdtemp(dir=folder)) / "chat.db")) as memory:
            chat = memory.chat(
                "c",
                user="u",
                context_window=8192,
                config=preset(policy, **(config or {})),
            )
            for message in messages:
                one = dict(message)
                at = one.pop("created_at", None)
                chat.add(one, repair=True, **({"created_at": at} if at else {}))
            chat.settle()
            for state in ("as it is", "folded"):
                if state == "folded":
                    chat.fold()
                    chat.settle()
                if config is None:
                    for budget in (1000, 3000):
                        found[f"context of {budget}, {state}"] = shown(chat.context(max_tokens=budget), messages)
            if config is not None:
                found[what] = chat.summary
    found["density, of the summary's size"] = dense(messages, max(200, count(found[SUMMARY])))
    for budget in (1000, 3000):
        found[f"newest {budget}"] = newest(messages, budget)[0]
        found[f"density and newest {budget}"] = dense_and_newest(messages, budget)
    return found


def models(names: Sequence[str], shipped_only: bool) -> Callable[[str], Model]:
    """The scores that a chat is measured with: those shipped, unless they were trained on it."""
    if shipped_only:
        return lambda _: shipped()
    from training import quoting

    from infold.quoting.scoring import from_json

    groups = [group for group in quoting.folds(quoting.examples()) if group & set(names)]
    made: dict[int, Model] = {}

    def model(name: str) -> Model:
        at = next((at for at, group in enumerate(groups) if name in group), None)
        if at is None:
            return shipped()
        if at not in made:
            made[at] = from_json(quoting.train(leave_out=groups[at]))
        return made[at]

    return model


Tally = dict[tuple[str, str], list[bool]]


def measured(data: Data, policy: str, shipped_only: bool, misses: bool) -> tuple[Tally, list[int]]:
    """For each way of knowing and each group of facts, which of them it holds; and the tokens of each summary."""
    tally: Tally = defaultdict(list)
    tokens: list[int] = []
    wanted = sorted(data.facts)
    model = models([name for name, _ in wanted], shipped_only)
    with tempfile.TemporaryDirectory(prefix="bench-memory-") as folder:
        for at in tracked(range(len(wanted)), "reading chats", len(wanted)):
            name, upto = wanted[at]
            with scored_by(model(name)):
                found = texts(data, name, upto, policy, Path(folder))
            tokens.append(count(found[SUMMARY]))
            for what, text in found.items():
                for fact in data.facts[name, upto]:
                    hit = holds(fact, text)
                    rule = fact["kind"] in RULES
                    group = name.partition(":")[0]
                    groups = ["all", group, name, fact["kind"], *(["rules", f"{group} rules"] if rule else [])]
                    for one in groups:
                        tally[what, one].append(hit)
                    if misses and what == SUMMARY and not hit:
                        console.print(f"{name}: {fact['kind']}: {fact['says']}", style="dim", highlight=False)
    return tally, tokens


def percent(tally: Tally, what: str, group: str) -> float:
    found = tally.get((what, group), [])
    return 100 * sum(found) / len(found) if found else 0.0


def english(tally: Tally) -> float:
    """Of the own chats in English."""
    own = [(name, found) for (what, name), found in tally.items() if what == SUMMARY and name.startswith("own:")]
    hits = [hit for name, found in own if name not in LANGUAGES for hit in found]
    return 100 * sum(hits) / len(hits) if hits else 0.0


def figures(tally: Tally, tokens: Sequence[int]) -> list[Figure]:
    every = percent(tally, SUMMARY, "all")
    beside = percent(tally, "density, of the summary's size", "all")
    found = [
        Figure("key facts in a summary", every, "%", least=39),
        Figure("– rules, preferences and constraints", percent(tally, SUMMARY, "rules"), "%", least=48),
        Figure("– more than density of its size", every - beside, "points", least=10),
        Figure("– LoCoMo alone", percent(tally, SUMMARY, "locomo"), "%", least=24),
        Figure("– tokens of the largest summary", max(tokens), "", target=510),
    ]
    base = english(tally)
    for name, language in LANGUAGES.items():
        if (SUMMARY, name) in tally and base:
            found.append(
                Figure(f"– {language}, of the English share", percent(tally, SUMMARY, name) / base, "×", least=0.667)
            )
    kinds = sorted(
        {
            group
            for what, group in tally
            if what == SUMMARY and group in (*RULES, "decision", "open", "artifact", "state", "who")
        }
    )
    found += [Figure(f"– kind {kind}", percent(tally, SUMMARY, kind), "%") for kind in kinds]
    for what in dict.fromkeys(what for what, _ in tally if what != SUMMARY):
        found.append(Figure(what, percent(tally, what, "all"), "%"))
        found.append(Figure("– rules, preferences and constraints", percent(tally, what, "rules"), "%"))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path", nargs="?", type=Path, help="folder with chats.py and key-facts.jsonl")
    parser.add_argument("--preset", default="default")
    parser.add_argument(
        "--shipped", action="store_true", help="the shipped scores for all chats: quicker, and flattering"
    )
    parser.add_argument("--misses", action="store_true", help="print each key fact that a summary does not hold")
    given = parser.parse_args()
    if given.path is None or not (given.path / "key-facts.jsonl").exists():
        console.print("bench.memory: skipped, no folder with conversations and key facts was given")
        return
    tally, tokens = measured(Data(given.path), given.preset, given.shipped, given.misses)
    groups = sorted({group for what, group in tally if what == SUMMARY})
    details = {
        "preset": given.preset, "scores": "shipped" if given.shipped else "trained without the measured chat",
        "facts": len(tally[SUMMARY, "all"]), "tokens of a summary, mean": sum(tokens) / len(tokens),
        "percent": {what: {group: round(percent(tally, what, group), 1) for group in groups} for what in dict.fromkeys(w for w, _ in tally)},
    }  # fmt: skip
    default = given.preset == "default"
    report(
        "memory" if default else f"memory_{given.preset}",
        figures(tally, tokens),
        details,
        keep=default and not given.shipped,
    )


if __name__ == "__main__":
    main()
