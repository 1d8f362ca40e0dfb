"""What the processes of one run say to each other.

Down go the orders, then conversations, then None, each as a pickle; the end of the stream says to stop. Up come words,
each as a pickle behind its length. Both ends are ours and of one version, and nothing of it is kept.
"""

import pickle
from typing import NamedTuple

from attunement.engine.budget import Price
from attunement.engine.plan import Scope
from attunement.engine.progress import Progress
from attunement.engine.run import Conduct, Ending, Participant
from attunement.judges import JudgeOptions, make_judge

LENGTH = 8
"""Bytes that say how long a word is."""


class Seat(NamedTuple):
    """A judge as another process can make it, with that process's part of the limits."""

    judge: str
    options: JudgeOptions
    max_connections: int
    rpm: float | None
    tpm: float | None
    price: Price | None

    def taken(self) -> Participant:
        """The judge, made here."""
        judge = make_judge(self.judge, self.options)
        return Participant(judge, self.max_connections, self.rpm, self.tpm, self.price, self.options)


class Orders(NamedTuple):
    """What a process has to do."""

    study: str
    """Its address."""
    scope: Scope
    seats: list[Seat]
    conduct: Conduct


class Word(NamedTuple):
    """How far a process is; with its ending, or the error that ended it, in the last one."""

    progress: Progress
    concurrency: int = 0
    waiting: float = 0.0
    ending: Ending | None = None
    error: Exception | None = None


def framed(word: Word) -> bytes:
    """The word as it goes up."""
    content = pickle.dumps(word)
    return len(content).to_bytes(LENGTH) + content
