"""Prices, what has been spent, and whether another call may be made.

A call reserves what it will probably cost before it is made, so that calls under way together do not pass the limit
one by one.
"""

import re
from importlib.metadata import version
from typing import NamedTuple

from attunement.judges.base import Answer, Failure, Usage, hosted_at
from attunement.ratings import ErrorKind

REPLY_TOKENS = 150
"""An answer of 300 characters of reasoning with its JSON, for estimates before it is there."""


class Price(NamedTuple):
    """US dollars a million tokens."""

    prompt: float
    completion: float
    cached: float | None = None
    """For prompt tokens that a prefix cache served; as `prompt` where it is not known."""
    written: float | None = None
    """For prompt tokens that were written to a prefix cache; as `prompt` where it is not known."""
    source: str = ""

    def cost(self, usage: Usage) -> float:
        """What these tokens cost."""
        cached = self.prompt if self.cached is None else self.cached
        written = self.prompt if self.written is None else self.written
        fresh = usage.prompt - usage.cached - usage.written
        prompt = fresh * self.prompt + usage.cached * cached + usage.written * written
        return (prompt + usage.completion * self.completion) / 1e6


class Budget:
    """The limits of a run, shared by all its judges."""

    def __init__(self, *, max_calls: int | None = None, max_cost: float | None = None) -> None:
        """No limit where None."""
        self.max_calls, self.max_cost = max_calls, max_cost
        self.calls = 0
        self.spent = 0.0
        self.reserved = 0.0
        self.longest = 0.0
        """Tokens of a usual reply of the judge that writes most."""


class Size(NamedTuple):
    """How large a call will be: the tokens of its prompt, about, and how many items are asked."""

    prompt: int
    items: int


class JudgeBudget:
    """One judge's access to the budget, at its price."""

    def __init__(self, budget: Budget, price: Price | None) -> None:
        """`price` is None where it is not known."""
        self.budget, self.price = budget, price
        self._answers = 0
        self._reply_tokens = 0

    def take(self, size: Size) -> float | Failure:
        """Reserve a call and say how much was reserved, or say which limit forbids it."""
        if refused := self.refusal(size):
            return refused
        reserve = self._reserve(size)
        self.budget.calls += 1
        self.budget.reserved += reserve
        return reserve

    def refusal(self, size: Size) -> Failure | None:
        """Which limit forbids a call now, if one does."""
        budget = self.budget
        if budget.max_calls is not None and budget.calls >= budget.max_calls:
            return Failure(ErrorKind.SKIPPED, f"not asked: the limit of {budget.max_calls} calls was reached")
        if budget.max_cost is not None and budget.spent + budget.reserved + self._reserve(size) > budget.max_cost:
            return Failure(ErrorKind.BUDGET, f"not asked: the limit of ${budget.max_cost:.2f} was reached")
        return None

    def settle(self, reserved: float, reply: Answer | Failure | None) -> None:
        """Replace what was reserved by what the call cost; None for a call that was broken off."""
        self.budget.reserved -= reserved
        self.budget.calls += reply.requests - 1 if reply else 0
        if isinstance(reply, Answer):
            self._answers += 1
            self._reply_tokens += reply.usage.completion
            self.budget.longest = max(self.budget.longest, self._reply_tokens / self._answers)
            self.budget.spent += self.price.cost(reply.usage) if self.price else 0.0

    def _reserve(self, size: Size) -> float:
        if self.price is None:
            return 0.0
        # A model that thinks before it answers writes far more than the answer; the replies so far tell, at first those
        # of the other judges.
        usual = self._reply_tokens / self._answers if self._answers else self.budget.longest
        return self.price.cost(Usage(size.prompt, max(REPLY_TOKENS * size.items, int(usual))))


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
