"""Save what a rater does: answer, submit, skip, report danger, or undo a submission.

Each answer is saved immediately. A submission saves ratings in the study in the same transaction; answers to worked
examples go to a separate table.

The last submission can be undone until the next one. Its page opens again with all answers; its ratings move from the
study to the log, so nothing is lost.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attunement import rules
from attunement.annotation.tasks import Change, GoneError, Missing, Task, findings, missing, person_rating, read_change
from attunement.annotation.training import finish_attempt
from attunement.errors import InputError
from attunement.ratings import RaterKind, Round
from attunement.store import Rater, StoredRating, Study, now
from attunement.store import projects as store
from attunement.store.annotation import (
    Draft,
    decisions_in,
    drafts_in,
    insert_notice,
    insert_practice,
    insert_ratings,
    remove_answers,
    save_draft,
    times_rated,
)
from attunement.store.projects import Assignment, AssignmentState, Member, Project, Transaction


def save(study: Study, project: Project, member: Member, task: Task, changes: Sequence[Change]) -> int | None:
    """Save changed answers. A change that is older than the saved one has no effect.

    Returns:
        If a change was older, the number of the newest saved one, which came from another window of the rater.

    Raises:
        InputError: A change is not a valid answer to the item; then none is saved.
        GoneError: The unit was submitted or reassigned.
    """
    drafts = [read_change(change, project.instrument, task.unit, task.items) for change in changes]
    with study.writing() as connection:
        assignment, behind = _still_open(store.own_assignment(connection, member, task.assignment.public)), False
        for draft in drafts:
            content = save_draft(connection, assignment, draft)
            if content is None:
                behind = True
            else:
                store.log_event(connection, project, "set", member=member, assignment=assignment.key, content=content)
        return newest(drafts_in(connection, assignment)) if behind else None


def flag(study: Study, project: Project, member: Member, assignment: Assignment, *, flagged: bool) -> None:
    """Flag a unit for the coordinator, or remove the flag."""
    with study.writing() as connection:
        current = _still_open(store.own_assignment(connection, member, assignment.public))
        store.update(connection, current, flagged=flagged)
        store.log_event(
            connection, project, "flag", member=member, assignment=current.key, content={"flagged": flagged}
        )


def newest(drafts: Mapping[str, Draft]) -> int:
    return max((draft.number for draft in drafts.values()), default=0)


def submit(
    study: Study, project: Project, member: Member, task: Task, *, seen: Mapping[str, int] | None = None
) -> tuple[Missing, ...]:
    """Submit a unit. If something is missing, it is returned, and nothing changes.

    A second submission of the same unit has no effect. `seen` is the last change by item that the rater's page knows.

    Raises:
        GoneError: The unit is not open, or there is a change that the rater has not seen.
    """
    rater = None
    if task.assignment.unit.conversation is not None:
        # The settings include the member's random name, so that two people with the same name are two raters.
        rater = member_rater(
            study, member, {"person": member.public, "round": project.number, **(member.profile or {})}
        )
    with study.writing() as connection:
        assignment = store.own_assignment(connection, member, task.assignment.public)
        if assignment is not None and assignment.state is AssignmentState.SUBMITTED:
            return ()
        assignment = _still_open(assignment)
        drafts = drafts_in(connection, assignment)
        if seen is not None and any(draft.number > seen.get(item, 0) for item, draft in drafts.items()):
            raise GoneError("you changed this unit in another window: reload the page, check it and submit it again")
        if lacking := missing(project.instrument, task.items, drafts):
            return lacking
        at = now()
        if rater is None:
            insert_practice(connection, assignment, [drafts[item] for item in task.items], at)
        else:
            times = times_rated(connection, rater.key, assignment.unit, assignment.round)
            insert_ratings(connection, _ratings(project, rater, task, drafts, times, at))
        store.update(connection, assignment, state=AssignmentState.SUBMITTED, done=at)
        store.log_event(connection, project, "submitted", member=member, assignment=assignment.key)
        if assignment.round is Round.CALIBRATION:
            finish_attempt(connection, project, member, assignment)
    return ()


def member_rater(study: Study, member: Member, settings: dict[str, Any]) -> Rater:
    """The member as a rater of the study, saved with these settings the first time."""
    if member.rater is not None:
        return next(rater for rater in study.raters() if rater.key == member.rater)
    rater = study.save_rater(member.name, RaterKind.PERSON, settings)
    with study.writing() as connection:
        store.update(connection, member, rater=rater.key)
    return rater


def _ratings(
    project: Project, rater: Rater, task: Task, drafts: Mapping[str, Draft], times: Mapping[str, int], at: str
) -> Iterator[StoredRating]:
    instrument, unit, assignment = project.instrument, task.unit, task.assignment
    outcomes = {item: draft.outcome for item, draft in drafts.items() if draft.outcome is not None}
    applied = rules.apply(instrument, unit, outcomes)
    for item in task.items:
        rating = person_rating(
            instrument,
            unit,
            item,
            outcomes[item],
            rater,
            repeat=times.get(instrument.item_hashes[item], 0),
            round=assignment.round,
            reasoning=drafts[item].comment.strip(),
            evidence=findings(drafts[item], unit),
            rules=applied.get(item, ()),
            at=at,
        )
        yield StoredRating(assignment.unit.conversation or 0, rater.key, rating)


def skip(study: Study, project: Project, member: Member, assignment: Assignment, *, reason: str, text: str) -> None:
    """Skip a unit for a reason. Its answers stay drafts and do not become ratings."""
    if assignment.round is Round.CALIBRATION:
        raise InputError("a practice example cannot be skipped")
    with study.writing() as connection:
        current = _still_open(store.own_assignment(connection, member, assignment.public))
        store.update(connection, current, state=AssignmentState.SKIPPED, done=now())
        # Who skipped a unit does not get it a second time.
        same = {"member": member.key, "unit": current.unit.key, "state": AssignmentState.OPEN}
        for repeat in store.assignments_where(connection, **same):
            store.update(connection, repeat, state=AssignmentState.WITHDRAWN)
            store.log_event(connection, project, "withdrawn", member=member, assignment=repeat.key)
        content = {"reason": reason, "text": text}
        store.log_event(connection, project, "skipped", member=member, assignment=current.key, content=content)


def warn(study: Study, project: Project, member: Member, assignment: Assignment, *, public: str, text: str) -> str:
    """Report to the coordinator that a person may be in danger; returns the time it was saved.

    The page names the notice, so that a notice that is sent twice after a network failure is saved only once.
    """
    at = now()
    with study.writing() as connection:
        if insert_notice(connection, project, assignment, public=public, text=text, at=at):
            store.log_event(
                connection, project, "urgent", member=member, assignment=assignment.key, content={"text": text}
            )
    return at


def _still_open(current: Assignment | None) -> Assignment:
    if current is not None and current.state is AssignmentState.OPEN:
        return current
    if current is not None and current.state in {AssignmentState.SUBMITTED, AssignmentState.SKIPPED}:
        raise GoneError("this unit has already been submitted")
    raise GoneError("this unit is no longer assigned to you: continue with the next one")


def undo_submit(study: Study, project: Project, member: Member, assignment: Assignment) -> None:
    """Open the page of `assignment` again, and move its ratings to the log.

    Raises:
        GoneError: It was not the last submission, or an adjudicator has decided about its ratings.
    """
    with study.writing() as connection:
        current, last = store.own_assignment(connection, member, assignment.public), _last(connection, member)
        if current is None or last is None or current.key != last.key:
            raise GoneError("only the unit that you submitted last can be changed")
        unit = (current.unit.conversation, current.unit.turn)
        decided = any((entry.conversation, entry.turn) == unit for entry in decisions_in(connection, project))
        answers = [] if decided else remove_answers(connection, project, current, member.rater)
        if not answers:
            raise GoneError("this unit can no longer be changed, because it has been adjudicated")
        store.update(connection, current, state=AssignmentState.OPEN, done=None)
        content = {"answers": answers}
        store.log_event(connection, project, "taken back", member=member, assignment=current.key, content=content)


def last_submitted(study: Study, member: Member) -> Assignment | None:
    """The unit whose submission the rater can undo, if any."""
    with study.reading() as connection:
        return _last(connection, member)


def _last(connection: Transaction, member: Member) -> Assignment | None:
    last = store.last_done(connection, member)
    return last if last is not None and last.state is AssignmentState.SUBMITTED else None
