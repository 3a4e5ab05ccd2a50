"""What a call cost, and how much a model takes, where the price list knows it."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from infold.models.clients import Answer
    from infold.models.spec import Model

_BILLION = 1_000_000_000


def cost(model: Model, answer: Answer) -> int | None:
    """Billionths of a US dollar; None where the price is not known. The local model is free."""
    if model.provider == "local":
        return 0
    if model.base_url:
        return None
    try:
        from genai_prices import Usage, calc_price

        usage = Usage(
            input_tokens=answer.tokens_in, output_tokens=answer.tokens_out, cache_read_tokens=answer.cached or None
        )
        price = calc_price(usage, model_ref=answer.model or model.name, provider_id=_provider(model))
    except (ImportError, LookupError, ValueError):
        return None
    return int(price.total_price * _BILLION)


def window(model: Model) -> int | None:
    """The context window of a model, where the price list knows it."""
    if model.base_url or model.provider not in ("openai", "anthropic"):
        return None
    return _listed_window(model.name, model.provider)


@functools.lru_cache(maxsize=256)
def _listed_window(name: str, provider: str) -> int | None:
    try:
        from genai_prices import Usage, calc_price

        found = calc_price(Usage(input_tokens=1), model_ref=name, provider_id=provider).model
    except (ImportError, LookupError, ValueError):
        return None
    return found.context_window


def _provider(model: Model) -> str:
    return "openai" if model.provider == "prompt" else model.provider
