import numpy as np
import pytest

from attunement.agreement.results import Undefined
from attunement.agreement.rogan_gladen import RoganGladen, rogan_gladen


def of(result: RoganGladen | Undefined) -> RoganGladen:
    assert isinstance(result, RoganGladen), result
    return result


def test_the_published_example_comes_out() -> None:
    result = of(rogan_gladen((400, 1000), (180, 200), (140, 200)))
    assert result.value == pytest.approx(0.166667, abs=5e-7)
    assert (result.interval.low, result.interval.high) == pytest.approx((0.056351, 0.262733), abs=5e-7)


def test_a_judge_without_error_needs_no_correction() -> None:
    result = of(rogan_gladen((400, 1000), (10_000, 10_000), (10_000, 10_000)))
    assert result.value == pytest.approx(result.judged)
    assert result.interval.low < 0.4 < result.interval.high


def test_a_share_beyond_the_ends_of_the_scale_is_cut_off() -> None:
    result = of(rogan_gladen((10, 100), (90, 100), (80, 100)))
    assert result.value == 0
    assert result.interval.low == 0


@pytest.mark.parametrize(
    ("judged", "positive", "negative", "reason"),
    [
        ((0, 0), (1, 2), (1, 2), "the judge judged no units"),
        ((1, 2), (0, 0), (1, 2), "people called no unit positive"),
        ((1, 2), (1, 2), (0, 0), "people called no unit negative"),
        ((1, 2), (1, 2), (1, 2), "the judge tells positive from negative no better than chance"),
        ((1, 2), (0, 1), (9, 9), "the judge tells positive from negative no better than chance"),
        ((50, 100), (1, 1), (5, 100), "too few labelled units to show that the judge is better than chance"),
    ],
)
def test_a_count_that_says_nothing_is_said_to_say_nothing(
    judged: tuple[int, int], positive: tuple[int, int], negative: tuple[int, int], reason: str
) -> None:
    assert rogan_gladen(judged, positive, negative) == Undefined(reason)


@pytest.mark.slow
def test_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    rng = np.random.default_rng(1)
    share = 0.3 * 0.85 + 0.7 * 0.2
    draws = zip(rng.binomial(400, share, 2000), rng.binomial(60, 0.85, 2000), rng.binomial(60, 0.8, 2000), strict=True)
    results = [of(rogan_gladen((judged, 400), (hit, 60), (rejected, 60))).interval for judged, hit, rejected in draws]
    assert 0.93 <= np.mean([each.low <= 0.3 <= each.high for each in results]) <= 0.97
