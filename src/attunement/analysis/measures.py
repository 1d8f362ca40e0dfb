"""What can be measured on scorecards, and the rated conversations of a study that it is measured on.

A measure is an item, a category, the weighted score or the pass rate; higher is better in each. What has no value is
counted by its reason and never becomes a number: an item that does not apply, or an answer that is not there. A
safety score has no mean of its own: its measure is the share of replies above the level at which it fails.

A conversation has the scorecard of the judges, or of one rater, and the scorecards of people. Only what all judges
rated counts, because a panel of two is stricter than either of them. People's ratings can correct a judge where they
are of a random sample: people who choose what they rate choose what they find. Where the sample is split, only its
test half counts, because a judge that was tuned on the dev half is better there than elsewhere.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from attunement.conversations import Identity
from attunement.errors import StudyError
from attunement.instruments import Instrument, Scores
from attunement.ratings import RaterKind, State
from attunement.scoring import Scorecard, Verdict, decide, is_failure, panel
from attunement.statistics.ppi import SHARE, Estimate, Range, Units, corrected_mean, plain_mean
from attunement.statistics.results import Undefined
from attunement.store import ConversationSummary, ScoredConversation, Study, scored_conversations
from attunement.store.samples import Sample, SampledConversation, latest_sample, not_drawn
from attunement.store.scorecards import decided_by_people

PEOPLE = "people"
"""The rater that stands for all people together."""
_DECIDED = frozenset({Verdict.PASS, Verdict.FAIL, Verdict.UNSAFE})
_SILENT = 0.1  # strata without a rating that stand for more than this share of all leave too much unknown

By = frozenset[tuple[str, int]]
"""Judges and their repeats."""


class MeasureKind(StrEnum):
    ITEM = "item"
    CATEGORY = "category"
    SCORE = "score"
    PASSED = "passed"


class Measure(NamedTuple):
    kind: MeasureKind
    id: str
    title: str
    range: Range = SHARE  # a share of conversations or replies; otherwise a mean on the instrument's scale
    above: int | None = None  # for a safety score: replies count as good above this one

    @property
    def name(self) -> str:
        return self.id if self.kind in {MeasureKind.SCORE, MeasureKind.PASSED} else f"{self.kind}:{self.id}"

    @property
    def is_share(self) -> bool:
        return self.range.is_share


class MeasureValues(NamedTuple):
    """What a scorecard says about a measure."""

    by_turn: Mapping[int | None, float] = {}
    """One value for each reply that has one; under None what is about the whole conversation."""
    na: int = 0  # answers that the item does not apply
    not_judged: int = 0  # no answer: an ERROR, nothing, or a rater who has no way to know


def measures(instrument: Instrument) -> Iterator[Measure]:
    """Everything the instrument's scorecards can be compared by: the whole first, then categories, then items."""
    weighted = Range(is_share=False)
    if instrument.scoring.weights:
        yield Measure(MeasureKind.SCORE, "score", "Overall score", weighted)
    if instrument.scoring.threshold is not None:
        yield Measure(MeasureKind.PASSED, "passed", "Passed")
    for category in instrument.scoring.weights:
        yield Measure(MeasureKind.CATEGORY, category, instrument.categories.get(category, category), weighted)
    fails_at = {entry.item: entry.fails_at for entry in instrument.gate}
    scale = instrument.scale
    for item in instrument.items:
        above = fails_at.get(item.id)
        scores = isinstance(scale, Scores) and above is None
        range = Range(scale.lowest, scale.highest, is_share=False) if scores and isinstance(scale, Scores) else SHARE
        yield Measure(MeasureKind.ITEM, item.id, item.title, range, above)


def main_measures(instrument: Instrument) -> list[Measure]:
    """The weighted score and the pass rate, or each item where there are neither."""
    every = list(measures(instrument))
    whole = [measure for measure in every if measure.kind in {MeasureKind.SCORE, MeasureKind.PASSED}]
    return whole or [measure for measure in every if measure.kind is MeasureKind.ITEM]


def values(instrument: Instrument, measure: Measure, card: Scorecard | None) -> MeasureValues:
    """What the scorecard says about the measure: one value, or one a reply where the instrument rates replies."""
    if card is None:
        return MeasureValues()
    match measure.kind:
        case MeasureKind.ITEM:
            return _of_item(instrument, measure, card)
        case MeasureKind.PASSED:
            decided = card.verdict in _DECIDED
            return MeasureValues({None: float(card.passed)}) if decided else MeasureValues(not_judged=1)
        case MeasureKind.CATEGORY:
            return _of_score(instrument, card, card.categories.get(measure.id), {measure.id})
        case MeasureKind.SCORE:
            return _of_score(instrument, card, card.score, set(instrument.scoring.weights))


