"""What a run has done so far; the command line shows it, a program can read it."""

from collections import Counter
from dataclasses import dataclass, field
from time import monotonic

from attunement.engine.budget import Price
from attunement.judges.base import Usage
from attunement.ratings import ErrorKind


@dataclass
class Progress:
    """Counts of a run in progress. Questions are calls; a question about five items is one."""

    conversations: int = 0  # conversations read
    judges: int = 1
    passes: int = 0  # conversations with nothing left to ask a judge, counted for each judge
    planned: int = 0  # questions found so far that the study had no answer to
    already_done: int = 0  # questions that the study had an outcome for before
    already_failed: int = 0  # those of them that had ended in an ERROR and were not asked again
    shared: int = 0  # questions answered without a call, because another conversation has the same words
    answered: int = 0
    calls: int = 0  # requests sent, including repairs, retries and those that found out what a server accepts
    errors: Counter[ErrorKind] = field(default_factory=Counter[ErrorKind])
    retries: Counter[ErrorKind] = field(default_factory=Counter[ErrorKind])
    unreached: int = 0  # questions that are waiting because their server cannot be reached
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    unpriced: int = 0  # answers of a model whose price is not known
    estimated: int = 0  # replies without the number of their tokens
    broken_off: int = 0  # calls that were broken off and may have cost as much as the longest reply
    reading: bool = True  # whether more conversations may come
    started: float = field(default_factory=monotonic)

    def spend(self, usage: Usage, price: Price | None) -> None:
        """Add the tokens of a call and their cost as soon as they are known: a question may need more calls."""
        self.prompt_tokens += usage.prompt
        self.cached_tokens += usage.cached
        self.completion_tokens += usage.completion
        self.cost += price.cost(usage) if price else 0.0

    @property
    def conversations_done(self) -> int:
        """Conversations with nothing left to ask any judge."""
        return self.passes // self.judges

    @property
    def done(self) -> int:
        """Questions that are finished, one way or the other."""
        return self.answered + self.shared + self.errors.total()

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return monotonic() - self.started

    @property
    def rate(self) -> float:
        """Questions finished per second."""
        return self.done / self.elapsed if self.elapsed else 0.0

    @property
    def seconds_left(self) -> float | None:
        """How long the rest may take, once everything has been read."""
        if self.reading or not self.done:
            return None
        return (self.planned - self.done) / self.rate
