import numpy as np
import pytest

from attunement.statistics.results import Undefined
from attunement.statistics.tables import Floats
from attunement.statistics.tests import EPSILON, AlternativeAnnotator, alternative_annotator_test, benjamini_yekutieli

NAN = np.nan


def of(result: AlternativeAnnotator | Undefined) -> AlternativeAnnotator:
    assert isinstance(result, AlternativeAnnotator), result
    return result


def raters(units: int, noise: float, seed: int = 1, people: int = 3) -> tuple[Floats, Floats]:
    """True scores, and people who see them through noise."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(1, 6, size=units).astype(float)
    return truth, np.clip(np.round(truth[:, None] + noise * rng.normal(size=(units, people))), 1, 5)


def test_a_hand_computed_table_comes_out() -> None:
    # Per unit, ratings of three people and the judge. Left out, the first person is as near to the other two as the
    # judge in the first pattern (both at 0), nearer in the second and further in the third.
    people = np.array([[3, 3, 3], [2, 2, 2], [5, 1, 1]] * 10)
    judge = np.array([3, 4, 1] * 10)
    first = of(alternative_annotator_test(people, judge)).people[0]
    assert first.units == 30
    assert first.judge_near == pytest.approx(2 / 3)
    assert first.person_near == pytest.approx(2 / 3)


def by_hand(people: Floats, judge: Floats, epsilon: float) -> tuple[float, float]:
    """The published procedure, person by person and unit by unit: winning rate and mean advantage."""
    stats = pytest.importorskip("scipy.stats")
    p_values, near = [], []
    for left_out in range(people.shape[1]):
        judge_wins, person_wins = [], []
        for row, answer in zip(people, judge, strict=True):
            others = np.delete(row, left_out)
            far = [np.sqrt(np.mean((others - each) ** 2)) for each in (answer, row[left_out])]
            judge_wins.append(far[0] <= far[1] + 1e-9)
            person_wins.append(far[1] <= far[0] + 1e-9)
        gap = np.array(person_wins, dtype=float) - np.array(judge_wins, dtype=float)
        p_values.append(stats.ttest_1samp(gap, epsilon, alternative="less").pvalue)
        near.append(np.mean(judge_wins))
    return float(np.mean(np.array(benjamini_yekutieli(p_values)) < 0.05)), float(np.mean(near))


@pytest.mark.parametrize("seed", range(6))
def test_the_published_procedure_gives_the_same_winning_rate(seed: int) -> None:
    truth, people = raters(60, noise=0.8, seed=seed, people=4)
    judge = np.clip(np.round(truth + 0.7 * np.random.default_rng(seed + 50).normal(size=60)), 1, 5)
    result = of(alternative_annotator_test(people, judge, epsilon=0.1))
    winning_rate, advantage = by_hand(people, judge, 0.1)
    assert result.winning_rate == pytest.approx(winning_rate)
    assert result.advantage == pytest.approx(advantage)


def test_a_perfect_judge_passes_and_the_verdict_names_epsilon() -> None:
    truth, people = raters(100, noise=0.8)
    result = of(alternative_annotator_test(people, truth, epsilon=EPSILON["trained"]))
    assert result.verdict == "pass"
    assert result.reason.startswith("pass, epsilon 0.15: ")
    assert result.epsilon == 0.15


def test_a_random_judge_fails_among_good_raters() -> None:
    _, people = raters(100, noise=0.3)
    judge = np.random.default_rng(2).integers(1, 6, size=100)
    assert of(alternative_annotator_test(people, judge)).verdict == "fail"


def test_a_constant_judge_fails_among_good_raters_and_may_pass_among_noisy_ones() -> None:
    _, good = raters(100, noise=0.3)
    assert of(alternative_annotator_test(good, np.full(100, 3.0))).verdict == "fail"
    # This is why the test must never stand alone.
    noisy = np.clip(np.round(3 + 1.5 * np.random.default_rng(3).normal(size=(100, 3))), 1, 5)
    assert of(alternative_annotator_test(noisy, np.full(100, 3.0))).verdict == "pass"


def test_a_judge_about_as_good_as_people_less_epsilon_is_undecided() -> None:
    truth, people = raters(40, noise=0.5, seed=5)
    judge = np.clip(np.round(truth + 0.75 * np.random.default_rng(6).normal(size=40)), 1, 5)
    assert of(alternative_annotator_test(people, judge)).verdict == "undecided"


def test_people_and_judge_who_always_agree_pass() -> None:
    truth, _ = raters(40, noise=0)
    result = of(alternative_annotator_test(np.repeat(truth[:, None], 3, axis=1), truth))
    assert result.verdict == "pass"
    assert result.people[0].p_judge > 0


def test_a_judge_that_is_never_right_where_people_agree_fails() -> None:
    people = np.tile([2.0, 2.0, 2.0], (40, 1))
    result = of(alternative_annotator_test(people, np.full(40, 5.0), nearness="same"))
    assert result.verdict == "fail"


def test_answers_without_order_count_only_as_same_or_not() -> None:
    people = np.tile([1.0, 1.0, 2.0], (40, 1))
    near = of(alternative_annotator_test(people, np.full(40, 9.0), nearness="distance")).people[2]
    same = of(alternative_annotator_test(people, np.full(40, 9.0), nearness="same")).people[2]
    assert near.judge_near == 0
    assert same.judge_near == 1  # neither the judge nor the third person shares the others' answer


def test_twenty_nine_units_are_undecided() -> None:
    truth, people = raters(29, noise=0.5)
    result = of(alternative_annotator_test(people, truth))
    assert result.verdict == "undecided"
    assert result.reason == "undecided, epsilon 0.2: it needs 3 people with 30 units each"
    assert result.winning_rate == result.advantage == Undefined("it needs 3 people with 30 units each")


def test_two_people_are_undecided() -> None:
    truth, people = raters(60, noise=0.5, people=2)
    assert of(alternative_annotator_test(people, truth)).verdict == "undecided"


def test_few_conversations_are_undecided_however_many_units_they_have() -> None:
    truth, people = raters(90, noise=0.5)
    for size in (10, 90):
        result = of(alternative_annotator_test(people, truth, np.arange(90) // size))
        assert result.verdict == "undecided"
        assert "too few conversations" in result.reason


def test_units_of_one_conversation_count_as_less_than_independent_ones() -> None:
    truth, people = raters(40, noise=0.8)
    people, truth, talks = np.repeat(people, 5, axis=0), np.repeat(truth, 5), np.repeat(np.arange(40), 5)
    alone = of(alternative_annotator_test(people, truth)).people[0]
    together = of(alternative_annotator_test(people, truth, talks)).people[0]
    assert together.p_judge > alone.p_judge


@pytest.mark.parametrize(
    ("people", "judge"), [([], []), ([[1, NAN], [NAN, 2]], [1, 2]), ([[1, 1]], [NAN]), ([[1], [2]], [1, 2])]
)
def test_nothing_to_compare_is_no_verdict(people: list[list[float]], judge: list[float]) -> None:
    assert alternative_annotator_test(people, judge) == Undefined("no unit was rated by two people and the judge")
