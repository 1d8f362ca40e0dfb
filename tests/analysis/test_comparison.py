import pytest
from hypothesis import given
from hypothesis import strategies as st

from attunement.analysis.compare import Comparison, Group, MeasureComparison, compare
from attunement.analysis.measures import MeasureKind, RatedConversation, measures, values
from attunement.conversations import Identity
from attunement.instruments import Value, load
from attunement.ratings import ABSTAINED, ErrorKind, Outcome
from attunement.scoring import Scorecard
from attunement.statistics.ppi import Difference
from attunement.statistics.results import Interval, Undefined
from tests.analysis.small import CRITERIA, REPLIES, criteria, replies
from tests.reports.samples import empathy_card

ERROR = Outcome.failed(ErrorKind.TIMEOUT)
Answers = dict[str, Value | Outcome]


def group(name: str, cards: list[Scorecard | None], scenarios: list[str | None] | None = None) -> Group:
    labels = scenarios or [f"s{at}" for at in range(len(cards))]
    return Group(
        name,
        [RatedConversation(Identity(name, f"c{at}"), card, labels[at]) for at, card in enumerate(cards)],
    )


def two(first: list[Answers], second: list[Answers], *, paired: bool = True) -> Comparison:
    groups = [group(name, [criteria(each) for each in cards]) for name, cards in (("A", first), ("B", second))]
    return compare(CRITERIA, groups[0], groups[1], column="scenario" if paired else None)


def row(comparison: Comparison, item: str) -> MeasureComparison:
    return next(row for row in comparison.items if row.measure.id == item)


def difference(row: MeasureComparison) -> Difference:
    assert isinstance(row.difference, Difference), row.difference
    return row.difference


NO: Answers = {"A": "NO"}
MET: Answers = {}


def test_a_difference_above_zero_means_that_the_second_is_better() -> None:
    found = two([NO] * 6 + [MET] * 6, [MET] * 12)
    assert difference(row(found, "A")).value == pytest.approx(0.5)
    assert row(found, "A").first.value == 0.5
    assert isinstance(difference(row(found, "A")).interval, Interval)


@given(st.lists(st.sampled_from([MET, NO, {"A": "NA"}, {"A": ERROR}]), min_size=1, max_size=14))
def test_swapping_the_groups_turns_every_difference_around(answers: list[Answers]) -> None:
    there, back = two(answers, answers[::-1]), two(answers[::-1], answers)
    for one, other in zip(there.rows, back.rows, strict=True):
        if isinstance(one.difference, Undefined):
            assert isinstance(other.difference, Undefined)
        else:
            assert one.difference.value == pytest.approx(-difference(other).value, abs=1e-12)


def test_below_ten_scenarios_there_is_a_difference_and_no_interval() -> None:
    found = two([NO] * 4 + [MET] * 5, [MET] * 9)
    assert difference(row(found, "A")).interval == Undefined("too few scenarios: 9, and an interval needs at least 10")
    assert isinstance(row(found, "A").detectable, Undefined)


def test_without_pairs_each_group_needs_ten_conversations() -> None:
    groups = group("A", [criteria(NO), criteria(MET)] * 5), group("B", [criteria(MET)] * 9)
    found = compare(CRITERIA, *groups)
    assert difference(row(found, "A")).interval == Undefined(
        "too few conversations: 9, and an interval needs at least 10"
    )


def test_what_does_not_apply_or_is_not_judged_is_counted_and_enters_no_difference() -> None:
    found = two([{"A": "NA"}, {"A": ERROR}, {"A": ABSTAINED}, NO], [MET, MET, MET, MET])
    share = row(found, "A").first
    assert (share.units, share.na, share.not_judged) == (1, 1, 2)
    assert row(found, "A").second.unpaired == 3
    assert difference(row(found, "A")).value == 1


@pytest.mark.parametrize("open_", [ERROR, ABSTAINED])
def test_what_is_open_keeps_a_conversation_out_of_the_score_instead_of_counting_as_zero(open_: Outcome) -> None:
    found = two([{"B": open_}, MET], [MET, MET])
    assert found.score
    assert found.score.first.value == 1
    assert (found.score.first.not_judged, found.score.first.units) == (1, 1)


def test_an_error_on_safety_does_not_touch_the_score() -> None:
    found = two([{"S": ERROR}], [MET])
    assert found.score
    assert found.score.first.value == 1
    assert found.first.safety_not_judged == (Identity("A", "c0"),)


def test_gate_failures_are_named_with_their_items() -> None:
    found = two([MET, {"S": "NO"}], [MET, MET])
    assert [(entry.conversation, entry.items) for entry in found.first.unsafe] == [(Identity("A", "c1"), ("S",))]
    assert not found.second.unsafe


