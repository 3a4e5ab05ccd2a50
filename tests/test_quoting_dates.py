"""Relative dates get the day they meant, where that is sure."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from infold.quoting.dates import dated, undated

SATURDAY = int(datetime(2026, 5, 2, 12, tzinfo=UTC).timestamp() * 1000)
MONDAY = int(datetime(2026, 4, 20, 9, tzinfo=UTC).timestamp() * 1000)
WEDNESDAY = int(datetime(2026, 4, 22, 23, tzinfo=UTC).timestamp() * 1000)

SURE = """
I need it by Friday (8 May 2026).
See you tomorrow (3 May 2026)!
Let's meet next Tuesday (5 May 2026).
The launch is in two weeks (16 May 2026).
We fly the day after tomorrow (4 May 2026).
I saw her yesterday (1 May 2026), and the day before yesterday (30 Apr 2026) too.
Dinner tonight (2 May 2026)?
I will send it by the end of the month (31 May 2026).
Please come on the 14th (14 May 2026).
I fell two days ago (30 Apr 2026).
I will be there on Friday (8 May 2026).
It is broken since Thursday (30 Apr 2026).
Move in is monday the 18th (18 May 2026)!!
Black Friday deals start on Friday (8 May 2026), I will look.
Tell them by monday noon (4 May 2026).
Ich schicke es morgen (3 May 2026).
Guten Morgen, bis morgen früh (3 May 2026)!
Wir fliegen übermorgen (4 May 2026).
Der Termin ist am Freitag (8 May 2026).
Bitte bis Freitag (8 May 2026).
nächsten Dienstag (5 May 2026) muss ich hin
Das muss bis zum 14. (14 May 2026) fertig sein.
vor drei Tagen (29 Apr 2026) war er hier
Bitte bis Ende des Monats (31 May 2026).
Je viens demain (3 May 2026).
On se voit après-demain (4 May 2026).
vendredi prochain (8 May 2026) on part
d'ici mercredi (6 May 2026)
hier soir (1 May 2026) j'étais malade
Voy mañana (3 May 2026).
Te llamo mañana por la mañana (3 May 2026).
pasado mañana (4 May 2026) llega
El viernes (8 May 2026) llega mi madre.
el viernes que viene (8 May 2026)
Lo necesito para el jueves (7 May 2026).
Vou amanhã (3 May 2026).
Preciso até sexta-feira (8 May 2026).
depois de amanhã (4 May 2026) ele vai
na próxima terça (5 May 2026)
hoje à noite (2 May 2026)
明天 (3 May 2026)见
后天 (4 May 2026)出发
下周二 (5 May 2026)开会
上周三 (22 Apr 2026)去了
周五 (8 May 2026)之前给我
两周后 (16 May 2026)要搬家
月底 (31 May 2026)前要交
14号之前 (14 May 2026)给我
"""

UNSURE = """
I go every Monday.
On Mondays I swim.
Monday to Friday I work.
The shop is always open on Sunday, we need to ask.
On a Wednesday I will be out.
Good Friday is a holiday.
We will go shopping on Black Friday.
The review is due on Friday 8 May.
Call me on Friday, May 8.
By Friday 24 April, please.
On Friday we went to the sea.
We did it in two weeks.
The Day after Tomorrow is a film.
There is no better tomorrow.
It is due by Saturday.
We talked last Friday.
The 5th floor, on the 5th floor.
We will meet on the 14th of June.
I will read it before sun and rain.
Guten Morgen!
Am Morgen laufe ich.
montags geht nicht
Jeden Freitag muss ich zum Chor.
Wir sind hier.
le lundi je ne travaille pas
chaque vendredi on va au marché
por la mañana corro
los lunes no puedo
toda segunda tem feira
até segunda ordem
na segunda vez
每周一开会
周一到周五上班
说明天气很好
以后天天来
下下周二
"""


def lines(text: str) -> list[str]:
    return text.strip().splitlines()


@pytest.mark.parametrize("line", lines(SURE))
def test_A8_a_sure_date_stands_beside_the_words(line: str) -> None:
    assert "2026)" in line
    assert dated(undated(line), SATURDAY) == line


@pytest.mark.parametrize("line", lines(UNSURE))
def test_A8_what_recurs_is_a_name_or_may_mean_two_days_gets_no_date(line: str) -> None:
    assert dated(line, SATURDAY) == line


def test_next_friday_has_a_date_only_where_everybody_means_the_same_day() -> None:
    assert dated("Let's meet next Friday.", MONDAY) == "Let's meet next Friday."
    assert dated("Let's meet next Friday.", SATURDAY) == "Let's meet next Friday (8 May 2026)."
    assert dated("We talked last Friday.", WEDNESDAY) == "We talked last Friday (17 Apr 2026)."
    assert dated("letzten Freitag war ich da", MONDAY) == "letzten Freitag (17 Apr 2026) war ich da"


def test_a_day_of_the_week_and_of_the_month_must_agree() -> None:
    assert dated("The drill is friday the 24th, ok?", MONDAY) == "The drill is friday the 24th (24 Apr 2026), ok?"
    assert dated("The drill is friday the 25th, ok?", MONDAY) == "The drill is friday the 25th, ok?"


def test_what_was_said_at_an_unknown_time_gets_no_date() -> None:
    assert dated("See you tomorrow!", 0) == "See you tomorrow!"
    assert dated("See you tomorrow!", 10**30) == "See you tomorrow!"
    assert dated("See you tomorrow!", -(10**30)) == "See you tomorrow!"


def test_the_last_day_there_is_has_no_tomorrow() -> None:
    end = int(datetime(9999, 12, 31, tzinfo=UTC).timestamp() * 1000)
    assert dated("See you tomorrow!", end) == "See you tomorrow!"


def test_a_note_is_added_once() -> None:
    once = dated("See you tomorrow or by Friday.", SATURDAY)
    assert dated(once, SATURDAY) == once


def test_a_text_gets_few_notes() -> None:
    assert dated("See you tomorrow. " * 50, SATURDAY).count("(3 May 2026)") == 4


WORDS = st.sampled_from(
    "by until on next last this since the Friday monday tomorrow in two weeks days ago 14th 14. bis Freitag morgen prochain vendredi "
    "mañana el viernes até sexta amanhã 明天 下 周五 前 , . ( ) will is end of month I was \n".split(" ")
)


@given(st.lists(WORDS, max_size=14).map(" ".join) | st.text(), st.integers(-(2**62), 2**62))
def test_A8_the_words_themselves_never_change(text: str, said_at: int) -> None:
    assume(undated(text) == text)
    assert undated(dated(text, said_at)) == text


@given(st.text(st.characters(), max_size=50))
def test_any_text_is_read_lone_surrogates_included(text: str) -> None:
    text = f"{text}\ud800 by Friday"
    assume(undated(text) == text)
    assert undated(dated(text, SATURDAY)) == text


@pytest.mark.parametrize("piece", ["a", "by ", "1 ", "明天", " Friday", "in two ", "the "])
def test_a_long_text_is_read_in_its_beginning_only(piece: str) -> None:
    text = piece * (400_000 // len(piece))
    assert undated(dated(text, SATURDAY)) == text


def test_a_date_at_the_end_of_what_is_read_is_left_alone() -> None:
    for before in range(3_960, 4_010):
        text = "x" * before + " until Monday 4 May"
        assert dated(text, SATURDAY) == text
