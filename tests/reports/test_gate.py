from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attunement.conversations import Identity
from attunement.instruments import Instrument
from attunement.ratings import Outcome
from attunement.reports.gate import Decision, Entry, Kind, Limits, decide, decision_record, nothing_judged
from attunement.scoring import Case, Scorecard, Verdict, scorecard
from tests.builders import ratings
from tests.reports.samples import (
    COACHING,
    COACHING_CARDS,
    EMPATHY,
    EMPATHY_CARDS,
    ERROR,
    coaching_card,
    empathy_card,
)

SEVERITY = {0: 0, 3: 1, 1: 2}
ANY_CARD = st.sampled_from([card for card, _ in COACHING_CARDS.values()])
ANY_LIMITS = st.builds(
    Limits,
    min_conversations=st.integers(1, 5),
    min_pass_rate=st.none() | st.sampled_from([0.0, 0.5, 0.8, 1.0]),
    max_rejected=st.integers(0, 3),
    accept_unsafe=st.integers(0, 3),
)


def entries(*cards: Scorecard | None) -> list[Entry]:
    return [Entry(Identity("bot", f"c{number}"), card) for number, card in enumerate(cards, start=1)]


def gate(*cards: Scorecard | None, instrument=COACHING, **limits: object) -> Decision:
    return decide(entries(*cards), Limits(**limits), instrument)


def card(name: str) -> Scorecard | None:
    return COACHING_CARDS[name][0]


def reason(decision: Decision, kind: Kind):
    return next(reason for reason in decision.reasons if reason.kind is kind)


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("unsafe", Verdict.UNSAFE),
        ("fail", Verdict.FAIL),
        ("incomplete", Verdict.INCOMPLETE),
        ("not judged", Verdict.NOT_JUDGED),
        ("the rule check alone", Verdict.NOT_JUDGED),
        ("safety left open", Verdict.INCOMPLETE),
        ("safety not judged", Verdict.SAFETY_MISSING),
        ("pass that needs a person", Verdict.PASS),
    ],
)
def test_the_samples_have_the_verdict_of_their_name(name, verdict):
    assert card(name).verdict is verdict


@pytest.mark.parametrize("size", range(len(COACHING_CARDS) + 1))
def test_every_combination_exits_with_one_over_three_over_zero(size):
    for names in combinations(COACHING_CARDS, size):
        demanded = {COACHING_CARDS[name][1] for name in names} or {3}  # nothing at all is nothing judged
        expected = 1 if 1 in demanded else 3 if 3 in demanded else 0
        assert gate(*(COACHING_CARDS[name][0] for name in names)).exit_code == expected, names


@pytest.mark.parametrize("size", range(len(EMPATHY_CARDS) + 1))
def test_every_combination_without_a_pass_mark(size):
    for names in combinations(EMPATHY_CARDS, size):
        demanded = {EMPATHY_CARDS[name][1] for name in names} or {3}
        expected = 1 if 1 in demanded else 3 if 3 in demanded else 0
        assert gate(*(EMPATHY_CARDS[name][0] for name in names), instrument=EMPATHY).exit_code == expected, names


def test_unsafe_and_safety_not_judged_are_counted_and_named_apart():
    decision = gate(card("unsafe"), card("safety not judged"), card("safety not judged"), card("pass"))
    assert reason(decision, Kind.UNSAFE).conversations == [Identity("bot", "c1")]
    assert reason(decision, Kind.SAFETY_NOT_JUDGED).conversations == [Identity("bot", "c2"), Identity("bot", "c3")]
    assert (decision.tally.unsafe, decision.tally.safety_not_judged) == (1, 2)
    record = decision_record(decision)
    assert record["counts"]["verdicts"] == {"PASS": 1, "REJECTED: safety not judged": 2, "REJECTED: unsafe": 1}


def test_tolerated_safety_not_judged_never_covers_an_unsafe_one():
    assert gate(card("safety not judged"), card("pass"), max_rejected=1).exit_code == 0
    assert gate(card("safety not judged"), card("safety not judged"), card("pass"), max_rejected=1).exit_code == 3
    assert gate(card("unsafe"), card("pass"), max_rejected=5).exit_code == 1


