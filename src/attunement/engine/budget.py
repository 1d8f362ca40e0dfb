"""May another call be made, and what has been spent?

A call reserves what it will probably cost before it is made, so that calls under way together do not pass the limit
one by one.
"""

from typing import NamedTuple

from attunement.judges.protocol import Answer, Failure, Usage
from attunement.ratings import ErrorKind

REPLY_TOKENS = 150
"""A reply of 300 characters of reasoning with its JSON, for estimates before it is there."""


class Price(NamedTuple):
    """US dollars a million tokens."""

    prompt: float
    completion: float
    cached: float | None = None
    """For prompt tokens that a prefix cache served; as `prompt` where it is not known."""
    source: str = ""

    def cost(self, usage: Usage) -> float:
        """What these tokens cost."""
        cached = self.prompt if self.cached is None else self.cached
        fresh = usage.prompt - usage.cached
        return (fresh * self.prompt + usage.cached * cached + usage.completion * self.completion) / 1e6


class Budget:
    """The limits of a run, shared by all its judges."""

    def __init__(self, *, max_calls: int | None = None, max_cost: float | None = None) -> None:
        """No limit where None."""
        self.max_calls, self.max_cost = max_calls, max_cost
        self.calls = 0
        self.spent = 0.0
        self.reserved = 0.0


class Purse(NamedTuple):
    """One judge's access to the budget, at its price."""

    budget: Budget
    price: Price | None

    def take(self, tokens: int) -> Failure | None:
        """Reserve a call with a prompt of about `tokens` tokens, or say which limit forbids it."""
        budget = self.budget
        if budget.max_calls is not None and budget.calls >= budget.max_calls:
            return Failure(ErrorKind.SKIPPED, f"not asked: the limit of {budget.max_calls} calls was reached")
        reserve = self._reserve(tokens)
        if budget.max_cost is not None and budget.spent + budget.reserved + reserve > budget.max_cost:
            return Failure(ErrorKind.BUDGET, f"not asked: the limit of ${budget.max_cost:.2f} was reached")
        budget.calls += 1
        budget.reserved += reserve
        return None

    def settle(self, tokens: int, reply: Answer | Failure) -> None:
        """Replace what was reserved by what the call cost."""
        self.budget.reserved -= self._reserve(tokens)
        if self.price and isinstance(reply, Answer):
            self.budget.spent += self.price.cost(reply.usage)

    def _reserve(self, tokens: int) -> float:
        return self.price.cost(Usage(tokens, REPLY_TOKENS)) if self.price else 0.0
