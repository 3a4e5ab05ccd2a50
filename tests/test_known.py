"""What users state is known in all their chats at once; and what must not be known elsewhere is not."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import infold
from infold import Chat, ConfigError, Memory
from infold.branching import branch
from infold.context.block import unmarked
from tests.conftest import START, assistant, user

HOUR = 3600 * 1000
TREES = (
    "oak",
    "ash",
    "elm",
    "fir",
    "yew",
    "lime",
    "alder",
    "aspen",
    "birch",
    "cedar",
    "hazel",
    "larch",
    "maple",
    "rowan",
)
METALS = ("copper", "silver", "iron", "tin", "zinc", "lead", "nickel", "cobalt", "brass", "bronze", "steel", "chrome")


def say(chat: Chat, *texts: str, hour: int = 0) -> None:
    """Turns at an hour."""
    for number, text in enumerate(texts):
        at = START + hour * HOUR + 10 * number
        chat.add([user(text, created_at=at), assistant("I see.", created_at=at + 1)])


def asked(memory: Memory, name: str, question: str, preset: str | None = None) -> str:
    """What a new chat of a user shows for a question."""
    chat = memory.chat(f"new {name} {question} {len(memory.chats())}", user=name, preset=preset)
    return str(unmarked(chat.context(question, max_tokens=3000).to("text")))


STATED = [
    "I'm allergic to peanuts.",
    "Call me Robin, please.",
    "I prefer trains over planes.",
    "Please never use emojis in your answers.",
    "I work as a nurse in Porto.",
    "the 24-inch wheels, everything else is too tall for me",
]


@pytest.mark.parametrize("name", ["default", "layered", "engine"])
@pytest.mark.parametrize("text", STATED)
def test_F13_what_is_stated_is_known_in_the_next_chat_at_once(memory: Memory, text: str, name: str) -> None:
    say(memory.chat("a", user="ann"), text)
    assert text in asked(memory, "ann", "What shall we do?", preset=name)
    assert text not in asked(memory, "bob", "What shall we do?", preset=name)


def test_F13_it_is_listed_at_once_with_its_source(memory: Memory) -> None:
    chat = memory.chat("a", user="ann")
    say(chat, "Good morning.", "I'm allergic to peanuts.")
    assert chat.memory.cursor == 0
    for facts in (chat.facts, memory.user("ann").facts):
        assert [(fact.text, fact.sources, fact.chat) for fact in facts] == [("I'm allergic to peanuts.", (3,), "a")]


def test_F13_tasks_of_unfolded_turns_are_listed_with_their_state(memory: Memory) -> None:
    chat = memory.chat("a", user="ann")
    say(chat, "I have to book the ferry to Oslo by 2026-02-01.")
    assert [(one.kind, one.status) for one in memory.user("ann").entities if one.kind == "task"] == [("task", "open")]
    say(chat, "I booked the ferry to Oslo.", hour=1)
    assert [one.status for one in memory.user("ann").entities if one.kind == "task"] == ["done"]


# Not known elsewhere -------------------------------------------------------------------------------------

ELSEWHERE_UNKNOWN = [
    ("My password is heron-lake-7.", "heron"),
    ("My card number is 4111 1111 1111 1111.", "4111"),
    ("The key is sk-abcdefghij1234567890.", "sk-abc"),
    ("My account is DE89 3704 0044 0532 0130 00, I always pay by transfer.", "0532"),
    ('My boss said: "Always use Comic Sans in every slide."', "Comic"),
    ("Write a poem for my aunt, in French, no rhymes.", "rhymes"),
    ("Make this mail shorter, and no greeting please.", "greeting"),
    ("If I were diabetic, I would have to give up cake.", "diabetic"),
    ("Should I become a vegan, and never eat meat again?", "meat"),
    ("> Please always answer in rhymes.\nWhat does he mean?", "rhymes"),
    ("Only answer with yes or no for the next question, please.", "yes or no"),
]


@pytest.mark.parametrize(("text", "gone"), ELSEWHERE_UNKNOWN)
def test_F13_what_is_no_word_of_the_users_own_stays_in_its_chat(memory: Memory, text: str, gone: str) -> None:
    chat = memory.chat("a", user="ann")
    say(chat, text, "And now?", "Well?", "So?")
    chat.fold()
    for question in ("What do you know of me?", text):
        assert gone not in asked(memory, "ann", question).replace(question, "")


def test_F13_what_is_rewound_is_not_known(memory: Memory) -> None:
    chat = memory.chat("a", user="ann")
    say(chat, "Good morning.")
    kept = chat.messages()[-1]
    say(chat, "I'm allergic to peanuts.", hour=1)
    assert "peanuts" in asked(memory, "ann", "What can I eat?")
    chat.rewind(kept.id)
    assert "peanuts" not in asked(memory, "ann", "What can I eat?")
    assert memory.user("ann").facts == ()


def test_F13_what_an_abandoned_branch_says_is_not_known(memory: Memory) -> None:
    first = memory.chat("a", user="ann")
    say(first, "Good morning.")
    fork = first.messages()[-1].seq
    say(first, "I live in Berlin.", hour=1)
    second = branch(memory, "a", fork, "b")
    say(second, "I live in Oslo.", hour=2)
    told = asked(memory, "ann", "Where do I live?")
    assert "Oslo" in told
    assert "Berlin" not in told
    assert [fact.text for fact in memory.user("ann").facts] == ["I live in Oslo."]
    assert [fact.text for fact in memory.chat("a").facts] == ["I live in Berlin."]
    say(first, "Still there?", hour=3)  # people go on in the first one
    told = asked(memory, "ann", "Where do I live?")
    assert "Berlin" in told
    assert "Oslo" not in told


@pytest.mark.parametrize("how", ["user", "chat", "message"])
def test_F13_remember_keeps_a_chat_to_itself(memory: Memory, how: str) -> None:
    if how == "user":
        memory.user("ann").remember = False
    chat = memory.chat("a", user="ann", remember=False if how == "chat" else None)
    at = START + HOUR
    chat.add(user("I'm allergic to peanuts.", created_at=at), remember=how != "message")
    chat.add(assistant("I see.", created_at=at + 1))
    assert "peanuts" not in asked(memory, "ann", "What can I eat?")
    assert memory.user("ann").facts == ()
    assert [fact.text for fact in chat.facts] == ["I'm allergic to peanuts."]
    assert memory.user("ann").remember is (how != "user")
    if how == "chat":
        assert memory.user("ann").recall("What about peanuts?") == []


def test_F13_what_is_remembered_can_be_switched(memory: Memory) -> None:
    say(memory.chat("a", user="ann"), "I'm allergic to peanuts.")
    ann = memory.user("ann")
    ann.remember = False
    assert "peanuts" not in asked(memory, "ann", "What can I eat?")
    ann.remember = True
    assert "peanuts" in asked(memory, "ann", "What can I eat?")
    memory.chat("a", remember=False)
    assert "peanuts" not in asked(memory, "ann", "What can I eat?")
    memory.chat("a", remember=True)
    assert "peanuts" in asked(memory, "ann", "What can I eat?")


def test_F13_a_message_that_is_not_remembered_stays_so_when_it_is_read_again(memory: Memory) -> None:
    chat = memory.chat("a", user="ann")
    say(chat, "Good morning.")
    chat.add(user("I'm allergic to peanuts.", created_at=START + HOUR), remember=False)
    say(chat, "And now?", "Well?", "So?", hour=2)
    chat.fold()
    chat.rebuild()
    chat.forget(chat.messages()[0].id)
    assert "peanuts" not in asked(memory, "ann", "What can I eat?")


# The newest word -----------------------------------------------------------------------------------------


def test_D3_a_value_said_in_another_chat_takes_the_place_of_the_old_one(memory: Memory) -> None:
    say(memory.chat("a", user="ann"), "I live in Berlin.", hour=1)
    say(memory.chat("b", user="ann"), "I moved to Rome last week.", hour=2)
    told = asked(memory, "ann", "Where do I live?")
    assert "Rome" in told
    assert "Berlin" not in told


def test_D3_of_chats_added_in_any_order_the_newest_word_holds(memory: Memory) -> None:
    say(memory.chat("b", user="ann"), "I moved to Rome last week.", hour=2)
    say(memory.chat("a", user="ann"), "I live in Berlin.", hour=1)
    told = asked(memory, "ann", "Where do I live?")
    assert "Rome" in told
    assert "Berlin" not in told


def test_D3_what_a_deleted_chat_took_back_holds_again(memory: Memory) -> None:
    say(memory.chat("a", user="ann"), "I live in Berlin.", hour=1)
    other = memory.chat("b", user="ann")
    say(other, "I moved to Rome last week.", hour=2)
    other.delete()
    assert "Berlin" in asked(memory, "ann", "Where do I live?")


# Near the question ---------------------------------------------------------------------------------------


def rules() -> Sequence[tuple[str, str]]:
    """Rules, each with a question that names it."""
    found = []
    for tree in TREES:
        for metal in METALS:
            found.append(
                (
                    f"Always put the {metal} {tree} label on the left side of the crate, and tell me about it afterwards.",
                    f"Where does the {metal} {tree} label go?",
                )
            )
    return found


def test_D4_of_many_rules_the_one_that_a_question_names_is_there(memory: Memory) -> None:
    chat = memory.chat("a", user="ann", context_window=8192)
    every = rules()
    for at in range(0, len(every), 4):
        chat.add([wire for rule, _ in every[at : at + 4] for wire in (user(rule), assistant("Noted."))])
    assert chat.memory.cursor
    for rule, question in every[::12]:
        assert rule in chat.context(question, max_tokens=3000).to("text")
        assert rule in asked(memory, "ann", question)


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("I'm allergic to peanuts.", "What food is dangerous for me?"),
        ("I get up at five on weekdays.", "When does my morning start?"),
        ("I live in Porto.", "Which city is my home?"),
        ("Our dog Rex barks at strangers.", "Do we have a pet?"),
        ("Keep it brief with me.", "How long should your replies be?"),
    ],
)
def test_D8_a_question_finds_a_line_that_shares_no_word_with_it(memory: Memory, text: str, question: str) -> None:
    chat = memory.chat("a", user="ann")
    fillers = [f"I always keep the {metal} {tree} crates apart." for tree in TREES[:6] for metal in METALS]
    say(chat, text, *fillers)
    assert any(text in hit.text for hit in memory.user("ann").recall(question, kinds=["fact", "message"], limit=8))


# Forgetting ----------------------------------------------------------------------------------------------


@pytest.mark.sqlite
def test_F6_nothing_is_left_of_a_forgotten_user(memory: Memory, url: str) -> None:
    chat = memory.chat("a", user="annabel", title="Zoltan and the kestrel")
    say(chat, "I'm allergic to kestrel feathers.", "I have to call Zoltan by 2026-03-01.")
    chat.pin("Never mention Zoltan.")
    chat.set_entity("project", "Zoltan tower")
    memory.user("annabel").set_entity("person", "Zoltan Kestrel")
    memory.user("annabel").correct(memory.user("annabel").facts[0], "I'm allergic to kestrel down.")
    say(memory.chat("b", user="bob"), "I like the heron.")
    memory.user("annabel").forget()
    memory.close()
    raw = b"".join(one.read_bytes() for one in sorted(_files(url)))
    for word in (b"kestrel", b"Kestrel", b"Zoltan", b"annabel"):
        assert word not in raw
    assert b"heron" in raw


def _files(url: str) -> list[Path]:
    path = Path(url.removeprefix("sqlite:///"))
    return [one for one in path.parent.iterdir() if one.name.startswith(path.name)]


def test_F13_other_values_of_the_policy_switch_it_off(memory: Memory) -> None:
    say(memory.chat("a", user="ann"), "I'm allergic to peanuts.")
    chat = memory.chat("b", user="ann", config=infold.preset("default", user_facts=False))
    assert "peanuts" not in str(chat.context("What can I eat?", max_tokens=3000).messages)


def test_E8_an_entity_of_a_chat_that_keeps_to_itself_is_its_own(memory: Memory) -> None:
    chat = memory.chat("a", user="ann", remember=False)
    assert chat.set_entity("task", "Buy rope").name == "Buy rope"
    assert [one.name for one in chat.entities] == ["Buy rope"]
    assert memory.user("ann").entities == []


SECRETS = [
    "I need to send 200 euros to IBAN DE89 3704 0044 0532 0130 00 by Friday.",
    "Remind me to rotate the key sk-proj-abcdef1234567890.",
    "I always use the pin 7788 for my phone.",
    "postgresql://me:pa55w0rd@db.local/x is my database, I always use it.",
    "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI is mine, I prefer env vars.",
    "I always log in as root with toor.",
]


@pytest.mark.parametrize("text", SECRETS)
@pytest.mark.parametrize("name", ["default", "engine"])
def test_F13_no_secret_leaves_its_chat_as_a_fact_or_an_entity(memory: Memory, text: str, name: str) -> None:
    say(memory.chat("a", user="ann"), text)
    told = asked(memory, "ann", "What must I do?", preset=name)
    secret = next(word for word in ("0532", "sk-proj", "7788", "pa55w0rd", "wJalr", "toor") if word in text)
    assert secret not in told + repr([memory.user("ann").facts, memory.user("ann").entities])


def test_F13_a_message_that_is_not_remembered_names_no_entity_elsewhere(memory: Memory) -> None:
    chat = memory.chat("a", user="ann")
    chat.add(user("I must call my friend Tom about project Halo by 2026-06-01."), remember=False)
    assert memory.user("ann").entities == []


def test_D3_the_newer_word_holds_in_contexts_whatever_came_first(memory: Memory) -> None:
    pairs = [("Always answer in English.", 1), ("From now on answer in Dutch.", 2)]
    for name, order in (("ann", pairs), ("bob", pairs[::-1])):
        for text, hour in order:
            say(memory.chat(f"{name} {hour}", user=name), text, hour=hour)
        told = asked(memory, name, "Who was Ada Lovelace?")
        assert "Dutch" in told
        assert "English" not in told


def test_D3_a_chat_between_two_others_is_heard_in_any_order(memory: Memory) -> None:
    story = [("I live in Berlin.", 1), ("I moved to Lyon last year.", 2), ("I live in Porto now.", 3)]
    for number, order in enumerate(((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))):
        for at in order:
            text, hour = story[at]
            say(memory.chat(f"{number} {hour}", user=f"user {number}"), text, hour=hour)
        told = asked(memory, f"user {number}", "Where do I live?")
        assert ("Porto" in told, "Lyon" in told, "Berlin" in told) == (True, False, False), order


def test_D3_a_word_about_one_medicine_does_not_end_an_illness(memory: Memory) -> None:
    say(memory.chat("a", user="ann"), "I have a heart condition and take warfarin.", hour=1)
    say(memory.chat("b", user="ann"), "I'm no longer taking warfarin.", hour=2)
    assert "heart condition" in asked(memory, "ann", "Which sports can I do?")


def test_F13_what_has_no_room_is_counted(memory: Memory) -> None:
    for number, tree in enumerate(TREES):
        texts = [f"Always put the {metal} {tree} label on the left side of the crate, please." for metal in METALS]
        say(memory.chat(tree, user="ann"), *texts, hour=number)
    context = memory.chat("new", user="ann").context("Good morning.", max_tokens=3000)
    shown = context.sources["facts"] + context.sources["near"]
    counted = f"and {len(TREES) * len(METALS) - shown} more that the user stated"
    assert counted in context.to("text")
    assert any("more of what the user stated" in piece.what for piece in context.explain().left_out)


@pytest.mark.parametrize("bad", ["no", 0, 1, None])
def test_F13_remember_is_true_or_false(memory: Memory, bad: object) -> None:
    with pytest.raises(ConfigError, match="remember"):
        memory.user("ann").remember = bad  # type: ignore[assignment]
    if bad is not None:
        with pytest.raises(ConfigError, match="remember"):
            memory.chat("a", user="ann", remember=bad)  # type: ignore[arg-type]


OUTRIGHT = [
    "I'm colour-blind.", "I'm vegan, so what could I cook with chickpeas?", "Since I'm pregnant, which cheeses can I eat?",
    "I have ADHD.", "I'm hard of hearing.", "I take statins.", "We keep kosher at home.", "I can't swim.", "I speak Greek.",
]  # fmt: skip


@pytest.mark.parametrize("text", OUTRIGHT)
def test_F13_what_is_outright_about_a_person_is_known_whatever_stands_beside_it(memory: Memory, text: str) -> None:
    say(memory.chat("a", user="ann"), text)
    assert text in asked(memory, "ann", "Plan my day.")


OTHERS = [
    "Hypothetically, I'm a widower with two kids.", "Tom told me he's allergic to cats.", "My dad: I'm allergic to bees!",
    "The form says: I am over 18 and I live in Canada.", "Test sentence for TTS: I have a severe nut allergy.",
    "Write a first-person story: I am a widow from Lisbon. I always wear black.", "For the logo I prefer blue.",
    "Dear team,\nI'm allergic to latex.\nPlease proofread the text above.", "explain it like I'm five, just this once",
]  # fmt: skip


@pytest.mark.parametrize("text", OTHERS)
def test_F13_what_others_say_or_may_be_is_not_known(memory: Memory, text: str) -> None:
    say(memory.chat("a", user="ann"), text)
    context = memory.chat("b", user="ann").context("Plan my day.", max_tokens=3000)
    assert (context.sources["facts"], context.sources["near"]) == (0, 0)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("I live in Porto.", "We just relocated to Braga."),
        ("I work at Bosch.", "I started at Zeiss on Monday."),
        ("I'm 41 years old.", "I turned 42 yesterday."),
        ("Ich wohne in Köln.", "Ich bin nach Mainz gezogen."),
    ],
)
def test_D3_a_new_home_job_or_age_takes_the_place_of_the_old_one_in_any_words(
    memory: Memory, before: str, after: str
) -> None:
    say(memory.chat("a", user="ann"), before, hour=1)
    say(memory.chat("b", user="ann"), after, hour=2)
    told = asked(memory, "ann", "Plan my day.")
    assert after.removesuffix(".") in told
    assert before not in told


def test_F9_a_new_user_speaks_in_several_chats_at_once(url: str) -> None:
    memories = [Memory(url), Memory(url)]
    barrier = threading.Barrier(8)

    def speak(number: int) -> None:
        chat = memories[number % 2].chat(f"chat {number}", user="ann")
        barrier.wait(60)
        chat.add([user(f"I'm allergic to {TREES[number]} pollen."), assistant("I see.")])

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(speak, range(8)))
    for memory in memories:
        assert len(memory.user("ann").facts) == 8
        memory.close()
