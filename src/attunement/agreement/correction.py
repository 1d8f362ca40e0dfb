"""What would people say of each system, when they rated a random sample and a judge rated everything?

For each system and measure three estimates stand side by side: the judge's, which is precise and may be wrong; the
people's, which is right and imprecise; and the corrected one, which takes the judge's mean over all conversations and
corrects it by how far the judge is off where people rated too. Units are weighted by one over the probability with
which their conversation was drawn, and all intervals are over whole conversations.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from attunement.agreement.comparison_measures import Kind, Measure, Values, measures, values
from attunement.agreement.prediction_powered import PredictionPowered, Sample, prediction_powered_mean
from attunement.agreement.results import FEWEST_CLUSTERS, Undefined
from attunement.instruments import Instrument
from attunement.scoring import Scorecard

_TINY = 1e-9


class Case(NamedTuple):
    """One conversation that could have been drawn."""

    system: str
    judge: Scorecard | None
    """None where the judge, or one of several, did not rate it."""
    probability: float | None = None
    """With which it was drawn for people to rate; None where it was not drawn."""
    people: tuple[Scorecard, ...] = ()
    """One for each person who rated it."""


class Pairs(NamedTuple):
    """A judge's scores beside people's, one a unit; NaN where there is none."""

    judge: list[float]
    people: list[float]
    weights: list[float]
    conversations: list[int]


class Corrected(NamedTuple):
    """One measure of one system."""

    measure: Measure
    system: str | None
    """None for all systems together."""
    estimate: PredictionPowered | Undefined
    conversations: int
    judged: int
    """Conversations with a value of the judge."""
    drawn: int
    labelled: int
    """Conversations with a value of people and of the judge."""


def corrected_measures(instrument: Instrument) -> list[Measure]:
    """What is corrected: the weighted score and the pass rate, or each item where there are neither."""
    every = list(measures(instrument))
    whole = [measure for measure in every if measure.kind in {Kind.SCORE, Kind.PASSED}]
    return whole or [measure for measure in every if measure.kind is Kind.ITEM]


def correct(instrument: Instrument, cases: Sequence[Case], *, level: float = 0.95) -> list[Corrected]:
    """The three estimates of each measure, for each system and, where there are several, for all together.

    Args:
        instrument: What judge and people rated with.
        cases: Every conversation that could have been drawn, drawn or not.
        level: How often intervals made this way hold the true value.

    Returns:
        One result for each measure and system. Where people or the judge have no value, its estimate is `Undefined`;
        below 10 conversations that people rated it has no interval.
    """
    return [
        _corrected(instrument, measure, system, chosen, level)
        for measure in corrected_measures(instrument)
        for system, chosen in by_system(cases)
    ]


def by_system(cases: Sequence[Case]) -> list[tuple[str | None, list[Case]]]:
    """The cases of each system and, where there are several, of all together under None."""
    systems = dict.fromkeys(case.system for case in cases)
    parts: list[tuple[str | None, list[Case]]] = [
        (system, [case for case in cases if case.system == system]) for system in systems
    ]
    return [*parts, (None, list(cases))] if len(parts) > 1 else parts


def labelled_pairs(instrument: Instrument, measure: Measure, cases: Sequence[Case]) -> Pairs:
    """What people and the judge gave to each unit of the conversations that were drawn."""
    found = Pairs([], [], [], [])
    for number, case in enumerate(cases):
        if case.probability is None:
            continue
        judge = (values(instrument, measure, case.judge) if case.judge else Values()).by_turn
        for turn, score in people_scores(instrument, measure, case.people).items():
            found.judge.append(judge.get(turn, np.nan))
            found.people.append(score)
            found.weights.append(1 / case.probability)
            found.conversations.append(number)
    return found


def people_scores(instrument: Instrument, measure: Measure, people: Sequence[Scorecard]) -> dict[int | None, float]:
    """The mean of what people gave, for each reply, or under None for the whole conversation."""
    given: dict[int | None, list[float]] = {}
    for card in people:
        for turn, score in values(instrument, measure, card).by_turn.items():
            given.setdefault(turn, []).append(score)
    return {turn: float(np.mean(scores)) for turn, scores in given.items()}


def judge_scores(instrument: Instrument, measure: Measure, cases: Sequence[Case]) -> tuple[list[float], list[int]]:
    """Every score of the judge, and the number of the conversation it belongs to."""
    scores: list[float] = []
    conversations: list[int] = []
    for number, case in enumerate(cases):
        if case.judge:
            found = values(instrument, measure, case.judge).by_turn.values()
            scores += found
            conversations += [number] * len(found)
    return scores, conversations


def _corrected(
    instrument: Instrument, measure: Measure, system: str | None, cases: Sequence[Case], level: float
) -> Corrected:
    pairs = labelled_pairs(instrument, measure, cases)
    scores, conversations = judge_scores(instrument, measure, cases)
    # The judge's side holds the drawn conversations too: where some were more likely to be drawn than others, those
    # that were not drawn are no fair picture of all.
    sample = Sample(pairs.people, pairs.judge, scores, pairs.conversations, conversations, pairs.weights)
    both = {
        number: weight
        for number, score, weight in zip(pairs.conversations, pairs.judge, pairs.weights, strict=True)
        if not np.isnan(score)
    }
    estimate = prediction_powered_mean(sample, level=level)
    return Corrected(
        measure=measure,
        system=system,
        estimate=estimate if isinstance(estimate, Undefined) else _unless_uneven(estimate, list(both.values())),
        conversations=len(cases),
        judged=len(set(conversations)),
        drawn=sum(case.probability is not None for case in cases),
        labelled=len(both),
    )


def _unless_uneven(estimate: PredictionPowered, weights: Sequence[float]) -> PredictionPowered:
    """Without intervals where so few conversations carry most of the weight that they count like fewer than ten.

    Simulated 95 % intervals held 92.6 % with ten conversations of which some were five times as likely to be drawn as
    others. How many they count like: L. Kish, Survey Sampling (1965).
    """
    if len(weights) < FEWEST_CLUSTERS:
        return estimate
    count = sum(weights) ** 2 / sum(weight**2 for weight in weights)
    if count >= FEWEST_CLUSTERS - _TINY:
        return estimate
    reason = Undefined(
        f"too few labelled conversations: {len(weights)}, drawn so unevenly that they count like {count:.0f}, and an "
        f"interval needs at least {FEWEST_CLUSTERS}"
    )
    people = estimate.people_only
    return estimate._replace(
        interval=reason, people_only=people if isinstance(people, Undefined) else people._replace(interval=reason)
    )
