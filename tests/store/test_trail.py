"""The trail of people's work: every change has somebody who made it, and what it was."""

from pathlib import Path
from typing import Any

from attunement.annotation.adjudication import Decision, decide, disputes
from attunement.annotation.projects import give_skipped, invite, reassign
from attunement.annotation.submission import save, skip
from attunement.store.audit_log import audit_events
from attunement.store.projects import Role
from tests.annotation.judged_projects import APART, adjudicator, lively_talks, rated_project
from tests.annotation.projects import EMPATHY, Begun, begin_project, change, close_studies

__all__ = ["close_studies"]  # a fixture


def records(begun: Begun, kind: str) -> list[dict[str, Any]]:
    return [record for record in audit_events(begun.study, begun.project.key).records if record["kind"] == kind]


def test_an_adjudicated_answer_stands_in_it_with_its_reason_until_the_conversation_is_forgotten(tmp_path: Path) -> None:
    begun = rated_project(tmp_path / "a.study.db", 6)
    dispute = next(each for each in disputes(begun.study, begun.project) if each.unit.turn == 1)
    decide(
        *(begun.study, begun.project, adjudicator(begun), dispute),
        {item: Decision(2, "unmistakable reason") for item in dispute.items},
    )
    (decided,) = records(begun, "decided")
    assert (decided["who"], decided["role"], decided["round"]) == ("Grace Adjudicator", "adjudicator", "adjudication")
    assert (decided["conversation"], decided["turn"], decided["instrument_hash"]) == (APART, 1, EMPATHY.hash)
    assert decided["content"] == {
        "item": "emotion",
        "state": "value",
        "value": "2",
        "reason": "unmistakable reason",
    }
    begun.study.delete(begun.study.find(APART)[0].key)
    assert "unmistakable reason" not in str(list(audit_events(begun.study).records))


def test_it_says_who_invited_whom_and_to_whom_units_went(tmp_path: Path) -> None:
    begun = begin_project(tmp_path / "a.study.db", lively_talks(4), per_unit=2)
    boss = begun.coordinator()
    invite(begun.study, begun.project, Role.RATER, "Zoe", by=boss)
    invite(begun.study, begun.project, Role.REVIEWER, "Ada", by=boss)
    joined = {record["content"]["name"]: record["who"] for record in records(begun, "joined")}
    assert joined == {
        **dict.fromkeys(["rater 1", "rater 2", "rater 3", "coordinator"]),
        "Zoe": "coordinator",
        "Ada": "coordinator",
    }
    member = begun.arrive(1)
    task = begun.next_task(1)
    assert task is not None
    skip(begun.study, begun.project, member, task.assignment, reason="known", text="")
    assert give_skipped(begun.study, begun.project, by=boss) == 1
    moved = reassign(begun.study, begun.project, begun.rater(2), by=boss)
    given = [record for record in records(begun, "given out") if record["who"] == "coordinator"]
    assert given[0]["content"]["to"] == "Zoe"
    assert sum(record["content"]["units"] for record in given[1:]) == 1 + moved


def test_marked_words_stand_in_it_as_they_were_marked(tmp_path: Path) -> None:
    begun = begin_project(tmp_path / "a.study.db", lively_talks(1))
    member = begun.arrive(1)
    task = begun.next_task(1)
    assert task is not None
    marked = {"turn": 1, "speaker": "user", "start": 0, "end": 4}
    save(begun.study, begun.project, member, task, [change("emotion", 4, evidence=[marked])])
    (record,) = records(begun, "set")
    assert record["content"]["evidence"][0].items() >= marked.items()
    assert record["content"]["evidence"][0]["quote"] == "Week"
