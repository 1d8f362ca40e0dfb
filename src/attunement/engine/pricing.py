"""What does a judge cost? From the price list that comes with `genai-prices`; nothing is ever fetched."""

import re
from importlib.metadata import version

from attunement.engine.budget import Price
from attunement.judges.families import hosted_at

_PROVIDERS = {"openai": "openai", "anthropic": "anthropic"}

_SAMPLE = 10_000
"""Tokens for which a price is asked: few enough for the lowest tier of lists with tiers."""


def price_of(judge: str, *, base_url: str | None = None) -> Price | None:
    """The price of a judge by its name, such as `openai:gpt-5.2`; None where the list does not have it.

    `base_url` finds the provider where it is not the one in the name. A model that runs on this machine costs nothing.
    """
    kind, _, model = judge.partition(":")
    if kind in {"local", "signals"}:
        return Price(0.0, 0.0, source="runs on this machine")
    if kind not in _PROVIDERS or (base_url and not hosted_at(base_url)):
        return None  # the list has services alone, and to load it takes longer than to open a study
    from genai_prices import Usage, calc_price
    from genai_prices.types import PriceCalculation

    def priced(usage: Usage) -> PriceCalculation:
        if base_url:
            return calc_price(usage, model, provider_api_url=base_url)
        return calc_price(usage, model, provider_id=_PROVIDERS[kind])

    samples = (
        Usage(input_tokens=_SAMPLE),
        Usage(output_tokens=_SAMPLE),
        Usage(input_tokens=_SAMPLE, cache_read_tokens=_SAMPLE),
        Usage(input_tokens=_SAMPLE, cache_write_tokens=_SAMPLE),
    )
    try:
        found = [priced(sample) for sample in samples]
    except LookupError:
        return None
    prices = (float(result.total_price) * 1e6 / _SAMPLE for result in found)
    return Price(*prices, source=_source(found[0].model.price_comments or ""))


def _source(comments: str) -> str:
    """Where the price comes from. The list says per model when it was looked at, in its remarks."""
    dates = sorted(re.findall(r"\b20\d\d-\d\d-\d\d\b", comments))
    checked = f"last checked {dates[-1]}" if dates else "date of the last check not stated"
    return f"genai-prices {version('genai-prices')}, {checked}"