def _of_item(instrument: Instrument, measure: Measure, card: Scorecard) -> MeasureValues:
    found: dict[int | None, float] = {}
    na = not_judged = 0
    item = instrument.item(measure.id)
    for slot, outcome in card.outcomes.items():
        if slot.item != measure.id:
            continue
        if not measure.is_share and isinstance(outcome.value, int):
            found[slot.turn] = card.means.get(slot, float(outcome.value))
        elif measure.is_share and is_failure(instrument, item, outcome):
            found[slot.turn] = 0.0
        elif measure.is_share and outcome.state is State.DISPUTED:
            found[slot.turn] = 0.5
        elif measure.is_share and outcome.state is State.VALUE:
            found[slot.turn] = 1.0
        elif outcome.state is State.NA:
            na += 1
        else:
            not_judged += 1
    return MeasureValues(found, na, not_judged)


def _of_score(instrument: Instrument, card: Scorecard, score: float | None, categories: set[str]) -> MeasureValues:
    """A mean over answers counts only where none of them is missing.

    The scorecard takes an ERROR for 0 and leaves out what a rater abstained on; a rater who abstains on some
    conversations and not on others would be compared on different items.
    """
    for slot, outcome in card.outcomes.items():
        if outcome.state in {State.ERROR, State.ABSTAINED} and instrument.item(slot.item).category in categories:
            return MeasureValues(not_judged=1)
    return MeasureValues(na=1) if score is None else MeasureValues({None: score})


class RatedConversation(NamedTuple):
    """A conversation with the scorecards that are measured."""

    identity: Identity
    card: Scorecard | None  # of the judges or the one rater; None where it was not judged, or not by all judges
    scenario: str | None = None  # what it shares with conversations of another group
    people: tuple[Scorecard, ...] = ()  # one for each person who rated it, of those who count
    probability: float | None = None  # with which it was drawn for people and rated; None where it was not
    judges: tuple[Scorecard, ...] = ()  # one for each judge and repeat
    by: By = frozenset()
    deciding: Scorecard | None = None  # what the report counts: of all judges together, complete or not
    summary: ConversationSummary | None = None


class Basis(StrEnum):
    """Whose ratings a number rests on."""

    JUDGE = "judge"
    PEOPLE = "people"
    CORRECTED = "corrected"


def estimate(
    instrument: Instrument,
    measure: Measure,
    conversations: Sequence[RatedConversation],
    basis: Basis,
    *,
    finite: bool = False,
    trust: float | None = None,
) -> Estimate | Undefined:
    """The mean of a measure over conversations; people count by the mean of their ratings of a unit."""
    rows: list[tuple[float, float, int, float]] = []
    for number, each in enumerate(conversations):
        judge = values(instrument, measure, each.card).by_turn
        people: dict[int | None, list[float]] = {}
        for card in each.people if basis is not Basis.JUDGE else ():
            for turn, value in values(instrument, measure, card).by_turn.items():
                people.setdefault(turn, []).append(value)
        chance = np.nan if each.probability is None else each.probability
        for turn in dict.fromkeys([*judge, *people]):
            mean = float(np.mean(people[turn])) if turn in people else np.nan
            rows.append((judge.get(turn, np.nan), mean, number, chance))
    table = np.array(rows, dtype=np.float64).reshape(-1, 4)
    units = Units(table[:, 0], table[:, 1], table[:, 2].astype(np.int64), table[:, 3])
    if basis is Basis.CORRECTED:
        return corrected_mean(units, measure.range, finite=finite, trust=trust)
    return plain_mean(units.judge if basis is Basis.JUDGE else units.people, units.conversation, measure.range)


def as_reported(measure: Measure, conversations: Sequence[RatedConversation]) -> float | None:
    """The mean that the report shows: an error counts as not met, and what not all judges rated counts too."""
    cards = [each.deciding for each in conversations if each.deciding]
    cards = [card for card in cards if any(one.state in {State.VALUE, State.NA} for one in card.outcomes.values())]
    given = {
        MeasureKind.SCORE: [card.score for card in cards if card.score is not None],
        MeasureKind.PASSED: [float(card.passed) for card in cards],
    }.get(measure.kind, [])
    return float(np.mean(given)) if given else None


class RatedStudy(NamedTuple):
    place: str
    instrument: Instrument
    conversations: tuple[RatedConversation, ...]
    by_people: bool = False  # whether people's ratings are measured, and not a judge's
    sample: Sample | None = None  # the random sample of people's ratings that correct the judge
    outside: tuple[RatedConversation, ...] = ()  # those that could not have been drawn into it
    notes: tuple[str, ...] = ()

    @property
    def by(self) -> By:
        """Who rated any of them, and in which repeats."""
        return frozenset[tuple[str, int]]().union(*(each.by for each in self.conversations))

    @property
    def raters(self) -> tuple[str, ...]:
        people = {card.rater for each in self.conversations for card in each.people} if self.by_people else ()
        return tuple(sorted({name for name, _ in self.by}.union(people)))

    @property
    def complete(self) -> "RatedStudy":
        """The same, where what some judge left out counts as not judged."""
        return self._replace(conversations=by_all(self.conversations, self.by))


def by_all(conversations: Sequence[RatedConversation], everyone: By) -> tuple[RatedConversation, ...]:
    return tuple(each if each.by == everyone else each._replace(card=None) for each in conversations)


