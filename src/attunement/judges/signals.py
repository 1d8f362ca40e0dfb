"""`signals`: the embedded judge. Rules, counts and two small trained networks; no LLM, no key, no connection.

It reads the conversation itself and answers only what it validly can, with the words it rests on; everything else it
abstains from. What it can answer, and how, stands in `attunement.signals.judging`.
"""

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any

from attunement.conversations import Turn, Unit
from attunement.judges.protocol import Answer, Failure, Request
from attunement.judges.replies import Given
from attunement.questions import Question
from attunement.ratings import ErrorKind
from attunement.signals import judging
from attunement.signals.talk import Talk

NAME = "signals"

# A network takes some 20 ms for a few sentences, and other judges' answers must not wait for it. One thread: the items
# of a conversation rest on the same findings, which are looked for once.
_READING = ThreadPoolExecutor(1, NAME)


class SignalsJudge:
    """The embedded judge."""

    def __init__(self, name: str = NAME, *, reads: bool = True) -> None:
        """Find out which of the trained networks are there; nothing is loaded yet.

        Args:
            name: How the user names it.
            reads: Whether the trained reader looks for danger and harm where the rules find none. It takes many times
                as long as everything else.
        """
        self._name, self._reads = name, reads
        self._scorer, self._reader = judging.scorer_mark(), judging.reader_mark() if reads else ""

    @property
    def name(self) -> str:
        """How the user names it."""
        return self._name

    @property
    def settings(self) -> Mapping[str, Any]:
        """What its answers rest on: the rules with their lexicons, and the weights; empty where these are left out."""
        return {"rules": judging.rules_mark(), "scorer": self._scorer, "reader": self._reader}

    @property
    def refused(self) -> Mapping[str, str]:
        """Nothing: there is no server."""
        return {}

    async def read_unit(self, question: Question) -> Mapping[str, Given | None]:
        """The answers to the items of a question; None where it abstains."""
        hashes = question.questionnaire.instrument.item_hashes
        wanted = {item.id: hashes[item.id] for item in question.items}
        if any(judging.needs_network(hash, reads=self._reads) for hash in wanted.values()):
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(_READING, _answers, question.unit, wanted, self._reads)
        return _answers(question.unit, wanted, self._reads)

    async def ask(self, request: Request) -> Answer | Failure:
        """Fails: this judge reads conversations, not prompts."""
        return Failure(ErrorKind.REFUSED, "signals reads conversations themselves and cannot be asked with a prompt")

    async def close(self) -> None:
        """Let go of what was read; the judge can be used again."""
        _talk.cache_clear()


def _answers(unit: Unit, wanted: Mapping[str, str], reads: bool) -> dict[str, Given | None]:
    country = unit.conversation.metadata.get("country")
    talk = _talk(unit.turns, country if isinstance(country, str) else None, reads)
    found = {item: judging.decide(hash, talk) for item, hash in wanted.items()}
    return {item: answer and Given(answer.value, answer.reasoning) for item, answer in found.items()}


# The items of a conversation are asked one by one, with some two hundred conversations open at a time.
@lru_cache(maxsize=512)
def _talk(turns: tuple[Turn, ...], country: str | None, reads: bool) -> Talk:
    return Talk(turns, country=country, read=reads)
