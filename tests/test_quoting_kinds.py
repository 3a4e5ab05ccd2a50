"""Outright words name a sentence's kind; without them it is a fact."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infold.lines.kinds import KINDS
from infold.quoting.kinds import kind_of

USER = {
    "rule": """
Always write dates with the weekday.
Please never round amounts.
Never use tables in your answers.
From now on send me the summary first.
Please don't use emojis.
No emojis, please.
And no exclamation marks.
Call me Ro.
Answer in German.
Reply to me only in French.
Don't push to main, ever.
You must not send any e-mail before I have seen the draft.
Show me first before you book anything.
House rule: everything over sixty quid goes past Imke.
Bitte nie runden.
Antworte mir bitte auf Deutsch.
Schlag mir die Namen künftig auch so vor.
Keine Emojis bitte.
Désormais tu me vouvoies.
Réponds en français.
Écris toujours les montants en euros.
Pas d'emojis.
De ahora en adelante ponlo en kilómetros.
No me llames señora.
Responde siempre en español.
Daqui pra frente me manda só o total.
Nunca arredonde os valores.
Me chama de Dalva.
以后都用毫米。
不要用表情符号，叫我小棠就好。
用中文回答。
""",
    "constraint": """
I'm allergic to hazelnuts.
Teddy is coeliac.
Jonas uses a wheelchair.
My budget is 700 euros.
No more than €200 a night.
We said 190 a night per room, tops.
The deadline is 5 June.
I can't eat dairy.
It has to be done by Friday.
The report must be in by 12 April at the latest.
Ich bin allergisch gegen Nüsse.
Mein Budget liegt bei 500 Euro.
Das darf höchstens 300 kosten.
Die Abgabefrist ist der 12. April.
Je suis allergique aux noix.
Notre budget est de 30 000 euros.
Il faut répondre au plus tard vendredi.
Soy alérgica a los frutos secos.
Mi presupuesto es de 35 euros.
Como máximo 80 a la semana.
Sou alérgica a gergelim.
Meu orçamento é de 900 reais.
Gasto no máximo 50 por semana.
她对青霉素过敏。
预算最多5万。
最晚周五交。
""",
    "preference": """
I prefer aisle seats.
I'd rather have him on the ground floor.
I love cargo bikes.
Honestly I hate phone calls with banks.
My favourite colour is green.
I can't stand em dashes.
I'm not a fan of surprises.
Ich mag keine Oliven.
Mir wäre ein Zug lieber.
Je préfère le train.
J'aime les listes.
Prefiero los planes en kilómetros.
Me gusta que vaya por días.
Prefiro pagar por pix.
Eu gosto de pão doce.
我更喜欢靠窗的位置。
""",
    "who": """
I'm a nurse.
I'm Ilse, I'm the only dev.
My name is Mara.
I live in Leipzig.
My wife Mireille reads the post.
I drive a bus for a living.
Ich heiße Miri.
Ich bin Lehrerin.
Meine Tochter Ida ist vier.
Je m'appelle Solène.
J'habite à Limoges.
Me llamo Lucía.
Soy profe de mates.
Vivo en Sevilla.
Me chamo Dalva.
Moro em Vitória.
我姓贺。
我是校对编辑。
""",
    "goal": """
I want to run a half marathon in October.
My goal is to swim a mile.
We're trying to move out by the summer.
I'm planning to learn Dutch.
Mein Ziel ist ein Halbmarathon.
Wir wollen nächstes Jahr umziehen.
Mon objectif est d'ouvrir en septembre.
Je voudrais ouvrir une boulangerie.
Quiero correr la media maratón.
Pretendo abrir outra banca.
我打算明年搬家。
""",
    "decision": """
Let's go with Dairy Yard.
We decided on epoxy.
I'll take the room on the third floor.
We've settled on the red one.
Ok, make that 700.
Wir nehmen die blauen Fliesen.
On part sur la rue des Tanneurs.
Nos quedamos con el piso de arriba.
Ficamos com o forno novo.
那就选A，定了。
""",
    "open": """
I'll send the draft on Monday.
I still need to renew the passport.
Remind me to call the dentist.
We need to find a venue.
Can you check the quote by Friday?
Ich muss noch die Kaution überweisen.
Erinnere mich an den Termin.
Il reste à signer le bail.
Tengo que llamar al casero.
Vou ligar pro seu Abílio.
提醒我交房租。
""",
    "artifact": """
