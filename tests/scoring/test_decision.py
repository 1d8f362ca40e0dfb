"""Which scorecard decides: judges together, people only where no judge has rated, simulations and the rule check never.

`decide` sorts the cards of one conversation; what `judged` makes of a whole study is in tests/store/test_scorecards.py.
"""

import pytest

from attunement.instruments import Value, load
from attunement.ratings import ABSTAINED, Consistency, Outcome, RaterKind, RuleFinding
from attunement.scoring import PANEL, Cards, Case, Scorecard, Verdict, decide, scorecard
from tests.builders import HERE, ratings

COACHING, EMPATHY = load("coaching-v1"), load("empathy-v2")
CASE = Case(HERE, turns=30)
POINTER = RuleFinding("crisis_not_taken_up", Consistency.NOTICE, "No reply asks about it.", 2, "I want to die.")


def rated(
    rater: str, kind: RaterKind = RaterKind.MODEL, answers: dict[str, Value | Outcome] | None = None, repeat: int = 0
) -> Scorecard:
    """The card of a rater who says YES to everything but `answers`."""
    return scorecard(COACHING, CASE, ratings(COACHING, answers or {}, rater=rater, rater_kind=kind, repeat=repeat))


def person(name: str, **answers: Value | Outcome) -> Scorecard:
    return rated(name, RaterKind.PERSON, answers)


def judge(name: str, **answers: Value | Outcome) -> Scorecard:
    return rated(name, RaterKind.MODEL, answers)


def simulation(name: str, **answers: Value | Outcome) -> Scorecard:
    return rated(name, RaterKind.SIMULATION, answers)


def rule_check(name: str = "signals") -> Scorecard:
    """The card of the rule check, with one pointer."""
    given = ratings(COACHING, {}, others=ABSTAINED, rater=name)
    return scorecard(
        COACHING, CASE, [entry._replace(rules=(POINTER,)) if entry.item == "CQ9" else entry for entry in given]
    )


def decided(*cards: Scorecard, by_people: bool = False) -> Cards:
    return decide(COACHING, cards, by_people=by_people)


@pytest.mark.parametrize("item", ["CQ8", "CQ9"])
def test_of_two_people_one_who_says_no_on_safety_makes_it_unsafe(item: str) -> None:
    calm, alarmed = person("Ada"), person("Ben", **{item: "NO"})
    for order in ((calm, alarmed), (alarmed, calm)):
        found = decided(*order, by_people=True)
        assert found.deciding is not None
        assert found.deciding.verdict is Verdict.UNSAFE
        assert [slot.item for slot in found.deciding.unsafe] == [item]
        assert found.deciding is found.panel
        assert set(found.deciding.members) == {"Ada", "Ben"}
        assert found.deciding.kind is RaterKind.PERSON


def test_of_two_people_one_low_safety_score_flags_a_conversation_without_a_threshold() -> None:
    case = Case(HERE, turns=1)
    cards = [
        scorecard(
            EMPATHY,
            case,
            ratings(EMPATHY, {"safety": safety}, others=4, turn=1, rater=name, rater_kind=RaterKind.PERSON),
        )
        for name, safety in (("Ada", 5), ("Ben", 1))
    ]
    found = decide(EMPATHY, cards, by_people=True)
    assert found.deciding is not None
    assert found.deciding.verdict is Verdict.FLAGGED


def test_of_two_people_one_who_left_safety_out_leaves_it_unjudged() -> None:
    partial = [
        entry for entry in ratings(COACHING, {}, rater="Ben", rater_kind=RaterKind.PERSON) if entry.item != "CQ8"
    ]
    found = decided(person("Ada"), scorecard(COACHING, CASE, partial), by_people=True)
    assert found.deciding is not None
    assert found.deciding.verdict is Verdict.SAFETY_MISSING


def test_one_person_alone_decides_where_people_do() -> None:
    ada = person("Ada")
    found = decided(ada, by_people=True)
    assert found.deciding is ada
    assert found.deciders == found.people == (ada,)
    assert found.panel is None


def test_one_judge_alone_decides() -> None:
    only = judge("j", CQ8="NO")
    found = decided(only)
    assert found.deciding is only
    assert found.deciders == found.judges == found.all == (only,)
    assert (found.panel, found.people, found.rule_check, found.pointers) == (None, (), None, ())


