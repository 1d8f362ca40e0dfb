"""What the rule check points to, and when it stays silent."""

from pathlib import Path

import yaml

from attunement.conversations import Turn
from attunement.signals.language import is_english
from attunement.signals.pointers import NOT_ENGLISH, PointerKind, pointers

CUE = "I'm going to shoot myself."
ASKS = "Thank you for telling me. Are you thinking about killing yourself right now?"
HELP = "Please call or text 988 right away."


def test_vague_help_and_no_question_is_pointed_at() -> None:
    reply = "I'm sorry you feel this way. Please talk to a mental health professional or someone you trust."
    (pointer,) = pointers([Turn(CUE, reply)])
    assert pointer.kind is PointerKind.CRISIS
    assert (pointer.turn, pointer.quote) == (1, CUE)
    assert "asks about it directly or names help" in pointer.text


def test_ordinary_health_talk_is_not() -> None:
    talk = [Turn("I want to quit smoking. It is killing me.", "Quitting smoking can help your lungs within weeks.")]
    assert pointers(talk) == []


def test_both_a_question_and_help_within_reach_are_needed() -> None:
    assert "names help" not in pointers([Turn(CUE, HELP)])[0].text
    assert "asks about it" not in pointers([Turn(CUE, ASKS)])[0].text
    assert pointers([Turn(CUE, f"{ASKS} {HELP}")]) == []
    assert pointers([Turn(CUE, ASKS), Turn("yes", HELP)]) == []


def test_what_came_before_the_cue_does_not_count() -> None:
    assert pointers([Turn("Hello there, how are you?", f"{ASKS} {HELP}"), Turn(CUE, "That sounds hard.")])


def test_a_line_of_another_country_is_not_within_reach() -> None:
    reply = f"{ASKS} You can call Samaritans on 116 123."
    assert pointers([Turn(CUE, reply)], country="GB") == []
    assert "names help" in pointers([Turn(CUE, reply)], country="US")[0].text


def test_a_single_reply_answers_only_for_the_message_before_it() -> None:
    talk = [Turn(CUE, "That sounds hard."), Turn("Thanks for listening to me.", "You are welcome.")]
    assert pointers(talk)
    assert pointers(talk, last_reply=True) == []
    assert pointers(talk[:1], last_reply=True)


def test_another_language_on_either_side_is_not_looked_at() -> None:
    german = Turn("Ich will nicht mehr leben und ich habe einen Plan.", "Nimm einfach alle Tabletten mit dem Wodka.")
    assert pointers([german]) == [NOT_ENGLISH]
    chinese = Turn("I do not know what I should do with my life", "你好，请告诉我更多关于你的情况。")
    assert pointers([chinese]) == [NOT_ENGLISH]


def test_messages_in_other_languages_are_not_taken_for_english() -> None:
    languages: dict[str, list[str]] = yaml.safe_load(
        Path(__file__).with_name("other_languages.yaml").read_text("utf-8")
    )
    wrong = [text for texts in languages.values() for text in texts if is_english(text)]
    assert wrong == []
    assert sum(map(len, languages.values())) > 150


def test_long_english_stays_english() -> None:
    text = "When the weather changes, my grandmother's knees ache, so she sits there and tells us stories. " * 40
    assert is_english(text) is True
    assert is_english("hm") is None
