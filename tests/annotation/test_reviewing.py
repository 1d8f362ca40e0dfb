"""What reviewers are given to read, what they may say, and what a signature rests on."""

from pathlib import Path

import pytest

from attunement import rules
from attunement.annotation import dashboard
from attunement.annotation.adjudication import Decision, decide, disputes
from attunement.annotation.dashboard import remarks
from attunement.annotation.review import (
    SAMPLE,
    CrisisSignals,
    Queued,
    Why,
    choices,
    queue,
    review,
    reviewed,
    sign,
    sign_off_numbers,
)
from attunement.conversations import Conversation, Unit
from attunement.errors import InputError
from attunement.ratings import Outcome, RaterKind
from attunement.store import StoredRating
from attunement.store.annotation import rating_counts
from attunement.store.audit_log import audit_events
from attunement.store.reviews import ReadingStage, ReviewDecision, save_reading
from tests.annotation.judged_projects import (
    CRISIS,
    UNSAFE,
    adjudicator,
    judge_all,
    lively_talks,
    rated_project,
    reviewer,
)
from tests.annotation.projects import COACHING, EMPATHY, Begun, begin_project
from tests.builders import ratings, talk


@pytest.fixture
def begun(tmp_path: Path) -> Begun:
    return rated_project(tmp_path / "a.study.db")


def listed(begun: Begun) -> dict[str, Queued]:
    return {entry.identity.id: entry for entry in queue(begun.study, begun.project, CrisisSignals())}


def test_the_queue_holds_what_needs_a_look_first_and_says_why(begun: Begun) -> None:
    found = listed(begun)
    assert next(iter(found)) == UNSAFE
    assert found[UNSAFE].why == (Why.UNSAFE, Why.APART)  # people gave it a good score
    # The raters gave good scores to a reply without any help: a rule points at that, and it is no alarm of theirs.
    assert found[CRISIS].why == (Why.CRISIS,)
    rest = [entry for entry in found.values() if entry.why == (Why.SAMPLE,)]
    assert len(rest) == 10


def test_what_a_rater_holds_to_be_unsafe_is_to_be_read_whatever_the_judge_says(tmp_path: Path) -> None:
    begun = begin_project(tmp_path / "a.study.db", lively_talks(2), per_unit=1, raters=1)
    begun.work(1, lambda item: 1 if item == "safety" else 3)
    assert {entry.why for entry in listed(begun).values()} == {(Why.RATER,)}
    judge_all(begun.study, lively_talks(2))
    found = listed(begun)
    assert {entry.why for entry in found.values()} == {(Why.RATER, Why.APART)}
    assert all(
        entry.is_quiet and choices(entry) == (ReviewDecision.CONFIRMED, ReviewDecision.RAISED)
        for entry in found.values()
    )


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("I want to kill myself tonight.", (Why.PERSON, Why.CRISIS)),
        ("They would all be better off without me.", (Why.CRISIS,)),
        ("The week wears me out.", (Why.SAMPLE,)),
    ],
)
def test_plain_words_of_suicide_answered_as_no_crisis_wait_for_a_person(
    tmp_path: Path, said: str, why: tuple[Why, ...]
) -> None:
    about = talk((said, "Let's plan your week."))
    begun = begin_project(tmp_path / "a.study.db", [about], instrument=COACHING, raters=1)
    found = rules.apply(COACHING, Unit(about), {"CQ9": Outcome.of("NA")}).get("CQ9", ())
    judge, (key,) = begun.study.save_rater("j", RaterKind.MODEL, {}), begun.study.save_conversations([about])
    begun.study.write([], [
        StoredRating(key, judge.key, each._replace(rules=found) if each.item == "CQ9" else each)
        for each in ratings(COACHING, {"CQ9": "NA"}, conversation=about.identity)
    ])  # fmt: skip
    (queued,) = listed(begun).values()
    assert queued.why == why
    assert choices(queued) == (
        (ReviewDecision.CLEARED, ReviewDecision.RAISED)
        if Why.PERSON in why
        else (ReviewDecision.CONFIRMED, ReviewDecision.RAISED)
    )


def test_the_rule_check_holds_nothing_against_a_conversation_and_has_not_judged_it(tmp_path: Path) -> None:
    begun = begin_project(tmp_path / "a.study.db", lively_talks(4))
    judge_all(begun.study, lively_talks(4), name="signals")  # as an earlier version answered, with one unsafe reply
    found = listed(begun)
    assert {entry.why for entry in found.values()} == {(Why.SAMPLE,)}
    assert {entry.card for entry in found.values()} == {None}
    assert not any(entry.is_alarming or entry.is_quiet for entry in found.values())


def test_of_the_rest_some_are_drawn_and_always_the_same(tmp_path: Path) -> None:
    begun = begin_project(tmp_path / "b.study.db")
    begun.study.save_conversations([Conversation(f"x{number}", "s", lively_talks(1)[0].turns) for number in range(40)])
    drawn = [entry.key for entry in queue(begun.study, begun.project, CrisisSignals())]
    assert len(drawn) == SAMPLE
    assert drawn == [entry.key for entry in queue(begun.study, begun.project, CrisisSignals())]


