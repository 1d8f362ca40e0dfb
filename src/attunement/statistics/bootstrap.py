"""Confidence intervals of agreement, over whole conversations because units of one conversation resemble each other.

`clustered_interval` chooses the method:

- Below 10 conversations there is no interval.
- Below 50 it is the studentised bootstrap (percentile and BCa intervals are too narrow there: simulated 95 % intervals
  of alpha covered 87-90 % with ten conversations, studentised ones 92-95 %), or BCa where that cannot be used.
- From 50 on it takes the percentiles of resampled conversations.
- From 1,000 on a coefficient is as good as normally distributed, and its standard error follows from how far each
  conversation pulls it (the infinitesimal jackknife). Resampling hundreds of thousands of ratings would take minutes.

Sources: B. Efron and R. Tibshirani, An Introduction to the Bootstrap (1993), chapters 12-14 and 21; for clusters,
A. Davison and D. Hinkley, Bootstrap Methods and their Application (1997), section 3.8.
"""

from collections.abc import Iterator

import numpy as np

from attunement.statistics.estimates import clustered_error, upper_bound
from attunement.statistics.results import LEVEL, Interval, Undefined, too_few
from attunement.statistics.tables import (
    Floats,
    FromSums,
    FromWeights,
    Ints,
    Statistic,
    clusters,
    normal_probability,
    normal_quantile,
)

DRAWS = 1000
"""Resamples behind each interval: enough for two digits."""
SEED = 0
ENOUGH_FOR_PERCENTILES = 50
VERY_MANY = 1000
"""From so many conversations on the standard error is computed without resampling."""
# How many numbers one batch of resamples may contain (32 MB): larger ones only wait for memory.
BATCH = 4_000_000
# A tail of 2.5 % cannot be read off draws of which more than this share has no value.
UNDEFINED_SHARE = 0.01
_TAILS = np.array([(1 - LEVEL) / 2, (1 + LEVEL) / 2])


def clustered_interval(statistic: Statistic, conversation: Ints) -> Interval | Undefined:
    """The interval of a statistic over whole conversations; the same data always give the same interval.

    Perfect agreement shows no spread to resample: its lower end is where it would be if the share of conversations
    that may still disagree did so as far as chance has it.

    Args:
        statistic: For example `alpha_statistic(ratings)`, or several `combined`.
        conversation: For each unit its conversation.

    Returns:
        `Undefined` below 10 conversations, and where resampling cannot show how sure the value is: it is undefined
        itself or in many resamples, or every resample gives the same.
    """
    value = statistic.value()
    if np.isnan(value):
        return Undefined("the statistic has no value on this sample")
    entering = statistic.entering
    number, count = clusters(conversation[entering], int(entering.sum()))
    few = too_few(count, "conversations")
    if few:
        return few
    if statistic.highest == 1 and value > 1 - 1e-9:
        reach = upper_bound(0, count, level=(1 + LEVEL) / 2)
        return Interval(1 - reach, 1.0, LEVEL, f"exact, no disagreement in {count} conversations", 0.0)
    if count >= VERY_MANY and isinstance(statistic, FromSums):
        return _linearised(statistic, number, count)
    rng = np.random.default_rng(SEED)
    # Where each conversation gave one unit, resampling units is the same and much faster.
    alone = count >= ENOUGH_FOR_PERCENTILES and count == len(number)
    cluster = np.full(statistic.units, -1, dtype=np.int64)
    cluster[entering] = np.arange(count) if alone else number
    if count < ENOUGH_FOR_PERCENTILES:
        return _of_few(statistic, cluster, rng.multinomial(count, np.full(count, 1 / count), DRAWS))
    if isinstance(statistic, FromWeights):
        values = _weighted(statistic, cluster, rng)
    else:
        values = _units(statistic, rng) if alone else _clusters(statistic, cluster, rng)
    doubt = _doubt(values)
    if doubt:
        return doubt
    values = values[~np.isnan(values)]
    low, high = np.quantile(values, _TAILS)
    method = f"percentile bootstrap over {count} {'units' if alone else 'conversations'}"
    return Interval(float(low), float(high), LEVEL, method, float(values.std()))


def _doubt(values: Floats) -> Undefined | None:
    missing = float(np.isnan(values).mean())
    if missing > UNDEFINED_SHARE:
        reason = f"too little variation: the statistic has no value in {missing:.0%} of resamples"
        return Undefined(reason, kind="too little variation")
    lowest, highest = np.nanmin(values), np.nanmax(values)
    if highest - lowest < 1e-12:
        return Undefined(f"every resample gives {lowest:g}, so this sample cannot show how sure that is")
    return None


def _units(statistic: FromSums, rng: np.random.Generator) -> Floats:
    """Resampled units are one multinomial draw over the patterns they show."""
    entering = np.count_nonzero(statistic.parts, axis=1) > 0
    frequency = np.bincount(statistic.pattern, minlength=len(entering))[entering]
    parts, total = statistic.parts[entering], int(frequency.sum())
    if len(frequency) > total / 2:  # hardly any two units alike: drawing them one by one is faster
        batches = _resamples(total, total, rng)
        parts = np.repeat(parts, frequency, axis=0)
    else:
        sizes = _batch_sizes(len(frequency))
        batches = (rng.multinomial(total, frequency / total, size).astype(np.float64) for size in sizes)
    return np.concatenate([statistic.of(weights @ parts) for weights in batches])


def _clusters(statistic: FromSums, cluster: Ints, rng: np.random.Generator) -> Floats:
    count = int(cluster.max()) + 1
    sums = statistic.sums(cluster, count)
    return np.concatenate([statistic.of(weights @ sums) for weights in _resamples(count, count, rng)])


