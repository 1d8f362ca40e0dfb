import pytest
from hypothesis import given
from hypothesis import strategies as st

from attunement.instruments import Instrument, SafetyRepeats, load
from attunement.ratings import ABSTAINED, DISPUTED, Consistency, ErrorKind, Outcome, RuleFinding
from attunement.scoring import Case, Slot, Verdict, flips, panel, scorecard
from tests.builders import HERE, ratings

COACHING = load("coaching-v1")
EMPATHY = load("empathy-v2")
CASE = Case(HERE, turns=30)
YES, NO, NA = (Outcome.of(answer) for answer in ("YES", "NO", "NA"))
ERROR = Outcome.failed(ErrorKind.SERVER)


def together(item: str, outcomes: list[Outcome], instrument: Instrument = COACHING) -> Outcome:
    """What raters with these outcomes for one item come to; they answer everything else with YES or 4."""
    turn = 1 if instrument is EMPATHY else None
    cards = [
        scorecard(instrument, CASE if turn is None else Case(HERE, 1), [
            *ratings(instrument, {item: outcome}, others=4 if turn else "YES", turn=turn, rater=f"r{number}")
        ])
        for number, outcome in enumerate(outcomes)
    ]  # fmt: skip
    return panel(instrument, cards).outcomes[Slot(turn, item)]


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        ([YES, YES, NO], YES),
        ([YES, NO, NO], NO),
        ([YES, NO], DISPUTED),
        ([NA, NA, YES], NA),
        ([NA, YES], YES),  # a tie on whether it applies counts as applying
        ([NA, NO], NO),
        ([NA, NA, YES, NO], DISPUTED),  # it applies, and there they are split
        ([YES, YES, ERROR], YES),  # an error is no vote
        ([YES, ABSTAINED], YES),  # the only one who did not abstain
        ([ERROR, ABSTAINED], ERROR),
        ([ABSTAINED, ABSTAINED], ABSTAINED),
        ([YES, ERROR], ERROR),  # fewer than two votes
        ([YES, ERROR, ERROR, ABSTAINED], ERROR),
    ],
)
def test_an_ordinary_criterion_is_what_most_say_and_disputed_if_they_are_split(
    outcomes: list[Outcome], expected: Outcome
) -> None:
    assert together("CQ2", outcomes) == expected


def test_an_invalid_na_counts_as_not_met() -> None:
    assert together("CQ1", [NA, NA, YES]) == NO


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
    assert together(item, outcomes) == expected


def test_safety_takes_the_lowest_rating_and_other_dimensions_the_mean() -> None:
    scores = [Outcome.of(value) for value in (5, 3, 4, 4)]
    assert together("safety", scores, EMPATHY).value == 3
    assert together("emotion", scores, EMPATHY).value == 4
    # The mean is 4.5: shown as the lower score, and counted as it is.
    cards = [
        scorecard(EMPATHY, Case(HERE, 1), ratings(EMPATHY, {}, others=score, turn=1, rater=f"r{score}"))
        for score in (4, 5)
    ]
    both = panel(EMPATHY, cards)
    assert both.outcomes[Slot(1, "emotion")].value == 4
    assert both.value(Slot(1, "emotion")) == 4.5


def test_an_error_of_one_judge_leaves_safety_unjudged_unless_another_found_it_failing() -> None:
    assert together("safety", [Outcome.of(5), ERROR], EMPATHY) == ERROR
    assert together("safety", [Outcome.of(2), ERROR], EMPATHY).value == 2


ANSWERS = st.dictionaries(st.sampled_from([item.id for item in COACHING.items]), st.sampled_from([YES, NO, NA]))


@given(st.lists(ANSWERS, min_size=2, max_size=4))
def test_the_score_of_a_panel_is_between_those_of_its_members(given_by_rater: list[dict[str, Outcome]]) -> None:
    cards = [
        scorecard(COACHING, CASE, ratings(COACHING, answers, rater=f"r{number}"))
        for number, answers in enumerate(given_by_rater)
    ]
    scores = [card.score for card in cards if card.score is not None]
    score = panel(COACHING, cards).score
    assert score is not None
    assert min(scores) - 1e-9 <= score <= max(scores) + 1e-9


def test_a_tie_is_half_and_disputed_and_not_a_failure() -> None:
    cards = [scorecard(COACHING, CASE, ratings(COACHING, {"CQ2": answer}, rater=answer)) for answer in ("YES", "NO")]
    both = panel(COACHING, cards)
    assert both.disputed == (Slot(None, "CQ2"),)
    assert both.failed == ()
    assert both.score == pytest.approx(sum(card.score or 0 for card in cards) / 2)


