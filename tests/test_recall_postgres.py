"""Recall on PostgreSQL: small chats answer as on SQLite; of large ones the database nominates what is ranked."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from infold import Memory
from infold.branching import branch
from infold.embedders import chosen
from infold.ledger import jobs
from infold.ledger.derived import BLOCK
from infold.recall.hits import Hit
from infold.recall.nominees import cut
from infold.recall.segment import Said, Segment, segment
from tests.conftest import START, counted_ids, user
from tests.older import without_lines
from tests.postgres import Server
from tests.test_recall import DAY, QUESTIONS, SAID, Wire, chatter, needles, small

LARGE, STRETCHES = 300, 24
PEOPLE = "Agnes Bruno Carla Dmitri Edith".split()
THINGS = "kettle sextant accordion anvil beehive compass drill easel fiddle globe harpoon inkwell jigsaw kayak loom mortar".split()
ROOMS = "attic cellar pantry garage stable workshop library veranda".split()
PLANTED = [
    (f"{person} keeps the {thing} in the {ROOMS[(at + turn) % len(ROOMS)]}.", f"Where does {person} keep the {thing}?")
    for turn, person in enumerate(PEOPLE)
    for at, thing in enumerate(THINGS)
    if (at + turn) % 2
]


def opened(url: str) -> Memory:
    """A memory on a clock that stands still, for which little is large."""
    memory = Memory(url, clock=lambda: START + 9 * DAY)
    memory.recaller.nominator.large, memory.recaller.nominator.most = LARGE, STRETCHES
    return memory


def planted() -> list[Wire]:
    """Chatter of 1,500 messages with something worth asking for now and then."""
    said = [*needles(), *chatter(0, 750)]
    for at, (text, _) in enumerate(PLANTED):
        said.insert(20 + 33 * at, user(text, created_at=START + at * 600_000))
    return said


def fill(memory: Memory) -> None:
    """Two chats of Ann, one of Bob, and one of an Ann who is another tenant's."""
    every = planted()
    for tenant, name, whose, said in (
        ("", "one", "ann", every[:800]),
        ("", "two", "ann", every[800:]),
        ("", "bobs", "bob", [*chatter(0, 300), user("My secret word is Rumpelstilzchen.")]),
        ("elsewhere", "one", "ann", [*chatter(0, 300), user("My secret word is Quetzalcoatl.")]),
    ):
        memory.tenant(tenant).chat(name, user=whose, config=small()).add(said)
    memory.settle()


@pytest.fixture(scope="module")
def filled(postgres: Server) -> Iterator[str]:
    """Nobody writes to it."""
    with postgres.database() as url:
        with opened(url) as memory:
            fill(memory)
        yield url


@pytest.fixture
def changed(postgres: Server, filled: str) -> Iterator[str]:
    """The same, to be changed."""
    with psycopg.connect(filled) as connection:
        name = connection.info.dbname
    with postgres.database(template=name) as url:
        yield url


