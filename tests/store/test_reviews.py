"""What reviewers said, whether it still holds, and what a signature was given for."""

from pathlib import Path

import pytest

from attunement.conversations import Conversation
from attunement.ratings import RaterKind
from attunement.scoring import Verdict
from attunement.store import StoredRating, Study, scored_conversations
from attunement.store.audit_log import audit_events
from attunement.store.reviews import (
    ReadingStage,
    ReleaseDecision,
    ReviewDecision,
    ReviewStatus,
    adverse_findings,
    changes_since,
    review_status,
    reviews,
    save_reading,
    save_review,
    save_sign_off,
    sign_off_basis,
    sign_off_status,
    sign_offs,
)
from attunement.store.reviews import read_in_full as read
from tests.annotation.judged_projects import JUDGE, UNSAFE, judge_all, lively_talks, reviewer
from tests.annotation.projects import EMPATHY, Begun, begin_project, close_studies
from tests.reports.samples import empathy_card
from tests.reports.samples import judged as rate

__all__ = ["close_studies"]  # a fixture


@pytest.fixture
def begun(tmp_path: Path):
    talks = lively_talks(5)
    made = begin_project(tmp_path / "a.study.db", talks, instrument=EMPATHY)
    judge_all(made.study, talks)
    return made


def key_and_card(begun: Begun, id: str = UNSAFE):
    entry = next(entry for entry in scored_conversations(begun.study, EMPATHY) if entry.conversation.identity.id == id)
    assert entry.deciding is not None
    return entry.conversation.key, entry.deciding


def say(
    begun: Begun, member, decided: ReviewDecision, id: str = UNSAFE, reason: str = "a quotation, not advice"
) -> None:
    key, card = key_and_card(begun, id)
    save_review(begun.study, EMPATHY, key, card, decided, member=member.key, name=member.name, reason=reason)


def standing(begun: Begun, id: str = UNSAFE) -> ReviewStatus:
    key, card = key_and_card(begun, id)
    return review_status(EMPATHY, card, reviews(begun.study, EMPATHY).get(key, ()))


def test_a_review_stands_beside_the_verdict_and_changes_no_rating(begun: Begun) -> None:
    before = list(begun.study.ratings())
    say(begun, reviewer(begun), ReviewDecision.CLEARED)
    found = standing(begun)
    assert found.cleared is not None
    assert found.cleared.verdict == Verdict.FLAGGED
    assert found.alarm is None
    assert list(begun.study.ratings()) == before
    assert key_and_card(begun)[1].verdict is Verdict.FLAGGED


def test_of_one_reviewer_the_last_word_counts_and_all_are_kept(begun: Begun) -> None:
    ada = reviewer(begun)
    say(begun, ada, ReviewDecision.CLEARED)
    say(begun, ada, ReviewDecision.CONFIRMED)
    assert standing(begun).cleared is None
    assert standing(begun).alarm is not None
    key, _ = key_and_card(begun)
    assert [review.decision for review in reviews(begun.study, EMPATHY)[key]] == [
        ReviewDecision.CLEARED,
        ReviewDecision.CONFIRMED,
    ]


def test_where_reviewers_differ_unsafe_counts(begun: Begun) -> None:
    say(begun, reviewer(begun, "Ben"), ReviewDecision.CONFIRMED)
    say(begun, reviewer(begun, "Ada"), ReviewDecision.CLEARED)
    assert standing(begun).cleared is None
    assert standing(begun).alarm is not None


def test_a_clearance_ends_when_another_judge_finds_more_but_an_alarm_stays(begun: Begun) -> None:
    ada = reviewer(begun)
    say(begun, ada, ReviewDecision.CLEARED)
    say(begun, ada, ReviewDecision.RAISED, "c1")
    judge_all(begun.study, lively_talks(5), name="judge-two")
    assert standing(begun) == ReviewStatus()
    assert standing(begun, "c1").alarm is not None


def test_findings_name_failed_safety_items_and_rules() -> None:
    assert adverse_findings(None) == frozenset()
    assert adverse_findings(empathy_card({}, {"safety": 2})) == {"safety#2"}


def test_what_was_read_is_counted_once_and_per_reviewer(begun: Begun) -> None:
    ada, ben = reviewer(begun, "Ada"), reviewer(begun, "Ben")
    key, _ = key_and_card(begun)
    assert save_reading(begun.study, EMPATHY, key, ada.key, ReadingStage.OPENED)
    assert read(begun.study, [ada.key, ben.key]) == {ada.key: set(), ben.key: set()}
    assert save_reading(begun.study, EMPATHY, key, ada.key, ReadingStage.READ)
    assert not save_reading(begun.study, EMPATHY, key, ada.key, ReadingStage.READ)
    assert read(begun.study, [ada.key, ben.key]) == {ada.key: {key}, ben.key: set()}


def test_forgetting_a_conversation_takes_reviews_and_readings_with_it(begun: Begun) -> None:
    ada = reviewer(begun)
    key, _ = key_and_card(begun)
    save_reading(begun.study, EMPATHY, key, ada.key, ReadingStage.READ)
    say(begun, ada, ReviewDecision.CLEARED, reason="unmistakable reason")
    begun.study.delete(key)
    assert reviews(begun.study, EMPATHY) == {}
    assert read(begun.study, [ada.key]) == {ada.key: set()}
    assert "unmistakable reason" not in str(list(audit_events(begun.study).records))


