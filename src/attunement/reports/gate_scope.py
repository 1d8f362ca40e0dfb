"""What does the gate look at, and what do its conversations not show?

What was never tested, and how much a count of zero still allows, is said with every decision.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from attunement.errors import StudyError
from attunement.instruments import Instrument
from attunement.ratings import RaterKind, State
from attunement.reports.gate import Decision, Entry
from attunement.reports.tally import Tally
from attunement.reports.wording import Answer, counted, score_words
from attunement.signals.crisis import crisis_cues
from attunement.study import Judged, Study, judged
from attunement.study.reviews import Review, held, reviews

FEW = 20
"""Below this many conversations, none unsafe still allows one in seven."""

_DOUBT = 0.05
"""One minus the confidence of the one-sided bound."""


def entries(
    study: Study, instrument: Instrument, rater: str | None = None, *, with_reviews: bool = False
) -> Iterator[Entry]:
    """Every conversation of the study with the scorecard that decides, or that of `rater`.

    With reviews each also holds what reviewers said about it, as far as that still holds.
    """
    if rater is not None:
        kind = next(known.kind for known in study.raters() if known.name == rater)
        if kind is RaterKind.SIMULATION:
            raise StudyError(f"{rater} is a simulation: the gate decides on ratings by judges and people only")
    said = reviews(study, instrument) if with_reviews else {}
    return (
        _entry(found, instrument, said.get(found.conversation.key, ()))
        for found in judged(study, instrument, rater=rater)
    )


def _entry(found: Judged, instrument: Instrument, said: Sequence[Review]) -> Entry:
    cards = found.cards.deciders
    by = frozenset((card.rater, card.repeat or 0) for card in cards)
    spoke = {card.rater for card in cards if any(one.state is not State.ERROR for one in card.outcomes.values())}
    silent = frozenset(card.rater for card in cards) - spoke
    card = found.deciding
    return Entry(found.conversation.identity, card, by, held(instrument, card, said), silent, found.cards)


class CrisisTalk(NamedTuple):
    """In how many of the conversations the person speaks of suicide or self-harm."""

    found: int
    conversations: int


def crisis_talk(study: Study) -> CrisisTalk:
    """Look for crisis talk in every conversation of the study."""
    found = total = 0
    for kept in study.conversations():
        total += 1
        found += bool(crisis_cues(kept.conversation.turns))
    return CrisisTalk(found, total)


def caveats(instrument: Instrument, decision: Decision, crisis: CrisisTalk) -> list[str]:
    """What the decision does not rest on, one sentence each."""
    notes = [
        f"Crisis handling: {crisis.found:,} of {counted(crisis.conversations, 'conversation')} "
        "contain talk of suicide or self-harm that the rule check finds"
        f"{'' if crisis.found else '; it misses veiled talk, so whether this was tested is not known'}."
    ]
    notes += decision.rule_check.sentences()
    tally = decision.tally
    notes += _never_answered(instrument, tally)
    known = tally.safety_judged
    if not instrument.gate:
        notes.append("Safety was not tested: the instrument has no safety items.")
    elif known and not tally.unsafe:
        notes.append(
            f"No unsafe conversation in {known:,} still allows up to {100 * most_unseen(known):.2g} %, "
            f"one-sided {100 * (1 - _DOUBT):.0f} %."
        )
    if tally.conversations < FEW:
        notes.append(f"{counted(tally.conversations, 'conversation')} can show little; {FEW} or more say something.")
    return notes


def version_note(study: Study, instrument: Instrument) -> list[str]:
    """That the study holds other versions of the instrument, and which of them this is; nothing where it does not."""
    others = [kept.hash for kept in study.instruments() if kept.id == instrument.id and kept.hash != instrument.hash]
    if not others:
        return []
    mark = instrument.scoring.threshold
    passing = "" if mark is None else f", with the pass mark {score_words(mark)}"
    number = counted(len(others), "other version")
    return [
        f"The study holds {number} of {instrument.id}, worded or scored otherwise. This rests on {instrument.hash[:12]}"
        f"{passing}; --instrument {others[-1]} is another."
    ]


def most_unseen(number: int) -> float:
    """The highest rate that is still compatible with none in `number`: one-sided, with 95 % confidence."""
    return 1 - _DOUBT ** (1 / number)


def _never_answered(instrument: Instrument, tally: Tally) -> Iterator[str]:
    """Items that no conversation put to the test."""
    idle: list[str] = []
    unjudged: list[str] = []
    for item in instrument.items:
        count = tally.answers.get(item.id)
        if not count or any(given not in _UNTESTED for given in count):
            continue
        (unjudged if count[Answer.NOT_JUDGED] else idle).append(f"{item.id} ({item.title})")
    if idle:
        yield f"Not tested, because no conversation applied or was long enough: {'; '.join(idle)}."
    if unjudged:
        yield f"Not judged in any conversation: {'; '.join(unjudged)}."


_UNTESTED = frozenset({Answer.NA, Answer.NOT_JUDGED, Answer.NOT_DUE})
