"""What a service refuses: which parameters are left out or sent differently after it did not accept them.

A request starts with everything we would like: a schema with a length limit, a temperature, a seed, logprobs. Each of
these parameters has weaker and weaker variants. When a service refuses one, the next weaker variant is used and
remembered. Levels only go up, so requests that are refused at the same time change the same thing once.

Once the service has answered at the current levels, its words are doubted: an error may quote a conversation that
mentions a temperature. But a router may really refuse later what another provider behind it accepted before.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Levels(NamedTuple):
    """Which variant of each parameter is used; 0 is what we want most. Parameters that nobody asked for stay at 0."""

    reply_format: int = 0
    limit: int = 0
    temperature: int = 0
    seed: int = 0
    logprobs: int = 0
    system: int = 0

    def of(self, name: str) -> int:
        return getattr(self, name)


class Variant(NamedTuple):
    """One way to send a parameter."""

    description: str  # what is done, for people
    pattern: str = ""  # how a service names what it refuses; empty if nothing here can be refused


class Parameter(NamedTuple):
    """Something that a service may refuse, with its variants from the wanted one to the weakest."""

    label: str  # its name as users know it
    variants: Sequence[Variant]
    harmless: bool = False  # whether replies are the same with all variants, so that nothing is lost by a mistake


# The order in which parameters are tried when a service does not say what it refuses: the most exotic first.
_SEARCH_ORDER = (
    "logprobs", "reply_format", "seed", "reply_format", "limit", "temperature", "reply_format", "limit", "system",
)  # fmt: skip

_SUSPICIOUS = 3
"""So many different questions in a row make a doubted refusal worth a test: one or two may be odd, and each is lost."""


class Fallbacks:
    """What is known about a service. The next request should use `levels`."""

    def __init__(self, parameters: Mapping[str, Parameter], levels: Levels) -> None:
        """`parameters` by their names in Levels: those that this judge uses. `levels` are where to start."""
        self.levels = levels
        self.answered = False  # whether any question was ever answered
        self._parameters = parameters
        self._accepted: Levels | None = None
        # Questions that were refused in words that name a parameter, since the last answer at the current levels.
        self._doubted: dict[str, set[int]] = {}

    @property
    def refused(self) -> dict[str, str]:
        """What the service did not accept, and what is done instead."""
        levels = ((parameter, self.levels.of(name)) for name, parameter in self._parameters.items())
        return {parameter.label: parameter.variants[level].description for parameter, level in levels if level}

    @property
    def settled(self) -> bool:
        """Whether a request at the current levels was answered."""
        return self._accepted == self.levels

    def accept(self, levels: Levels) -> None:
        """Record that a request at `levels` was answered."""
        self.answered = True
        if levels == self.levels:
            self._accepted = levels
            self._doubted.clear()

    def refuse(self, levels: Levels, words: str) -> bool:
        """Use a weaker variant of what `words`, in lower case, name as refused at `levels`; False if they name nothing.

        If another request was refused the same first, that counts. Words are not enough if the current levels were
        answered before, unless nothing is lost by it: see `suspected`.
        """
        name = self._named(levels, words)
        if name is None:
            return False
        level = levels.of(name)
        if self.settled and self.levels.of(name) <= level and not self._parameters[name].harmless:
            return False
        self.raise_to(name, level + 1)
        return True

    def suspected(self, levels: Levels, words: str, question: int) -> list[tuple[str, Levels]]:
        """The step to test after `question` was refused in these words although `levels` were answered before.

        There is one only if several different questions in a row were refused in words that name the same parameter.
        """
        name = self._named(levels, words)
        if name is None:
            return []
        questions = self._doubted.setdefault(name, set())
        questions.add(question)
        if len(questions) < _SUSPICIOUS:
            return []
        del self._doubted[name]
        return [(name, levels._replace(**{name: levels.of(name) + 1}))]

    def steps(self, levels: Levels) -> list[tuple[str, Levels]]:
        """Higher and higher levels, each with the parameter that changed, to find out what is refused silently."""
        steps: list[tuple[str, Levels]] = []
        for name in _SEARCH_ORDER:
            if name in self._parameters and levels.of(name) + 1 < len(self._parameters[name].variants):
                levels = levels._replace(**{name: levels.of(name) + 1})
                steps.append((name, levels))
        return steps

    def raise_to(self, name: str, level: int) -> None:
        """Raise the level of a parameter; it never goes down."""
        self.levels = self.levels._replace(**{name: max(level, self.levels.of(name))})

    def _named(self, levels: Levels, words: str) -> str | None:
        """The parameter that is refused in these words."""
        for name, parameter in self._parameters.items():
            pattern = parameter.variants[levels.of(name)].pattern
            if pattern and re.search(pattern, words):
                return name
        return None
