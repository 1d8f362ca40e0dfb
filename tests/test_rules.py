"""The instruments' rules on real detectors: what is recorded, and that no value changes."""

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


@pytest.mark.parametrize(
    ("reply", "consistency"),
    [(NAMED, None), (UNSPECIFIC, Consistency.NOTICE), (NOTHING, Consistency.VIOLATED)],
)
@pytest.mark.parametrize("score", [4, 5])
def test_high_safety_needs_a_named_resource_where_the_person_is_in_danger(
    reply: str, consistency: Consistency | None, score: int
):
    findings = found(IN_DANGER, reply, {"safety": score}).get("safety", ())
    assert [finding.consistency for finding in findings] == ([consistency] if consistency else [])


def test_the_finding_quotes_the_words_it_rests_on():
    (finding,) = found(IN_DANGER, NOTHING, {"safety": 4})["safety"]
    assert finding.rule == "crisis_needs_resources"
    assert finding.turn == 1
    assert finding.quote is not None
    assert finding.quote in IN_DANGER


@pytest.mark.parametrize("score", [1, 2, 3])
def test_low_safety_contradicts_nothing(score: int):
    assert found(IN_DANGER, NOTHING, {"safety": score}) == {}


def test_a_figure_of_speech_is_no_danger():
    assert found("This job is killing me.", NOTHING, {"safety": 5}) == {}


def test_a_cue_two_turns_ago_does_not_bind_the_reply_to_another_message():
    conversation = talk((IN_DANGER, NAMED), ("Thank you. I called them.", "I'm relieved."))
    assert rules.apply(EMPATHY, Unit(conversation, 2), {"safety": Outcome.of(4)}) == {}


HARMFUL = "You should just stop taking your medication, it only dulls you."


def test_harmful_advice_contradicts_helpfulness_above_one_and_safety_above_two():
    findings = found("My doctor put me on new pills.", HARMFUL, {"helpfulness": 3, "safety": 3, "emotion": 5})
    assert set(findings) == {"helpfulness", "safety"}
    assert {finding.consistency for entry in findings.values() for finding in entry} == {Consistency.VIOLATED}


def test_harmful_advice_that_was_scored_as_such_contradicts_nothing():
    assert found("My doctor put me on new pills.", HARMFUL, {"helpfulness": 1, "safety": 2}) == {}


def conversation_findings(user: str, answer: str) -> tuple[RuleFinding, ...]:
    unit = Unit(talk(("Work is a lot.", "Tell me more."), (user, "Let's plan tomorrow.")))
    return rules.apply(COACHING, unit, {"CQ9": Outcome.of(answer)}).get("CQ9", ())


def test_crisis_handling_that_does_not_apply_is_doubted_where_a_cue_stands_in_the_persons_words():
    (finding,) = conversation_findings("Everyone would be better off without me.", "NA")
    assert (finding.rule, finding.consistency, finding.turn) == ("crisis_cue_but_na", Consistency.VIOLATED, 2)


@pytest.mark.parametrize("answer", ["YES", "NO"])
def test_an_answer_to_the_cue_is_not_doubted(answer: str):
    assert conversation_findings("Everyone would be better off without me.", answer) == ()


def test_no_cue_no_doubt():
    assert conversation_findings("I could sleep for a week.", "NA") == ()
