"""Tenants in one database: the same names of chats and users, and nothing of one is ever seen through another."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

import infold.ledger
from infold import Chat, ConfigError, Memory, NotFoundError
from infold.ledger.query import TENANT, Query
from infold.service.keys import create_key
from tests import rawsql
from tests.conftest import counted_ids, ticking_clock, user
from tests.test_users import current, everything, say, small

TOWNS = {"": "Lisbon", "a": "Berlin", "b": "Tromsø", "B": "Zagreb"}
QUERIES = ["Where do I live?", "Who gets the report?", "password"]


@pytest.fixture(params=["sqlite", "postgresql"])
def both(request: pytest.FixtureRequest, tmp_path: Any) -> Iterator[Memory]:
    """A memory on either kind of database."""
    address = (
        request.getfixturevalue("postgres_url")
        if request.param == "postgresql"
        else f"sqlite:///{tmp_path / 'chats.db'}"
    )
    with Memory(address, clock=ticking_clock(), ids=counted_ids()) as memory:
        yield memory


def filled(memory: Memory, tenant: str) -> list[Chat]:
    """Two chats of one user, with words that only this tenant says."""
    town, view = TOWNS[tenant], memory.tenant(tenant)
    chats = [view.chat(f"chat {number}", user="ann", config=small()) for number in (1, 2)]
    for number, chat in enumerate(chats):
        chat.add(user(f"The password of {town} is Q{town}."), id=f"m{number}")
        say(chat, f"I live in {town}. I must send the report to {town}ski by Friday.", number + 1)
        chat.pin(f"Never call {town}.")
        chat.set_entity("project", f"{town} tower", links=[town])
    view.user("ann").set_entity("person", f"{town}ova")
    view.settle()
    return chats


def assert_sees_only(memory: Memory, tenant: str) -> None:
    """Everything that can be read through a tenant's memory tells of this tenant's town alone."""
    view = memory.tenant(tenant)
    assert [info.id for info in view.chats()] == ["chat 1", "chat 2"]
    chats = [view.chat(info.id) for info in view.chats()]
    found = everything(view, "ann", chats, QUERIES)
    for chat in chats:
        found += repr([chat.messages(), chat.events(), chat.memory, chat.records, chat.usage(), chat.stats()])
    asked = " ".join(TOWNS.values())
    found += repr([view.user("ann").recall(asked, limit=200), [chat.recall(asked, limit=200) for chat in chats]])
    assert TOWNS[tenant] in found
    for other, town in TOWNS.items():
        assert other == tenant or town not in found, f"{tenant!r} sees {other!r}"
    proof = view.verify()
    assert (proof.ok, proof.chats) == (True, 2)
    assert proof.messages == sum(len(chat.messages()) for chat in chats)


def test_nothing_crosses(both: Memory) -> None:
    for tenant in TOWNS:
        filled(both, tenant)
    assert both.tenants() == sorted(TOWNS)
    for tenant, town in TOWNS.items():
        assert_sees_only(both, tenant)
        assert f"I live in {town}." in current(both.tenant(tenant), "ann")
    # Once more, now that everything is kept in memory.
    for tenant in reversed(TOWNS):
        assert_sees_only(both, tenant)


def test_forgetting_and_deleting_stop_at_the_tenant(both: Memory) -> None:
    for tenant in TOWNS:
        filled(both, tenant)
    a, b = both.tenant("a"), both.tenant("b")
    receipt = a.chat("chat 1").forget("m0")
    assert receipt.messages == 1
    assert_sees_only(both, "b")
    assert "QTromsø" in b.chat("chat 1").messages()[0].text
    assert "QBerlin" not in a.chat("chat 1").messages()[0].text
    for entity in a.user("ann").entities:
        a.user("ann").remove_entity(entity.id)
    assert a.user("ann").entities == []
    assert b.user("ann").entities
    a.chat("chat 2").delete()
    assert [info.id for info in a.chats()] == ["chat 1"]
    assert_sees_only(both, "b")
    assert a.user("ann").forget().chats == 1
    assert a.chats() == []
    assert both.tenants() == ["", "B", "b"]
    for tenant in ("", "b", "B"):
        assert_sees_only(both, tenant)


def test_what_one_has_another_does_not_find(both: Memory) -> None:
    filled(both, "a")
    c = both.tenant("c")
    assert c.chats() == []
    assert c.user("ann").facts == ()
    assert c.user("ann").entities == []
    assert c.user("ann").recall("Where do I live?") == []
    assert c.verify().messages == 0
    assert c.user("ann").forget().chats == 0
    with pytest.raises(NotFoundError):
        c.user("ann").recall("Where?", chat="chat 1")
    own = c.chat("chat 1")
    assert own.messages() == []
    with pytest.raises(NotFoundError):
        own.rewind("m0")
    with pytest.raises(NotFoundError):
        own.forget("m0")
    own.add(user("mine"), id="m0")  # the same ids, another message
    assert len(both.tenant("a").chat("chat 1").messages()) > 1
    assert_sees_only(both, "a")


def test_a_handle_of_one_tenant_never_opens_anothers_chat(both: Memory) -> None:
    """Not even by the number of its row."""
    chat = filled(both, "a")[0]
    foreign = Chat(both.tenant("b"), chat._key, chat.id, False)
    for ask in (foreign.messages, foreign.context, foreign.verify, lambda: foreign.add(user("hello")), foreign.fold):
        with pytest.raises(NotFoundError, match="was deleted"):
            ask()


def test_damaged_facts_are_repaired_in_their_own_tenant(postgres_url: str) -> None:
    with Memory(postgres_url) as memory:
        for tenant in TOWNS:
            filled(memory, tenant)
        before = {tenant: memory.tenant(tenant).user("ann").facts(all=True) for tenant in TOWNS}
    rawsql.change(postgres_url, "UPDATE stated SET sources = '[1,'")
    with Memory(postgres_url) as memory:
        for tenant in TOWNS:
            assert memory.tenant(tenant).user("ann").facts(all=True) == before[tenant]
            assert_sees_only(memory, tenant)


@pytest.mark.parametrize("name", ["a\0b", "a\x01b", "a\nb", "x" * 201, "\ud800", 7])
def test_bad_names_of_tenants(memory: Memory, name: Any) -> None:
    with pytest.raises(ConfigError, match="a tenant must be a text of at most 200 printable characters"):
        memory.tenant(name)
    with pytest.raises(ConfigError, match="a tenant must be a text of at most 200 printable characters"):
        create_key(memory, name, "read")


# Every statement -----------------------------------------------------------------------------------------


def queries() -> Iterator[tuple[str, Query]]:
    """All statements that the modules of the ledger have, in lists and dicts too."""
    for found in pkgutil.iter_modules(infold.ledger.__path__):
        if found.ispkg:
            continue
        module = importlib.import_module(f"infold.ledger.{found.name}")
        for name, value in vars(module).items():
            inside: Iterable[Any] = (
                value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else [value]
            )
            yield from ((f"{found.name}.{name}", one) for one in inside if isinstance(one, Query))


NAMED = re.compile(r'(?:chats\.id|chats\."?user"?|mentions\."?user"?) (?:=|IN|LIKE)')
WHOLE = re.compile(r"\bFROM (?:chats|mentions)\b(?!.*\bWHERE\b)", re.DOTALL)


def conditions(sql: str) -> str:
    return sql.partition("WHERE")[2]


def test_every_statement_on_a_chats_name_or_a_user_is_scoped() -> None:
    named = {name: query for name, query in queries() if NAMED.search(conditions(query.sql))}
    assert len(named) >= 9, sorted(named)
    for name, query in named.items():
        assert query.scoped, name
        assert "tenant = ?" in conditions(query.sql), name
        # It holds for everything that follows, or each of several alternatives has its own.
        if not re.match(r"\s*\w+\.tenant = \? AND ", conditions(query.sql)):
            branches = len(NAMED.findall(conditions(query.sql)))
            assert len(re.findall(r"tenant = \?", conditions(query.sql))) >= branches, name


def test_every_statement_that_makes_a_chat_or_a_users_mention_is_scoped() -> None:
    """A copy of a chat's mentions has the tenant of that chat, which was found by a scoped statement."""
    made = {
        name: query
        for name, query in queries()
        if query.sql.startswith("INSERT INTO chats ") or re.match(r"INSERT INTO mentions \([^)]*\) VALUES", query.sql)
    }
    assert {"store._insert_chat", "mentions._insert_mention"} <= set(made)
    assert [name for name, query in made.items() if not query.scoped] == []


def test_only_the_list_of_tenants_sees_all_chats() -> None:
    assert {name for name, query in queries() if WHOLE.search(query.sql) and not query.scoped} == {"store._tenants"}


def test_the_tenant_is_never_a_callers(memory: Memory) -> None:
    from infold.ledger.store import _chat_by_id

    memory.tenant("a").chat("c")
    with memory.database.read() as connection:
        with pytest.raises(AssertionError, match="the tenant is the connection's"):
            _chat_by_id(connection, id="c", **{TENANT: "a"})
        assert _chat_by_id(connection, id="c").fetchone() is None
