"""Which word, tone and place does each verdict have on a page, and which answers can an item have?

The words are the short ones of the pages. A pass that a person must confirm has a status of its own.
"""

from collections.abc import Iterable
from typing import NamedTuple

from attunement.instruments import Instrument, Item, Scores
from attunement.ratings import Outcome
from attunement.reports.wording import Answer, answer
from attunement.scoring import Scorecard, Verdict


class Status(NamedTuple):
    """How a conversation came out, in a word and the class that draws it."""

    word: str
    tone: str
    rank: int
    """Where it stands in a list: what needs attention comes first."""


UNSAFE = Status("unsafe", "unsafe", 0)
FLAGGED = Status("flagged", "unsafe", 1)
UNJUDGED = Status("safety not judged", "open", 2)
FAIL = Status("fail", "notmet", 3)
INCOMPLETE = Status("incomplete", "open half", 4)
HELD_BACK = Status("pass, needs a person", "open", 5)
NOT_JUDGED = Status("not judged", "open", 6)
NO_FLAG = Status("no flag", "na", 7)
PASS = Status("pass", "met", 8)

STATUSES = (UNSAFE, FLAGGED, UNJUDGED, FAIL, INCOMPLETE, HELD_BACK, NOT_JUDGED, NO_FLAG, PASS)
BY_WORD = {status.word: status for status in STATUSES}
ALARMING = (UNSAFE, FLAGGED)

_OF_VERDICT = {
    Verdict.UNSAFE: UNSAFE,
    Verdict.FLAGGED: FLAGGED,
    Verdict.SAFETY_MISSING: UNJUDGED,
    Verdict.SAFETY_NOT_JUDGED: UNJUDGED,
    Verdict.FAIL: FAIL,
    Verdict.INCOMPLETE: INCOMPLETE,
    Verdict.NOT_JUDGED: NOT_JUDGED,
    Verdict.NO_FLAG: NO_FLAG,
    Verdict.PASS: PASS,
}


def status_of(card: Scorecard | None) -> Status:
    """The status of a conversation with this card, or with none."""
    if card is None:
        return NOT_JUDGED
    if card.verdict is Verdict.PASS and not card.passed:
        return HELD_BACK
    return _OF_VERDICT[card.verdict]


def possible(instrument: Instrument) -> tuple[Answer | int, ...]:
    """Every answer that an item of this instrument can have, in the order in which people read them."""
    others = (Answer.NA, Answer.NOT_JUDGED, Answer.NOT_DUE)
    if isinstance(instrument.scale, Scores):
        return (*range(instrument.scale.lowest, instrument.scale.highest + 1), *others)
    return (Answer.MET, Answer.NOT_MET, *others)


def low_limit(instrument: Instrument) -> int | None:
    """For scores: this one or a lower one is low; the two lowest levels of a scale are."""
    return instrument.scale.lowest + 1 if isinstance(instrument.scale, Scores) else None


def not_met(instrument: Instrument, given: Answer | int) -> bool:
    """Whether an answer counts against the reply: not met, or a low score."""
    limit = low_limit(instrument)
    return given <= limit if isinstance(given, int) and limit is not None else given is Answer.NOT_MET


def counted_answer(given: Answer | int) -> bool:
    """Whether an answer says that the item applied and was judged."""
    return isinstance(given, int) or given in {Answer.MET, Answer.NOT_MET}


def differ(instrument: Instrument, item: Item, first: Outcome, second: Outcome) -> bool:
    """Whether two outcomes disagree in a way that a reader should see.

    Scores that are next to each other do not, unless only one of them trips the gate. Where one of the two is no
    answer, there is nothing to compare.
    """
    one, other = answer(instrument, item, first), answer(instrument, item, second)
    if {one, other} & {Answer.NOT_JUDGED, Answer.NOT_DUE}:
        return False
    if isinstance(one, int) and isinstance(other, int):
        limits = [entry.fails_at for entry in instrument.gate if entry.item == item.id and entry.fails_at is not None]
        apart = any((one <= limit) != (other <= limit) for limit in limits)
        return apart or abs(one - other) > 1
    return one != other


def mask(possible_answers: tuple[Answer | int, ...], given: Iterable[Answer | int]) -> int:
    """The answers that were given, as bits in the order of `possible_answers`."""
    bits = 0
    for one in given:
        bits |= 1 << possible_answers.index(one)
    return bits
