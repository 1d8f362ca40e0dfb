"""How far do people agree with each other, and with themselves when asked again? This comes before any judge.

The figure is Krippendorff's alpha with an interval over conversations, and the field's word for it (Landis and Koch):
below .2 slight, below .4 fair, below .6 moderate, below .8 substantial, else almost perfect. Whether people agree
enough to compare a judge with them follows from the interval alone: it is at least moderate, or below that, or it
cannot be told yet. Where nearly all answers are the same, alpha says little; then the agreement on the rare answer
counts.

Source: J. Landis and G. Koch, The Measurement of Observer Agreement for Categorical Data, Biometrics 33 (1977).
"""

from enum import StrEnum
from math import ceil
from typing import NamedTuple

import numpy as np

from attunement.analysis.ratings_table import Scale
from attunement.statistics.alpha import Alpha, alpha, alpha_statistic
from attunement.statistics.alpha import Level as AlphaLevel
from attunement.statistics.correlation import ICC, Correlation, bias, icc, spearman
from attunement.statistics.estimates import Mean
from attunement.statistics.intervals import agreement_interval
from attunement.statistics.kappa import (
    Coefficient,
    PairwiseKappa,
    PercentAgreement,
    SpecificAgreement,
    ac2,
    ac2_statistic,
    people_kappa,
    people_kappa_statistic,
    percent_agreement,
    specific_agreement,
)
from attunement.statistics.power import MOST as MOST
from attunement.statistics.results import Interval, Undefined
from attunement.statistics.tables import Floats, Ints

MODERATE = 0.4
"""Agreement from here on is moderate."""
COMMON = 0.9  # where more answers than this share are the same, alpha says little
_WORDS = ((0.0, "none"), (0.2, "slight"), (0.4, "fair"), (0.6, "moderate"), (0.8, "substantial"))
_NOBODY = Undefined("there are no ratings")


def strength(value: float) -> str:
    """The field's word for an agreement beyond chance."""
    return next((word for end, word in _WORDS if value < end), "almost perfect")


class PeopleStatus(StrEnum):
    AGREE = "at least moderate agreement"
    DISAGREE = "less than moderate agreement"
    OPEN = "cannot tell yet"


class Reliability(NamedTuple):
    status: PeopleStatus
    needed: int | None  # how many more conversations rated by two people would settle it; None if it is settled
    alpha: Alpha | Undefined
    interval: Interval | Undefined  # of alpha, clustered by conversation
    people: int
    units: int  # those with values of two people
    conversations: int  # those with such a unit
    commonest: float | None  # the answer that people gave most often
    share: float  # its share of all answers
    ac2: Coefficient | Undefined
    ac2_interval: Interval | Undefined
    rare: SpecificAgreement | Undefined
    """Of the times that somebody gave the rarest answer, how often another person gave it too."""
    single: PairwiseKappa | Undefined  # how far any two people agree
    single_interval: Interval | Undefined

    @property
    def one_sided(self) -> bool:
        """Whether nearly all answers are the same, so that alpha says little."""
        return self.share > COMMON


def reliability(people: Floats, conversation: Ints, scale: Scale) -> Reliability:
    """Whether people agree.

    Args:
        people: One row a unit, one column a person, NaN where they gave no value.
        conversation: For each unit its conversation.
        scale: All answers that were possible.
    """
    level: AlphaLevel = "ordinal" if scale.ordered else "nominal"
    present = ~np.isnan(people)
    several = present.sum(axis=1) >= 2
    found = alpha(people, level) if present.any() else _NOBODY
    interval = (
        found if isinstance(found, Undefined) else agreement_interval(alpha_statistic(people, level), conversation)
    )
    counts = np.array([(people == value).sum() for value in scale.values])
    total = int(counts.sum())
    given = [(int((people[several] == value).sum()), value) for value in scale.values]
    rarest = sorted(entry for entry in given if entry[0])
    rare: SpecificAgreement | Undefined = Undefined("only one answer was given") if rarest else _NOBODY
    if len(rarest) >= 2:
        rare = specific_agreement(people[several], rarest[0][1])
    weights = "quadratic" if scale.ordered else "identity"
    gwet = ac2(people, weights, scale.values) if present.any() else _NOBODY
    single = people_kappa(people, ordered=scale.ordered)
    conversations = len(np.unique(conversation[several]))
    status, needed = people_status(interval), None
    if status is PeopleStatus.OPEN and not isinstance(found, Undefined) and isinstance(interval, Interval):
        needed = more_needed(found.value, interval, MODERATE, conversations)
    return Reliability(
        status=status,
        needed=needed,
        alpha=found,
        interval=interval,
        people=int(present.any(axis=0).sum()),
        units=int(several.sum()),
        conversations=conversations,
        commonest=scale.values[int(counts.argmax())] if total else None,
        share=float(counts.max(initial=0)) / max(total, 1),
        ac2=gwet,
        ac2_interval=gwet
        if isinstance(gwet, Undefined)
        else agreement_interval(ac2_statistic(people, weights, scale.values), conversation),
        rare=rare,
        single=single,
        single_interval=single
        if isinstance(single, Undefined)
        else agreement_interval(people_kappa_statistic(people, ordered=scale.ordered), conversation),
    )


