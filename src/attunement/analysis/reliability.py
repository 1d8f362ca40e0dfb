"""Do people agree with each other, unit by unit, and when asked again? This comes before any judge.

There are four outcomes. They are reliable, they disagree, there is not enough data to tell, or nearly all answers are
the same, so that agreement beyond chance says nothing. Only reliable people allow a verdict on a judge.

Both are the same coefficient, so that the judge's figure can be held against the people's: like with like. It is
Cohen's kappa with quadratic weights (for answers without order: unweighted), pooled over pairs of different raters as
Conger did: what pairs of ratings differ by, over what they would differ by if each rater answered at random by their
own habits. For two raters it is Cohen's kappa itself. Raters may have rated different units, and each unit counts the
same however many rated it.

Sources: J. Cohen, Psychological Bulletin 70 (1968); A. Conger, Psychological Bulletin 88 (1980).

These are two claims. Over the means of a few systems noise averages out, and figures near 1 are common where the same
judge hardly follows people from one conversation to the next. Both are given, each with its number.

Source of the difference: W. Robinson, Ecological Correlations and the Behavior of Individuals, American Sociological
Review 15 (1950).
"""

from enum import StrEnum
from math import ceil
from typing import NamedTuple

import numpy as np

from attunement.analysis.ratings_table import Scale
from attunement.statistics.alpha import Alpha, alpha, alpha_statistic
from attunement.statistics.alpha import Level as AlphaLevel
from attunement.statistics.bootstrap import clustered_interval
from attunement.statistics.correlation import ICC, Correlation, icc, spearman
from attunement.statistics.kappa import (
    Coefficient,
    PercentAgreement,
    SpecificAgreement,
    ac2,
    percent_agreement,
    specific_agreement,
)
from attunement.statistics.power import conversations_for_agreement, conversations_to_reach
from attunement.statistics.results import FEWEST_CLUSTERS, Interval, Undefined
from attunement.statistics.tables import Floats, Ints

ENOUGH = 0.4
"""People whose alpha has an interval that begins at this or above are reliable enough to hold a judge against them."""
GOOD = 0.6  # the most that is expected of people of whom little is known
MANY_UNITS = 100  # from so many units on an alpha below `ENOUGH` counts without an interval
COMMON = 0.9  # where more answers than this share are the same, alpha says nothing
RARE_NEEDED = 30  # so many units with a rare answer allow to say how far people agree on it


_NOBODY = Undefined("there are no ratings")


class ReliabilityStatus(StrEnum):
    RELIABLE = "reliable"
    DISAGREE = "people disagree"
    NOT_ENOUGH = "not enough data"
    LITTLE_VARIATION = "too little variation"


class Reliability(NamedTuple):
    status: ReliabilityStatus
    rule: str
    needed: int | None  # how many conversations, each rated by two people, would decide it; None where it is decided
    alpha: Alpha | Undefined
    interval: Interval | Undefined  # of alpha, clustered by conversation
    people: int
    units: int  # those with values of two people
    conversations: int  # those with such a unit
    commonest: float | None  # the answer that people gave most often
    share: float  # its share of all answers
    ac2: Coefficient | Undefined
    rare: SpecificAgreement | Undefined
    """Of the times that somebody gave the rarest answer, how often another person gave it too."""


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
        found if isinstance(found, Undefined) else clustered_interval(alpha_statistic(people, level), conversation)
    )
    counts = np.array([(people == value).sum() for value in scale.values])
    total = int(counts.sum())
    given = [(int((people[several] == value).sum()), value) for value in scale.values]
    rarest = sorted(entry for entry in given if entry[0])
    rare: SpecificAgreement | Undefined = Undefined("only one answer was given") if rarest else _NOBODY
    if len(rarest) >= 2:
        rare = specific_agreement(people[several], rarest[0][1])
    result = Reliability(
        status=ReliabilityStatus.NOT_ENOUGH,
        rule="",
        needed=None,
        alpha=found,
        interval=interval,
        people=int(present.any(axis=0).sum()),
        units=int(several.sum()),
        conversations=len(np.unique(conversation[several])),
        commonest=scale.values[int(counts.argmax())] if total else None,
        share=float(counts.max(initial=0)) / max(total, 1),
        ac2=ac2(people, "quadratic" if scale.ordered else "identity", scale.values) if present.any() else _NOBODY,
        rare=rare,
    )
    status, rule, needed = _status(result)
    return result._replace(status=status, rule=rule, needed=needed)


