import pytest
from hypothesis import given
from hypothesis import strategies as st

from attunement.conversations import Turn
from attunement.signals.crisis import Cue, CueKind, crisis_cues
from tests.signals.sentences import Sentence, sentences
from tests.signals.test_lexicon import ANY_TEXT

TUNE = sentences("crisis", held=False)

KNOWN_MISSES = {
    "plan-date": "a date that is set may be a wedding's; it counts only near a cue that stands alone",
    "later-b-5": "a wish that others had somebody better is no cue by itself; too many worn-out parents say it",
    "later-b-6": "medicine that is kept is a cue only with a word of collecting, counting or staring",
    "later-b-39": "tiredness that sleep does not mend has no word of death, injury or danger",
    "later2-fresh-plan-5": "letters that are written may be any; they count only near a cue that stands alone",
    "later2-more-passive-3": "the fear of death is in one sentence and its end in the next",
    "later2-more-indirect-16": "a pension is given up for many reasons",
    "later2-more-plan-6": "an empty house counts only near a cue that stands alone",
    "later2-more-plan-10": "what has to be before a birthday is not said",
    "later2-more-plan-11": "what was counted is not said; it counts only near a cue that stands alone",
    "later3-sorted-7": "an afternoon with one's mother is what it is; it would take another sign",
    "later3-sorted-8": "what is not renewed may be given up for many reasons",
    "later3-sorted-9": "a jacket that is lent needs another sign",
    "later3-selfharm-7": "what somebody was clean of is not said",
    "later4-fresh-36": "songs that somebody wants are nearly always for a feast, which is named here as well",
}


def cues(text: str) -> list[Cue]:
    return crisis_cues([Turn(text, "")])


@pytest.mark.parametrize("sentence", TUNE, ids=lambda sentence: sentence.id)
def test_a_tuned_sentence_is_decided_as_expected(sentence: Sentence) -> None:
    kinds = {cue.kind for cue in cues(sentence.text)}
    if sentence.id in KNOWN_MISSES:
        assert not kinds, "it is seen now: take it off the list of known misses"
    elif sentence.expect == "none":
        assert not kinds
    else:
        assert sentence.expect in kinds


def test_every_known_miss_is_a_sentence() -> None:
    assert KNOWN_MISSES.keys() <= {sentence.id for sentence in TUNE}


def test_turns_count_from_one_and_cues_come_in_order() -> None:
    turns = [Turn("Hello.", "Hi."), Turn("I want to die. My husband hit me.", "I'm sorry."), Turn("I cut myself.", "")]
    assert [(cue.turn, cue.kind) for cue in crisis_cues(turns)] == [
        (2, CueKind.SUICIDAL_DIRECT),
        (2, CueKind.DANGER_FROM_OTHERS),
        (3, CueKind.SELF_HARM),
    ]


def test_what_the_assistant_says_is_no_cue() -> None:
    assert crisis_cues([Turn("Hello.", "Are you thinking about killing yourself? I want to die.")]) == []


def test_curly_and_straight_apostrophes_and_none_are_the_same() -> None:
    straight, curly, none = (cues(f"I don{mark}t want to live anymore")[0].kind for mark in ("'", "’", ""))
    assert straight is curly is none


def test_a_denial_beside_a_cue_does_not_cancel_it() -> None:
    assert cues("I'm not suicidal, but I wish I was dead.")
    assert not cues("I'm not suicidal.")


def test_of_overlapping_cues_of_one_kind_the_longest_is_kept() -> None:
    assert [cue.quote for cue in cues("I wish I would die in my sleep")] == ["wish I would die"]


PLAN = Turn("I have a plan and I set a date.", "")
OTHER = Turn("It rained all day.", "")


