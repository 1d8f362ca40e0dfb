from hypothesis import given
from hypothesis import strategies as st

from attunement.evidence import CitationStatus, Finding
from attunement.instruments import Instrument
from attunement.ratings import Consistency, Outcome, RaterKind
from attunement.reports.conversation import RULE, Place, Question, Region, Said, View, regions, view, view_record
from attunement.scoring import Slot, Verdict
from attunement.store import Study
from tests.builders import talk
from tests.reports.samples import (
    COACHING,
    EMPATHY,
    POINTER,
    checked,
    coaching_card,
    conversation,
    fill,
    judged,
    rule,
)

TALK = conversation()
REPLY = TALK.turns[0].assistant


def one(path, instrument: Instrument = COACHING, **options) -> View:
    with Study(path) as study:
        (kept,) = study.find("c1")
        return view(study, instrument, kept, **options)


def asked(*findings: Finding, item: str = "CQ1", rules=()) -> Question:
    said = Said(coaching_card(), Outcome.of("YES"), None, findings, rules)
    return Question(Slot(None, item), COACHING.item(item), None, (said,))


def found(start: int, end: int, standing: CitationStatus = CitationStatus.FOUND) -> Finding:
    return Finding(standing, (1,), "q", 1, "assistant", start, end)


def test_quoted_words_are_marked_where_they_stand(tmp_path):
    shown = one(fill(tmp_path / "s.db", COACHING, [TALK], judged(TALK)))
    (region,) = shown.regions[Place(1, "assistant")]
    assert REPLY[region.start : region.end] == "Failing it must hurt"
    assert region.exact
    assert set(region.items) == {question.item.id for question in shown.questions}


def test_words_that_several_items_quote_are_one_region_that_names_them():
    marked = regions(TALK.turns, [asked(found(0, 10)), asked(found(5, 15), item="CQ2"), asked(found(20, 22))])
    assert marked[Place(1, "assistant")] == [Region(0, 15, ("CQ1", "CQ2"), True), Region(20, 22, ("CQ1",), True)]


def test_what_does_not_stand_there_is_not_marked_and_what_nearly_does_is_marked_as_such():
    assert regions(TALK.turns, [asked(found(0, 5, CitationStatus.NOT_FOUND), Finding(CitationStatus.NOTHING))]) == {}
    marked = regions(TALK.turns, [asked(found(0, 5, CitationStatus.CLOSE))])
    assert marked[Place(1, "assistant")] == [Region(0, 5, ("CQ1",), False)]


def test_the_words_that_a_rule_rests_on_are_marked_for_the_rule():
    crisis = talk(("I want to end it all.", "Tell me more."))
    marked = regions(crisis.turns, [asked(rules=(rule(Consistency.VIOLATED),), item="CQ9")])
    assert marked[Place(1, "user")] == [Region(10, 20, (RULE,), True)]


@given(st.lists(st.tuples(st.integers(-5, 70), st.integers(-5, 70))))
def test_regions_lie_within_the_message_in_order_and_apart(spans):
    marked = regions(TALK.turns, [asked(found(start, end)) for start, end in spans]).get(Place(1, "assistant"), [])
    edges = [edge for region in marked for edge in (region.start, region.end)]
    assert edges == sorted(set(edges))
    assert all(0 <= edge <= len(REPLY) for edge in edges)
    covered = {place for region in marked for place in range(region.start, region.end)}
    assert covered == {place for start, end in spans for place in range(max(start, 0), min(end, len(REPLY)))}


def test_safety_items_come_first_and_every_rater_answers_in_turn(tmp_path):
    given = [*judged(TALK, rater="b"), *judged(TALK, {"CQ8": "NO"}, rater="a")]
    shown = one(fill(tmp_path / "s.db", COACHING, [TALK], given))
    assert [question.item.id for question in shown.questions[:3]] == ["CQ8", "CQ9", "CQ1"]
    assert shown.cards.panel is not None
    assert shown.cards.panel.verdict is Verdict.UNSAFE
    assert shown.cards.deciding is shown.cards.panel
    first = shown.questions[0]
    assert [said.card.rater for said in first.answers] == ["b", "a"]
    assert first.together == Outcome.of("NO")
    assert [card.rater for card in one(tmp_path / "s.db", rater="a").cards.all] == ["a"]


def test_an_item_that_is_not_due_is_no_question(tmp_path):
    shown = one(fill(tmp_path / "s.db", COACHING, [TALK], judged(TALK)))
    assert "CP7" not in {question.item.id for question in shown.questions}
    assert "CP7" in shown.cards.deciding.not_due


def test_replies_are_asked_about_one_by_one(tmp_path):
    given = [
        *judged(TALK, {}, instrument=EMPATHY, others=4, turn=1),
        *judged(TALK, {"safety": 2}, instrument=EMPATHY, others=3, turn=2),
    ]
    shown = one(fill(tmp_path / "s.db", EMPATHY, [TALK], given), EMPATHY)
    assert [question.slot for question in shown.questions[:2]] == [Slot(1, "safety"), Slot(1, "emotion")]
    assert len(shown.questions) == 10
    assert shown.cards.deciding.verdict is Verdict.FLAGGED


def test_the_record_holds_the_words_and_the_evidence(tmp_path):
    record = view_record(one(fill(tmp_path / "s.db", COACHING, [TALK], judged(TALK))))
    assert record["turns"][0]["assistant"] == REPLY
    assert record["ratings"][0]["evidence"][0]["standing"] == "found"
    assert record["pointers"] == []
    assert record["facts"]["replies"] == 2
    assert record["facts"]["end_with_question"] == 1


def test_the_rule_check_answers_nothing_and_its_pointers_stand_apart(tmp_path):
    crisis = talk(("I want to kill myself.", "Tell me more."))
    shown = one(fill(tmp_path / "s.db", COACHING, [crisis], checked(crisis, POINTER)))
    assert (shown.cards.all, shown.cards.deciding, shown.questions) == ((), None, ())
    assert [spoken.finding for spoken in shown.cards.pointers] == [POINTER]
    assert shown.regions == {Place(1, "user"): [Region(0, 22, (RULE,), True)]}
    record = view_record(shown)
    assert (record["panel"], record["scorecards"], record["ratings"]) == (None, [], [])
    assert record["pointers"] == [POINTER._asdict()]


def test_people_decide_together_only_where_no_judge_rated_anything_in_the_study(tmp_path):
    kinds = {"ann": RaterKind.PERSON, "bob": RaterKind.PERSON}
    by_people = [*judged(TALK, rater="ann"), *judged(TALK, {"CQ8": "NO"}, rater="bob")]
    alone = one(fill(tmp_path / "people.db", COACHING, [TALK], by_people, kinds))
    assert alone.cards.panel.members == ("ann", "bob")
    assert alone.cards.deciding.verdict is Verdict.UNSAFE
    other = conversation("c2")
    beside = one(fill(tmp_path / "mix.db", COACHING, [TALK, other], [*by_people, *judged(other)], kinds))
    assert beside.cards.deciding is None
    assert [card.rater for card in beside.cards.people] == ["ann", "bob"]
