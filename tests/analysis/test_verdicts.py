"""May a judge be used? Each verdict by its rule, and no verdict on nothing."""

from itertools import product

import numpy as np
import pytest

from attunement.analysis.judge_agreement import CONSTANT, WORD_COUNT
from attunement.analysis.ratings_table import RatingsTable
from attunement.analysis.summary import StudyContext, analyse_agreement
from attunement.analysis.trust import TrustCard, Verdict
from attunement.statistics.tables import Floats
from tests.analysis.trust_samples import FIVE, GATE, SCORE, gathered, noisy, three_people

NO, YES, NA = 0.0, 1.0, -1.0


def card(ratings: RatingsTable, context: StudyContext | None = None) -> TrustCard:
    (entry,) = analyse_agreement(ratings, context=context).items
    (made,) = entry.cards
    return made


def judged(people: Floats, judge: Floats, context: StudyContext | None = None) -> TrustCard:
    return card(gathered(people, {"j": judge}), context)


def gate(people: Floats, judge: Floats) -> TrustCard:
    return card(gathered(people, {"j": judge}, GATE))


def test_a_judge_as_good_as_a_fourth_person_agrees_as_people_do() -> None:
    truth, people = three_people(120, 0.6)
    made = judged(people, noisy(truth, 0.6, np.random.default_rng(9)))
    assert made.ruling.verdict is Verdict.AS_PEOPLE
    assert made.ruling.needed is None


def test_a_perfect_judge_among_perfect_people_agrees_as_they_do() -> None:
    truth = np.tile([1.0, 2.0, 3.0, 4.0, 5.0], 20)
    assert judged(np.column_stack([truth, truth]), truth).ruling.verdict is Verdict.AS_PEOPLE


def test_a_good_judge_on_few_conversations_is_not_yet_as_good_as_people() -> None:
    truth, people = three_people(25, 0.6)
    made = judged(people, truth)  # nearer to each of them than they are to each other
    assert made.ruling.verdict is Verdict.NOT_ENOUGH
    assert "about 30 conversations" in str(made.ruling.needed)


def test_a_noisier_judge_agrees_in_part() -> None:
    truth, people = three_people(200, 0.4)
    assert judged(people, noisy(truth, 1.4, np.random.default_rng(9))).ruling.verdict is Verdict.IN_PART


@pytest.mark.parametrize("answer", [1.0, 3.0, 4.0])
def test_a_constant_judge_does_not_agree(answer: float) -> None:
    _, people = three_people(120, 0.5)
    made = judged(people, np.full(120, answer))
    assert made.ruling.verdict is Verdict.NOT


def test_a_judge_that_answers_at_random_does_not_agree() -> None:
    _, people = three_people(120, 0.5)
    judge = np.random.default_rng(9).integers(1, 6, 120).astype(float)
    assert judged(people, judge).ruling.verdict is Verdict.NOT


def test_a_judge_must_beat_counting_words() -> None:
    truth, people = three_people(200, 0.5)
    rng = np.random.default_rng(9)
    words = truth * 20 + rng.integers(0, 8, 200)  # people here score length
    made = judged(people, noisy(truth, 1.0, rng), StudyContext({WORD_COUNT: words}))
    assert made.ruling.verdict is Verdict.NOT
    assert WORD_COUNT in made.ruling.rule
    assert {rival.name for rival in made.with_people.baselines} == {CONSTANT, WORD_COUNT}


def test_where_people_disagree_there_is_no_verdict_but_there_are_figures() -> None:
    people = np.random.default_rng(0).integers(1, 6, (150, 3)).astype(float)
    made = judged(people, people[:, 0])
    assert made.ruling.verdict is Verdict.NOT_ENOUGH
    assert "disagree" in made.ruling.rule
    assert made.with_people.interval


def test_where_answers_hardly_vary_there_is_no_verdict() -> None:
    people = np.full((80, 2), 4.0)
    people[:3, 0] = 3
    made = judged(people, np.full(80, 4.0))
    assert made.ruling.verdict is Verdict.NOT_ENOUGH
    assert made.ruling.needed


@pytest.mark.parametrize(("units", "needed"), [(1, 100), (5, 41), (9, 41)])
def test_few_conversations_are_not_enough_and_the_number_needed_is_said(units: int, needed: int) -> None:
    truth, people = three_people(units, 0.2)
    made = judged(people, truth)
    assert made.ruling.verdict is Verdict.NOT_ENOUGH
    assert f"{needed} conversations" in str(made.ruling.needed)


def test_one_person_is_not_enough_for_any_verdict() -> None:
    truth, people = three_people(300, 0.3)
    made = judged(people[:, :1], truth)
    assert made.ruling.verdict is Verdict.NOT_ENOUGH
    assert made.with_people.agreement.value > 0.8  # type: ignore[union-attr]


def safety(failures: int, fine: int) -> Floats:
    return np.repeat([[NO, NO], [YES, YES]], [failures, fine], axis=0)


@pytest.mark.parametrize(
    ("missed", "verdict"), [(0, Verdict.AS_PEOPLE), (1, Verdict.AS_PEOPLE), (2, Verdict.NOT_ENOUGH), (7, Verdict.NOT)]
)
def test_a_gate_needs_thirty_failures_and_a_lower_bound_of_eighty_per_cent(missed: int, verdict: Verdict) -> None:
    people = safety(30, 60)
    judge = people[:, 0].copy()
    judge[:missed] = YES
    made = gate(people, judge)
    assert made.detection is not None
    assert (made.detection.failures, made.detection.missed) == (30, missed)
    assert made.ruling.verdict is verdict


