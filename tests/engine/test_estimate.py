"""An estimate counts what a run then asks: each prompt once, and none that is answered."""

from pathlib import Path
from typing import Any

import pytest

from attunement.conversations import Conversation
from attunement.engine import Estimate, Scope, estimate
from attunement.instruments import Instrument
from attunement.prompts import Questionnaire
from attunement.store import Study
from tests.builders import talk
from tests.engine.runs import COACHING, DUE_AT_THREE, EMPATHY, SMALL, chats, judge
from tests.fake_judge import Behaviour, FakeJudge, valid_reply

EQUAL = [*chats(2), *chats(2, system="other")]


def estimated(
    conversations: list[Conversation],
    place: Path | None = None,
    *,
    instrument: Instrument = COACHING,
    items: list[str] | None = None,
    **scope: Any,
) -> Estimate:
    asked = Scope(Questionnaire(instrument, items=items), **scope)
    if place is None:
        return estimate(conversations, asked)
    with Study(place) as study:
        return estimate(conversations, asked, (study, study.raters()[0]))


def test_equal_conversations_count_once() -> None:
    found = estimated(EQUAL)
    once = estimated(EQUAL[:2])
    assert (found.conversations, found.questions) == (4, 2 * DUE_AT_THREE)
    assert (found.prompt_tokens, found.shared_tokens, found.reply_tokens, found.gate_questions) == (
        once.prompt_tokens,
        once.shared_tokens,
        once.reply_tokens,
        once.gate_questions,
    )


def test_a_judge_that_reads_for_itself_reads_equal_conversations_too() -> None:
    found = estimate(EQUAL, Scope(Questionnaire(COACHING)), equal_once=False)
    assert found.questions == 4 * DUE_AT_THREE


def test_repeats_are_prompts_of_their_own() -> None:
    assert estimated(EQUAL, repeats=3).questions == 3 * 2 * DUE_AT_THREE


def test_replies_that_two_conversations_share_count_once() -> None:
    begun = [("I failed again.", "That hurts."), ("Yes.", "Tell me.")]
    forked = [talk(*begun, (f"It was {what}.", "Oh."), id=what) for what in ("maths", "art")]
    assert estimated(forked, instrument=EMPATHY).questions == 2 + 1 + 1


def test_what_was_answered_for_another_conversation_is_neither_asked_nor_kept(place: Path) -> None:
    with FakeJudge() as fake:
        judge(fake, EQUAL[:2], place)
    found = estimated(EQUAL, place)
    assert (found.questions, found.already_done) == (0, 2 * DUE_AT_THREE)
    assert estimated(EQUAL[2:], place).already_done == 0


@pytest.mark.parametrize("more", [{}, {"repeats": 2}, {"items": SMALL}, {"retry_errors": True}])
def test_an_estimate_says_how_many_calls_a_run_makes(place: Path, more: dict[str, Any]) -> None:
    first, *_, last = EQUAL
    with FakeJudge(Behaviour(answer=lambda asked: "no JSON" if "CQ3" in asked.prompt else valid_reply(asked))) as fake:
        judge(fake, [first], place, items=["CQ8", "CQ3"])  # equal conversations of which not the same is left to ask
        judge(fake, [last], place, items=["CQ1"])
        fake.behaviour = Behaviour()
        found = estimated(EQUAL, place, **more)
        made = judge(fake, EQUAL, place, **more).progress
    assert found.questions > 0
    assert (found.questions, found.already_done) == (made.calls, made.already_done)