NUMBERS = {"conversations": 5, "queue": 5, "read": 5, "decided": 5}


def give(begun: Begun, member, decision: ReleaseDecision, conditions: str = "") -> None:
    save_sign_off(
        begun.study,
        sign_off_basis(begun.study, EMPATHY),
        decision,
        member=member.key,
        name=member.name,
        role="clinical lead",
        conditions=conditions,
        numbers=NUMBERS,
    )


def present(begun: Begun):
    return sign_off_status(sign_offs(begun.study, EMPATHY), sign_off_basis(begun.study, EMPATHY))


def test_a_signature_names_what_it_was_given_for_and_holds(begun: Begun) -> None:
    give(begun, reviewer(begun), ReleaseDecision.RELEASE)
    found = present(begun).deciding
    assert found is not None
    assert found.decision is ReleaseDecision.RELEASE
    assert found.basis.instrument == EMPATHY.hash
    assert list(found.basis.judges) == [JUDGE]
    assert list(found.basis.systems) == ["harbour"]
    assert found.numbers == NUMBERS


def test_do_not_release_counts_against_any_other_signature(begun: Begun) -> None:
    ada, ben = reviewer(begun, "Ada"), reviewer(begun, "Ben")
    give(begun, ada, ReleaseDecision.NO_RELEASE)
    give(begun, ben, ReleaseDecision.RELEASE)
    assert present(begun).deciding.decision is ReleaseDecision.NO_RELEASE
    give(begun, ada, ReleaseDecision.CONDITIONS, "only adults")
    assert present(begun).deciding.conditions == "only adults"


def another_judge(study: Study) -> None:
    judge_all(study, lively_talks(5), name="judge-two")


def the_same_judge_with_other_settings(study: Study) -> None:
    rater = study.save_rater(JUDGE, RaterKind.MODEL, {"model": "newer"})
    talk = lively_talks(1)[0]
    key = study.save_conversations([talk])[0]
    made = rate(talk, {}, instrument=EMPATHY, others=4, turn=1, rater=rater.name)
    study.write([], [StoredRating(key, rater.key, one) for one in made])


def another_system(study: Study) -> None:
    study.save_conversations([Conversation("new", "lagoon", lively_talks(1)[0].turns)])


def another_system_prompt(study: Study) -> None:
    study.save_conversations([Conversation("new", "harbour", lively_talks(1)[0].turns, instructions="Be kind.")])


@pytest.mark.parametrize(
    ("happens", "words"),
    [
        (another_judge, "the judge changed (judge-two)"),
        (the_same_judge_with_other_settings, "the judge changed (judge-one @"),
        (another_system, "the system changed (lagoon)"),
        (another_system_prompt, "the system changed (harbour)"),
    ],
)
def test_a_signature_lapses_when_judge_or_system_changes(begun: Begun, happens, words: str) -> None:
    give(begun, reviewer(begun), ReleaseDecision.RELEASE)
    happens(begun.study)
    found = present(begun)
    assert found.deciding is None
    assert found.lapsed is not None
    assert words in " ".join(found.why)


def test_a_signature_lapses_when_the_instrument_changes(begun: Begun) -> None:
    give(begun, reviewer(begun), ReleaseDecision.RELEASE)
    newer = type(EMPATHY).model_validate({**EMPATHY.canonical(), "version": "2.0.1"})
    begun.study.save_instrument(newer)
    given = sign_offs(begun.study, newer)
    why = changes_since(given[0], sign_off_basis(begun.study, newer))
    assert why[0] == "the instrument changed (empathy-v2 2.1.0 was signed)"


def test_more_conversations_of_the_same_system_do_not_end_a_signature(begun: Begun) -> None:
    give(begun, reviewer(begun), ReleaseDecision.RELEASE)
    begun.study.save_conversations([Conversation("new", "harbour", lively_talks(1)[0].turns)])
    assert present(begun).deciding is not None


def test_the_rule_check_is_no_judge_that_a_signature_is_given_for_and_ends_none(begun: Begun) -> None:
    give(begun, reviewer(begun), ReleaseDecision.RELEASE)
    judge_all(begun.study, lively_talks(5), name="signals")
    found = present(begun)
    assert found.why == ()
    assert found.deciding is not None
    assert list(sign_off_basis(begun.study, EMPATHY).judges) == [JUDGE]


def test_the_trail_tells_who_did_what_when_and_with_which_instrument(begun: Begun) -> None:
    ada = reviewer(begun)
    say(begun, ada, ReviewDecision.CLEARED)
    give(begun, ada, ReleaseDecision.RELEASE)
    rows = list(audit_events(begun.study, begun.project.key).records)
    assert [row["at"] for row in rows] == sorted(row["at"] for row in rows)
    assert {row["instrument_hash"] for row in rows} == {EMPATHY.hash}
    reviewed = next(row for row in rows if row["kind"] == "reviewed")
    assert (reviewed["who"], reviewed["role"], reviewed["conversation"]) == ("Dr. Ada Reviewer", "reviewer", UNSAFE)
    assert reviewed["content"]["reason"] == "a quotation, not advice"
    assert next(row for row in rows if row["kind"] == "sign-off")["content"]["decision"] == "release"
    assert rows[0]["kind"] == "created"
