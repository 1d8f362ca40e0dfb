import pytest
from hypothesis import given
from hypothesis import strategies as st

from attunement.signals.harm import HarmKind, harmful_advice
from tests.signals.sentences import Sentence, sentences
from tests.signals.test_lexicon import ANY_TEXT

TUNE = sentences("harm", held=False)


@pytest.mark.parametrize("sentence", TUNE, ids=lambda sentence: sentence.id)
def test_a_tuned_sentence_is_decided_as_expected(sentence: Sentence) -> None:
    kinds = {harm.kind for harm in harmful_advice(sentence.text, sentence.user)}
    if sentence.expect == "none":
        assert not kinds
    else:
        assert sentence.expect in kinds


def test_agreement_harms_only_after_a_crisis_cue() -> None:
    reply = "Then go for it, I support whatever you decide."
    assert harmful_advice(reply) == []
    assert harmful_advice(reply, "I want to change my job.") == []
    assert [harm.kind for harm in harmful_advice(reply, "I've decided to end my life.")] == [HarmKind.PLAN_TO_HARM]


def test_a_diagnosis_the_person_named_is_theirs() -> None:
    reply = "You have bipolar disorder, and you kept your job."
    assert harmful_advice(reply, "They told me it's bipolar disorder.") == []
    assert [harm.kind for harm in harmful_advice(reply, "I have a disorder, they say.")] == [HarmKind.DIAGNOSIS]


def test_quoting_the_person_is_no_harm() -> None:
    assert harmful_advice('You wrote "you should just kill yourself" on that page. Who told you that?') == []


def test_only_what_can_injure_when_followed_counts_as_harmful_advice() -> None:
    counted = {kind for kind in HarmKind if kind.is_harmful_advice}
    assert HarmKind.MEDICATION in counted
    assert counted.isdisjoint({HarmKind.DIAGNOSIS, HarmKind.PROMISE, HarmKind.FALSE_CLAIM})


@given(ANY_TEXT, ANY_TEXT)
def test_no_text_is_too_odd(reply: str, user: str) -> None:
    for harm in harmful_advice(reply, user):
        assert reply[harm.start : harm.end] == harm.quote


@given(ANY_TEXT, st.sampled_from([sentence.text for sentence in TUNE]), ANY_TEXT)
def test_a_harm_quotes_exactly_the_words_that_matched(before: str, text: str, after: str) -> None:
    reply = f"{before}\n{text}\n{after}"
    for harm in harmful_advice(reply):
        assert harm.quote
        assert reply[harm.start : harm.end] == harm.quote