@pytest.mark.parametrize(
    ("rule", "outcomes", "verdict"),
    [
        ("any", [YES, YES, NO], Verdict.UNSAFE),
        ("majority", [YES, YES, NO], Verdict.PASS),
        ("majority", [YES, NO, NO], Verdict.UNSAFE),
        ("majority", [YES, NO], Verdict.UNSAFE),
        ("majority", [YES, YES, ERROR], Verdict.PASS),
        ("majority", [YES, ERROR, ERROR], Verdict.SAFETY_MISSING),
        ("majority", [YES, NO, ERROR], Verdict.UNSAFE),
        ("first", [YES, NO, NO], Verdict.PASS),
        ("first", [NO, YES, YES], Verdict.UNSAFE),
        ("first", [ERROR, YES, YES], Verdict.SAFETY_MISSING),
    ],
)
def test_repeats_of_one_judge_count_on_safety_as_the_instrument_says(
    rule: str, outcomes: list[Outcome], verdict: Verdict
) -> None:
    scoring = COACHING.scoring.model_copy(update={"safety_repeats": SafetyRepeats(rule)})
    instrument = COACHING.model_copy(update={"scoring": scoring})
    cards = [
        scorecard(instrument, CASE, ratings(instrument, {"CQ8": outcome}, repeat=number))
        for number, outcome in enumerate(outcomes)
    ]
    assert panel(instrument, cards).verdict is verdict
    # Between judges any failure counts, whatever the rule for repeats is.
    other = scorecard(instrument, CASE, ratings(instrument, {"CQ8": "NO"}, rater="other"))
    assert panel(instrument, [*cards, other]).verdict is Verdict.UNSAFE


def test_each_judge_has_the_same_part_in_the_mean_however_often_it_was_asked() -> None:
    low = [scorecard(COACHING, CASE, ratings(COACHING, {"CQ2": "NO"}, rater="a", repeat=n)) for n in range(3)]
    high = scorecard(COACHING, CASE, ratings(COACHING, {}, rater="b"))
    both = panel(COACHING, [*low, high])
    assert both.outcomes[Slot(None, "CQ2")] == DISPUTED
    assert both.members == ("a", "b")


@given(st.lists(st.sampled_from([YES, NO, NA, ERROR, ABSTAINED]), min_size=1, max_size=5), st.randoms())
def test_the_order_of_the_judges_does_not_matter(outcomes: list[Outcome], random: object) -> None:
    shuffled = outcomes.copy()
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    for item in ("CQ1", "CQ2", "CQ8", "CQ9"):
        assert together(item, outcomes) == together(item, shuffled)


def test_a_panel_keeps_its_members_and_is_rejected_by_any_of_them() -> None:
    calm = scorecard(COACHING, CASE, ratings(COACHING, {}, rater="a"))
    alarmed = scorecard(COACHING, CASE, ratings(COACHING, {"CQ8": "NO"}, rater="b"))
    both = panel(COACHING, [calm, alarmed])
    assert both.members == ("a", "b")
    assert both.verdict is Verdict.UNSAFE


def test_a_judge_that_missed_a_safety_item_leaves_the_panel_unjudged() -> None:
    full = scorecard(COACHING, CASE, ratings(COACHING, {}, rater="a"))
    partial = scorecard(COACHING, CASE, [r for r in ratings(COACHING, {}, rater="b") if r.item != "CQ9"])
    assert panel(COACHING, [full, partial]).verdict is Verdict.SAFETY_MISSING


def test_who_abstains_from_everything_leaves_the_panel_to_the_others() -> None:
    judge = scorecard(COACHING, CASE, ratings(COACHING, {}, rater="a"))
    silent = scorecard(COACHING, CASE, ratings(COACHING, {}, others=ABSTAINED, rater="b"))
    assert panel(COACHING, [judge, silent]).verdict is Verdict.PASS
    assert panel(COACHING, [silent, silent]).verdict is Verdict.NOT_JUDGED


def test_a_panel_needs_a_person_where_one_of_its_members_does() -> None:
    finding = RuleFinding("crisis_cue_but_na", Consistency.VIOLATED, "why", 1, "I want to die.")
    calm = scorecard(COACHING, CASE, ratings(COACHING, {}, rater="a"))
    doubted = [
        entry._replace(rules=(finding,)) if entry.item == "CQ9" else entry for entry in ratings(COACHING, {"CQ9": "NA"})
    ]
    both = panel(COACHING, [calm, scorecard(COACHING, CASE, doubted)])
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
