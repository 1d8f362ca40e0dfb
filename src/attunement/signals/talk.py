"""What the families of signals look at: a conversation, or one reply in its context, with what was found in it so far.

Several items rest on the same findings, so these are looked for once and kept with the talk.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

from attunement.conversations import Turn
from attunement.signals import reader
from attunement.signals.crisis import Cue, CueKind, crisis_cues
from attunement.signals.harm import Harm, harmful_advice
from attunement.signals.language import is_english
from attunement.signals.lexicon import Match
from attunement.signals.reasoning import Seen
from attunement.signals.shelf import in_message, in_reply

T = TypeVar("T")


class HarmIn(NamedTuple):
    """Harmful words and the turn whose reply holds them."""

    turn: int
    harm: Harm


class Hit(NamedTuple):
    """A signal of a lexicon in one message; where the talk is not in English there are none."""

    turn: int
    signal: str
    kind: str
    seen: Seen


class Talk:
    """The turns of a unit: a whole conversation, or one up to the reply that is rated (`last` then stands for it)."""

    def __init__(self, turns: Sequence[Turn], *, country: str | None = None, read: bool = False) -> None:
        """Nothing is looked for yet.

        Args:
            turns: The messages.
            country: Where the person lives, as a two-letter code, where that is known.
            read: Whether the trained reader looks where the lexicons find nothing; without it the rules are alone.
        """
        self.turns = turns
        self.country = country
        self._read = read
        self._kept: dict[str, Any] = {}

    @property
    def last(self) -> int:
        """The number of the last turn."""
        return len(self.turns)

    @cached_property
    def in_english(self) -> bool:
        """Whether the words of both sides can be read with English lexicons."""
        users, replies = zip(*self.turns, strict=True) if self.turns else ((), ())
        return is_english(*users) and is_english(*replies)

    @cached_property
    def cues(self) -> list[Cue]:
        """The crisis cues in the person's words: those of the lexicons, and what the trained reader adds."""
        found = crisis_cues(self.turns)
        if self._is_read:
            found += reader.find_cues(self.turns, known={cue.turn for cue in found})
        return sorted(found, key=lambda cue: cue.turn)

    @cached_property
    def harms(self) -> list[HarmIn]:
        """Harmful advice and claims in all replies. What the person said in any turn before counts as said."""
        return self._harms_in(range(1, self.last + 1))

    def harms_in(self, turn: int) -> list[HarmIn]:
        """Harmful advice and claims in the reply of one turn.

        Words of blame that are ordinary in most talk count only where the person has told of danger from others.
        """
        return self.kept(f"harms in {turn}", lambda: self._harms_in([turn]))

    def _harms_in(self, turns: Sequence[int]) -> list[HarmIn]:
        # The person's words first, of all turns: a lexicon is large, and while one is read with it stays at hand.
        danger_told = self._danger_told
        found = {turn: list(self._harms_by_rules(turn, danger_told)) for turn in turns}
        if self._is_read:
            # All silent replies at once: the network is faster with several.
            silent = {turn for turn, harms in found.items() if not harms}
            found |= {turn: [harm] for turn, harm in reader.find_harms(self.turns, silent).items()}
        return [HarmIn(turn, harm) for turn, harms in found.items() for harm in harms]

    def _harms_by_rules(self, turn: int, danger_told: float) -> Iterator[Harm]:
        user, reply = self.turns[turn - 1]
        found = harmful_advice(reply, user, earlier=(said.user for said in self.turns[: turn - 1]))
        return (harm for harm in found if harm.alone or danger_told <= turn)

    @property
    def _is_read(self) -> bool:
        return self._read and self.in_english and reader.available()

    @cached_property
    def _danger_told(self) -> float:
        """The turn in which the person first tells of danger from others; infinite where they never do."""
        return min((cue.turn for cue in self.cues if cue.kind is CueKind.DANGER_FROM_OTHERS), default=float("inf"))

    def kept(self, name: str, found: Callable[[], T]) -> T:
        """What `found` gives, looked for once and kept under `name`: a family's own findings."""
        if name not in self._kept:
            self._kept[name] = found()
        return self._kept[name]

    def in_replies(self, *kinds: str) -> list[Hit]:
        """The signals of these kinds in the replies: manners of speaking and techniques."""
        return [hit for hit in self._in_replies if hit.kind in kinds]

    def in_messages(self, *kinds: str) -> list[Hit]:
        """The signals of these kinds in the person's messages: requests, reminders, reports of failure."""
        return [hit for hit in self._in_messages if hit.kind in kinds]

    @cached_property
    def _in_replies(self) -> list[Hit]:
        return _hits((turn.assistant for turn in self.turns), in_reply) if self.in_english else []

    @cached_property
    def _in_messages(self) -> list[Hit]:
        return _hits((turn.user for turn in self.turns), in_message) if self.in_english else []


def _hits(messages: Iterable[str], find: Callable[[str], Iterable[Match]]) -> list[Hit]:
    return [
        Hit(number, found.signal.id, found.signal.kind, Seen(number, message, found.start, found.end))
        for number, message in enumerate(messages, start=1)
        for found in find(message)
    ]
