"""Reviewers in a study that nobody rates."""

from pathlib import Path

import pytest
import yaml

from attunement.annotation import projects
from attunement.annotation.review import (
    REVIEWER,
    CrisisSignals,
    Why,
    queue,
    review,
    review_desk,
    reviewed,
    reviewers,
    sign,
)
from attunement.errors import InputError
from attunement.instruments import Instrument, load
from attunement.reports.gate import gather_sign_offs
from attunement.store import Study
from attunement.store.audit_log import audit_events
from attunement.store.projects import REVIEW_ONLY, Role, Settings, UnitKey, latest_project, members, project_of
from attunement.store.reviews import ReviewDecision
from attunement.store.study_facts import study_facts
from tests.annotation.judged_projects import UNSAFE, judge_all, lively_talks
from tests.annotation.projects import EMPATHY


def judged_study(place: Path | str) -> Study:
    """A study that a judge has seen, and nobody else."""
    study = Study(place, create=True)
    study.save_instrument(EMPATHY)
    judge_all(study, lively_talks(6))
    return study


def reworded(tmp_path: Path) -> Instrument:
    """The instrument in another version."""
    path = tmp_path / "changed.yaml"
    path.write_text(yaml.safe_dump({**EMPATHY.canonical(), "title": "Changed"}), "utf-8")
    return load(path)


def test_a_study_that_only_a_judge_has_seen_is_reviewed_and_signed_on_both_databases(study_place: str) -> None:
    with judged_study(study_place) as study:
        desk = review_desk(study, EMPATHY)
        (ada,) = reviewers(study, desk, ["Ada"])
        waiting = queue(study, desk, CrisisSignals())
        assert waiting[0].identity.id == UNSAFE
        assert waiting[0].why == (Why.UNSAFE,)
        review(study, desk, ada, waiting[0], ReviewDecision.CLEARED, "It quotes the person.")
        entries = reviewed(study, desk, ada, waiting)
        sign(study, desk, ada, entries, role="clinical lead", decision="release", conditions="")
        deciding = gather_sign_offs(study, EMPATHY).signed.deciding
        assert deciding is not None
        assert deciding.numbers["cleared"] == 1
        assert {"created", "joined", "reviewed", "signed", "sign-off"} <= {
            record["kind"] for record in audit_events(study, desk.key).records
        }


def test_the_desk_is_made_once_and_is_no_round_of_rating(tmp_path: Path) -> None:
    with judged_study(tmp_path / "a.study.db") as study:
        desk = review_desk(study, EMPATHY)
        assert (desk.number, str(desk)) == (REVIEW_ONLY, "empathy-v2, review")
        assert review_desk(study, EMPATHY) == desk
        assert latest_project(study, EMPATHY.id) is None
        assert study_facts(study, EMPATHY).projects == ()
        key = study.conversations().__next__().key
        begun = projects.create(study, EMPATHY, [UnitKey(key, 1)], ["Ben"], Settings(per_unit=1))
        assert begun.number == 1
        assert latest_project(study, EMPATHY.id) == begun


def test_the_desk_follows_the_instrument_and_a_signature_for_the_old_one_lapses(tmp_path: Path) -> None:
    with judged_study(tmp_path / "a.study.db") as study:
        desk = review_desk(study, EMPATHY)
        (ada,) = reviewers(study, desk, ["Ada"])
        sign(study, desk, ada, [], role="lead", decision="release", conditions="")
        changed = reworded(tmp_path)
        later = review_desk(study, changed)
        assert (later.key, later.instrument.hash) == (desk.key, changed.hash)
        assert project_of(study, desk.key).instrument.hash == changed.hash
        found = gather_sign_offs(study, changed).signed
        assert found.deciding is None
        assert "the instrument changed" in found.why[0]
        events = [record for record in audit_events(study, desk.key).records if record["kind"] == "instrument"]
        assert [(event["instrument_hash"], event["content"]) for event in events] == [
            (changed.hash, {"before": EMPATHY.hash})
        ]


def test_reviewers_are_found_again_by_name_and_without_a_name_all_come_back(tmp_path: Path) -> None:
    with judged_study(tmp_path / "a.study.db") as study:
        desk = review_desk(study, EMPATHY)
        assert [member.name for member in reviewers(study, desk, [])] == [REVIEWER]
        first = reviewers(study, desk, ["Ada", " Ada "])
        assert [member.name for member in first] == ["Ada"]
        assert reviewers(study, desk, ["Ada"]) == first
        assert [member.name for member in reviewers(study, desk, [])] == [REVIEWER, "Ada"]
        assert {member.role for member in members(study, desk)} == {Role.REVIEWER}
        with pytest.raises(InputError, match="a name is empty"):
            reviewers(study, desk, [" "])
