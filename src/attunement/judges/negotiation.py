"""What does a server accept?

A request starts with everything we would like: a schema with a limit of length, a temperature, a seed, logprobs. Each
of these is a lever with weaker and weaker settings. A server that refuses one gets the next weaker, and that is
remembered. Levers only ever go one way, so requests that are refused at the same time concede the same thing once.
Once the server has answered with the present terms its words are doubted: an error may quote a conversation that
speaks of a temperature. But a router may really refuse later what another provider behind it took before.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Terms(NamedTuple):
    """How far each lever has been moved; 0 is what we want most. What was never wanted stays at 0 and is not sent."""

    reply_format: int = 0
    limit: int = 0
    temperature: int = 0
    seed: int = 0
    logprobs: int = 0
    system: int = 0

    def level(self, lever: str) -> int:
        """How far the lever of this name has been moved."""
        return getattr(self, lever)

    def moved(self, lever: str, level: int) -> "Terms":
        """These terms with one lever at another level."""
        return self._replace(**{lever: level})


class Setting(NamedTuple):
    """One setting of a lever."""

    does: str
    """What happens at this setting, in words for people."""
    named: str = ""
    """A pattern for how a server names what it refuses at this setting; empty where nothing can be refused."""


class Lever(NamedTuple):
    """Something that a server may refuse, with its settings from the wanted to the weakest."""

    shown: str
    """Its name, as users know it."""
    settings: Sequence[Setting]
    harmless: bool = False
    """Whether replies are the same at all its settings. Then nothing is lost if it is conceded in error."""


_MOST_EXOTIC_FIRST = (
    "logprobs",
    "reply_format",
    "seed",
    "reply_format",
    "limit",
    "temperature",
    "reply_format",
    "limit",
    "system",
)
"""The order in which levers are tried when a server does not say what it refuses."""

_SUSPICIOUS = 3
"""So many questions in a row make a doubted refusal worth a trial: one or two may be odd, and each of them is lost."""


class Negotiation:
    """What is known about a server. `terms` is what the next request should use."""

    def __init__(self, levers: Mapping[str, Lever]) -> None:
        """`levers` by their name in Terms: those that this judge uses."""
        self.terms = Terms()
        self.answered = False
        """Whether any question was ever answered."""
        self._levers = levers
        self._accepted: Terms | None = None
        self._doubted: dict[str, set[int]] = {}
        """Questions that were refused in words that name a lever, since the last answer with the present terms."""

    @property
    def refused(self) -> dict[str, str]:
        """What the server did not accept, and what is done instead."""
        moved = ((lever, self.terms.level(name)) for name, lever in self._levers.items())
        return {lever.shown: lever.settings[level].does for lever, level in moved if level}

    @property
    def settled(self) -> bool:
        """Whether a request with the present terms was answered."""
        return self._accepted == self.terms

    def accept(self, terms: Terms) -> None:
        """A request with `terms` was answered."""
        self.answered = True
        if terms == self.terms:
            self._accepted = terms
            self._doubted.clear()

    def concede(self, terms: Terms, words: str) -> Terms | None:
        """The terms to go on with after a request with `terms` was refused in these words; None if they name nothing.

        `words` are in lower case. If another request was refused the same thing first, its concession is used. Words
        are not enough where the present terms were answered before, unless nothing is lost by it: see `suspected`.
        """
        name = self._named(terms, words)
        if name is None:
            return None
        conceded = self.terms.level(name) > terms.level(name)
        if self.settled and not conceded and not self._levers[name].harmless:
            return None
        return self.move(name, terms.level(name) + 1)

    def suspected(self, terms: Terms, words: str, question: int) -> list[tuple[str, Terms]]:
        """The step to try after `question` was refused in these words, although `terms` were answered before.

        There is one only when several different questions in a row were refused in words that name the same lever.
        """
        name = self._named(terms, words)
        if name is None:
            return []
        questions = self._doubted.setdefault(name, set())
        questions.add(question)
        if len(questions) < _SUSPICIOUS:
            return []
        del self._doubted[name]
        return [(name, terms.moved(name, terms.level(name) + 1))]

    def _named(self, terms: Terms, words: str) -> str | None:
        """The lever that is refused in these words."""
        for name, lever in self._levers.items():
            named = lever.settings[terms.level(name)].named
            if named and re.search(named, words):
                return name
        return None

    def move(self, name: str, level: int) -> Terms:
        """Move a lever to `level`, never back, and give the terms that now hold."""
        self.terms = self.terms.moved(name, max(level, self.terms.level(name)))
        return self.terms

    def weaker(self, terms: Terms) -> list[tuple[str, Terms]]:
        """Weaker and weaker terms, each with the lever that was moved last, to find out what is refused silently."""
        steps: list[tuple[str, Terms]] = []
        for name in _MOST_EXOTIC_FIRST:
            if name in self._levers and terms.level(name) + 1 < len(self._levers[name].settings):
                terms = terms.moved(name, terms.level(name) + 1)
                steps.append((name, terms))
        return steps