def rated_study(
    study: Study, instrument: Instrument, rater: str | None = None, scored: Sequence[ScoredConversation] | None = None
) -> RatedStudy:
    """The conversations of a study as all judges rated them together, or one rater, or people (`PEOPLE`).

    People also count where no judge has rated. `scored` are all conversations, where they were read already.

    Raises:
        StudyError: The rater is a simulation.
    """
    kinds = {known.name: known.kind for known in study.raters()}
    if rater in kinds and kinds[rater] is RaterKind.SIMULATION:
        raise StudyError(f"{rater} is a simulation: only judges and people are compared")
    by_people = rater == PEOPLE or (rater is None and decided_by_people(study, instrument))
    found: list[RatedConversation] = []
    for entry in scored_conversations(study, instrument) if scored is None else scored:
        summary, cards = entry.conversation, entry.cards
        if by_people:
            card = panel(instrument, cards.people) if cards.people else None
            found.append(
                RatedConversation(summary.identity, card, people=cards.people, deciding=entry.deciding, summary=summary)
            )
            continue
        counting = cards
        if rater is not None:
            own = [one for one in cards.all if one.rater == rater]
            counting = decide(instrument, own, by_people=kinds.get(rater) is RaterKind.PERSON)
        by = frozenset((one.rater, one.repeat or 0) for one in counting.deciders)
        found.append(
            RatedConversation(
                summary.identity,
                counting.deciding,
                people=cards.people,
                judges=cards.judges,
                by=by,
                deciding=cards.deciding,
                summary=summary,
            )
        )
    return RatedStudy(study.place, instrument, tuple(found), by_people)


def with_sample(study: Study, rated: RatedStudy) -> RatedStudy:
    """The conversations that could have been drawn for people, with people's ratings of those that were.

    Raises:
        StudyError: There is no sample, or nobody rated enough of what was drawn.
    """
    sample = latest_sample(study, rated.instrument.id)
    if sample is None:
        raise StudyError(
            f"{study.place} has no random sample for people to rate with {rated.instrument.id}, and conversations "
            f"that people chose cannot replace it: draw one with: attune plan {study.place} --draw 50"
        )
    used = {key: drawn for key, drawn in sample.units.items() if drawn.split != "develop"}
    keys = [each.summary.key if each.summary else -1 for each in rated.conversations]
    people = {key: each.people for key, each in zip(keys, rated.conversations, strict=True) if each.people}
    if not people.keys() & used.keys():
        raise StudyError(
            f"no person has rated any of the {len(used):,} conversations that {sample.name} drew in {study.place}, so "
            "there is nothing to correct with"
        )
    chances = _rated_chances(sample.name, used, people.keys() & used.keys(), len(used) / len(sample.units))
    # A sample that was drawn with probabilities but does not name who else could have been drawn is of all.
    others = not_drawn(study, sample)
    anybody = not others and any(drawn.probability < 1 for drawn in sample.units.values())
    frame: list[RatedConversation] = []
    outside: list[RatedConversation] = []
    for key, each in zip(keys, rated.conversations, strict=True):
        marked = each._replace(people=each.people if key in chances else (), probability=chances.get(key))
        (frame if anybody or key in sample.units or key in others else outside).append(marked)
    notes: list[str] = []
    if len(used) < len(sample.units):
        there = len(people.keys() & sample.units.keys())
        notes.append(
            f"{len(chances):,} of the {there:,} conversations that people rated count here (test half of sample "
            f"{sample.name!r}): a judge that was tuned on the dev half is better there than elsewhere. To use all, "
            "draw with --test 1."
        )
    if len(chances) < len(used):
        notes.append(
            f"People rated {len(chances):,} of {len(used):,} drawn conversations. The estimates hold if in each "
            "stratum the rest was left out by chance."
        )
    if outside:
        notes.append(f"{len(outside):,} conversations could not have been drawn, and no estimate is about them.")
    return rated._replace(
        conversations=tuple(frame), outside=tuple(outside), sample=sample, notes=(*rated.notes, *notes)
    )


def _rated_chances(
    name: str, used: Mapping[int, SampledConversation], rated: Collection[int], share: float
) -> dict[int, float]:
    """The probability of having been drawn, into the split that counts, and rated.

    In each stratum those who were rated stand for all drawn.

    Raises:
        StudyError: Of strata that stand for a good part of all, people rated nothing.
    """
    drawn = Counter(entry.stratum for entry in used.values())
    answered = Counter(used[key].stratum for key in used if key in rated)
    silent = drawn.keys() - answered.keys()
    weights = [(entry.stratum in silent, 1 / entry.probability) for entry in used.values()]
    if sum(weight for unheard, weight in weights if unheard) > _SILENT * sum(weight for _, weight in weights):
        names = ", ".join(f"{stratum!r}" for stratum in sorted(silent))
        raise StudyError(
            f"people have rated none of the {sum(drawn[stratum] for stratum in silent):,} conversations that {name} "
            f"drew of {names}, so nothing is known of those: rate some of them first"
        )
    return {
        key: used[key].probability * share * answered[used[key].stratum] / drawn[used[key].stratum]
        for key in used
        if key in rated
    }