Policy is LM-MOT-552087.
The booking number is FW-48213.
Runbook: https://wiki.example.org/runbooks/waiting
My viewing notes are in notes/viewings.md.
Meine Mitgliedsnummer ist MV-20931.
Localizador ML-4471.
收据编号ZX-0427。
""",
    "state": """
The hotel is booked.
The branch has been merged.
Sent last night.
I've paid the deposit.
Die Rechnung ist bezahlt.
Le bail est signé.
He pagado la cuota.
A taxa foi paga.
闭水已经完成。
""",
    "fact": """
The yard is behind the station.
Make this mail shorter.
Translate this into German.
She said she prefers the train.
He says he's allergic to hazelnuts, or so.
"I prefer tea", it said on the wall.
Tobi thinks I love the yard.
It looks like rain.
I like it, thanks.
I like that idea.
Do you like it?
What is my budget?
Is the hotel booked?
Never mind.
Don't worry.
Please don't send it yet.
Call me when you land.
Call me back.
I'm a bit tired.
I'm OK.
I want to know what it costs.
I'd like to know more.
The delay is due to the rain.
I'm trying to find out what it costs.
The hotel is not booked.
I'll be fine.
It was 20 at most, not 30.
Agreed!
Guten Morgen!
Das ist noch nicht entschieden.
Meine Schwester meint, ich mag keine Hunde.
C'est une belle journée.
Hace buen tiempo.
Está chovendo.
今天天气很好。
她说我喜欢猫。
能不能吃面包
""",
}


def cases(table: dict[str, str]) -> list[tuple[str, str]]:
    return [(kind, line) for kind, lines in table.items() for line in lines.strip().splitlines()]


@pytest.mark.parametrize(("kind", "line"), cases(USER))
def test_A8_outright_words_name_the_kind(kind: str, line: str) -> None:
    assert kind_of(line, "user") == kind


@pytest.mark.parametrize(
    "line", [line for kind, line in cases(USER) if kind in ("rule", "constraint", "preference", "who", "goal")]
)
@pytest.mark.parametrize("role", ["assistant", "tool"])
def test_only_the_user_has_rules_limits_wishes_and_a_name(role: str, line: str) -> None:
    assert kind_of(line, role) in ("fact", "open", "decision", "artifact", "state")


ASSISTANT = {
    "open": """
I'll check the part number and get back to you.
I will let you know on Monday.
I promise you a message with the result.
Ich melde mich morgen.
Je reviens vers vous demain.
Te aviso mañana.
我会提醒你的。
""",
    "decision": """
We agreed on 5 June.
""",
    "state": """
Your room is booked.
The refund was issued.
""",
    "artifact": """
Your ticket is **TK-88213**.
It is in src/app/slots.py now.
""",
    "fact": """
I prefer the second one.
Let's go with the second one.
I'll take the room on the third floor.
Shall I let you know?
""",
}


@pytest.mark.parametrize(("kind", "line"), cases(ASSISTANT))
def test_an_assistant_promises_reports_and_names_things(kind: str, line: str) -> None:
    assert kind_of(line, "assistant") == kind


def test_a_tool_reports_and_names_things() -> None:
    assert kind_of("The order is confirmed.", "tool") == "state"
    assert kind_of("Order MM-8852", "tool") == "artifact"
    assert kind_of("I'll send it on Monday.", "tool") == "fact"


def test_straight_and_curly_apostrophes_are_the_same() -> None:
    assert kind_of("I’m allergic to nuts.", "user") == kind_of("I'm allergic to nuts.", "user") == "constraint"
    assert kind_of("Please don’t use emojis.", "user") == "rule"
    assert kind_of("I’d rather walk.", "user") == "preference"


WORDS = st.sampled_from(
    "I i'll don't always never call me Ro my budget is no more than 5 prefer the \" “ ” « said that booked order A-1234 a/b.py ? 我 喜欢 以后 都 je préfère "
    "ich bitte nie quiero sem emojis , . :".split(" ")
)


@given(st.lists(WORDS, max_size=20).map(" ".join) | st.text(), st.sampled_from(["user", "assistant", "tool"]))
def test_any_text_has_a_kind_and_always_the_same(text: str, role: str) -> None:
    assert kind_of(text, role) in KINDS
    assert kind_of(text, role) == kind_of(text, role)


@pytest.mark.parametrize(
    "piece", ["a", "no ", "don't use ", "i'll ", "a/", "/", "0-", "我想", "\ud800", '"', "remind me, "]
)
def test_a_long_text_is_read_in_its_beginning_only(piece: str) -> None:
    began = time.process_time()
    assert kind_of(piece * (400_000 // len(piece)), "user") in KINDS
    assert time.process_time() - began < 1
