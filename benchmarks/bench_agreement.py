"""How fast are alpha, kappa and ICC, and their intervals, next to the packages that people use?

Three raters on a scale of five, one rating in twenty missing, five units a conversation; sizes are numbers of ratings.
Ours and the package alternate in the same run, and medians are compared. A package in a loop of 1,000 resamples is
timed over a few of them and multiplied, which the table says with a ~. The aims: an interval of ordinal alpha of 1e5
ratings at least 100 times as fast as 1,000 resamples with the `krippendorff` package, and one over conversations of 1e6
ratings in under a second.

    python benchmarks/bench_agreement.py [LARGEST]
"""

import importlib
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from attunement.statistics.alpha import alpha, alpha_statistic
from attunement.statistics.correlation import icc
from attunement.statistics.intervals import agreement_interval
from attunement.statistics.kappa import judge_kappa_statistic
from attunement.statistics.tables import Floats

SIZES = [1_000, 100_000, 1_000_000]
ROUNDS = 3
DRAWS = 1000


def ratings(size: int) -> Floats:
    rng = np.random.default_rng(size)
    units = size // 3
    true = rng.normal(size=(-(-units // 5), 1)) + rng.normal(size=(-(-units // 5), 5))
    table = np.clip(np.round(3 + true.reshape(-1, 1)[:units] + 0.8 * rng.normal(size=(units, 3))), 1, 5)
    table[rng.random(table.shape) < 0.05] = np.nan
    return table


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def line(task: str, size: int, ours: Callable[[], object], theirs: Callable[[], object] | None, times: int = 1) -> None:
    """Print both medians and how many times as fast ours is; `theirs` is done once for every `times` it stands for."""
    pairs = [(seconds(ours), seconds(theirs) * times if theirs else None) for _ in range(ROUNDS)]
    mine = statistics.median(each for each, _ in pairs)
    others = [each for _, each in pairs if each is not None]
    if not others:
        print(f"{task:<56}{size:>10,}{mine:>12.4f} s{'-':>14}")
        return
    other = statistics.median(others)
    about = "~" if times > 1 else ""
    print(f"{task:<56}{size:>10,}{mine:>12.4f} s{about + f'{other:.4f}':>12} s{other / mine:>10,.0f} x")


def resampled(table: Floats, of: Callable[[Floats], object], loops: int) -> Callable[[], object]:
    """What a loop over a package does: draw units, build the table again, compute."""
    rng = np.random.default_rng(0)

    def loop() -> None:
        for _ in range(loops):
            of(table[rng.integers(len(table), size=len(table))])

    return loop


def bench(size: int) -> None:
    table = ratings(size)
    conversations = np.arange(len(table)) // 5
    loops = max(2, min(20, 200_000 // size))
    krippendorff, sklearn = package("krippendorff"), package("sklearn.metrics")

    def their_alpha(values: Floats) -> object:
        return krippendorff.alpha(reliability_data=values.T, level_of_measurement="ordinal")

    line("ordinal alpha; krippendorff", size, lambda: alpha(table), krippendorff and (lambda: their_alpha(table)))
    line(
        "interval of ordinal alpha, units; krippendorff, 1,000 times",
        size,
        lambda: agreement_interval(alpha_statistic(table), np.arange(len(table))),
        krippendorff and resampled(table, their_alpha, loops),
        DRAWS // loops,
    )
    line(
        "interval of ordinal alpha, conversations",
        size,
        lambda: agreement_interval(alpha_statistic(table), conversations),
        None,
    )
    pairs = np.nan_to_num(table[:, :2], nan=3)

    def their_kappa(values: Floats) -> object:
        return sklearn.cohen_kappa_score(*values.T.astype(int), labels=[1, 2, 3, 4, 5], weights="quadratic")

    line(
        "interval of quadratic kappa, units; sklearn, 1,000 times",
        size,
        lambda: agreement_interval(judge_kappa_statistic(pairs[:, 0], pairs[:, 1:]), np.arange(len(pairs))),
        sklearn and resampled(pairs, their_kappa, loops),
        DRAWS // loops,
    )
    line("ICC(2,1), complete ratings; pingouin", size, lambda: icc(np.nan_to_num(table, nan=3)), pingouin_icc(table))


def pingouin_icc(table: Floats) -> Callable[[], object] | None:
    pingouin, pandas = package("pingouin"), package("pandas")
    if pingouin is None or len(table) > 1000:  # it takes most of a minute from 1e5 ratings on
        return None
    unit, rater = np.indices(table.shape)
    columns = {"unit": unit.reshape(-1), "rater": rater.reshape(-1), "value": np.nan_to_num(table, nan=3).reshape(-1)}
    frame = pandas.DataFrame(columns)
    return lambda: pingouin.intraclass_corr(frame, "unit", "rater", "value")


def main() -> None:
    warnings.simplefilter("ignore")  # the packages' own
    largest = int(float(sys.argv[1])) if len(sys.argv) > 1 else SIZES[-1]
    print(f"{'':<56}{'ratings':>10}{'ours':>14}{'package':>14}{'faster':>12}")
    for size in SIZES:
        if size <= largest:
            bench(size)


if __name__ == "__main__":
    main()
