"""Facts, entities and recall for asyncio: the same as without, awaited."""

from __future__ import annotations

import asyncio
import inspect

import pytest

from infold import AsyncChat, AsyncMemory, AsyncUser, Chat, Memory, NotFoundError, User
from tests.conftest import assistant, counted_ids, ticking_clock, turn, user


async def fill(memory: AsyncMemory) -> AsyncChat:
    chat = await memory.chat("trip", user="ada", preset="rolling")
    await chat.add([user("I live in Berlin. I prefer window seats."), assistant("Noted.")])
    await chat.add([message for number in range(6) for message in turn(number)])
    await chat.fold()
    return chat


def test_chats_and_users_know_and_find_the_same_as_without_asyncio(url: str) -> None:
    async def main() -> None:
        async with AsyncMemory(url, clock=ticking_clock(), ids=counted_ids()) as memory:
            chat, ada = await fill(memory), await memory.user("ada")
            assert ada.name == "ada"
            task = await chat.set_entity("task", "Book the ferry", due="2026-06-01", links=["Anna"])
            person = await ada.set_entity("person", "Anna")
            assert {one.id for one in await chat.entities} == {task.id, person.id}
            with Memory(url) as plain:
                assert await chat.facts == plain.chat("trip").facts
                assert (await ada.facts)(all=True) == plain.user("ada").facts(all=True)
                assert await ada.entities == plain.user("ada").entities
                found = await chat.recall("Which seats?", limit=3, kinds=["message"], since="2026-01-01")
                assert [hit.id for hit in found] == [
                    hit.id for hit in plain.chat("trip").recall("Which seats?", limit=3, kinds=["message"])
                ]
            assert found[0].text == "I live in Berlin. I prefer window seats."
            facts = await ada.recall("Which seats?", chat="trip", kinds=["fact"])
            assert facts[0].text == "I prefer window seats."
            assert await ada.recall("Which seats?", until="2025-01-01") == []
            await chat.remove_entity(task.id)
            await ada.remove_entity(person.id)
            assert await ada.entities == []
            with pytest.raises(NotFoundError):
                await ada.remove_entity(task.id)
            with pytest.raises(NotFoundError):
                await ada.recall("Which seats?", chat="gone")

    asyncio.run(main())


def test_an_embedder_of_ones_own_is_asked(url: str) -> None:
    import numpy as np

    asked: list[str] = []

    class Embedder:
        def embed(self, texts: list[str]) -> np.typing.NDArray[np.float32]:
            asked.extend(texts)
            return np.ones((len(texts), 4), np.float32)

        def near(self, words: list[str]) -> list[list[tuple[str, float]]]:
            return [[] for _ in words]

    async def main() -> None:
        async with AsyncMemory(url, embedder=Embedder()) as memory:
            chat = await fill(memory)
            await chat.recall("Berlin")

    asyncio.run(main())
    assert "Berlin" in asked


@pytest.mark.parametrize(("plain", "asynchronous"), [(Chat, AsyncChat), (User, AsyncUser), (Memory, AsyncMemory)])
def test_arguments_are_the_same(plain: type, asynchronous: type) -> None:
    for name in ("__init__", "recall", "set_entity", "remove_entity", "user", "chat", "add", "context", "pin", "unpin"):
        theirs, ours = getattr(plain, name, None), getattr(asynchronous, name, None)
        if theirs is None or (name == "__init__" and plain is not Memory):
            continue
        assert ours is not None
        assert list(inspect.signature(ours).parameters.values()) == list(inspect.signature(theirs).parameters.values())
