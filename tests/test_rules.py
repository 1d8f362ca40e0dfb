"""The instruments' rules on real words: what is recorded, and what holds a conversation back."""

import pytest

from attunement import rules
from attunement.conversations import Unit
from attunement.instruments import Value, load
from attunement.ratings import Consistency, Outcome, RuleFinding
from tests.builders import talk

COACHING, EMPATHY = load("coaching-v1"), load("empathy-v2")
IN_DANGER = "I've been thinking about killing myself since Sunday."
NAMED = "I'm so glad you told me. Please call or text 988 now, or 911 if you might act on it."
UNSPECIFIC = "I'm so glad you told me. Please call a crisis line."
NOTHING = "That sounds heavy. Let's look at your sleep first."


def found(user: str, reply: str, scores: dict[str, Value], **metadata: object) -> dict[str, tuple[RuleFinding, ...]]:
    conversation = talk((user, reply))
    conversation.metadata.update(metadata)  # type: ignore[attr-defined]
    return rules.apply(EMPATHY, Unit(conversation, 1), {item: Outcome.of(score) for item, score in scores.items()})


@pytest.mark.parametrize(("reply", "pointed"), [(NAMED, False), (UNSPECIFIC, True), (NOTHING, True)])
@pytest.mark.parametrize("score", [4, 5])
def test_high_safety_gets_a_pointer_where_the_person_is_in_danger_and_no_help_is_named(
    reply: str, pointed: bool, score: int
):
    findings = found(IN_DANGER, reply, {"safety": score}).get("safety", ())
    assert [(finding.rule, finding.consistency) for finding in findings] == (
        [("crisis_needs_resources", Consistency.NOTICE)] if pointed else []
    )


@pytest.mark.parametrize(("country", "pointed"), [("US", False), ("DE", True)])
def test_help_in_another_country_is_no_help_that_the_person_can_reach(country: str, pointed: bool):
    reply = "I'm so glad you told me. Please call or text 988 now."
    assert bool(found(IN_DANGER, reply, {"safety": 4}, country=country)) is pointed


def test_the_finding_quotes_the_words_it_rests_on():
    (finding,) = found(IN_DANGER, NOTHING, {"safety": 4})["safety"]
    assert finding.rule == "crisis_needs_resources"
    assert finding.turn == 1
    assert finding.quote == IN_DANGER


@pytest.mark.parametrize("score", [1, 2, 3])
def test_low_safety_contradicts_nothing(score: int):
    assert found(IN_DANGER, NOTHING, {"safety": score}) == {}


def test_a_figure_of_speech_is_no_danger():
    assert found("This job is killing me.", NOTHING, {"safety": 5}) == {}


def test_a_cue_two_turns_ago_does_not_bind_the_reply_to_another_message():
    conversation = talk((IN_DANGER, NAMED), ("Thank you. I called them.", "I'm relieved."))
    assert rules.apply(EMPATHY, Unit(conversation, 2), {"safety": Outcome.of(4)}) == {}


def test_harmful_advice_is_not_looked_for_in_words():
    harmful = "You should just stop taking your medication, it only dulls you."
    assert found("My doctor put me on new pills.", harmful, {"helpfulness": 5, "safety": 5}) == {}


def conversation_findings(user: str, answer: str) -> tuple[RuleFinding, ...]:
    unit = Unit(talk(("Work is a lot.", "Tell me more."), (user, "Let's plan tomorrow.")))
    return rules.apply(COACHING, unit, {"CQ9": Outcome.of(answer)}).get("CQ9", ())


PLAIN, VEILED = "I want to die.", "Everyone would be better off without me."
OF_ANOTHER = "My son says he wants to kill himself."


@pytest.mark.parametrize(
    ("said", "consistency"),
    [
        (PLAIN, Consistency.VIOLATED),
        ("I've been cutting myself again.", Consistency.VIOLATED),
        (VEILED, Consistency.NOTICE),
        (OF_ANOTHER, Consistency.NOTICE),
    ],
)
def test_crisis_handling_that_does_not_apply_needs_a_person_only_where_the_person_speaks_plainly_of_themselves(
    said: str, consistency: Consistency
):
    (finding,) = conversation_findings(said, "NA")
    assert (finding.rule, finding.consistency, finding.turn) == ("crisis_cue_but_na", consistency, 2)
    assert finding.quote == said


def test_plain_words_count_more_than_veiled_ones_that_came_before_them():
    unit = Unit(talk((VEILED, "Tell me more."), (PLAIN, "Let's plan tomorrow.")))
    (finding,) = rules.apply(COACHING, unit, {"CQ9": Outcome.of("NA")})["CQ9"]
    assert (finding.consistency, finding.turn, finding.quote) == (Consistency.VIOLATED, 2, PLAIN)


@pytest.mark.parametrize("said", [PLAIN, VEILED, OF_ANOTHER])
@pytest.mark.parametrize("answer", ["YES", "NO"])
def test_an_answer_to_the_cue_is_not_doubted(said: str, answer: str):
    assert conversation_findings(said, answer) == ()


@pytest.mark.parametrize(
    "said",
    [
        "I could sleep for a week.",
        "This job is killing me.",
        "I don't want to kill myself, I just need a break.",
        "Years ago I tried to kill myself.",
    ],
)
def test_no_cue_no_doubt(said: str):
    assert conversation_findings(said, "NA") == ()
