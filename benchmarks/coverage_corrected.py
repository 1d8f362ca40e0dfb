"""How often do the intervals of corrected means and of comparisons contain the truth? Nominal is 95 %.

A judge rates every conversation, people a sample; the truth is what people would have said. As few as 2 % fail,
a conversation has one to ten replies that resemble each other, and the judge is good (it finds 90 % of the failures and
fails 3 % of the rest) or poor (60 % and 10 %). Samples are drawn evenly, or with everything that the judge flagged.
`old` is the interval of earlier versions: Student's t over conversations, without the correction for a finite study.

    python benchmarks/coverage_corrected.py [RUNS]

Results of 1,000 runs each are in `docs/explanation/scores.md`.
"""

import sys
from itertools import product
from typing import Literal, NamedTuple

import numpy as np

from attunement.statistics.ppi import Estimate, Range, Units, corrected_mean, difference, plain_mean
from attunement.statistics.results import Interval
from attunement.statistics.tables import Bools, Floats

Judge = Literal["good", "poor"]
JUDGES: dict[Judge, tuple[float, float]] = {"good": (0.9, 0.03), "poor": (0.6, 0.1)}


class Case(NamedTuple):
    labelled: int = 50  # conversations that people rate; with `flagged` those that the judge did not flag
    conversations: int = 250
    replies: int = 1
    failing: float = 0.05
    judge: Judge = "good"
    flagged: bool = False  # whether everything that the judge flagged is rated too
    likeness: float = 0.3  # the ICC of replies of one conversation


class Coverage(NamedTuple):
    covered: float
    above: float  # the truth lies above the interval
    width: float
    outside: int  # intervals that leave the range from 0 to 1


def failures(rng: np.random.Generator, case: Case) -> tuple[Bools, Bools]:
    """Which replies of each conversation fail, and which of them the judge fails."""
    count, likeness = case.conversations, case.likeness
    chance = np.full(count, case.failing)
    if case.replies > 1:
        chance = rng.beta(*(np.array([case.failing, 1 - case.failing]) * (1 - likeness) / likeness), count)
    failing = rng.random((count, case.replies)) < chance[:, None]
    finds, alarms = JUDGES[case.judge]
    # A conversation in which the judge misses one failure is one in which it misses others.
    each = [rng.beta(2 * share, 2 * (1 - share), count)[:, None] for share in (finds, alarms)]
    return failing, rng.random(failing.shape) < np.where(failing, *each)


def sampled(rng: np.random.Generator, case: Case) -> tuple[Units, float]:
    """A study with a sample, and the share of its replies that do not fail."""
    failing, flags = failures(rng, case)
    certain = flags.any(axis=1) if case.flagged else np.zeros(case.conversations, dtype=np.bool_)
    others = np.flatnonzero(~certain)
    drawn = rng.choice(others, min(case.labelled, len(others)), replace=False)
    probability = np.where(certain, 1.0, np.nan)
    probability[drawn] = len(drawn) / len(others)
    return units(failing, flags, probability), float(1 - failing.mean())


def units(failing: Bools, flags: Bools, probability: Floats) -> Units:
    count, replies = failing.shape
    chance = np.repeat(probability, replies)
    people = np.where(np.isnan(chance), np.nan, 1.0 - failing.reshape(-1))
    return Units(1.0 - flags.reshape(-1), people, np.repeat(np.arange(count), replies), chance)


def coverage(case: Case, runs: int, *, old: bool = False) -> Coverage:
    rng = np.random.default_rng([case.labelled, case.replies, round(1000 * case.failing), case.flagged])
    inside = above = outside = found = 0
    width = 0.0
    for _ in range(runs):
        study, truth = sampled(rng, case)
        estimate = corrected_mean(study, Range(-9, 9, is_share=False), finite=False) if old else corrected_mean(study)
        assert isinstance(estimate, Estimate)
        if not isinstance(estimate.interval, Interval):
            continue  # the old one had none where no answer differed
        low, high = estimate.interval.low, estimate.interval.high
        found += 1
        inside += low - 1e-9 <= truth <= high + 1e-9
        above += truth > high + 1e-9
        outside += low < 0 or high > 1
        width += high - low
    return Coverage(inside / found, above / found, width / found, outside)


def difference_coverage(case: Case, runs: int, *, paired: bool, corrected: bool, gain: float = 0.03) -> Coverage:
    """Two systems, the second of which fails less often, on the same scenarios or on others."""
    rng = np.random.default_rng([case.labelled, case.replies, paired, corrected])
    inside = above = 0
    width = 0.0
    number = np.arange(case.conversations)
    for _ in range(runs):
        hard = rng.random(case.conversations) < 0.5  # in hard scenarios failures are three times as likely
        sides: list[Estimate] = []
        for failing in (case.failing, max(case.failing - gain, 0.002)):
            where = hard if paired else rng.permutation(hard)
            chance = failing * np.where(where, 1.5, 0.5)
            fails = rng.random((case.conversations, 1)) < chance[:, None]
            finds, alarms = JUDGES[case.judge]
            flags = rng.random(fails.shape) < np.where(fails, finds, alarms)
            drawn = np.full(case.conversations, np.nan)
            drawn[rng.choice(number, case.labelled, replace=False)] = case.labelled / case.conversations
            study = units(fails, flags, drawn)
            made = corrected_mean(study, finite=False) if corrected else plain_mean(1.0 - fails.reshape(-1), number)
            assert isinstance(made, Estimate)
            sides.append(made)
        interval = difference(*sides, (number, number) if paired else None).interval
        assert isinstance(interval, Interval)
        truth = case.failing - max(case.failing - gain, 0.002)
        inside += interval.low <= truth <= interval.high
        above += truth > interval.high
        width += interval.high - interval.low
    return Coverage(inside / runs, above / runs, width / runs, 0)


GRID = [
    Case(labelled, 5 * labelled, replies, failing, judge, flagged)
    for labelled, replies, failing, judge, flagged in product(
        (20, 50, 200, 500), (1, 5, 10), (0.02, 0.1, 0.5), ("good", "poor"), (False, True)
    )
]


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    print(
        f"{'labelled':>8}{'replies':>8}{'failing':>8} {'judge':<6}{'drawn':<10}{'covered':>8}{'above':>7}{'width':>7}",
        end="",
    )
    print(f"{'old':>9}{'width':>7}{'outside':>8}")
    for case in GRID:
        new, old = coverage(case, runs), coverage(case, runs, old=True)
        drawn = "flagged" if case.flagged else "evenly"
        print(f"{case.labelled:>8}{case.replies:>8}{case.failing:>8} {case.judge:<6}{drawn:<10}", end="")
        print(f"{new.covered:>8.3f}{new.above:>7.3f}{new.width:>7.3f}", end="")
        print(f"{old.covered:>9.3f}{old.width:>7.3f}{old.outside:>8}", flush=True)
    print("\ndifference of two systems")
    for labelled, failing, paired, corrected in product((20, 50, 200), (0.05, 0.3), (True, False), (True, False)):
        case = Case(labelled, 5 * labelled, 1, failing)
        found = difference_coverage(case, runs, paired=paired, corrected=corrected)
        words = f"{'paired' if paired else 'unpaired'}, {'corrected' if corrected else 'as rated'}"
        print(
            f"{labelled:>8}{failing:>8} {words:<24}{found.covered:>8.3f}{found.above:>7.3f}{found.width:>7.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
