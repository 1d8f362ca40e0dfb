"""How often do 95 % intervals contain the true value? By coefficient, number of units, rare answers and clusters.

Two raters give the true answer with the probability that makes their agreement what the row says, else any answer by
its frequency. Units of one conversation share their truth with probability 0.3. A row says in what share of samples
the interval contains the true value, in which it lies wholly above or below, how wide it is on average, and in how many
samples there is none (all answers are the same). Near perfect agreement on few units the truth lies near the end of
what is possible, and exact intervals are then wider than they must be.

    python -m benchmarks.coverage [SAMPLES]
"""

import sys
from itertools import product
from typing import NamedTuple

import numpy as np

from attunement.statistics.alpha import alpha_statistic
from attunement.statistics.correlation import icc_statistic
from attunement.statistics.estimates import Rate, rate
from attunement.statistics.intervals import agreement_interval
from attunement.statistics.kappa import ac2_statistic, judge_kappa_statistic
from attunement.statistics.results import Interval, Undefined
from attunement.statistics.tables import Floats, Ints

COEFFICIENTS = ("alpha", "kappa", "AC2", "ICC", "rate")
ALIKE = 0.3


class Case(NamedTuple):
    coefficient: str
    units: int
    cluster: int
    prevalence: float
    agreement: float

    @property
    def truth(self) -> float:
        if self.coefficient == "rate":
            return self.prevalence
        if self.coefficient == "AC2":
            chance = 2 * self.prevalence * (1 - self.prevalence)
            return 1 - chance * (1 - self.agreement) / (1 - chance)
        return self.agreement


class Covered(NamedTuple):
    share: float
    above: float
    below: float
    width: float
    none: float


def sample(case: Case, rng: np.random.Generator) -> tuple[Floats, Ints]:
    talks = case.units // case.cluster
    shared = np.repeat(rng.random(talks) < case.prevalence, case.cluster)
    number = len(shared)
    alike = rng.random(number) < (ALIKE if case.cluster > 1 else 0.0)
    truth = np.where(alike, shared, rng.random(number) < case.prevalence)
    sees = rng.random((number, 2)) < np.sqrt(case.agreement)
    ratings = np.where(sees, truth[:, None], rng.random((number, 2)) < case.prevalence)
    return ratings.astype(np.float64), np.repeat(np.arange(talks), case.cluster)


def interval(case: Case, ratings: Floats, conversation: Ints) -> Interval | Undefined:
    match case.coefficient:
        case "alpha":
            statistic = alpha_statistic(ratings)
        case "kappa":
            statistic = judge_kappa_statistic(ratings[:, 0], ratings[:, 1:])
        case "AC2":
            statistic = ac2_statistic(ratings, "quadratic", [0.0, 1.0])
        case "ICC":
            statistic = icc_statistic(ratings)
        case _:
            found = rate(ratings[:, 0] == 1, conversation, None)
            return found.interval if isinstance(found, Rate) else found
    return agreement_interval(statistic, conversation)


def covered(case: Case, samples: int, seed: int = 1) -> Covered:
    rng = np.random.default_rng(seed)
    rows: list[tuple[bool, bool, float]] = []
    for _ in range(samples):
        found = interval(case, *sample(case, rng))
        if isinstance(found, Interval):
            rows.append((found.low > case.truth + 1e-9, found.high < case.truth - 1e-9, found.high - found.low))
    if not rows:
        return Covered(1.0, 0.0, 0.0, float("nan"), 1.0)
    above, below, width = np.mean(rows, axis=0)
    return Covered(float(1 - above - below), float(above), float(below), float(width), 1 - len(rows) / samples)


def main() -> None:
    samples = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    print(f"{samples:,} samples a row; the standard error of a coverage of .95 is {(0.0475 / samples) ** 0.5:.3f}")
    print("coefficient  units cluster prevalence agreement  covered  above  below  width   none")
    for name, cluster, units, prevalence, agreement in product(
        COEFFICIENTS, (1, 5, 10), (20, 50, 100, 500), (0.02, 0.1, 0.5), (0.2, 0.6, 0.9, 1.0)
    ):
        if units // cluster < 10 or (name == "rate" and agreement != 1.0):
            continue
        row = covered(Case(name, units, cluster, prevalence, agreement), samples)
        print(
            f"{name:<12}{units:>6}{cluster:>8}{prevalence:>11}{agreement:>10}"
            f"{row.share:>9.3f}{row.above:>7.3f}{row.below:>7.3f}{row.width:>7.3f}{row.none:>7.2f}"
        )


if __name__ == "__main__":
    main()