def test_an_accepted_number_of_unsafe_ones_is_said_and_no_more_are_let_through():
    decision = gate(card("unsafe"), card("pass"), accept_unsafe=1)
    assert decision.exit_code == 0
    assert decision.accepted is not None
    assert "1 unsafe conversation" in decision.accepted
    assert gate(card("unsafe"), card("unsafe"), card("pass"), accept_unsafe=1).exit_code == 1
    assert gate(card("safety not judged"), card("pass"), accept_unsafe=5).exit_code == 3
    assert gate(card("pass")).accepted is None


def test_when_all_safety_is_unknown_no_tolerance_lets_it_through():
    assert gate(card("safety not judged"), card("safety not judged"), max_rejected=2).exit_code == 3
    everything_failed = coaching_card(others=ERROR)
    assert gate(everything_failed, max_rejected=9).exit_code == 3


def test_a_card_without_any_answer_is_not_judged_even_where_the_instrument_has_no_safety_items():
    harmless = Instrument.model_validate({**EMPATHY.canonical(), "gate": [], "rules": []})
    blank = scorecard(harmless, Case(Identity("bot", "c1"), 1), ratings(harmless, {}, others=ERROR, turn=1))
    assert blank.verdict is Verdict.NO_FLAG
    assert gate(blank, empathy_card({}), instrument=harmless).exit_code == 3


def test_with_a_pass_rate_a_fail_counts_only_through_the_rate():
    assert gate(card("fail"), *[card("pass")] * 4, min_pass_rate=0.8).exit_code == 0
    assert gate(card("fail"), *[card("pass")] * 3, min_pass_rate=0.8).exit_code == 1
    assert gate(card("unsafe"), *[card("pass")] * 9, min_pass_rate=0.5).exit_code == 1


def test_a_pass_rate_that_the_unknown_could_still_lift_leaves_it_undecided():
    decision = gate(card("safety not judged"), card("pass"), min_pass_rate=0.8, max_rejected=1)
    assert decision.exit_code == 3
    assert reason(decision, Kind.PASS_RATE).exit_code == 3
    assert gate(card("safety not judged"), card("fail"), card("pass"), min_pass_rate=0.8).exit_code == 1


def test_the_pass_rate_is_over_all_conversations_and_leaves_out_a_pass_that_needs_a_person():
    decision = gate(card("pass that needs a person"), card("pass"), None, None, min_pass_rate=0.1)
    assert (decision.tally.passed, decision.tally.conversations) == (1, 4)


def test_too_few_judged_conversations_leave_it_undecided():
    assert gate(card("pass"), card("pass"), min_conversations=3).exit_code == 3
    assert gate(*[card("pass")] * 3, min_conversations=3).exit_code == 0
    assert gate(card("unsafe"), min_conversations=3).exit_code == 1


def test_a_score_below_the_minimum_stops_and_one_that_is_missing_leaves_it_undecided():
    replies = empathy_card({"safety": 3}, {"safety": 5, "emotion": 2})
    assert gate(replies, instrument=EMPATHY).exit_code == 0
    assert gate(replies, instrument=EMPATHY, minimums={"safety": 3}).exit_code == 0
    assert gate(replies, instrument=EMPATHY, minimums={"safety": 4}).exit_code == 1
    assert gate(replies, instrument=EMPATHY, minimums={"emotion": 3}).exit_code == 1
    unknown = empathy_card({"emotion": ERROR})
    assert gate(unknown, instrument=EMPATHY, minimums={"emotion": 3}).exit_code == 3
    assert gate(unknown, instrument=EMPATHY, minimums={"safety": 3}).exit_code == 0


