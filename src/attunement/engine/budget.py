"""Prices, what has been spent, and whether another call may be made.

A call reserves its probable cost before it is made, so that calls under way together do not exceed the limit.
"""

import re
from importlib.metadata import version
from typing import NamedTuple

from attunement.judges.base import Answer, Failure, Usage, hosted_at
from attunement.ratings import ErrorKind

REPLY_TOKENS = 150  # an estimate: an answer with 300 characters of reasoning and its JSON


class Price(NamedTuple):
    """US dollars per million tokens."""

    prompt: float
    completion: float
    cached: float | None = None  # for prompt tokens that a prefix cache served; as `prompt` if it is not known
    written: float | None = None  # for prompt tokens that were written to a prefix cache; as `prompt` if not known
    source: str = ""

    def cost(self, usage: Usage) -> float:
        cached = self.prompt if self.cached is None else self.cached
        written = self.prompt if self.written is None else self.written
        fresh = usage.prompt - usage.cached - usage.written
        prompt = fresh * self.prompt + usage.cached * cached + usage.written * written
        return (prompt + usage.completion * self.completion) / 1e6


class Budget:
    """The limits of a run and of its study, shared by all judges. `before` is what the study has cost already."""

    def __init__(
        self,
        *,
        max_calls: int | None = None,
        max_cost: float | None = None,
        max_study_cost: float | None = None,
        before: float = 0.0,
    ) -> None:
        self.max_calls, self.max_cost = max_calls, max_cost
        self.max_study_cost, self.before = max_study_cost, before
        self.calls = 0
        self.spent = 0.0
        self.reserved = 0.0
        self.longest_reply = 0.0  # tokens of an average reply of the judge that writes most


class Size(NamedTuple):
    """How large a call will be."""

    prompt: int  # tokens, about
    items: int


class JudgeBudget:
    """One judge's access to the budget, at its price."""

    def __init__(self, budget: Budget, price: Price | None) -> None:
        self.budget, self.price = budget, price
        self._answers = 0
        self._reply_tokens = 0

    def reserve(self, size: Size) -> float | Failure:
        """Reserve a call and return its probable cost, or say which limit forbids it."""
        if refused := self.refusal(size):
            return refused
        cost = self._probable_cost(size)
        self.budget.calls += 1
        self.budget.reserved += cost
        return cost

    def refusal(self, size: Size) -> Failure | None:
        """Which limit forbids a call now, if any."""
        budget = self.budget
        if budget.max_calls is not None and budget.calls >= budget.max_calls:
            return Failure(ErrorKind.SKIPPED, f"not asked: the limit of {budget.max_calls} calls was reached")
        cost = budget.spent + budget.reserved + self._probable_cost(size)
        if budget.max_cost is not None and cost > budget.max_cost:
            return Failure(ErrorKind.BUDGET, f"not asked: the limit of ${budget.max_cost:.2f} was reached")
        if budget.max_study_cost is not None and budget.before + cost > budget.max_study_cost:
            limit = f"the limit of ${budget.max_study_cost:.2f} for the whole study"
            return Failure(ErrorKind.BUDGET, f"not asked: {limit} was reached")
        return None

    def settle(self, reserved: float, reply: Answer | Failure | None, usage: Usage) -> None:
        """Replace what was reserved by what the call cost; `reply` is None for a call that was cancelled."""
        self.budget.reserved -= reserved
        self.budget.calls += reply.requests - 1 if reply else 0
        self.budget.spent += self.price.cost(usage) if self.price else 0.0
        if isinstance(reply, Answer):
            self._answers += 1
            self._reply_tokens += usage.completion
            self.budget.longest_reply = max(self.budget.longest_reply, self._reply_tokens / self._answers)

    def _probable_cost(self, size: Size) -> float:
        if self.price is None:
            return 0.0
        # A model that thinks before it answers writes far more than the answer. The replies so far show how much; at
        # first, those of the other judges.
        usual = self._reply_tokens / self._answers if self._answers else self.budget.longest_reply
        return self.price.cost(Usage(size.prompt, max(REPLY_TOKENS * size.items, int(usual))))


def estimated_usage(answer: Answer, size: Size) -> Usage:
    """The tokens of a call whose reply does not say them, at about four characters a token."""
    usage = answer.usage
    return usage._replace(
        prompt=usage.prompt or max(size.prompt, 1), completion=usage.completion or len(answer.text) // 4 + 1
    )


_SAMPLE = 10_000
"""Tokens for which prices are looked up: few enough for the lowest tier of price lists with tiers."""


def price_of(judge: str, *, base_url: str | None = None) -> Price | None:
    """The price of a judge by its name, such as `openai:gpt-5.2`; None if the list does not have it.

    `base_url` tells the provider if it is not the one in the name. A model that runs on this machine costs nothing.
    """
    kind, _, model = judge.partition(":")
    if kind in {"local", "signals"}:
        return Price(0.0, 0.0, source="runs on this machine")
    if kind not in {"openai", "anthropic"} or (base_url and not hosted_at(base_url)):
        return None  # the list has only services, and loading it takes longer than opening a study
    from genai_prices import Usage, calc_price

    samples = (
        Usage(input_tokens=_SAMPLE),
        Usage(output_tokens=_SAMPLE),
        Usage(input_tokens=_SAMPLE, cache_read_tokens=_SAMPLE),
        Usage(input_tokens=_SAMPLE, cache_write_tokens=_SAMPLE),
    )
    try:
        if base_url:
            found = [calc_price(sample, model, provider_api_url=base_url) for sample in samples]
        else:
            found = [calc_price(sample, model, provider_id=kind) for sample in samples]
    except LookupError:
        return None
    prices = (float(result.total_price) * 1e6 / _SAMPLE for result in found)
    # The list says for each model when its price was checked, in a comment.
    dates = sorted(re.findall(r"\b20\d\d-\d\d-\d\d\b", found[0].model.price_comments or ""))
    checked = f"last checked {dates[-1]}" if dates else "date of the last check not stated"
    return Price(*prices, source=f"genai-prices {version('genai-prices')}, {checked}")
