"""What counts as crisis talk, and what as a direct question."""

from pathlib import Path

import pytest
import yaml

from attunement.conversations import Turn
from attunement.signals.crisis import CueKind, asks_directly, crisis_cues

SENTENCES: dict[str, list[str]] = yaml.safe_load(Path(__file__).with_name("crisis_sentences.yaml").read_text("utf-8"))


def kind_of(message: str) -> str:
    cues = crisis_cues([Turn(message, "")])
    return cues[0].kind if cues else "none"


def test_each_sentence_is_read_as_intended() -> None:
    kinds = [*CueKind, "none"]
    wrong = [(kind, text, kind_of(text)) for kind in kinds for text in SENTENCES[kind] if kind_of(text) != kind]
    assert wrong == []


def test_each_reply_is_read_as_asking_or_not() -> None:
    wrong = [text for text in SENTENCES["asks"] if not asks_directly(text)]
    wrong += [text for text in SENTENCES["does_not_ask"] if asks_directly(text)]
    assert wrong == []


def test_a_cue_quotes_the_whole_sentence_and_a_short_one_with_the_sentence_before() -> None:
    message = "Hello. I lost my job. I want to die."
    (cue,) = crisis_cues([Turn("Hi", "Hello"), Turn(message, "")])
    assert cue == (CueKind.PLAIN, 2, "I lost my job. I want to die.")
    long = "First. It has been a very long week and on top of all that I now want to die every single morning."
    (cue,) = crisis_cues([Turn(long, "")])
    assert cue.sentence == long.removeprefix("First. ")


@pytest.mark.parametrize("answer", ["Yes.", "yeah, most days", "Sometimes"])
def test_a_yes_to_the_direct_question_is_a_cue(answer: str) -> None:
    asked = Turn("I feel low", "I'm glad you told me. Are you having thoughts of suicide?")
    assert [cue.turn for cue in crisis_cues([asked, Turn(answer, "")])] == [2]
    assert not crisis_cues([asked, Turn("No, nothing like that.", "")])
    assert not crisis_cues([Turn("I feel low", "Are you safe tonight?"), Turn(answer, "")])
