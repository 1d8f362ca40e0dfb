"""May a judge be used? Three outcomes from intervals alone, and a better judge never gets a worse one."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attunement.analysis.failures import WORD_COUNT
from attunement.analysis.judge_agreement import CONSTANT
from attunement.analysis.judge_result import JudgeResult
from attunement.analysis.ratings_table import RatingsTable
from attunement.analysis.summary import StudyContext, analyse_agreement
from attunement.analysis.verdicts import Condition, Verdict, about, settled
from attunement.statistics.estimates import Rate
from attunement.statistics.results import Interval
from attunement.statistics.tables import Floats
from tests.analysis.trust_samples import FIVE, GATE, SCORE, gathered, noisy, three_people

NO, YES, NA = 0.0, 1.0, -1.0
_RANK = {Verdict.NOT: 0, Verdict.OPEN: 1, Verdict.GOOD: 2}


def card(ratings: RatingsTable, context: StudyContext | None = None) -> JudgeResult:
    (entry,) = analyse_agreement(ratings, context=context).items
    (made,) = entry.judges
    return made


def judged(people: Floats, judge: Floats, context: StudyContext | None = None) -> JudgeResult:
    return card(gathered(people, {"j": judge}), context)


def gate(people: Floats, judge: Floats) -> JudgeResult:
    return card(gathered(people, {"j": judge}, GATE))


def test_a_judge_as_good_as_a_fourth_person_is_good_enough() -> None:
    truth, people = three_people(120, 0.6)
    made = judged(people, noisy(truth, 0.6, np.random.default_rng(9)))
    assert made.ruling.verdict is Verdict.GOOD
    assert made.ruling.needed is None


def test_a_perfect_judge_among_perfect_people_is_good_enough() -> None:
    truth = np.tile([1.0, 2.0, 3.0, 4.0, 5.0], 20)
    assert judged(np.column_stack([truth, truth]), truth).ruling.verdict is Verdict.GOOD


def test_a_clearly_noisier_judge_is_not_good_enough() -> None:
    truth, people = three_people(300, 0.4)
    assert judged(people, noisy(truth, 1.4, np.random.default_rng(9))).ruling.verdict is Verdict.NOT


@pytest.mark.parametrize("answer", [1.0, 3.0, 4.0])
def test_a_constant_judge_is_not_good_enough(answer: float) -> None:
    _, people = three_people(120, 0.5)
    assert judged(people, np.full(120, answer)).ruling.verdict is Verdict.NOT


def test_a_judge_that_answers_at_random_is_not_good_enough() -> None:
    _, people = three_people(120, 0.5)
    judge = np.random.default_rng(9).integers(1, 6, 120).astype(float)
    assert judged(people, judge).ruling.verdict is Verdict.NOT


def test_a_judge_must_beat_counting_words() -> None:
    truth, people = three_people(200, 0.5)
    rng = np.random.default_rng(9)
    words = truth * 20 + rng.integers(0, 8, 200)  # people here score length
    made = judged(people, noisy(truth, 0.8, rng), StudyContext({WORD_COUNT: words}))
    assert made.ruling.verdict is Verdict.NOT
    assert WORD_COUNT in made.ruling.rule
    assert {rival.name for rival in made.with_people.baselines} == {CONSTANT, WORD_COUNT}


def test_only_trivial_judges_that_were_tried_are_named() -> None:
    truth, people = three_people(120, 0.5)
    made = judged(people, truth)
    assert made.ruling.verdict is Verdict.GOOD
    assert "trivial" not in made.ruling.rule


def test_where_people_disagree_nothing_can_be_told_but_there_are_figures() -> None:
    people = np.random.default_rng(0).integers(1, 6, (150, 3)).astype(float)
    made = judged(people, people[:, 0])
    assert made.ruling.verdict is Verdict.OPEN
    assert "clearer item" in str(made.ruling.needed)
    assert made.with_people.interval


@pytest.mark.parametrize("units", [1, 5, 9])
def test_below_ten_conversations_the_number_missing_is_said(units: int) -> None:
    truth, people = three_people(units, 0.2)
    made = judged(people, truth)
    assert made.ruling.verdict is Verdict.OPEN
    assert f"about {10 - units} more conversations" in str(made.ruling.needed)


def test_one_person_is_not_enough_for_any_verdict() -> None:
    truth, people = three_people(300, 0.3)
    made = judged(people[:, :1], truth)
    assert made.ruling.verdict is Verdict.OPEN
    assert "only one person" in made.ruling.rule
    assert made.with_people.agreement.value > 0.8  # type: ignore[union-attr]


def test_a_question_that_no_number_settles_says_so() -> None:
    assert "cannot settle" in about(522_532, "conversations")
    assert about(41, "conversations") == "about 41 more conversations"


def safety(failures: int, fine: int) -> Floats:
    return np.repeat([[NO, NO], [YES, YES]], [failures, fine], axis=0)


@pytest.mark.parametrize(
    ("failures", "missed", "verdict"),
    [
        (30, 0, Verdict.GOOD),
        (30, 1, Verdict.GOOD),
        (30, 2, Verdict.OPEN),
        (27, 16, Verdict.NOT),  # recall .407: its interval lies wholly below .80, however few failures
        (43, 10, Verdict.OPEN),  # recall .767 (.614 to .882)
        (17, 0, Verdict.GOOD),
        (16, 0, Verdict.OPEN),
    ],
)
def test_a_gate_follows_the_interval_of_recall_alone(failures: int, missed: int, verdict: Verdict) -> None:
    people = safety(failures, 60)
    judge = people[:, 0].copy()
    judge[:missed] = YES
    made = gate(people, judge)
    assert made.detection is not None
    assert (made.detection.failures, made.detection.missed) == (failures, missed)
    assert made.ruling.verdict is verdict
    assert (made.ruling.needed is not None) == (verdict is Verdict.OPEN)


def test_agreement_has_a_verdict_of_its_own_beside_that_on_failures() -> None:
    people = safety(40, 100)
    judge = people[:, 0].copy()
    judge[40:70] = NO  # all failures found, with many false alarms
    made = gate(people, judge)
    assert made.failure_ruling is not None
    assert made.failure_ruling.verdict is Verdict.GOOD
    assert made.agreement_ruling.verdict is Verdict.NOT


def test_false_alarms_are_not_judged_on_a_single_conversation_without_a_failure() -> None:
    people = safety(40, 1)
    made = gate(people, people[:, 0])
    assert made.ruling.verdict is Verdict.OPEN
    assert "fine" in made.ruling.rule


def test_failures_that_one_person_labelled_carry_no_verdict() -> None:
    people = safety(60, 60)
    people[:, 1] = np.nan
    made = gate(people, people[:, 0])
    assert made.ruling.verdict is Verdict.OPEN
    assert "second" in made.ruling.rule


def test_na_on_a_failure_is_missed_and_counted_by_itself() -> None:
    people = safety(40, 60)
    judge = people[:, 0].copy()
    judge[:30] = NA
    made = gate(people, judge)
    assert made.detection is not None
    assert (made.detection.missed, made.detection.missed_as_na) == (30, 30)
    assert made.ruling.verdict is Verdict.NOT


def test_a_judge_that_flags_everything_finds_all_and_is_of_no_use() -> None:
    people = safety(40, 60)
    made = gate(people, np.zeros(100))
    assert made.detection is not None
    assert (made.detection.missed, made.detection.false_alarms) == (0, 60)
    assert made.ruling.verdict is not Verdict.GOOD


def test_where_only_flagged_conversations_were_rated_recall_cannot_be_known() -> None:
    people = np.vstack([safety(40, 20), np.full((200, 2), np.nan)])
    judge = np.concatenate([np.zeros(60), np.ones(200)])
    made = gate(people, judge)
    assert made.ruling.verdict is Verdict.OPEN
    assert "cannot be known" in made.ruling.rule


def test_trivial_flags_and_people_themselves_stand_next_to_a_judges_recall() -> None:
    people = safety(30, 70)
    people[:6, 1] = YES  # a second person finds 24 of the first one's 30
    words = np.arange(100.0)
    (entry,) = analyse_agreement(
        gathered(people, {"j": people[:, 0]}, GATE), context=StudyContext({WORD_COUNT: words})
    ).items
    found = entry.judges[0].detection
    assert found is not None
    assert isinstance(found.people_recall, Rate)
    assert found.people_recall.value == pytest.approx(48 / 54)
    caught = {rival.name: rival.caught for rival in found.rivals}
    assert caught == {"flags at random": pytest.approx(7.2), "longest replies": 0, "shortest replies": 24}


def test_a_score_has_recall_and_precision_at_each_threshold() -> None:
    truth, people = three_people(120, 0.4)
    item = SCORE._replace(fails=(-np.inf, 2.0))
    found = card(gathered(people, {"j": truth}, item)).detection
    assert found is not None
    assert [each.at for each in found.thresholds] == [1, 2, 3, 4]
    recalls = [each.recall.value for each in found.thresholds if isinstance(each.recall, Rate)]
    assert recalls == sorted(recalls)
    assert found.thresholds[1].recall == found.recall


def corrected(people: Floats, judge: Floats, order: list[int], item: object = SCORE) -> list[Verdict]:
    """The verdicts while one wrong answer after another is replaced by what people said."""
    answers, verdicts = judge.copy(), list[Verdict]()
    right = np.round(np.median(people, axis=1))
    for step in [[], *np.array_split(np.array(order), 6)]:
        answers[np.array(step, dtype=int)] = right[np.array(step, dtype=int)]
        verdicts.append(card(gathered(people, {"j": answers}, item)).ruling.verdict)  # type: ignore[arg-type]
    return verdicts


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([30, 60, 120]), st.floats(0.3, 0.9))
def test_a_better_judge_never_gets_a_worse_verdict_on_agreement(seed: int, units: int, spread: float) -> None:
    rng = np.random.default_rng(seed)
    _, people = three_people(units, spread, seed)
    judge = rng.integers(1, 6, units).astype(float)
    ranks = [_RANK[verdict] for verdict in corrected(people, judge, rng.permutation(units).tolist())]
    assert ranks == sorted(ranks)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(5, 60), st.integers(20, 100))
def test_a_better_judge_never_gets_a_worse_verdict_on_failures(seed: int, failures: int, fine: int) -> None:
    rng = np.random.default_rng(seed)
    people = safety(failures, fine)
    judge = rng.integers(0, 2, len(people)).astype(float)
    ranks = [_RANK[verdict] for verdict in corrected(people, judge, rng.permutation(len(people)).tolist(), GATE)]
    assert ranks == sorted(ranks)


@given(st.integers(1, 60), st.integers(0, 60))
def test_a_verdict_on_failures_says_no_more_than_its_interval(failures: int, missed: int) -> None:
    people = safety(failures, 80)
    judge = people[:, 0].copy()
    judge[: min(missed, failures)] = YES
    made = gate(people, judge)
    assert made.detection is not None
    assert isinstance(made.detection.recall, Rate)
    interval = made.detection.recall.interval
    assert isinstance(interval, Interval)
    expected = Verdict.GOOD if interval.low >= 0.8 else Verdict.NOT if interval.high < 0.8 else Verdict.OPEN
    assert made.ruling.verdict is expected or made.ruling.rule.startswith("people agree less")


@pytest.mark.slow
def test_a_constant_judge_is_never_good_enough() -> None:
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
    assert set(verdicts) == {Verdict.NOT, Verdict.OPEN}


def test_other_judges_are_no_rivals_and_panels_stand_next_to_their_members() -> None:
    truth, people = three_people(120, 0.5)
    rng = np.random.default_rng(9)
    ratings = gathered(people, {"j": noisy(truth, 0.9, rng), "k": noisy(truth, 0.9, rng)}, SCORE)
    (entry,) = analyse_agreement(ratings).items
    rivals = {made.judge: {rival.name for rival in made.with_people.baselines} for made in entry.judges}
    assert rivals == {name: {CONSTANT} for name in ("j", "k", "panel: lowest", "panel: mean")}
    value = {made.judge: made.with_people.agreement.value for made in entry.judges}  # type: ignore[union-attr]
    assert value["panel: mean"] > max(value["j"], value["k"])


def test_any_failing_answer_fails_a_panel_and_a_missing_one_is_not_taken_for_a_pass() -> None:
    people = safety(20, 20)
    one, other = people[:, 0].copy(), people[:, 0].copy()
    one[:10], other[10:20] = YES, YES
    other[30:] = np.nan
    (entry,) = analyse_agreement(gathered(people, {"j": one, "k": other}, GATE)).items
    found = {made.judge: made for made in entry.judges}
    any_fails, majority = found["panel: any fails"], found["panel: majority"]
    assert any_fails.detection is not None
    assert any_fails.detection.missed == 0
    assert any_fails.outcomes.values == majority.outcomes.values == 30


def test_every_run_of_a_judge_counts() -> None:
    truth, people = three_people(60, 0.5)
    rng = np.random.default_rng(4)
    runs = [noisy(truth, spread, rng) for spread in (0.2, 0.9, 1.5)]
    one = [judged(people, run).with_people.agreement.value for run in runs]  # type: ignore[union-attr]
    tables = gathered(people, {"j": runs[0]})
    more = [gathered(people, {"j": run}) for run in runs[1:]]
    rows = [
        {**row, "repeat": repeat}
        for repeat, table in enumerate([tables, *more])
        for row in table.records()
        if repeat == 0 or row["rater"] == "j"
    ]
    from attunement.analysis.ratings_file import FileColumns, read_ratings

    found = card(read_ratings(rows, FileColumns())).with_people
    assert found.runs == pytest.approx(one)
    assert found.agreement.value == pytest.approx(np.mean(one), abs=0.02)  # type: ignore[union-attr]
    assert found.units == 60


_ENDS = st.tuples(st.floats(-1, 1), st.floats(0, 1))


@given(st.lists(st.tuples(_ENDS, st.floats(-0.5, 0.9)), min_size=1, max_size=3), st.floats(0, 1), st.floats(0, 1))
def test_intervals_that_move_up_never_give_a_worse_verdict(
    conditions: list[tuple[tuple[float, float], float]], low: float, high: float
) -> None:
    def ruled(up_low: float, up_high: float) -> int:
        made = [
            Condition(
                start + width / 2, Interval(start + up_low, start + width + up_high, 0.95, "", 0), bound, "", "", ""
            )
            for (start, width), bound in conditions
        ]
        return _RANK[settled(made, 50, "units").verdict]

    assert ruled(low, low + high) >= ruled(0, 0)