def test_several_conversations_of_one_scenario_are_one_cluster() -> None:
    labels: list[str | None] = [f"s{at // 2}" for at in range(24)]
    failed: Answers = {"A": "NO", "B": "NO"}
    cards = [criteria(failed if at % 5 == 0 else MET) for at in range(24)]
    found = compare(CRITERIA, group("A", [*cards], labels), group("B", [criteria(MET)] * 24, labels), column="scenario")
    assert found.passed
    assert difference(found.passed).clusters == 12


def test_an_open_verdict_is_no_failure() -> None:
    found = two([{"A": ERROR, "B": "NO"}, MET], [MET, MET])
    assert found.passed
    assert (found.passed.first.units, found.passed.first.not_judged) == (1, 1)


def test_p_values_of_items_are_corrected_for_their_number() -> None:
    first = [{"A": "NO", "B": "NO"} if at % 2 else {"C": "NO"} for at in range(12)]
    found = two(first, [MET] * 12)  # pyright: ignore[reportArgumentType]
    tested = [each for each in found.items if isinstance(each.corrected_p, float)]
    assert len(tested) == 5
    assert all(each.corrected_p >= difference(each).p for each in tested)  # pyright: ignore[reportOperatorIssue]


def test_the_smallest_effect_follows_from_the_standard_error() -> None:
    first, second = ([replies([score])] for score in (3, 4))
    found = compare(REPLIES, group("A", [*first, *second] * 10), group("B", second * 20), column="scenario").items[0]
    interval = difference(found).interval
    assert isinstance(interval, Interval)
    # Student's t with 19 degrees of freedom, because it is that interval which has to exclude zero.
    assert found.detectable == pytest.approx((2.0930 + 0.8416) * interval.se, rel=1e-4)


def test_conversations_without_a_scenario_are_left_out_of_pairs_and_counted() -> None:
    found = compare(
        CRITERIA,
        group("A", [criteria(NO), criteria(MET)], ["s", None]),
        group("B", [criteria(MET), criteria(MET)], ["s", None]),
        column="scenario",
    )
    assert found.pairing == ("scenario", 1, 2)
    assert difference(row(found, "A")).value == 1


def test_scenarios_that_nobody_shares_give_a_reason() -> None:
    found = compare(CRITERIA, group("A", [criteria(MET)], ["s"]), group("B", [criteria(MET)], ["t"]), column="scenario")
    assert row(found, "A").difference == Undefined("no scenario has answers of both")


@pytest.mark.parametrize("cards", [[], [None], [criteria(dict.fromkeys("ABCDS", ERROR))]])
def test_a_group_without_an_answer_gives_a_reason_and_never_a_number(cards: list[Scorecard | None]) -> None:
    found = compare(CRITERIA, group("A", cards), group("B", [criteria(MET)] * 12))
    for each in found.rows:
        assert each.first.value is None
        assert each.difference == Undefined("known for no conversation of A")


def test_replies_of_one_conversation_are_one_cluster() -> None:
    first = [replies([3, 4, 3]) for _ in range(12)]
    found = compare(
        REPLIES, group("A", [*first]), group("B", [replies([4, 5, 4]) for _ in range(12)]), column="scenario"
    )
    assert difference(found.items[0]).clusters == 12
    assert found.items[0].first.units == 36
    assert found.score is found.passed is None


def test_safety_scores_are_counted_by_level_and_compared_by_who_is_above_the_limit() -> None:
    empathy = load("empathy-v2")
    found = compare(
        empathy,
        Group("A", [RatedConversation(Identity("A", "c"), empathy_card({"safety": 2}, {"safety": 5}), "s")]),
        Group("B", [RatedConversation(Identity("B", "c"), empathy_card({"safety": 3}, {"safety": 4}), "s")]),
        column="scenario",
    )
    safety = row(found, "safety")
    assert safety.first.levels == {2: 1, 5: 1}
    assert (safety.first.value, safety.second.value) == (0.5, 1.0)
    assert [entry.items for entry in found.first.unsafe] == [("safety",)]


def test_measures_of_an_instrument_have_names_of_their_own() -> None:
    for instrument in (CRITERIA, load("coaching-v1"), load("empathy-v2")):
        names = [measure.name for measure in measures(instrument)]
        assert len(names) == len(set(names))


def test_an_invalid_na_is_a_failure_and_a_valid_one_is_none() -> None:
    coaching = load("coaching-v1")
    from tests.reports.samples import coaching_card

    card = coaching_card({"CQ8": "NA", "CQ9": "NA"})
    found = {
        measure.id: values(coaching, measure, card)
        for measure in measures(coaching)
        if measure.kind is MeasureKind.ITEM
    }
    assert found["CQ8"].by_turn == {None: 0.0}
    assert (found["CQ9"].by_turn, found["CQ9"].na) == ({}, 1)
