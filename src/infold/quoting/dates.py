"""The day that "by Friday" or "tomorrow" meant, beside the words. Pure.

No date is better than a wrong one: what may mean two days gets none.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from itertools import groupby, islice

from infold.quoting.cues import letters_of

_READ = 4_000
"""Characters of a text that are read."""
_MOST = 4
"""Notes a text gets."""

_SHORT = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()
_NOTE = re.compile(rf" \((?:[1-9]|[12]\d|3[01]) (?:{'|'.join(_SHORT)}) \d{{4}}\)")

_NAMES = (
    "monday mon montag lundi lunes segunda-feira segunda 周一 星期一 礼拜一",
    "tuesday tue tues dienstag mardi martes terça-feira terça 周二 星期二 礼拜二",
    "wednesday wed mittwoch mercredi miércoles quarta-feira quarta 周三 星期三 礼拜三",
    "thursday thu thurs donnerstag jeudi jueves quinta-feira quinta 周四 星期四 礼拜四",
    "friday fri freitag vendredi viernes sexta-feira sexta 周五 星期五 礼拜五",
    "saturday sat samstag sonnabend samedi sábado 周六 星期六 礼拜六",
    "sunday sun sonntag dimanche domingo 周日 星期日 礼拜日 周天 星期天 礼拜天",
)
_WEEKDAYS = {name: at for at, names in enumerate(_NAMES) for name in names.split()}
_ABBREVIATED = frozenset("mon tue tues wed thu thurs fri sat sun".split())
_ORDINAL = frozenset("segunda terça quarta quinta sexta".split())  # "second" to "sixth" as well

_OFFSETS = {
    **dict.fromkeys(("the day before yesterday", "vorgestern", "avant-hier", "anteayer", "anteontem", "前天"), -2),
    **dict.fromkeys(("yesterday", "last night", "gestern", "hier", "ayer", "anoche", "ontem", "昨天", "昨晚"), -1),
    **dict.fromkeys(("today", "tonight", "this morning", "this afternoon", "this evening", "heute", "今天", "今晚"), 0),
    **dict.fromkeys(("aujourd'hui", "aujourd’hui", "ce soir", "ce matin", "cet après-midi", "今早"), 0),
    **dict.fromkeys(("hoy", "esta noche", "esta mañana", "esta tarde", "hoje"), 0),
    **dict.fromkeys(("tomorrow", "tmrw", "morgen", "demain", "mañana", "amanhã", "明天", "明早", "明晚"), 1),
    **dict.fromkeys(("the day after tomorrow", "day after tomorrow", "übermorgen", "après-demain"), 2),
    **dict.fromkeys(("pasado mañana", "depois de amanhã", "后天"), 2),
}
_PART = (  # of a day, said right after it
    r"(?:(?<=[a-zé]) (?:early )?(?:morning|afternoon|evening|night|noon|früh|vormittag|mittag|nachmittag|abend|morgen|soir|matin|midi"
    r"|après-midi|por la (?:mañana|tarde|noche)|(?:de|à|pela) (?:manhã|tarde|noite))\b|(?<=[天一二三四五六日])(?:早上|上午|中午|下午|晚上))?"
)
_NUMBERS = {
    word: at
    for at, words in enumerate(
        (
            "a one einem einer une un uno una um uma 一",
            "two zwei deux dos dois duas 两 二",
            "three drei trois tres três 三",
            "four vier quatre cuatro quatro 四",
            "five fünf cinq cinco 五",
            "six sechs seis 六",
        ),
        start=1,
    )
    for word in words.split()
}
_NUMBER = "|".join(sorted(_NUMBERS, key=len, reverse=True))
_SPAN = (
    r"(?P<{0}>\d{{1,2}}|" + _NUMBER + r")(?: |(?<=[\d一两二三四五六]) ?)"
    r"(?P<{0}unit>(?P<{0}weeks>weeks?|wochen?|semaines?|semanas?|周|个星期|星期)|days?|tage?n?|jours?|días?|dias?|天)"
)


def _any(names: list[str]) -> str:
    """A pattern for any of some words; those in Latin letters stand alone."""
    names = sorted(names, key=len, reverse=True)
    return (
        f"\\b(?:{'|'.join(one for one in names if one < '一')})\\b|(?:{'|'.join(one for one in names if one >= '一')})"
    )


_ANCHOR = re.compile(
    rf"(?P<word>{_any(list(_OFFSETS))}){_PART}"
    rf"|(?P<day>{_any(list(_WEEKDAYS))})(?!['’-]\w){_PART}(?P<which> (?:prochain|próximo|que (?:vi?ene|vem)|dernier|pasado|passad[oa])\b)?"
    rf"(?P<of>,? (?:the |den |le |el |dia )?(?P<number>\d{{1,2}})(?:st|nd|rd|th|\.(?= [a-zäöü]))?(?![\d:%/-]|[.,]\d| ?(?:am|pm|uhr|h|x|km|min|euros?|€|点)\b))?"
    rf"|\b(?:in|dans|dentro de|daqui a) {_SPAN.format('n')}\b(?! or\b| oder\b| ou\b| o\b)|\b{_SPAN.format('from')} from (?:now|today)\b"
    rf"|(?<!周)(?<!一)(?P<zh>[一两二三四五六]|\d{{1,2}}) ?(?P<zhunit>天|周|个星期)(?:之后|以后|后)"
    rf"|\b{_SPAN.format('back')} ago\b|\b(?:vor|il y a|há|hace) {_SPAN.format('past')}\b"
    r"|\b(?:the )?end of (?:the |this )(?P<month>month|year)\b|\b(?:(?:zum|bis|am) )?(?P<ende>ende des monats|monatsende|fin du mois|fin de mes|final de mes|fim do mês|final do mês)\b|(?:本月底|这个月底|月底)(?P<zhend>)"
    r"|\b(?:by|before|until|till|no later than|on) the (?P<nth>\d{1,2})(?:st|nd|rd|th)\b(?=\s*(?:$|[.,;!?)]|(?:at|so|if|and|because|but|then|please|or|with)\b))"
    r"|\b(?:bis (?:zum|spätestens)|avant le|antes del(?: día)?|até (?:o )?dia) (?P<nth2>\d{1,2})(?:\.(?=,| [a-zäöü])|(?![\d.:/%h]|,\d))(?! ?(?:uhr|euros?|€|reais|%))|(?P<nth3>\d{1,2})[号日](?:之前|以前|前)",
    re.IGNORECASE,
)
_FIRST = sorted(
    {re.split(r"[ '’-]", one)[0] for one in (*_OFFSETS, *_WEEKDAYS, *_NUMBERS) if one < "一"}.union(
        "in dans dentro daqui vor il há hace the end zum bis am ende monatsende fin final fim by before until till no on avant antes até".split()
    )
)
_by_letter = groupby(_FIRST, key=lambda one: one[0])
_spelled = "|".join(f"{first}(?:{'|'.join(one[1:] for one in some)})" for first, some in _by_letter)
_START = re.compile(rf"\d|[\u3400-\u9fff]|\b(?:{_spelled})\b", re.IGNORECASE)
"""Where such a date may begin: much faster to find."""
_MONTH = (
    r"(?:jan(?:uary|uar)?|feb(?:ruary|ruar)?|mar(?:ch)?|mär(?:z)?|apr(?:il)?|ma[yi]|june?|juni|july?|juli|aug(?:ust)?|sept?(?:ember)?|o[ck]t(?:ober)?|nov(?:ember)?"
    r"|de[cz](?:ember)?|janvier|février|mars|avril|juin|juillet|août|septembre|octobre|novembre|décembre|enero|febrero|marzo|abril|mayo|junio"
    r"|julio|agosto|septiembre|octubre|noviembre|diciembre|janeiro|fevereiro|março|maio|junho|julho|setembro|outubro|novembro|dezembro)\b"
)
_FULL = re.compile(
    rf"\d{{1,2}}(?:st|nd|rd|th|er|º|\.)?[ -]?(?:of |de )?{_MONTH}|\b{_MONTH}\.? (?:the )?\d{{1,2}}\b|\b\d{{1,2}}[./]\d{{1,2}}\b|\d{{4}}-\d\d|\d月",
    re.IGNORECASE,
)
_ANY_MONTH = re.compile(rf"\b{_MONTH}|\d月", re.IGNORECASE)
_STOP = re.compile(r"[.!?](?=\s|$)|[;\n。！？；]")

# What stands right before or after a day of the week.
_BY = re.compile(
    r"(?:\b(?:by|before|until|till?|due|coming|starting|as of|from|bis|spätestens|kommenden|ab|d['’]ici(?: à)?|avant|jusqu['’]à|dès"
    r"|para el|antes del|hasta el|a partir del|até|antes de|a partir de) )$",
    re.IGNORECASE,
)
_THIS = re.compile(r"\b(?:this|para(?: a)?|pra|diesen|ce|este|esta|nesta|neste) $|(?:这|本)(?:个)?$", re.IGNORECASE)
_ON = re.compile(r"\b(?:on|am|el|na|no) $", re.IGNORECASE)
_NEXT = re.compile(r"\b(?:next|nächsten|nächster) $", re.IGNORECASE)
_NEAREST = re.compile(r"\b(?:próxim[oa]) $", re.IGNORECASE)
_LAST = re.compile(r"\b(?:last|letzten|vergangenen) $", re.IGNORECASE)
_SINCE = re.compile(r"\b(?:since|seit|depuis) $", re.IGNORECASE)
_RANGE = re.compile(
    r"^ ?(?:to|through|thru|until|till|bis|à|au|al?|-|–|—|&|and|und|et|y|e|or|oder|ou|o|/|,|到|至|、) ?", re.IGNORECASE
)
_JOINS = re.compile(r"(?:to|bis|and|und|y|e|et|or|-|–|,|到|至) ?$")
_OTHER_DAY = re.compile(_any(list(_WEEKDAYS)) + r"\W", re.IGNORECASE)
_A_DAY = re.compile(rf"(?:the |le |el |a |o )?(?:{_any(list(_WEEKDAYS))})", re.IGNORECASE)
_RECURS = re.compile(
    r"\b(?:every|each|always|usually|normally|weekly|monthly|typically|generally|most|any|never|jede[nrsm]?|immer|meistens|meist|nie"
    r"|normalerweise|wöchentlich|chaque|tous les|toutes les|toujours|jamais|cada|tod[oa]s (?:l[oa]s|[oa]s)|siempre|nunca|sempre|toda)\b|每|总是",
    re.IGNORECASE,
)
_FUTURE = re.compile(
    r"\b(?:will|shall|won['’]t|\w+['’]ll|let['’]s|going to|gonna|please|can you|could you|remind|need to|needs to|have to|has to|must|due|deadline"
    r"|meeting|appointment|see you|back on|starts|arrives|leaves|(?:leav|com|mov|fly|start|arriv|travel|go)ing|werden?|wird|muss|müssen|bitte|termin|erinner\w*|voy a|vamos a|va a|tengo que"
    r"|hay que|llega|vou|vai|vamos|tenho que|preciso|chega|je vais|on va|il faut|je dois|rendez-vous|rdv|\w{2,}(?:rai|ront|rons|ré|rán|remos))\b"
    r"|会|要|将|得",
    re.IGNORECASE,
)
_PAST = re.compile(
    r"\b(?:was|were|wasn['’]t|weren['’]t|had|did|didn['’]t|went|came|got|said|told|made|took|would|has been|have been|used to|wanted|asked|promised"
    r"|moved|\w+['’]ve|war|waren|hatten?|wollten?|sollten?|kam|ging|gab|hab|habe|haben|hat|würden?|wäre|était|étaient|avait|ai|avons|ont|devait|fue|era"
    r"|estaba|había|tenía|fui|(?:he|ha|hemos) \w+[aio]do|foi|estava|tinha|fez|ficou|seria|devia)\b|[了过]",
    re.IGNORECASE,
)
_IS = re.compile(r"(?:\b(?:is|are|ist|sind|est|es|é)|['’](?:s|re|m)) (?:due |back |over |away )?$", re.IGNORECASE)
_FIGURE = re.compile(
    r"(?:\b(?:of|no|better|born|like|in|as|about|over|almost|nearly|around|some|roughly|than|or|guten?|am|jeden|den|der|vom|la|de la|una|cada|toda|every|all|esta)|\d ?[-–]|[\"“„«»'‘])\s?$",
    re.IGNORECASE,
)
_NO_MORNING = re.compile(
    r"\b(?:guten|am|jeden|den|der|vom|ganzen|zum|eines|diesen|(?:diens|donners|sams|frei|mon|sonn)tag|mittwoch) $",
    re.IGNORECASE,
)
_NO_MANANA = re.compile(r"\b(?:la|una|cada|toda|esta|de|misma|media) $", re.IGNORECASE)
_FRENCH = re.compile(
    r"\b(?:j['’]|c['’]|le|les|ai|est|était|nous|une|avec|pas|du|au|des|dans|pour)\b|j['’]ai", re.IGNORECASE
)
_FEASTS = re.compile(
    r"\b(?:good|black|cyber|easter|whit|ash|holy|super|palm|blue|ruby|shrove|maundy|fat|giving|casual|boxing) $",
    re.IGNORECASE,
)

_COMMON = frozenset("the day before after this last de la ce cet esta".split())
_SIGNS = frozenset(
    "days weeks week tage tagen tag woche wochen jours semaines semaine días semanas dias end ende monatsende fin final fim".split()
    + [one for name in (*_OFFSETS, *_WEEKDAYS) for one in re.findall(r"[^\W\d_]+", name) if one < "一"]
).difference(_COMMON)
_NTH = re.compile(r"\d(?:st|nd|rd|th)\b|\b(?:zum|spätestens|le|del|día|dia) \d", re.IGNORECASE)
_DIGIT = re.compile(r"\d")
_ZH = re.compile("[天周星期礼拜晚早底号日]")


def undated(text: str) -> str:
    """The text without its notes: what `dated` was given, if that had none."""
    return _NOTE.sub("", text)


def dated(text: str, said_at: int) -> str:
    """The text with a note like " (3 May 2026)" after each relative date that is sure.

    `said_at` is in milliseconds since 1970, UTC; 0: not known, and the text stays as it is.
    """
    head = text[:_READ]
    if not said_at or not _may_name_a_day(head):
        return text
    parts: list[str] = []
    at = 0
    try:
        said = datetime.fromtimestamp(said_at / 1000, UTC).date()
        for match in islice(_anchors(head), 10 * _MOST):
            if match.end() > _READ - 40:
                break  # what stands beside it may be cut off
            day = _meant(match, said)
            if day is not None:
                parts += [text[at : match.end()], f" ({day.day} {_SHORT[day.month - 1]} {day.year:04})"]
                at = match.end()
                if len(parts) == 2 * _MOST:
                    break
    except (OverflowError, ValueError, OSError):  # before the first or after the last year there is
        pass
    return "".join(parts) + text[at:]


def _anchors(text: str) -> Iterator[re.Match[str]]:
    """Dates, relative to the day a text was said."""
    end = 0
    for start in _START.finditer(text):
        match = _ANCHOR.match(text, start.start()) if start.start() >= end else None
        if match is not None:
            end = match.end()
            yield match


def _may_name_a_day(text: str) -> bool:
    """Whether a text has a word that can be part of a relative date: most have none, and the patterns are slow."""
    if not _SIGNS.isdisjoint(letters_of(text.lower())) or (_DIGIT.search(text) and _NTH.search(text)):
        return True
    return not text.isascii() and _ZH.search(text) is not None


def _meant(match: re.Match[str], said: date) -> date | None:
    """The day that a match means for sure."""
    text, start, end = match.string, match.start(), match.end()
    left, right = text[max(0, start - 200) : start], text[end : end + 200]
    stops = list(_STOP.finditer(left))
    before = left[stops[-1].end() :] if stops else left
    stop = _STOP.search(right)
    after = right[: stop.start()] if stop else right
    if _FULL.search(before[-16:] + match[0] + right[:22]):
        return None  # the date stands beside it
    around = before + match[0] + after
    if match["word"]:
        return _by_word(match, before, after, said)
    future = _FUTURE.search(around) is not None and _PAST.search(around) is None
    for key, way in (("n", 1), ("from", 1), ("zh", 1), ("back", -1), ("past", -1)):
        if match[key]:
            counts = way < 0 or key == "from" or future or _IS.search(before[-20:]) is not None
            if not counts or _FIGURE.search(before):
                return None
            return _counted(match, key, way, said)
    if _RECURS.search(around):
        return None
    if match["day"]:
        return _by_weekday(match, before, after, said, future)
    nth = match["nth"] or match["nth2"] or match["nth3"]
    if nth:
        sure = future or (not match[0].lower().startswith("on") and _PAST.search(around) is None)
        return _next_nth(int(nth), said) if sure and not _ANY_MONTH.search(text) else None
    if _PAST.search(around) or not (
        future
        or re.search(r"\b(?:by|before|until|till|bis|avant|até|d['’]ici|antes del?|zum) ", before[-12:] + match[0])
    ):
        return None
    if (match["month"] or "").lower() == "year":
        return date(said.year, 12, 31)
    return said.replace(day=monthrange(said.year, said.month)[1])


def _by_word(match: re.Match[str], before: str, after: str, said: date) -> date | None:
    """Tomorrow, gestern, hoy."""
    word, low = match["word"], match["word"].lower()
    if after[:1] in ("'", "’", "-", '"', "”", "»") or before[-1:] in ("-", '"', "“", "„", "«", "_", "/", "#"):
        return None
    if re.search(" [A-Z]", word) or (
        word[0].isupper() and (before.strip(" *->•(") or after[:1] in ("!", ",") or re.match(r" [A-Z]", after))
    ):
        return None  # a name or a greeting
    if low in ("morgen", "mañana"):
        if (_NO_MORNING if low == "morgen" else _NO_MANANA).search(before[-14:]):
            return None
    elif low == "hier":
        if not _FRENCH.search(before + after) or re.search(
            r"\b(?:ich|ist|und|der|die|das|de|het|een|en)\b", before[-30:] + after[:30]
        ):
            return None
    elif low[0] >= "一":
        if after[:1] in ("气", "性", "天") or before[-1:] in ("以", "之", "然", "说", "大", "每"):
            return None
    elif _FIGURE.search(before[-14:]) and not (
        low in ("morgen", "mañana") or before.endswith(("as ", "than ", "about "))
    ):
        return None
    if low == "heute" and after.lower().startswith(" nacht"):
        return None
    return said + timedelta(days=_OFFSETS[low])


def _counted(match: re.Match[str], key: str, way: int, said: date) -> date | None:
    """In two weeks, three days ago."""
    number = _NUMBERS.get(match[key].lower()) or int(match[key])
    weeks = match["zhunit"] != "天" if key == "zh" else bool(match[f"{key}weeks"])
    if number > 31 or (way < 0 and weeks) or (not weeks and number in (8, 15)):
        return None  # weeks ago are seldom exact; "dans huit jours" is a week
    return said + timedelta(days=way * number * (7 if weeks else 1))


def _by_weekday(match: re.Match[str], before: str, after: str, said: date, future: bool) -> date | None:
    """By Friday, nächsten Dienstag, 下周二."""
    name = match["day"]
    low = name.lower()
    at = _WEEKDAYS[low]
    ahead = (at - said.weekday()) % 7
    near, which = before[-16:], (match["which"] or "").strip().lower()
    past = _PAST.search(before + after) is not None
    if match["of"] and match["number"]:
        days = [said + timedelta(days=days) for days in range(-14, 41)]
        found = [day for day in days if day.day == int(match["number"]) and day.weekday() == at]
        if low in _ORDINAL and not (_BY.search(near) or _ON.search(near)):
            return None
        if found and found[0] < said and len(found) > 1:
            return None if past else found[1]
        return found[0] if found else None
    if low in _ABBREVIATED and not name[0].isupper():
        return None
    if (_is_weekday(_RANGE.sub("", after, count=1)) and _RANGE.match(after)) or re.match(r"(?:-|–|s\b|,? \d)", after):
        return None
    if _JOINS.search(near) and _OTHER_DAY.search(near):
        return None
    if _FEASTS.search(near):
        return None
    if low[0] >= "一":
        monday = said - timedelta(days=said.weekday())
        for sign, weeks in (("下", 1), ("上", -1), ("这", 0), ("本", 0)):
            if re.search(sign + "个?$", near):
                return None if near.endswith(sign * 2) else monday + timedelta(days=7 * weeks + at)
        return said + timedelta(days=ahead) if re.match("之?前|以前", after) and ahead else None
    if _NEXT.search(near) or _NEAREST.search(near) or which[:2] in ("pr", "qu"):
        # "next" is the next one for some, the one of next week for others: sure where both are the same.
        same = at <= said.weekday() or not _NEXT.search(near)
        return said + timedelta(days=ahead or 7) if same and (ahead >= 3 or not ahead) else None
    if _LAST.search(near) or which[:2] in ("de", "pa"):
        back = -ahead % 7 or 7
        return said - timedelta(days=back) if at >= said.weekday() and back > 1 else None
    if not ahead:
        return None  # today, or in a week?
    if _SINCE.search(near):
        return said + timedelta(days=ahead - 7)
    if past or (low in _ORDINAL and re.match(r" \w", after)):
        return None
    sure = _BY.search(near) or (future and (_THIS.search(near) or (_ON.search(near) and low not in _ORDINAL)))
    return said + timedelta(days=ahead) if sure else None


def _is_weekday(text: str) -> bool:
    return _A_DAY.match(text[:20]) is not None


def _next_nth(number: int, said: date) -> date | None:
    """The next day of a month with this number, where it is near: a far one may be of a month spoken of before."""
    days = [said + timedelta(days=days) for days in range(1, 22)]
    return next((day for day in days if day.day == number), None)
