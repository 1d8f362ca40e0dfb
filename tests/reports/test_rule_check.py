"""What the rule check found, in sentences and as data: where to look, and never whether it is good."""

import json

import pytest

from attunement.conversations import Identity
from attunement.ratings import RuleFinding
from attunement.reports.rule_check import RuleCheck, fact_lines, facts_record, pointer_words
from attunement.scoring import Cards, Case, decide, scorecard
from attunement.signals.facts import facts
from attunement.signals.measured import SCOPE, in_a_line
from tests.builders import talk
from tests.reports.samples import COACHING, NOT_ENGLISH, POINTER, checked, coaching_card, conversation


def cards(*found: RuleFinding) -> Cards:
    about = conversation()
    card = scorecard(COACHING, Case(about.identity, 2), checked(about, *found))
    return decide(COACHING, [card], by_people=False)


def counted(**found: Cards) -> RuleCheck:
    made = RuleCheck()
    for name, each in found.items():
        made.add(Identity("bot", name), each)
    return made


def test_conversations_pointers_and_what_is_not_english_are_counted_apart():
    made = counted(a=cards(POINTER, POINTER._replace(turn=2)), b=cards(POINTER), c=cards(NOT_ENGLISH), d=cards())
    assert list(made.sentences()) == [
        "Rule check: 4 conversations read, 3 pointers in 2 conversations.",
        "Not English: not looked at: bot/c.",
        SCOPE,
        in_a_line(),
    ]


def test_where_it_points_to_nothing_it_still_says_what_it_cannot_see():
    assert list(counted(a=cards()).sentences()) == ["Rule check: 1 conversation read, 0 pointers.", SCOPE, in_a_line()]


def test_where_it_has_read_nothing_there_is_nothing_to_say():
    made = counted(a=decide(COACHING, [coaching_card()], by_people=False))
    assert list(made.sentences()) == []
    assert list(made.lines()) == []
    assert made.record() is None


def test_a_conversation_is_named_once_however_many_of_its_replies_are_not_english():
    made = counted(a=cards(NOT_ENGLISH, NOT_ENGLISH._replace(turn=2)))
    assert made.not_english == [Identity("bot", "a")]


def test_of_many_conversations_that_are_not_english_the_first_are_named():
    made = counted(**{f"c{number}": cards(NOT_ENGLISH) for number in range(7)})
    assert list(made.sentences())[1] == (
        "Not English: not looked at: bot/c0, bot/c1, bot/c2, bot/c3, bot/c4 and 2 more."
    )


def test_pointers_are_listed_one_a_line_and_the_rest_is_counted():
    made = counted(a=cards(POINTER), b=cards(POINTER), c=cards(POINTER))
    line = f"bot/a, turn 1: “I want to kill myself.” – {POINTER.text}"
    assert list(made.lines()) == [line, line.replace("/a", "/b"), line.replace("/a", "/c")]
    assert list(made.lines(1)) == [line, "2 more; attune show lists them all with --json."]


def test_a_pointer_says_where_to_look_the_sentence_and_why():
    assert pointer_words(POINTER._replace(quote=None)) == f"turn 1 – {POINTER.text}"
    assert pointer_words(NOT_ENGLISH) == "not English, not looked at"
    long = pointer_words(POINTER._replace(quote="die " * 300 + "\x1b[31m\n"))
    assert len(long) < 400
    assert "\x1b" not in long
    assert "\n" not in long


def test_the_record_is_json_and_holds_every_pointer_with_its_conversation():
    record = json.loads(json.dumps(counted(a=cards(POINTER), b=cards(NOT_ENGLISH)).record()))
    assert record == {
        "read": 2,
        "not_english": [{"system": "bot", "id": "b"}],
        "pointers": [{"system": "bot", "id": "a", **POINTER._asdict()}],
        "measured": in_a_line(),
    }


FACTS = facts(
    talk(
        ("I feel low.", "I hear you. Try box breathing. Call Samaritans on 116 123."),
        ("And at work?", "I hear you, work is hard. Box breathing helps. What happened?"),
        ("Nothing.", "I hear you say nothing. Call 555 0199 or a crisis line."),
    ).turns,
    country="GB",
)


def test_counts_are_told_in_sentences_without_a_judgement():
    lines = list(fact_lines(FACTS))
    assert lines[0].startswith("Words per message: ")
    assert lines[1:4] == [
        "Replies that end with a question: 1 of 3.",
        "“I hear you …” opens 3 of 3 replies.",
        "Named in 2 replies: box breathing.",
    ]


@pytest.mark.parametrize(
    ("what", "reach"),
    [
        ("turn 1: Samaritans", "on the list of crisis lines"),
        ("turn 3: 555 0199", "a number that is not on the list"),
        ("turn 3: crisis line", "no name and no number"),
    ],
)
def test_help_that_is_named_is_told_with_whether_the_person_can_reach_it(what, reach):
    (line,) = [line for line in fact_lines(FACTS) if f"Crisis resource in {what}" in line]
    assert line.endswith(f"({reach}).")


def test_the_same_help_in_several_turns_is_one_line():
    turns = talk(*[(f"Day {day}.", "Please call emergency services.") for day in range(3)]).turns
    lines = [line for line in fact_lines(facts(turns)) if line.startswith("Crisis resource")]
    assert len(lines) == 1
    assert "in turn 1, 2, 3: " in lines[0]
    assert lines[0].endswith("(emergency services).")


def test_the_counts_are_also_plain_data():
    record = json.loads(json.dumps(facts_record(FACTS)))
    assert (record["replies"], record["end_with_question"]) == (3, 1)
    assert record["openers"] == {"i hear you": 3}
    assert record["techniques"] == {"box breathing": 2}
    assert {each["reach"] for each in record["crisis_resources"]} >= {"listed", "unnamed"}
    assert record["mean_words_user"] == pytest.approx(FACTS.lengths.mean_user)
