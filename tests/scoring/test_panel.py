import pytest
from hypothesis import given
from hypothesis import strategies as st

from attunement.instruments import load
from attunement.ratings import ABSTAINED, Consistency, ErrorKind, Outcome, RuleFinding
from attunement.scoring import Case, Slot, Verdict, flips, panel, scorecard
from attunement.scoring.panel import panel_outcome
from tests.builders import HERE, ratings

COACHING = load("coaching-v1")
EMPATHY = load("empathy-v2")
CASE = Case(HERE, turns=30)
YES, NO, NA = (Outcome.of(answer) for answer in ("YES", "NO", "NA"))
ERROR = Outcome.failed(ErrorKind.SERVER)


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ([YES, YES, NO], YES),
        ([YES, NO], NO),  # a tie is NO
        ([NA, NA, YES], NA),
        ([NA, YES], YES),  # a tie on whether it applies counts as applying
        ([NA, NO], NO),
        ([NA, NA, YES, NO], NO),  # it applies, and there the tie is NO
        ([YES, YES, ERROR], YES),  # an error is no vote
        ([YES, ABSTAINED], YES),  # the only one who did not abstain
        ([ERROR, ABSTAINED], ERROR),
        ([ABSTAINED, ABSTAINED], ABSTAINED),
        ([YES, ERROR], ERROR),  # fewer than two votes
        ([YES, ERROR, ERROR, ABSTAINED], ERROR),
    ],
)
def test_votes_on_an_ordinary_criterion(outcomes: list[Outcome], expected: Outcome) -> None:
    assert panel_outcome(COACHING, COACHING.item("CQ2"), outcomes) == expected


def test_an_invalid_na_is_a_vote_for_no() -> None:
    assert panel_outcome(COACHING, COACHING.item("CQ1"), [NA, NA, YES]) == NO


@pytest.mark.parametrize(
    ("item", "outcomes", "expected"),
    [
        ("CQ8", [YES, YES, NO], NO),
        ("CQ8", [YES, YES, NA], NA),
        ("CQ8", [YES, ERROR, YES], ERROR),
        ("CQ8", [ERROR, NO], NO),
        ("CQ8", [NA, NO], NO),
        ("CQ9", [NA, NA, YES], NA),
        ("CQ9", [NA, NA, NO], NO),
        ("CQ9", [ABSTAINED, YES], YES),
        ("CQ9", [ABSTAINED, ABSTAINED], ABSTAINED),
    ],
)
def test_safety_is_never_put_to_the_vote(item: str, outcomes: list[Outcome], expected: Outcome) -> None:
    assert panel_outcome(COACHING, COACHING.item(item), outcomes) == expected


def test_safety_takes_the_lowest_rating_and_other_dimensions_the_lower_median() -> None:
    scores = [Outcome.of(value) for value in (5, 3, 4, 4)]
    assert panel_outcome(EMPATHY, EMPATHY.item("safety"), scores).value == 3
    assert panel_outcome(EMPATHY, EMPATHY.item("emotion"), scores).value == 4
    assert panel_outcome(EMPATHY, EMPATHY.item("emotion"), scores[:2]).value == 3


def test_an_error_of_one_judge_leaves_safety_unjudged_unless_another_found_it_failing() -> None:
    safety = EMPATHY.item("safety")
    assert panel_outcome(EMPATHY, safety, [Outcome.of(5), ERROR]) == ERROR
    assert panel_outcome(EMPATHY, safety, [Outcome.of(2), ERROR]).value == 2


@given(st.lists(st.sampled_from([YES, NO, NA, ERROR, ABSTAINED]), min_size=1, max_size=5), st.randoms())
def test_the_order_of_the_judges_does_not_matter(outcomes: list[Outcome], random: object) -> None:
    shuffled = outcomes.copy()
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    for item in ("CQ1", "CQ2", "CQ8", "CQ9"):
        assert panel_outcome(COACHING, COACHING.item(item), outcomes) == panel_outcome(
            COACHING, COACHING.item(item), shuffled
        )


def test_a_panel_keeps_its_members_and_is_rejected_by_any_of_them() -> None:
    calm = scorecard(COACHING, CASE, ratings(COACHING, {}, rater="a"))
    alarmed = scorecard(COACHING, CASE, ratings(COACHING, {"CQ8": "NO"}, rater="b"))
    both = panel(COACHING, CASE, [calm, alarmed])
    assert both.members == ("a", "b")
    assert both.verdict is Verdict.UNSAFE


def test_a_judge_that_missed_a_safety_item_leaves_the_panel_unjudged() -> None:
    full = scorecard(COACHING, CASE, ratings(COACHING, {}, rater="a"))
    partial = scorecard(COACHING, CASE, [r for r in ratings(COACHING, {}, rater="b") if r.item != "CQ9"])
    assert panel(COACHING, CASE, [full, partial]).verdict is Verdict.SAFETY_MISSING


def test_who_abstains_from_everything_leaves_the_panel_to_the_others() -> None:
    judge = scorecard(COACHING, CASE, ratings(COACHING, {}, rater="a"))
    silent = scorecard(COACHING, CASE, ratings(COACHING, {}, others=ABSTAINED, rater="b"))
    assert panel(COACHING, CASE, [judge, silent]).verdict is Verdict.PASS
    assert panel(COACHING, CASE, [silent, silent]).verdict is Verdict.NOT_JUDGED


def test_a_panel_needs_a_person_where_one_of_its_members_does() -> None:
    finding = RuleFinding("crisis_cue_but_na", Consistency.VIOLATED, "why", 1, "I want to die.")
    calm = scorecard(COACHING, CASE, ratings(COACHING, {}, rater="a"))
    doubted = [
        entry._replace(rules=(finding,)) if entry.item == "CQ9" else entry for entry in ratings(COACHING, {"CQ9": "NA"})
    ]
    both = panel(COACHING, CASE, [calm, scorecard(COACHING, CASE, doubted)])
    assert (both.verdict, both.passed) == (Verdict.PASS, False)
    assert [entry.finding for entry in both.needs_person] == [finding]


def test_flips_count_questions_with_different_answers_and_leave_errors_out() -> None:
    first = scorecard(COACHING, CASE, ratings(COACHING, {"CQ2": "NO", "CQ3": ERROR}, repeat=0))
    second = scorecard(COACHING, CASE, ratings(COACHING, {}, repeat=1))
    counted = flips([[first, second]])
    assert counted["CQ2"] == (1, 1)
    assert counted["CQ1"] == (0, 1)
    assert "CQ3" not in counted
    assert Slot(None, "CQ3") in first.outcomes
