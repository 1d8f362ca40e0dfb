import numpy as np
import pytest

from attunement.agreement.dawid_skene import DawidSkene, dawid_skene
from attunement.agreement.results import Undefined
from tests.agreement.published import DAWID_SKENE_1979

OBSERVERS = [1, 1, 1, 2, 3, 4, 5]


def anaesthetists() -> DawidSkene:
    rows = [
        (patient, observer, int(answer))
        for patient, answers in enumerate(DAWID_SKENE_1979.split())
        for observer, answer in zip(OBSERVERS, answers, strict=True)
    ]
    result = dawid_skene(*zip(*rows, strict=True))
    assert isinstance(result, DawidSkene), result
    return result


def test_the_published_shares_of_the_classes_come_out() -> None:
    result = anaesthetists()
    assert result.converged
    by_answer = dict(zip(result.answers, result.prevalence, strict=True))
    assert [by_answer[answer] for answer in (1, 2, 3, 4)] == pytest.approx([0.40, 0.42, 0.11, 0.07], abs=0.005)


def test_the_published_error_rates_come_out() -> None:
    result = anaesthetists()
    places = [result.answers.index(answer) for answer in (1, 2, 3, 4)]
    first, third = (result.confusion[result.raters.index(observer)][np.ix_(places, places)] for observer in (1, 3))
    # Table 4 of the paper, to its two digits; rows are true answers.
    expected_first = [[0.89, 0.11, 0, 0], [0.07, 0.88, 0.05, 0], [0, 0.34, 0.66, 0], [0, 0, 0.56, 0.44]]
    expected_third = [[1, 0, 0, 0], [0.11, 0.79, 0.11, 0], [0, 0.40, 0.20, 0.40], [0, 0, 0.67, 0.33]]
    np.testing.assert_allclose(first, expected_first, atol=0.01)
    np.testing.assert_allclose(third, expected_third, atol=0.01)


def test_a_patient_on_whom_observers_differed_gets_a_probable_class() -> None:
    result = anaesthetists()
    seventh = dict(zip(result.answers, result.probabilities[6], strict=True))
    assert seventh[1] == pytest.approx(0.98, abs=0.01)


def test_a_rater_who_always_errs_is_found_out() -> None:
    rng = np.random.default_rng(1)
    truth = rng.random(300) < 0.4
    sides = [np.where(rng.random(300) < 0.9, truth, ~truth) for _ in range(4)] + [~truth]
    rows = [(unit, rater, bool(side[unit])) for rater, side in enumerate(sides) for unit in range(300)]
    result = dawid_skene(*zip(*rows, strict=True))
    assert isinstance(result, DawidSkene)
    yes = result.answers.index(True)
    assert result.confusion[4][yes][yes] < 0.1
    found = result.probabilities[:, yes] > 0.5
    assert np.mean(found == truth[list(result.units)]) > 0.97


def test_it_says_when_it_did_not_converge() -> None:
    rows = [(unit, rater, (unit * rater) % 3) for unit in range(9) for rater in range(3)]
    result = dawid_skene(*zip(*rows, strict=True), most_steps=1)
    assert isinstance(result, DawidSkene)
    assert not result.converged


@pytest.mark.parametrize(
    ("units", "raters", "answers", "reason"),
    [
        ([], [], [], "there are no answers"),
        (["a", "b"], ["ann", "ann"], ["YES", "NO"], "only one rater"),
        (["a", "a"], ["ann", "bo"], ["YES", "YES"], "every answer is YES"),
        (["a", "b"], ["ann", "bo"], ["YES", "NO"], "no unit has two answers"),
    ],
)
def test_answers_that_cannot_show_who_errs_have_a_reason(
    units: list[str], raters: list[str], answers: list[str], reason: str
) -> None:
    assert dawid_skene(units, raters, answers) == Undefined(reason)