def _weighted(statistic: FromWeights, cluster: Ints, rng: np.random.Generator) -> Floats:
    count = int(cluster.max()) + 1
    # Batches by units, not by clusters: each unit gets a weight of its own.
    batches = _resamples(count, max(count, statistic.units), rng)
    return np.concatenate([_of_clusters(statistic, weights, cluster) for weights in batches])


def _of_clusters(statistic: FromWeights, weights: Floats, cluster: Ints) -> Floats:
    """The statistic where each unit counts as often as its cluster."""
    return statistic.of(np.where(cluster >= 0, weights[:, cluster], 0.0))


def _resamples(count: int, width: int, rng: np.random.Generator) -> Iterator[Floats]:
    """How often each of `count` clusters is drawn, one row a resample."""
    for size in _batch_sizes(width):
        drawn = rng.integers(count, size=(size, count), dtype=np.int32)
        drawn += (np.arange(size, dtype=np.int32) * count)[:, None]
        yield np.bincount(drawn.reshape(-1), minlength=size * count).reshape(size, count).astype(np.float64)


def _batch_sizes(width: int) -> list[int]:
    largest = max(1, BATCH // width)
    return [min(largest, DRAWS - start) for start in range(0, DRAWS, largest)]


def _of_few(statistic: Statistic, cluster: Ints, drawn: Ints) -> Interval | Undefined:
    estimate, weights = statistic.value(), drawn.astype(np.float64)
    count = weights.shape[1]
    without_one = 1 - np.eye(count)
    studentised = None
    if isinstance(statistic, FromSums):
        sums = statistic.sums(cluster, count)
        values, left_out = statistic.of(weights @ sums), statistic.of(without_one @ sums)
        studentised = (values - estimate) / _standard_errors(statistic, sums, weights)
    else:
        values, left_out = (_of_clusters(statistic, each, cluster) for each in (weights, without_one))
    doubt = _doubt(values)
    if doubt:
        return doubt
    if np.isnan(left_out).any():
        return Undefined(f"without a certain one of the {count} conversations the statistic has no value")
    error = float(np.sqrt((count - 1) / count * ((left_out - left_out.mean()) ** 2).sum()))
    usable = studentised is not None and np.isfinite(studentised).mean() >= 1 - UNDEFINED_SHARE
    if studentised is not None and usable and error > 1e-12:
        method = "studentised bootstrap"
        upper, lower = np.quantile(studentised[np.isfinite(studentised)], _TAILS)
        low, high = estimate - lower * error, estimate - upper * error
    else:
        method = "BCa bootstrap"
        low, high = _bca(values[~np.isnan(values)], estimate, left_out)
    low, high = np.clip([low, high], statistic.lowest, statistic.highest)
    return Interval(float(low), float(high), LEVEL, f"{method} over {count} conversations", error)


def _standard_errors(statistic: FromSums, sums: Floats, weights: Floats) -> Floats:
    """The jackknife standard error within each resample; NaN where it shows no spread."""
    count = weights.shape[1]
    errors: list[Floats] = []
    start = 0
    for size in _batch_sizes(sums.size):
        batch = weights[start : start + size]
        # A cluster that was not drawn cannot be left out, and does not count below.
        left_out = (batch @ sums)[:, None, :] - (batch > 0)[:, :, None] * sums
        values = statistic.of(left_out.reshape(size * count, -1)).reshape(size, count)
        mean = (batch * values).sum(axis=1, keepdims=True) / count
        errors.append(np.sqrt((count - 1) / count * (batch * (values - mean) ** 2).sum(axis=1)))
        start += size
    found = np.concatenate(errors)
    return np.where(found > 1e-12, found, np.nan)


def _bca(values: Floats, estimate: float, left_out: Floats) -> tuple[float, float]:
    """Percentiles corrected for bias and for a spread that changes with the value (Efron 1987)."""
    below = float((values < estimate).mean() + (values <= estimate).mean()) / 2
    bias = normal_quantile(min(max(below, 1 / len(values)), 1 - 1 / len(values)))
    influence = left_out.mean() - left_out
    acceleration = (influence**3).sum() / max(6 * (influence**2).sum() ** 1.5, 1e-300)
    shifted = bias + normal_quantile((1 + LEVEL) / 2) * np.array([-1, 1])
    low, high = np.quantile(values, normal_probability(bias + shifted / (1 - acceleration * shifted)))
    return float(low), float(high)


def _linearised(statistic: FromSums, cluster: Ints, count: int) -> Interval | Undefined:
    value = statistic.value()
    totals = np.bincount(statistic.pattern, minlength=len(statistic.parts)) @ statistic.parts
    step = 1e-5 * np.maximum(np.abs(totals), 1.0)
    up, down = statistic.of(totals + np.diag(step)), statistic.of(totals - np.diag(step))
    pull = (statistic.parts @ ((up - down) / (2 * step)))[statistic.pattern]
    se = clustered_error(pull[statistic.entering], cluster, count)
    if isinstance(se, Undefined) or not np.isfinite(se):
        return Undefined("too little variation to say how sure this is")
    if se < 1e-9:  # what numerical differentiation leaves
        return Undefined(f"every conversation gives {value:g}, so this sample cannot show how sure that is")
    reach = normal_quantile((1 + LEVEL) / 2) * se
    low, high = np.clip([value - reach, value + reach], statistic.lowest, statistic.highest)
    return Interval(float(low), float(high), LEVEL, f"linearised, over {count} conversations", se)