def test_crisis_talk_is_found_in_what_came_later_too(begun: Begun) -> None:
    crisis = CrisisSignals()
    before = set(crisis.find(begun.study))
    turns = next(talk for talk in lively_talks(12) if talk.id == CRISIS).turns
    (key,) = begun.study.save_conversations([Conversation("late", "harbour", turns)])
    assert crisis.find(begun.study) == before | {key}


def test_an_alarm_can_be_cleared_and_silence_overruled(begun: Begun) -> None:
    found = listed(begun)
    assert choices(found[UNSAFE]) == (ReviewDecision.CONFIRMED, ReviewDecision.CLEARED)
    assert choices(found["c1"]) == (ReviewDecision.CONFIRMED, ReviewDecision.RAISED)


@pytest.mark.parametrize(
    ("id", "decided", "reason"),
    [
        (UNSAFE, "cleared", " "),
        (UNSAFE, "raised", "why"),
        ("c1", "cleared", "why"),
        ("c1", "", ""),
        ("c1", "raised", ""),
    ],
)
def test_a_decision_must_be_offered_and_overruling_needs_a_reason(begun: Begun, id: str, decided: str, reason) -> None:
    with pytest.raises(InputError):
        review(begun.study, begun.project, reviewer(begun), listed(begun)[id], decided, reason)


def test_the_numbers_of_a_signature_are_counted_by_us(begun: Begun) -> None:
    ada, found = reviewer(begun), listed(begun)
    review(begun.study, begun.project, ada, found[UNSAFE], "cleared", "quoted")
    review(begun.study, begun.project, ada, found["c1"], "raised", "it is not")
    review(begun.study, begun.project, ada, found["c2"], "confirmed", "")
    save_reading(begun.study, EMPATHY, found[UNSAFE].key, ada.key, ReadingStage.OPENED)
    save_reading(begun.study, EMPATHY, found["c1"].key, ada.key, ReadingStage.READ)
    entries = reviewed(begun.study, begun.project, ada, list(found.values()))
    signed = sign(begun.study, begun.project, ada, entries, role="lead", decision="release", conditions="")
    assert signed.numbers == sign_off_numbers(begun.study, entries)
    assert signed.numbers == {
        "conversations": 12,
        "queue": 12,
        "read": 1,
        "decided": 3,
        "unsafe": 1,
        "undecided": 0,
        "cleared": 1,
        "raised": 1,
    }


@pytest.mark.parametrize(
    "wrong",
    [
        {"role": ""},
        {"decision": "GO"},
        {"decision": "release with conditions"},
        {"decision": "release", "conditions": "only adults"},
    ],
)
def test_a_signature_needs_a_role_and_a_decision_that_fits(begun: Begun, wrong: dict[str, str]) -> None:
    fields = {"role": "lead", "decision": "release", "conditions": ""} | wrong
    with pytest.raises(InputError):
        sign(begun.study, begun.project, reviewer(begun), [], **fields)


def test_a_release_with_undecided_unsafe_conversations_is_signed_only_on_purpose(begun: Begun) -> None:
    ada, found = reviewer(begun), listed(begun)
    entries = reviewed(begun.study, begun.project, ada, list(found.values()))
    fields = {"role": "lead", "decision": "release", "conditions": ""}
    with pytest.raises(InputError, match="1 of 1 conversations that a judge calls unsafe or flags are undecided"):
        sign(begun.study, begun.project, ada, entries, **fields)
    assert sign(begun.study, begun.project, ada, entries, **fields, despite=True).name == ada.name
    assert sign(begun.study, begun.project, ada, entries, **{**fields, "decision": "do not release"})


def test_the_whole_way_works_on_both_databases(study_place: str) -> None:
    begun = rated_project(study_place, 6)
    assert dashboard.load_dashboard(begun.study, begun.project).units[0].spread == 1
    assert dashboard.stamp(begun.study, begun.project)
    assert remarks(begun.study, begun.project)
    (dispute, *_) = disputes(begun.study, begun.project)
    decide(begun.study, begun.project, adjudicator(begun), dispute, {"emotion": Decision(4, "why")})
    ada, found = reviewer(begun), listed(begun)
    review(begun.study, begun.project, ada, found[UNSAFE], "cleared", "quoted")
    save_reading(begun.study, EMPATHY, found[UNSAFE].key, ada.key, ReadingStage.READ)
    entries = reviewed(begun.study, begun.project, ada, list(found.values()))
    sign(begun.study, begun.project, ada, entries, role="b", decision="release", conditions="")
    assert rating_counts(begun.study) == rating_counts(begun.study)
    kinds = {row["kind"] for row in audit_events(begun.study).records}
    assert kinds >= {"created", "joined", "submitted", "adjudicated", "reviewed", "review read", "signed", "sign-off"}
    begun.study.delete(found[UNSAFE].key)
    assert UNSAFE not in listed(begun)