def people_status(interval: Interval | Undefined) -> PeopleStatus:
    """The verdict on people's agreement, from the interval of alpha."""
    if isinstance(interval, Undefined) or interval.low < MODERATE <= interval.high:
        return PeopleStatus.OPEN
    return PeopleStatus.AGREE if interval.low >= MODERATE else PeopleStatus.DISAGREE


def more_needed(value: float, interval: Interval, bound: float, now: int) -> int:
    """How many more would bring the interval to one side of the bound, if the value stays the same.

    The interval narrows with the root of the number.
    """
    reach = interval.high - value if value < bound else value - interval.low
    away = max(abs(value - bound), 1e-9)
    return max(ceil(min(now * ((reach / away) ** 2 - 1), 1e9)), 1)


class Retest(NamedTuple):
    """One rater's answers to the same units, compared with each other."""

    units: int  # units that were rated at least twice
    same: int  # of those, the ones that got the same answer each time
    times: int  # how often a unit was rated at most
    spread: float  # the mean standard deviation of a unit's answers, in points of the scale
    alpha: Alpha | Undefined
    percent: PercentAgreement | Undefined

    @property
    def flips(self) -> float:
        """The share of units whose answer was not the same each time."""
        return 1 - self.same / self.units


def retest(answers: Floats, *, ordered: bool = True) -> Retest | Undefined:
    """Compare a rater with themself.

    Args:
        answers: One row a unit, one column a time they were asked, NaN for no value.
        ordered: Whether near answers count as near.

    Returns:
        `Undefined` where no unit was rated twice.
    """
    number = (~np.isnan(answers)).sum(axis=1)
    several = answers[number >= 2]
    if not len(several):
        return Undefined("nothing was rated twice")
    level: AlphaLevel = "ordinal" if ordered else "nominal"
    same = np.nanmax(several, axis=1) == np.nanmin(several, axis=1)
    spread = float(np.nanstd(several, axis=1, ddof=1).mean())
    found = alpha(several, level), percent_agreement(several)
    return Retest(len(several), int(same.sum()), int(number.max()), spread, *found)


def severity(people: Floats, conversation: Ints) -> list[Mean | Undefined]:
    """For each person the mean of their answers minus those of the others about the same units.

    Below 0 a person is stricter than the others, above 0 more lenient.
    """
    number, total = (~np.isnan(people)).sum(axis=1), np.nansum(people, axis=1)
    found: list[Mean | Undefined] = []
    for own in people.T:
        there = ~np.isnan(own) & (number >= 2)
        others = np.where(there, (total - np.nan_to_num(own)) / np.maximum(number - 1, 1), np.nan)
        found.append(bias(own, others, conversation))
    return found


FEWEST_SYSTEMS = 3


class Level(NamedTuple):
    number: int  # of units, or of systems
    spearman: Correlation | Undefined
    icc: ICC | Undefined  # ICC(2,1): the judge as one rater and the mean of people as the other


class Levels(NamedTuple):
    """The judge's order of units and of systems: two claims.

    Over the means of a few systems noise averages out, and figures near 1 are common where the same judge hardly
    follows people from one conversation to the next (W. Robinson, American Sociological Review 15, 1950).
    """

    unit: Level
    system: Level


def levels(judge: Floats, people: Floats, system: Ints) -> Levels:
    """Compare a judge with the mean of people.

    Args:
        judge: One value a unit, NaN for none.
        people: The mean of the people's values of the same units.
        system: For each unit the number of its system, from 0.
    """
    both = ~np.isnan(judge) & ~np.isnan(people)
    pair, where = np.column_stack([judge, people])[both], system[both]
    number = np.bincount(where, minlength=1)
    there = number > 0
    means = np.column_stack([np.bincount(where, side, minlength=1)[there] / number[there] for side in pair.T])
    if there.sum() < FEWEST_SYSTEMS:
        few = Undefined(f"fewer than {FEWEST_SYSTEMS} systems")
        return Levels(_level(pair), Level(int(there.sum()), few, few))
    return Levels(_level(pair), _level(means))


def _level(pair: Floats) -> Level:
    return Level(len(pair), spearman(pair[:, 0], pair[:, 1]), icc(pair))
