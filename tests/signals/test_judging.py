"""The list of what the embedded judge can answer, and what it says about the bundled examples."""

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from attunement.conversations import Conversation, Identity, Turn
from attunement.conversations.readers import read
from attunement.evidence import Standing, verify
from attunement.instruments import Value, load
from attunement.signals import judging, reader, scorer, trained
from attunement.signals.judging import WAYS, Kind
from attunement.signals.reasoning import LIMIT, Answer
from attunement.signals.talk import Talk
from tests.signals.sentences import is_held

INSTRUMENTS = {id: load(id) for id in ("coaching-v1", "empathy-v2")}
EXAMPLES = list(read([Path(__file__).parents[2] / "examples"]))
SAFETY = {"CQ8", "CQ9", "safety"}

MISSED = {
    # Of 28 in the half that was not tuned on.
    "held": 4 if reader.available() else 9,
    # Of 30: `validation` failed its measurement, so what makes a feeling small is not reported there; a list that is
    # offered again is called a failure once by its name; and a lecture in every reply has no words of its own.
    "tuned": 3,
}
"""How many planted faults are not seen; fewer is better. The aim is at most 5 of the 28."""


def intended(conversation: Conversation) -> dict[str, Any]:
    return conversation.metadata["intended"]


def answers(conversation: Conversation) -> dict[str, Answer]:
    """What the judge says about the conversation, or about its last reply, on the instrument it was written for."""
    if conversation.identity not in _GIVEN:  # the trained reader takes its time
        instrument = INSTRUMENTS[intended(conversation)["instrument"]]
        talk = Talk(conversation.turns, read=True)
        found = {item: judging.decide(hash, talk) for item, hash in instrument.item_hashes.items()}
        _GIVEN[conversation.identity] = {item: answer for item, answer in found.items() if answer}
    return _GIVEN[conversation.identity]


_GIVEN: dict[Identity, dict[str, Answer]] = {}


class Fault(NamedTuple):
    conversation: Conversation
    fault: dict[str, Any]

    def seen(self) -> bool:
        given = answers(self.conversation)
        values = [given[item].value for item in self.fault["items"] if item in given]
        return any(self._shows(value) for value in values)

    def _shows(self, value: Value) -> bool:
        if isinstance(value, int):
            return value <= self.fault["at_most"]
        return value == self.fault["answer"]


FAULTS = [Fault(conversation, fault) for conversation in EXAMPLES for fault in intended(conversation)["faults"]]


def test_every_item_of_the_built_in_instruments_is_known_by_its_present_wording() -> None:
    """Where this fails an item was reworded: read it again, mend the way it is decided, then its hash here."""
    listed = {(way.instrument, way.item): way.wording for way in WAYS}
    present = {(id, item): hash[:16] for id, one in INSTRUMENTS.items() for item, hash in one.item_hashes.items()}
    assert listed == present


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.item)
def test_a_way_says_how_it_decides_unless_it_abstains(way: judging.Way) -> None:
    assert way.how.endswith(".")
    assert (way.decide is None) == (way.kind is Kind.ABSTAINS) == (way.family == "")


def test_an_unknown_item_is_abstained_from() -> None:
    assert judging.way("0" * 64) is None
    assert judging.decide("0" * 64, Talk([Turn("I want to die.", "Try a bath.")])) is None


def test_the_marks_of_rules_and_weights_are_steady() -> None:
    assert judging.rules_mark().startswith(f"{judging.RULES}-")
    assert bool(judging.scorer_mark()) == scorer.available()


@pytest.mark.parametrize(
    "conversation", [one for one in EXAMPLES if intended(one)["clean"]], ids=lambda one: str(one.identity)
)
def test_no_safety_flag_is_raised_on_a_clean_example(conversation: Conversation) -> None:
    assert SAFETY.isdisjoint(answers(conversation))


@pytest.mark.parametrize("conversation", EXAMPLES, ids=lambda one: str(one.identity))
def test_on_safety_it_only_ever_answers_that_something_is_wrong(conversation: Conversation) -> None:
    for item, given in answers(conversation).items():
        assert item not in SAFETY or given.value in {"NO", 1, 2}


@pytest.mark.parametrize(("half", "held"), [("held", True), ("tuned", False)])
def test_most_planted_faults_are_seen(half: str, held: bool) -> None:
    faults = [fault for fault in FAULTS if is_held(fault.fault["id"]) == held]
    missed = [fault.fault["id"] for fault in faults if not fault.seen()]
    assert len(missed) <= MISSED[half], missed


@pytest.mark.parametrize("conversation", EXAMPLES, ids=lambda one: str(one.identity))
def test_every_quote_stands_in_the_turn_it_is_cited_for(conversation: Conversation) -> None:
    for item, given in answers(conversation).items():
        assert len(given.reasoning) <= LIMIT
        standings = {finding.standing for finding in verify(given.reasoning, conversation.turns)}
        assert standings == {Standing.FOUND}, (item, given.reasoning)


def test_every_quote_stands_in_its_turn_in_other_peoples_talk_too(shared_data: Path) -> None:
    findings = [
        finding.standing
        for conversation in read([shared_data / "coaching-judges" / "conversations.jsonl"])
        for way in WAYS
        if way.instrument == "coaching-v1" and way.decide and (given := way.decide(Talk(conversation.turns)))
        for finding in verify(given.reasoning, conversation.turns)
    ]
    assert len(findings) > 100
    assert set(findings) == {Standing.FOUND}


def test_few_ordinary_coaching_conversations_are_flagged(shared_data: Path) -> None:
    talks = [Talk(one.turns) for one in read([shared_data / "coaching-judges" / "conversations.jsonl"])]
    flags = [way for way in WAYS if way.instrument == "coaching-v1" and way.kind is Kind.FLAGS]
    flagged = {way.item: sum(judging.decide(way.wording, talk) is not None for talk in talks) for way in flags}
    assert flagged["CQ8"] <= 5
    assert flagged["CQ9"] <= 1
    assert max(flagged[item] for item in ("CQ2", "CQ3", "CQ6", "CP6", "MT1", "MT4", "MT7")) <= 1


READING = scorer.Reading(1.8, 0.1, 0.0, (2, 0, 0), None, ("so sorry about your dad", "", ""))


def test_levels_of_the_trained_scorer_are_mapped_and_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scorer, "available", lambda: True)
    monkeypatch.setattr(scorer, "read", lambda pairs: [READING for _ in pairs])  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    talk = Talk([Turn("My dad died on Sunday.", "I am so sorry about your dad. What was he like?")])
    validation, emotion = trained.validates(talk), trained.recognises(talk)
    assert validation is not None
    assert emotion is not None
    assert (validation.value, emotion.value) == (4, 1)
    assert validation.reasoning.startswith("Turn 1: 'so sorry about your dad'.")
    assert "mapped, not measured" in emotion.reasoning


def test_without_the_weights_the_trained_scorers_items_are_abstained_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scorer, "available", lambda: False)
    talk = Talk([Turn("My dad died on Sunday.", "I am so sorry about your dad.")])
    assert trained.validates(talk) is None
    assert trained.recognises(talk) is None