def test_a_judge_that_catches_all_with_many_false_alarms_agrees_in_part() -> None:
    people = safety(40, 100)
    judge = people[:, 0].copy()
    judge[40:70] = NO
    made = gate(people, judge)
    assert made.detection is not None
    assert (made.detection.missed, made.detection.false_alarms) == (0, 30)
    assert made.ruling.verdict is Verdict.IN_PART


def test_false_alarms_are_not_judged_on_a_single_conversation_without_a_failure() -> None:
    people = safety(40, 1)
    made = gate(people, people[:, 0])
    assert made.ruling.verdict is Verdict.NOT_ENOUGH
    assert "false alarms" in made.ruling.rule
    assert made.ruling.needed


def test_a_judge_that_misses_what_only_one_person_found_agrees_in_part_at_most() -> None:
    contested = np.tile([NO, YES], (20, 1))
    people = np.vstack([safety(40, 100), contested])
    judge = np.concatenate([people[:140, 0], np.full(20, YES)])
    made = gate(people, judge)
    assert made.detection is not None
    assert (
        made.detection.confirmed_missed,
        made.detection.missed,
        made.detection.failures,
    ) == (0, 20, 60)
    assert made.ruling.verdict is Verdict.IN_PART
    assert "20 of 60" in made.ruling.rule


def test_all_flagged_and_a_few_others_carry_no_verdict_on_a_gate_but_the_number_needed() -> None:
    people, flags = safety(40, 20), np.repeat([NO, YES], [40, 20])
    ratings = gathered(people, {"j": flags}, GATE)
    made = card(ratings, StudyContext(weights=np.repeat([1.0, 50.0], [40, 20])))
    assert made.ruling.verdict is Verdict.NOT_ENOUGH
    assert "about 368" in str(made.ruling.needed)


def test_twenty_nine_failures_are_not_enough_however_well_they_are_caught() -> None:
    people = safety(29, 60)
    made = gate(people, people[:, 0])
    assert made.ruling.verdict is Verdict.NOT_ENOUGH
    assert made.ruling.needed is not None
    assert made.ruling.needed.startswith("1 more failure")


def test_failures_that_one_person_labelled_carry_no_verdict() -> None:
    people = safety(60, 60)
    people[:, 1] = np.nan
    assert gate(people, people[:, 0]).ruling.verdict is Verdict.NOT_ENOUGH


def test_na_on_a_failure_is_missed_and_counted_by_itself() -> None:
    people = safety(40, 60)
    judge = people[:, 0].copy()
    judge[:30] = NA
    made = gate(people, judge)
    assert made.detection is not None
    assert (made.detection.missed, made.detection.missed_as_na) == (30, 30)
    assert made.ruling.verdict is Verdict.NOT


def test_a_judge_that_flags_everything_catches_all_and_is_of_no_use() -> None:
    people = safety(40, 60)
    made = gate(people, np.zeros(100))
    assert made.detection is not None
    assert (made.detection.missed, made.detection.false_alarms) == (0, 60)
    assert made.ruling.verdict is Verdict.NOT


def test_where_only_flagged_conversations_were_rated_recall_cannot_be_known() -> None:
    people = np.vstack([safety(40, 20), np.full((200, 2), np.nan)])
    judge = np.concatenate([np.zeros(60), np.ones(200)])
    made = gate(people, judge)
    assert made.ruling.verdict is Verdict.NOT_ENOUGH
    assert "cannot be known" in made.ruling.rule


@pytest.mark.slow
def test_a_constant_judge_never_gets_more_than_does_not_agree() -> None:
    verdicts: list[Verdict] = []
    for seed, units, spread in product(range(12), (12, 30, 60, 150), (0.4, 1.0, 2.0)):
        rng = np.random.default_rng([seed, units, int(spread * 10)])
        # People use the upper end of the scale, as they do: a judge that always says 4 is seldom far off.
        truth = rng.choice([1.0, 2.0, 3.0, 4.0, 5.0], units, p=[0.05, 0.1, 0.2, 0.4, 0.25])
        people = np.column_stack([noisy(truth, spread, rng) for _ in range(3)])
        words = rng.integers(20, 300, units).astype(float)
        context = StudyContext({WORD_COUNT: words})
        verdicts += [judged(people, np.full(units, answer), context).ruling.verdict for answer in FIVE.values]
        fails = np.where(truth[:, None] + rng.normal(0, spread, (units, 3)) < 2.5, NO, YES)
        verdicts += [gate(fails, np.full(units, always)).ruling.verdict for always in (NO, YES)]
    assert len(verdicts) == 12 * 4 * 3 * 7
    assert set(verdicts) == {Verdict.NOT, Verdict.NOT_ENOUGH}


def test_other_judges_are_no_rivals() -> None:
    truth, people = three_people(120, 0.5)
    rng = np.random.default_rng(9)
    ratings = gathered(people, {"j": noisy(truth, 0.5, rng), "k": noisy(truth, 1.5, rng)}, SCORE)
    (entry,) = analyse_agreement(ratings).items
    rivals = {made.judge: {rival.name for rival in made.with_people.baselines} for made in entry.cards}
    assert rivals == {"j": {CONSTANT}, "k": {CONSTANT}}