def rows(url: str, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        done = connection.execute(sql, values)
        return done.fetchall() if done.description else []


def passages(url: str, chat: str = "one") -> set[int]:
    """Positions of the messages of a chat of Ann's that have passages."""
    found = rows(
        url,
        "SELECT p.seq FROM infold.recall_passages p JOIN infold.recall_blocks b ON b.key = p.block "
        "JOIN infold.chats c ON c.key = b.chat WHERE c.id = %s AND c.tenant = ''",
        chat,
    )
    return {seq for (seq,) in found}


def shown(hits: list[Hit]) -> list[tuple[Any, ...]]:
    return [(hit.kind, hit.text, hit.chat, hit.seq, hit.speaker, hit.at, hit.score, hit.whole) for hit in hits]


def loaded(memory: Memory) -> int:
    """Passages that are in memory as chats or users."""
    recaller = memory.recaller
    users = [kept.corpus.size for kept in recaller._users.values() if kept.corpus is not None]
    return sum(kept.corpus.size for kept in recaller._chats.values()) + sum(users)


# What is found -------------------------------------------------------------------------------------------


def test_D8_small_chats_answer_as_on_sqlite(postgres_url: str, tmp_path: Any) -> None:
    answers = []
    for url in (postgres_url, f"sqlite:///{tmp_path / 'chats.db'}"):
        with Memory(url, clock=lambda: START + 9 * DAY, ids=counted_ids("m"), mark_key=b"key") as memory:
            chat = memory.chat("a", user="ann", config=small())
            chat.add([*needles(), *chatter(0, 200)])
            memory.settle()
            hits = [shown(of.recall(text, limit=20)) for text in QUESTIONS for of in (chat, memory.user("ann"))]
            answers.append((hits, [chat.context(text, max_tokens=1500).messages for text in QUESTIONS]))
            assert loaded(memory)
    assert answers[0] == answers[1]


@pytest.mark.parametrize("whose", ["user", "chat"])
def test_D8_what_is_nominated_is_what_a_search_of_everything_finds(filled: str, whose: str) -> None:
    asked = [(question, text) for text, question in PLANTED]
    found: list[list[set[str]]] = []
    for large in (LARGE, 1 << 40):
        with opened(filled) as memory:
            memory.recaller.nominator.large = large
            of = memory.user("ann") if whose == "user" else memory.chat("one")
            found.append(
                [{hit.text for hit in of.recall(question, limit=8, kinds=["message"])} for question, _ in asked]
            )
            assert (loaded(memory) == 0) == (large == LARGE)
    wanted = [at for at, (_, text) in enumerate(asked) if text in found[1][at]]
    assert len(wanted) >= (36 if whose == "user" else 18)
    assert sum(asked[at][1] in found[0][at] for at in wanted) >= 0.95 * len(wanted)


@pytest.mark.parametrize("name", SAID)
def test_D8_every_language_is_found_in_a_large_chat(filled: str, name: str) -> None:
    text, question = SAID[name]
    with opened(filled) as memory:
        for of in (memory.chat("one"), memory.user("ann")):
            hit = of.recall(question, kinds=["message"])[0]
            assert (hit.text, hit.chat, hit.seq) == (text, "one", list(SAID).index(name) + 1)
        assert loaded(memory) == 0


def test_D8_a_context_of_a_large_chat_quotes_what_was_nominated(filled: str) -> None:
    text, question = SAID["locker"]
    with opened(filled) as memory:
        assert text in memory.chat("one").context(question, max_tokens=1000).to("text")
        assert loaded(memory) == 0


def test_D8_a_question_that_shares_nothing_finds_nothing(filled: str) -> None:
    with opened(filled) as memory:
        assert memory.user("ann").recall("Xylophone zebra quagmire?", kinds=["message"]) == []
        assert memory.user("nobody").recall("kettle", kinds=["message"]) == []


def test_D8_the_time_that_is_given_or_named_counts(filled: str) -> None:
    question = SAID["locker"][1]
    with opened(filled) as memory:
        ann = memory.user("ann")
        assert ann.recall(question, kinds=["message"], until=START - 690 * DAY)[0].text == SAID["locker"][0]
        late = ann.recall(question, kinds=["message"], since=START, limit=50)
        assert late
        assert all(hit.at >= START for hit in late)
        assert ann.recall(question, kinds=["message"], until=START - 800 * DAY) == []
        for text in ("What did I say in February 2024?", "What did I say in February?"):
            named = ann.recall(text, kinds=["message"], limit=5)
            assert {hit.text for hit in named} <= {text for text, _ in SAID.values()}
            assert named


def test_D8_what_was_just_said_is_found_in_a_large_chat(changed: str) -> None:
    with opened(changed) as memory:
        chat, ann = memory.chat("two"), memory.user("ann")
        for ship, place in (("zeppelin", "Friedrichshafen"), ("schooner", "Lakehurst")):
            chat.add(user(f"The {ship} is moored at {place}."))
            assert place in ann.recall(f"Where is the {ship} moored?", kinds=["message"])[0].text
            assert place in chat.recall(f"Where is the {ship} moored?", kinds=["message"])[0].text
        assert loaded(memory) == 0


def test_A9_two_processes_answer_alike(filled: str) -> None:
    """One that has searched other things before, and one that has not."""
    with opened(filled) as first, opened(filled) as second:
        for _, question in PLANTED[:6]:
            first.user("ann").recall(question)
        expected = shown(first.user("ann").recall(PLANTED[7][1], limit=30))
        assert shown(second.user("ann").recall(PLANTED[7][1], limit=30)) == expected


# Who may see it ------------------------------------------------------------------------------------------


def test_D8_users_and_tenants_never_cross(filled: str) -> None:
    secrets = {"": {"bob": "Rumpelstilzchen"}, "elsewhere": {"ann": "Quetzalcoatl"}}
    with opened(filled) as memory:
        for tenant in ("", "elsewhere"):
            for name in ("ann", "bob"):
                hits = memory.tenant(tenant).user(name).recall("What is my secret word?", kinds=["message"], limit=100)
                text = " ".join(hit.text for hit in hits)
                for word in ("Rumpelstilzchen", "Quetzalcoatl"):
                    assert (word in text) == (secrets[tenant].get(name) == word), (tenant, name, word)
        assert loaded(memory) == 0


# What is forgotten ---------------------------------------------------------------------------------------


def test_F6_passages_go_with_their_messages(changed: str) -> None:
    every = passages(changed)
    assert every
    assert max(every) % BLOCK == 0
    with opened(changed) as memory:
        chat, ann = memory.chat("one"), memory.user("ann")
        locker = chat.messages(limit=1)[0]
        assert ann.recall(SAID["locker"][1], kinds=["message"])[0].text == locker.text
        words = rows(changed, "SELECT words::text FROM infold.recall_passages WHERE seq = 1")
        assert len(words) == 4  # one a chat
        chat.forget(locker.id)
        memory.settle()
        assert locker.text not in [hit.text for hit in ann.recall(SAID["locker"][1], kinds=["message"], limit=100)]
        assert passages(changed) == every  # the mark in its place is a message too
        before, after = ({text for (text,) in found} for found in (words, rows(changed, _FIRST)))
        assert len(before - after) == 1
        chat.rewind(chat.messages(after=499, limit=1)[0].id)
        memory.settle()
        assert 0 < max(passages(changed)) <= 500 // BLOCK * BLOCK
        text = " ".join(hit.text for _, question in PLANTED for hit in chat.recall(question, kinds=["message"]))
        assert not any(hit in text for hit, _ in PLANTED[16:24])
        chat.delete()
        assert passages(changed) == set()
        assert passages(changed, "two")
    orphans = "SELECT count(*) FROM infold.recall_passages p WHERE NOT EXISTS (SELECT FROM infold.recall_blocks WHERE key = p.block)"
    assert rows(changed, orphans) == [(0,)]


_FIRST = "SELECT words::text FROM infold.recall_passages WHERE seq = 1"


def test_F6_a_branch_has_passages_of_its_own(changed: str) -> None:
    with opened(changed) as memory:
        branch(memory, "one", 600, "fork")
        assert passages(changed, "fork") == {seq for seq in passages(changed) if seq <= 600 // BLOCK * BLOCK}
        hit = memory.chat("fork").recall(SAID["german"][1], kinds=["message"])[0]
        assert (hit.text, hit.chat) == (SAID["german"][0], "fork")
        before = passages(changed)
        memory.chat("fork").delete()
        assert not passages(changed, "fork")
        assert passages(changed) == before


# What may be missing -------------------------------------------------------------------------------------


def test_D8_without_vectors_words_do(changed: str) -> None:
    rows(changed, "DROP EXTENSION vector CASCADE")
    with opened(changed) as memory:
        for text, question in PLANTED[:10]:
            hits = memory.user("ann").recall(question, kinds=["message"], limit=8)
            assert text in [hit.text for hit in hits]
        chat = memory.chat("one")
        chat.add(chatter(750, 900))
        memory.settle()
        assert max(passages(changed)) > 1000  # what is new has passages too


def test_E7_a_role_that_may_not_create_the_extension_does_without(
    postgres: Server, caplog: pytest.LogCaptureFixture
) -> None:
    with postgres.database(template="template1") as url, psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE ROLE nobody_in_particular LOGIN")
        connection.execute(f'GRANT CREATE ON DATABASE "{connection.info.dbname}" TO nobody_in_particular')
        try:
            mark = "&" if "?" in url else "?"
            with (
                caplog.at_level(logging.WARNING),
                opened(f"{url}{mark}user=nobody_in_particular") as memory,
            ):
                chat = memory.chat("a", config=small())
                chat.add([*needles(), *chatter(0, 300)])
                memory.settle()
                assert chat.recall(SAID["ticket"][1], kinds=["message"])[0].text == SAID["ticket"][0]
                assert loaded(memory) == 0
            assert "by words alone, without the extension vector" in caplog.text
        finally:
            connection.execute("DROP OWNED BY nobody_in_particular CASCADE")
            connection.execute("DROP ROLE nobody_in_particular")


def test_D8_without_its_table_everything_is_searched_in_memory(changed: str) -> None:
    """As in a copy of the tables that was made without the extension."""
    rows(changed, "DROP TABLE infold.recall_passages")
    with opened(changed) as memory:
        assert memory.chat("one").recall(SAID["german"][1], kinds=["message"])[0].text == SAID["german"][0]
        assert loaded(memory)
        memory.chat("one").add(chatter(750, 900))
        memory.settle()


def test_E7_a_database_from_before_gets_passages(changed: str) -> None:
    expected = passages(changed)
    without_lines(changed)
    rows(changed, "DROP TABLE infold.recall_passages")
    rows(changed, "UPDATE infold.recall_blocks SET maker = rtrim(maker, '+')")
    for table in ("items", "facts", "mentions"):
        rows(changed, f"ALTER TABLE infold.{table} DROP COLUMN seal")
    rows(changed, "ALTER TABLE infold.chats DROP COLUMN origin")
    rows(changed, "UPDATE infold.alembic_version SET version_num = '0006'")
    with opened(changed) as memory:
        with memory.database.read() as connection:
            assert {id for _, id, _ in jobs.due(connection, models=jobs.NOBODY)} >= {"one", "two", "bobs"}
        assert memory.user("ann").recall(SAID["german"][1], kinds=["message"])[0].text == SAID["german"][0]
        for name in ("one", "two"):
            memory.chat(name).work()
        assert passages(changed) == expected
        assert memory.user("ann").recall(SAID["german"][1], kinds=["message"])[0].text == SAID["german"][0]
        with memory.database.read() as connection:
            assert {(tenant, id) for tenant, id, _ in jobs.due(connection, models=jobs.NOBODY)} == {
                ("", "bobs"), ("elsewhere", "one")
            }  # fmt: skip


def test_F9_a_damaged_block_is_made_again(changed: str, caplog: pytest.LogCaptureFixture) -> None:
    at = "chat = (SELECT key FROM infold.chats WHERE id = 'one' AND tenant = '') AND first_seq = 1"
    (sound,) = rows(changed, f"SELECT data FROM infold.recall_blocks WHERE {at}")
    rows(changed, f"UPDATE infold.recall_blocks SET data = set_byte(data, 99, 255 - get_byte(data, 99)) WHERE {at}")
    with caplog.at_level(logging.WARNING), opened(changed) as memory:
        for _ in range(2):
            hit = memory.user("ann").recall(SAID["german"][1], kinds=["message"])[0]
            assert hit.text == SAID["german"][0]
    assert caplog.text.count("is damaged") == 1
    assert rows(changed, f"SELECT data FROM infold.recall_blocks WHERE {at}") == [sound]
    assert passages(changed) >= set(range(1, BLOCK + 1))


# The pure part -------------------------------------------------------------------------------------------


def test_D8_a_part_of_a_block_is_what_its_messages_alone_would_be() -> None:
    said = [Said(at + 1, f"{text} {question}", "user", at) for at, (text, question) in enumerate(PLANTED[:9])]
    embedder = chosen(None)[0]()
    whole = segment(said, embedder)
    for start, end in ((0, 9), (0, 4), (3, 7), (8, 9)):
        assert Segment.joined([(whole, [(start, end)])]).to_bytes() == segment(said[start:end], embedder).to_bytes()


def test_D8_stretches_are_cut_with_what_surrounds_them() -> None:
    said = [Said(at, f"word {at}") for at in range(1, 101)]
    block = segment(said, chosen(None)[0]())
    assert cut(block, [0], 64) == [(0, 10)]
    assert cut(block, [1], 64) == [(6, 18)]
    assert cut(block, [12], 64) == [(94, 100)]
    assert cut(block, [2, 0, 1], 64) == [(0, 26)]
    assert cut(block, [0, 2], 64) == [(0, 10), (14, 26)]
    assert cut(block, [13], 64) == []
    assert cut(block, [1], 2) == [(48, 100)]