def _status(found: Reliability) -> tuple[ReliabilityStatus, str, int | None]:
    """Whether people agree, the rule that says so, and how many conversations would decide it."""
    interval, conversations = found.interval, found.conversations
    if conversations < FEWEST_CLUSTERS:
        rule = f"two people rated {conversations} conversations, and {FEWEST_CLUSTERS} are the least"
        return ReliabilityStatus.NOT_ENOUGH, rule, _expected(found)
    if found.share > COMMON:
        rule = (
            f"{100 * found.share:.0f} % of the answers are the same, and above {100 * COMMON:.0f} % alpha says nothing"
        )
        seen = found.rare.units if isinstance(found.rare, SpecificAgreement) else 0
        needed = ceil(conversations * RARE_NEEDED / seen) if 0 < seen < RARE_NEEDED else None
        return ReliabilityStatus.LITTLE_VARIATION, rule, needed
    many = _conversations(MANY_UNITS, found)
    if isinstance(found.alpha, Undefined):
        return ReliabilityStatus.NOT_ENOUGH, found.alpha.reason, many
    value = found.alpha.value
    if isinstance(interval, Interval) and interval.low >= ENOUGH:
        rule = f"the interval of alpha begins at {interval.low:.2f}, and {ENOUGH} is asked for"
        return ReliabilityStatus.RELIABLE, rule, None
    if isinstance(interval, Interval) and interval.high < ENOUGH:
        return ReliabilityStatus.DISAGREE, f"the interval of alpha ends at {interval.high:.2f}, below {ENOUGH}", None
    if value < ENOUGH and found.units >= MANY_UNITS:
        return ReliabilityStatus.DISAGREE, f"alpha is {value:.2f}, below {ENOUGH}, on {MANY_UNITS} units or more", None
    if isinstance(interval, Undefined):
        return ReliabilityStatus.NOT_ENOUGH, f"alpha has no interval: {interval.reason}", many
    rule = f"alpha may be from {interval.low:.2f} to {interval.high:.2f}, on either side of {ENOUGH}"
    if value > ENOUGH:
        many = conversations_to_reach(value, interval.low, ENOUGH, conversations)
    return ReliabilityStatus.NOT_ENOUGH, rule, many


def _expected(found: Reliability) -> int:
    """How many conversations show agreement that is as good as it looks so far, or where it looks bad, bad."""
    if isinstance(found.alpha, Alpha):
        # Perfect agreement of a handful says little: it is taken for good, not for perfect.
        likely, each = min(found.alpha.value, GOOD), found.units / found.conversations
        count = conversations_for_agreement(likely, ENOUGH, 2, each)
        if isinstance(count, int):
            return max(count, found.conversations + 1)
    return _conversations(MANY_UNITS, found)


def _conversations(units: int, found: Reliability) -> int:
    """How many conversations give so many units, at the present number of units each."""
    each = found.units / found.conversations if found.conversations else 1.0
    return max(ceil(units / each), found.conversations + 1, FEWEST_CLUSTERS)


class Retest(NamedTuple):
    units: int  # units that were rated at least twice
    same: int  # of those, the ones that got the same answer each time
    times: int  # how often a unit was rated at most
    alpha: Alpha | Undefined
    percent: PercentAgreement | Undefined


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
    return Retest(len(several), int(same.sum()), int(number.max()), alpha(several, level), percent_agreement(several))


FEWEST_SYSTEMS = 3


class Level(NamedTuple):
    number: int  # of units, or of systems
    spearman: Correlation | Undefined
    icc: ICC | Undefined  # ICC(2,1): the judge as one rater and the mean of people as the other


class Levels(NamedTuple):
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
