"""What a sentence is for memory, by a small linear model over its words. Pure.

The weights are trained by `python -m training.train` from the labelled sentences in `training/` and shipped beside this file.
"""

from __future__ import annotations

import functools
import json
from importlib.resources import files

_UNITS = frozenset(
    "euro euros eur dollars dollar usd pounds pound gbp chf percent gb mb tb kb kg g km cm mm m litres liters ml minutes minute mins min hours hour hrs h days day weeks week months month"
    " years year people persons guests seats users rooms nights pages words items units licences licenses degrees mg k sqm miles metres meters".split()
)
_DAYS = frozenset(
    "monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thurs fri sat sun january february march april june july august september october november december"
    " jan feb apr jun jul aug sep sept oct nov dec".split()
)
_EDGES = ".,;:!?()[]{}\"“”«»'…*_<>"


def tokens(sentence: str) -> list[str]:
    """The words of a sentence, lower case; names, figures, references and days only by what they are."""
    found = ["^"]
    first = True
    for raw in sentence.split():
        word = raw.strip(_EDGES)
        low = word.lower()
        if not low:
            if raw[0] in ":;(–—-":
                found.append(raw[0])
            continue
        if any(map(str.isdigit, word)):
            found.append(_figure(raw, word))
        elif low in _UNITS and found[-1] == "§n":
            found[-1] = "§amount"
        elif low in _DAYS:
            if found[-1] == "§n":
                found[-1] = "§date"
            else:
                found.append("§day")
        elif "@" in word or "/" in word[1:] and "." in word or "." in word[1:-1] and word[0].isalnum() and len(word) > 4 and word.rsplit(".", 1)[1].isalpha() and "'" not in word and not low.endswith(("e.g", "i.e", "a.m", "p.m")):
            found.append("§id")
        elif word[0].isupper() and not first and low not in _PRONOUN:
            if found[-1] != "§name":
                found.append("§name")
        else:
            found.append(low.replace("’", "'"))
        first = raw[-1] in ".!?"
        if raw[-1] in ":;,?!" and len(raw) > 1:
            found.append(raw[-1])
    found.append("$")
    return found


_PRONOUN = frozenset("i i'm i'd i'll i've ok".split())


def _figure(raw: str, word: str) -> str:
    if raw[0] in "$€£¥" or raw[-1] in "%€$£" or word[0] in "$€£¥" or word[-1] in "%€$£" or (word[-1] in "kK" and word[:-1].replace(".", "").isdigit()):
        return "§amount"
    if raw[0] == "#" or "/" in word or "_" in word or (any(map(str.isupper, word)) and any(map(str.isdigit, word))):
        return "§id"
    if word.count("-") == 2 and len(word) == 10 or ":" in word:
        return "§date"
    if word.count(".") >= 1 and not word.replace(".", "").isdigit():
        return "§id"
    if word.count(".") >= 2:
        return "§id"
    plain = word.replace(",", "").replace(".", "")
    if plain.isdigit():
        return "§n" if len(plain) < 6 else "§id"
    if plain[-2:] in ("th", "st", "nd", "rd", "am", "pm"):
        return "§date"
    return "§id" if plain[:1] == "v" or "-" in word else "§n"


def features(found: list[str]) -> list[str]:
    """What the model looks at: words, pairs of neighbours, and pairs with one word between."""
    result = found[1:-1]
    result += [f"{a} {b}" for a, b in zip(found, found[1:], strict=False)]
    result += [f"{a} _ {b}" for a, b in zip(found, found[2:], strict=False)]
    result.append(f"len {min(len(found) // 4, 6)}")
    return result


@functools.cache
def _model() -> tuple[list[str], dict[bool, tuple[list[float], dict[str, list[tuple[int, float]]]]]]:
    told = json.loads((files("infold.folding") / "weights.json").read_text("utf-8"))
    labels: list[str] = told["labels"]
    return labels, {
        by_user: (told[role]["bias"], {name: [(at, weight / 100) for at, weight in pairs] for name, pairs in told[role]["weights"].items()})
        for by_user, role in ((True, "user"), (False, "assistant"))
    }


def judge(sentence: str, by_user: bool, cues: list[str]) -> tuple[str, float]:
    """The kind of a sentence, "pass" for what need not be kept, and by how much it beats "pass"."""
    labels, models = _model()
    bias, weights = models[by_user]
    known = [weights[name] for name in dict.fromkeys(features(tokens(sentence)) + cues) if name in weights]
    sums = [0.0] * len(labels)
    for pairs in known:
        for at, weight in pairs:
            sums[at] += weight
    norm = (len(known) + 1) ** -0.5
    scores = [own + total * norm for own, total in zip(bias, sums, strict=True)]
    best = scores.index(max(scores))
    return labels[best], scores[best] - scores[labels.index("pass")]