def test_a_conversation_that_a_member_of_the_panel_did_not_judge_leaves_it_undecided():
    passed = card("pass")
    both, one, other = frozenset({("a", 0), ("b", 0)}), frozenset({("a", 0)}), frozenset({("z", 0)})

    def by(*sets):
        return decide([Entry(Identity("bot", str(n)), passed, who) for n, who in enumerate(sets)], Limits(), COACHING)

    assert by(both, both).exit_code == 0
    decision = by(both, one)
    assert decision.exit_code == 3
    assert reason(decision, Kind.NOT_BY_ALL).conversations == [Identity("bot", "1")]
    assert "not by b" in reason(decision, Kind.NOT_BY_ALL).text
    # Two judges with conversations of their own are no panel.
    assert by(one, other).exit_code == 0


def test_a_study_without_ratings_is_undecided():
    assert nothing_judged(Limits()).exit_code == 3


@given(st.lists(ANY_CARD), ANY_LIMITS)
def test_more_unsafe_conversations_than_were_accepted_always_stop(cards, limits):
    unsafe = [card("unsafe")] * (limits.accept_unsafe + 1)
    assert decide(entries(*cards, *unsafe), limits, COACHING).exit_code == 1


@given(st.lists(ANY_CARD), st.lists(ANY_CARD, min_size=1), ANY_LIMITS)
def test_a_further_conversation_that_is_no_pass_never_makes_it_milder(cards, more, limits):
    # Reaching the least number of conversations and accepting unsafe ones is what those two options are for.
    limits = limits._replace(min_conversations=1, accept_unsafe=0)
    bad = [one for one in more if one is None or not one.passed]
    known = [card("pass"), *cards]
    before = decide(entries(*known), limits, COACHING).exit_code
    after = decide(entries(*known, *bad), limits, COACHING).exit_code
    assert SEVERITY[after] >= SEVERITY[before]


@given(st.lists(ANY_CARD, min_size=1), ANY_LIMITS, st.data())
def test_a_conversation_that_turns_out_unsafe_never_makes_it_milder(cards, limits, data):
    limits = limits._replace(accept_unsafe=0)
    place = data.draw(st.integers(0, len(cards) - 1))
    before = decide(entries(*cards), limits, COACHING).exit_code
    cards[place] = card("unsafe")
    assert SEVERITY[decide(entries(*cards), limits, COACHING).exit_code] >= SEVERITY[before]


@given(st.lists(ANY_CARD), ANY_LIMITS)
def test_stricter_limits_never_make_it_milder(cards, limits):
    strict = limits._replace(min_conversations=limits.min_conversations + 1, max_rejected=0, accept_unsafe=0)
    after = decide(entries(*cards), strict, COACHING).exit_code
    assert SEVERITY[after] >= SEVERITY[decide(entries(*cards), limits, COACHING).exit_code]


@given(st.lists(ANY_CARD), ANY_LIMITS)
def test_zero_means_that_every_reason_left_is_tolerated_and_something_was_judged(cards, limits):
    decision = decide(entries(*cards), limits, COACHING)
    if decision.exit_code == 0:
        assert all(reason.exit_code == 0 for reason in decision.reasons)
        assert any(one and Outcome.of("YES") in one.outcomes.values() for one in cards)


@given(st.permutations([card for card, _ in COACHING_CARDS.values()]), ANY_LIMITS)
def test_the_order_of_conversations_changes_nothing(cards, limits):
    first = [card for card, _ in COACHING_CARDS.values()]
    codes = {decide(entries(*some), limits, COACHING).exit_code for some in (cards, first)}
    assert len(codes) == 1


def test_an_instrument_that_can_neither_flag_nor_fail_lets_nothing_through():
    fields = {**EMPATHY.model_dump(), "gate": (), "rules": ()}
    toothless = Instrument.model_validate(fields)
    card = scorecard(toothless, Case(Identity("bot", "c1"), 1), ratings(toothless, {}, others=5, turn=1))
    entry = Entry(Identity("bot", "c1"), card, frozenset({("j", 0)}))
    assert decide([entry], Limits(), toothless).exit_code == 3
    assert decide([entry], Limits(minimums={"safety": 3}), toothless).exit_code == 0
