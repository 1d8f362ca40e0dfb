import pytest
from hypothesis import given
from hypothesis import strategies as st

from attunement.evidence import CitationStatus, Finding
from attunement.ratings import ABSTAINED, Consistency, ErrorKind, Mark, Outcome, RaterKind
from attunement.reports import wording
from attunement.reports.blocks import Tone
from attunement.reports.numbers import score_words, share_words
from attunement.reports.wording import Answer, answer, answer_phrase
from attunement.scoring import Verdict
from attunement.signals.pointers import PointerKind
from tests.reports.samples import COACHING, COACHING_CARDS, EMPATHY, coaching_card


@pytest.mark.parametrize(
    ("item", "outcome", "words", "tone"),
    [
        ("CQ2", Outcome.of("YES"), "met", Tone.MET),
        ("CQ2", Outcome.of("NO"), "not met", Tone.NOT_MET),
        ("CQ8", Outcome.of("NO"), "not met", Tone.UNSAFE),
        ("CQ2", Outcome.of("NA"), "does not apply", Tone.NA),
        ("CQ1", Outcome.of("NA"), "not met", Tone.NOT_MET),  # NA is not valid there
        ("CQ2", Outcome.failed(ErrorKind.REFUSED), "not judged: the judge refused", Tone.OPEN),
        ("CQ2", ABSTAINED, "not judged: no valid way to know", Tone.OPEN),
    ],
)
def test_a_criterion_is_met_or_not_and_never_a_bare_yes_or_no(item, outcome, words, tone):
    assert answer_phrase(COACHING, COACHING.item(item), outcome) == (words, tone)


def test_what_signals_cannot_know_is_said_as_such():
    phrase = answer_phrase(COACHING, COACHING.item("CQ2"), ABSTAINED, "signals @abc123")
    assert phrase.words == "not judged by signals"


def test_a_score_stands_beside_its_scale_and_is_unsafe_only_in_the_gate():
    safety, emotion = EMPATHY.item("safety"), EMPATHY.item("emotion")
    assert answer(EMPATHY, safety, Outcome.of(2)) == 2
    assert answer_phrase(EMPATHY, safety, Outcome.of(2)).words.startswith("2 of 5")
    assert answer_phrase(EMPATHY, safety, Outcome.of(2)).tone is Tone.UNSAFE
    assert answer_phrase(EMPATHY, emotion, Outcome.of(1)).tone is Tone.NONE


def test_every_verdict_error_mark_and_rule_has_words_and_none_of_the_forbidden_ones():
    assert set(wording.VERDICTS) == set(Verdict)
    assert set(wording.ERRORS) == set(ErrorKind)
    assert set(wording.MARKS) == set(Mark)
    assert set(wording.CONSISTENCY) == set(Consistency)
    for rule in (*PointerKind, "crisis_cue_but_na", "crisis_needs_resources"):
        assert wording.rule_words(rule) != rule
    verdicts = " ".join(phrase.words for phrase in wording.VERDICTS.values()).lower().split()
    assert not {"safe", "approved", "certified", "validated", "go", "yes", "no"} & set(verdicts) - {"no"}


def test_not_knowing_and_failing_have_different_tones():
    assert wording.VERDICTS[Verdict.UNSAFE].tone is not wording.VERDICTS[Verdict.SAFETY_MISSING].tone
    assert wording.VERDICTS[Verdict.FAIL].tone is not wording.VERDICTS[Verdict.NOT_JUDGED].tone
    assert wording.VERDICTS[Verdict.FLAGGED].tone is not wording.VERDICTS[Verdict.SAFETY_NOT_JUDGED].tone


def test_a_pass_that_needs_a_person_does_not_look_like_one():
    doubtful, clean = COACHING_CARDS["pass that needs a person"][0], coaching_card()
    assert wording.verdict_phrase(clean) == ("Pass", Tone.MET)
    assert wording.verdict_phrase(doubtful) == ("Pass, needs a person", Tone.OPEN)


@pytest.mark.parametrize("standing", CitationStatus)
def test_every_finding_has_words(standing):
    assert wording.finding_words(Finding(standing, (2,), "a quote"))


def test_findings_name_the_turn_and_who_said_it():
    here = Finding(CitationStatus.FOUND, (3,), "q", 3, "user", 0, 1)
    assert wording.finding_words(here) == "found in turn 3, the person"
    moved = Finding(CitationStatus.ELSEWHERE, (2, 3), "q", 5, "assistant", 0, 1)
    assert wording.finding_words(moved) == "found in another turn: turn 5, the assistant, not in turns 2 and 3"
    assert wording.finding_words(Finding(CitationStatus.NO_SUCH_TURN, (9,), "q")) == "there is no turn 9"
    denied = Finding(CitationStatus.ABSENT, (1,), "q", 1, "assistant", 0, 1)
    assert wording.finding_words(denied) == "quoted as absent, but found in turn 1, the assistant"


@given(st.floats(0, 1), st.sampled_from([0.8, 0.75, 0.5]))
def test_a_rounded_score_never_crosses_the_pass_mark(score, threshold):
    shown = float(score_words(score, threshold))
    assert (shown >= threshold - 1e-9) == (score >= threshold - 1e-9)
    assert abs(shown - score) <= 0.005 + 1e-9


def test_an_open_score_is_shown_with_its_range():
    open_card = COACHING_CARDS["incomplete"][0]
    assert wording.score_with_range(open_card, 0.8) == "0.70 (0.70 to 1.00)"
    assert wording.score_with_range(coaching_card(), 0.8) == "1.00"


def test_a_share_of_few_is_two_numbers_and_never_rounds_to_all_or_none():
    assert share_words(3, 7) == "3 of 7"
    assert share_words(12, 29) == "12 of 29 (41.4 %)"
    assert share_words(9_999, 10_000) == "9,999 of 10,000 (over 99.9 %)"
    assert share_words(1, 10_000) == "1 of 10,000 (under 0.1 %)"


def test_raters_are_named_with_what_they_are():
    assert wording.rater_words("a") == "a"
    assert wording.rater_words("a", repeat=0) == "a, repeat 1"
    assert wording.rater_words("ann", kind=RaterKind.PERSON) == "ann (person)"
    assert "not a person" in wording.rater_words("bob", kind=RaterKind.SIMULATION)
    assert Answer.NOT_DUE.value == "– not due"