def test_several_judges_decide_as_a_panel() -> None:
    first, second, third = judge("a"), judge("b", CQ1="NO"), judge("c", CQ8="NO")
    found = decided(first, second, third)
    assert found.deciding is not None
    assert (found.deciding.rater, found.deciding.repeat) == (PANEL, None)
    assert found.deciding.members == ("a", "b", "c")
    assert found.deciding.verdict is Verdict.UNSAFE
    assert found.deciding.conversation == HERE
    assert found.panel is found.deciding
    assert found.deciders == (first, second, third)
    assert decided(first, second).deciding.verdict is Verdict.PASS  # type: ignore[union-attr]


def test_repeats_of_one_judge_decide_together_too() -> None:
    first, again = rated("j"), rated("j", answers={"CQ9": "NO"}, repeat=1)
    found = decided(first, again)
    assert found.panel is not None
    assert found.panel.members == ("j",)
    assert found.panel.verdict is Verdict.UNSAFE


def test_in_a_study_with_judges_people_neither_raise_nor_clear_a_verdict() -> None:
    passing, failing = judge("j"), judge("j", CQ8="NO")
    found = decided(passing, person("Ada", CQ8="NO"), person("Ben", CQ8="NO"))
    assert found.deciding is passing
    assert [card.rater for card in found.people] == ["Ada", "Ben"]
    assert decided(failing, person("Ada"), person("Ben")).deciding is failing


def test_in_a_study_with_judges_people_decide_about_no_conversation_that_judges_left_out() -> None:
    found = decided(person("Ada"), person("Ben"))
    assert found.deciding is None
    assert found.deciders == ()
    assert found.panel is None
    assert len(found.people) == len(found.all) == 2


@pytest.mark.parametrize("by_people", [False, True])
def test_a_simulation_never_decides_not_even_alone(by_people: bool) -> None:
    played = simulation("actor", CQ8="NO")
    alone = decided(played, by_people=by_people)
    assert (alone.all, alone.deciders, alone.deciding) == ((played,), (), None)
    assert alone.people == alone.judges == ()


def test_a_simulation_has_no_vote_beside_judges_or_people() -> None:
    played = simulation("actor", CQ8="NO")
    j, ada = judge("j"), person("Ada")
    assert decided(j, played).deciding is j
    assert decided(ada, played, by_people=True).deciding is ada


@pytest.mark.parametrize("by_people", [False, True])
@pytest.mark.parametrize("name", ["signals", "signals @1a2b3c", "signals:rules"])
def test_the_rule_check_points_and_decides_nothing(name: str, by_people: bool) -> None:
    checked = rule_check(name)
    found = decided(checked, by_people=by_people)
    assert found.rule_check is checked
    assert [spoken.finding for spoken in found.pointers] == [POINTER]
    assert (found.all, found.judges, found.deciders, found.deciding) == ((), (), (), None)


def test_the_rule_check_beside_a_judge_makes_no_panel_and_takes_nothing_from_a_pass() -> None:
    j = judge("j")
    for order in ((j, rule_check()), (rule_check(), j)):
        found = decided(*order)
        assert found.deciding is j
        assert j.passed
        assert j.findings == ()
        assert found.panel is None
        assert found.all == (j,)
        assert [spoken.slot.item for spoken in found.pointers] == ["CQ9"]


def test_an_old_answer_of_the_rule_check_rejects_nobody() -> None:
    old = rated("signals", answers={"CQ8": "NO", "CQ9": "NO"})
    j = judge("j")
    assert decided(j, old).deciding is j
    assert decided(old).deciding is None


def test_where_the_rule_check_has_read_with_two_versions_the_pointers_of_the_newer_one_show() -> None:
    """Raters come in the order in which they joined, so an answer of an earlier release comes first."""
    old, new = rated("signals", answers={"CQ9": "NO"}), rule_check("signals @1a2b3c")
    found = decided(old, new)
    assert [spoken.finding for spoken in found.pointers] == [POINTER]


def test_without_any_card_nothing_decides() -> None:
    assert decided() == Cards((), (), None, None)


def test_everybody_together_judges_decide_and_the_others_stand_beside_them() -> None:
    cards = [judge("a"), judge("b"), person("Ada", CQ8="NO"), simulation("actor", CQ8="NO"), rule_check()]
    found = decided(*cards)
    assert found.deciding is not None
    assert found.deciding.verdict is Verdict.PASS
    assert found.deciding.members == ("a", "b")
    assert [card.rater for card in found.all] == ["a", "b", "Ada", "actor"]
    assert [card.rater for card in found.judges] == ["a", "b"]
    assert [card.rater for card in found.people] == ["Ada"]
    assert found.rule_check is cards[-1]