@pytest.mark.parametrize(
    ("before", "counts"),
    [
        ([], False),
        ([Turn("I want to die.", "")], True),
        ([Turn("I want to die.", ""), OTHER], True),
        ([Turn("I want to die.", ""), OTHER, OTHER], False),
        ([Turn("I just want to disappear.", "")], False),
        ([Turn("I feel low.", "Are you thinking about suicide?"), Turn("Sometimes.", "")], True),
    ],
)
def test_words_that_do_not_stand_alone_count_up_to_two_messages_after_a_cue_that_does(
    before: list[Turn], counts: bool
) -> None:
    turns = [*before, PLAN]
    assert any(cue.turn == len(turns) for cue in crisis_cues(turns)) == counts


def test_words_that_do_not_stand_alone_count_beside_a_cue_in_the_same_message() -> None:
    assert [cue.signal for cue in cues("I have a plan. I want to die.")] == ["has-some-plan", "wants-to-die"]


def test_a_cue_does_not_reach_back_to_words_before_it() -> None:
    assert [cue.turn for cue in crisis_cues([PLAN, Turn("I want to die.", "")])] == [2]


GIVEN_AWAY, GUN, NO_REASON = "The dog went to my sister.", "I cleaned the rifle last night.", "I dunno why."


@pytest.mark.parametrize(
    ("message", "counts"),
    [
        (f"{GIVEN_AWAY} {GUN}", True),
        (f"{GUN} {NO_REASON}", True),
        (GUN, False),
        (NO_REASON, False),
        (f"{NO_REASON} My wife is away until Sunday.", False),
        (f"{GUN} {'It rained all day. ' * 30} {GIVEN_AWAY}", False),
    ],
)
def test_two_hints_close_together_are_a_cue_if_one_of_them_is_strong(message: str, counts: bool) -> None:
    assert bool(cues(message)) == counts


@pytest.mark.parametrize("answer", ["yes", "Sometimes, yeah.", "i guess", "I don't know", "maybe a little"])
def test_anything_short_of_a_no_to_a_direct_question_about_suicide_is_a_cue(answer: str) -> None:
    turns = [Turn("I feel low.", "I'm glad you told me. Are you having thoughts of suicide?"), Turn(answer, "")]
    assert [(cue.turn, cue.kind) for cue in crisis_cues(turns)] == [(2, CueKind.SUICIDAL_DIRECT)]


@pytest.mark.parametrize(
    "answer", ["No.", "no, never", "Not at all, I'm just tired.", "Yes or no questions bore me, no."]
)
def test_a_no_to_a_direct_question_about_suicide_is_no_cue(answer: str) -> None:
    assert crisis_cues([Turn("I feel low.", "Are you having thoughts of suicide?"), Turn(answer, "")]) == []


def test_a_yes_counts_only_after_a_direct_question() -> None:
    assert crisis_cues([Turn("I feel low.", "Did you sleep?"), Turn("Yes.", "")]) == []
    assert crisis_cues([Turn("I feel low.", "Suicide is not what you said."), Turn("Yes.", "")]) == []


def test_anything_but_a_yes_to_the_question_of_safety_is_a_cue() -> None:
    asked = Turn("I feel low.", "Are you safe right now?")
    assert crisis_cues([asked, Turn("not really", "")])
    assert not crisis_cues([asked, Turn("Yes, I'm safe, my brother is here.", "")])


@given(st.lists(st.builds(Turn, ANY_TEXT, ANY_TEXT), max_size=4))
def test_no_text_is_too_odd(turns: list[Turn]) -> None:
    for cue in crisis_cues(turns):
        assert turns[cue.turn - 1].user[cue.start : cue.end] == cue.quote


@given(ANY_TEXT, st.sampled_from([sentence.text for sentence in TUNE]), ANY_TEXT)
def test_a_cue_quotes_exactly_the_words_that_matched(before: str, text: str, after: str) -> None:
    message = f"{before}\n{text}\n{after}"
    for cue in cues(message):
        assert cue.quote
        assert message[cue.start : cue.end] == cue.quote
