"""The coordinator's view of a project: progress, agreement, severity, and raters' remarks.

All numbers come from submissions of this round's raters. Raters are shown as numbers; only the coordinator sees their
names.

For severity each answer is compared with the mean of the other raters' answers to the same item of the same unit.
Scores are compared in levels of the scale; for criteria "met" is 1 and "not met" 0. The intervals resample whole
conversations.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import numpy as np

from attunement.analysis.ratings_table import RatingsTable, collect_ratings, rater_name
from attunement.analysis.summary import ItemAgreement, analyse_agreement
from attunement.annotation.adjudication import disagree, outcomes_by_item, spread
from attunement.annotation.training import PracticeResult, is_right, results
from attunement.ratings import Round
from attunement.statistics.estimates import Mean, mean
from attunement.statistics.results import Undefined
from attunement.statistics.tables import Floats, Ints
from attunement.store import Study
from attunement.store import projects as store
from attunement.store.annotation import Submission, events, mark_notice_seen, submissions, unit_names
from attunement.store.projects import AssignmentState, Member, Project, Role

_WORK = [round for round in Round if round is not Round.CALIBRATION]


def mark_seen(study: Study, project: Project, public: str, by: Member) -> None:
    with study.writing() as connection:
        if mark_notice_seen(connection, project, public):
            store.log_event(connection, project, "notice seen", member=by, content={"notice": public})


class RightCount(NamedTuple):
    """How many answers were correct, of how many."""

    right: int = 0
    total: int = 0


class RaterRow(NamedTuple):
    """A rater's progress and results; practice does not count."""

    number: int
    member: Member
    submitted: int
    skipped: int
    open: int
    flagged: int
    last_day: int
    last_week: int
    practice: PracticeResult | None  # the last attempt; None: not finished
    again: RightCount
    gold: RightCount
    attention: RightCount
    severity: Mean | Undefined  # below zero is more severe than the others, above zero more lenient


class UnitRow(NamedTuple):
    """A unit's progress, and the disagreement of its ratings."""

    key: int
    name: str  # system, id and turn, as shown to the coordinator
    submitted: int
    wanted: int
    skipped: int
    flagged: int
    lacking: bool  # whether it was skipped and needs another rater
    spread: float | None  # None with fewer than two ratings
    apart: tuple[str, ...]  # the items on which raters disagree, by title

    @property
    def is_full(self) -> bool:
        return self.submitted >= self.wanted


class GoldRow(NamedTuple):
    """A unit with a known answer, and how many raters got it right."""

    key: int
    name: str
    found: RightCount


class Dashboard(NamedTuple):
    raters: tuple[RaterRow, ...]
    units: tuple[UnitRow, ...]
    """Units sorted by disagreement, then by the number of missing ratings."""
    known: tuple[GoldRow, ...]
    agreement: tuple[ItemAgreement, ...]


def stamp(study: Study, project: Project) -> tuple[Any, ...]:
    """Changes whenever the dashboard could change; it counts rows instead of reading them."""
    with study.reading() as connection:
        counts = store.count_assignments(connection, ["state", "flagged"], latest="done", project=project.key)
    people = tuple((member.key, member.state, member.rater) for member in store.members(study, project))
    # The pace depends on today's date, so it is computed again each hour even without changes.
    hour = datetime.now(UTC).isoformat()[:13]
    return (hour, *counts.items(), *people)


def load_dashboard(study: Study, project: Project) -> Dashboard:
    submitted = submissions(study, project, _WORK)
    table, names = collect_ratings(study, project.instrument), unit_names(study, project)
    stored = {rater.key: rater_name(rater) for rater in study.raters()}
    raters = {
        member.key: stored[member.rater]
        for member in store.members(study, project, Role.RATER)
        if member.rater is not None and member.rater in stored
    }
    present = [name for name in raters.values() if name in table.people]
    return Dashboard(
        tuple(_rater_rows(study, project, submitted, table, raters)),
        _unit_rows(study, project, [entry for entry in submitted if entry.round is Round.MAIN], names),
        _gold_rows(submitted, names),
        analyse_agreement(table, present, ()).items if present else (),
    )


def _rater_rows(
    study: Study, project: Project, submitted: Sequence[Submission], table: RatingsTable, names: Mapping[int, str]
) -> Iterable[RaterRow]:
    practice, counts = results(study, project), _counts(study, project, "member", _WORK)
    severities = severity(table, [name for name in names.values() if name in table.people])
    day, week = ((datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="milliseconds") for days in (1, 7))
    for number, member in enumerate(store.members(study, project, Role.RATER), 1):
        own = [entry for entry in submitted if entry.member == member.key]
        name, count = names.get(member.key, ""), counts.get(member.key, Counter())
        yield RaterRow(
            number,
            member,
            count[AssignmentState.SUBMITTED],
            count[AssignmentState.SKIPPED],
            count[AssignmentState.OPEN],
            count["flagged"],
            sum(entry.done >= day for entry in own),
            sum(entry.done >= week for entry in own),
            practice[member.key][-1] if member.key in practice else None,
            _same_again(table, name),
            _count_known(entry for entry in own if entry.round is Round.GOLD),
            _count_known(entry for entry in own if entry.round is Round.ATTENTION),
            severities.get(name, Undefined("nothing has been submitted yet")),
        )


def _counts(study: Study, project: Project, by: str, rounds: list[Round]) -> dict[int, Counter[str]]:
    """The number of a member's or unit's assignments in each state, and of flagged ones."""
    found: dict[int, Counter[str]] = {}
    with study.reading() as connection:
        counts = store.count_assignments(connection, [by, "state", "flagged"], project=project.key, round=rounds)
    for (key, state, flagged), count in counts.items():
        own = found.setdefault(key, Counter())
        own[state] += count
        own["flagged"] += count if flagged else 0
    return found


def severity(table: RatingsTable, people: Sequence[str]) -> dict[str, Mean | Undefined]:
    """How much more lenient each of these people is than the others."""
    offsets: dict[str, list[tuple[Floats, Ints]]] = {name: [] for name in people}
    for number in range(len(table.items)):
        matrix = table.item_matrix(number).columns(people)
        for column, rater in enumerate(matrix.raters):
            # One rater's answers minus the mean of the others'; NaN if there are no others.
            others = np.delete(matrix.values, column, axis=1)
            given = ~np.isnan(others)
            count, total = given.sum(axis=1), np.where(given, others, 0.0).sum(axis=1)
            expected = np.where(count > 0, total / np.maximum(count, 1), np.nan)
            offsets[rater.name].append((matrix.values[:, column] - expected, table.unit_conversation[matrix.units]))
    return {
        name: mean(np.concatenate([values for values, _ in own]), np.concatenate([clusters for _, clusters in own]))
        for name, own in offsets.items()
        if own
    }


def _same_again(table: RatingsTable, name: str) -> RightCount:
    right = total = 0
    for item in range(len(table.items)) if name in table.people else ():
        answers, _ = table.repeated_answers(item, name)
        several = answers[(~np.isnan(answers)).sum(axis=1) >= 2]
        if len(several):
            total += len(several)
            right += int((np.nanmax(several, axis=1) == np.nanmin(several, axis=1)).sum())
    return RightCount(right, total)


def _gold_rows(submitted: Iterable[Submission], names: Mapping[int, str]) -> tuple[GoldRow, ...]:
    by_unit: dict[int, list[Submission]] = {}
    for entry in submitted:
        if entry.round in {Round.GOLD, Round.ATTENTION}:
            by_unit.setdefault(entry.unit.key, []).append(entry)
    rows = [GoldRow(key, names[key], _count_known(own)) for key, own in by_unit.items()]
    return tuple(sorted(rows, key=lambda row: (row.found.right / row.found.total, row.key)))


def _count_known(submitted: Iterable[Submission]) -> RightCount:
    right = [is_right(entry.unit.answers, entry.answers) for entry in submitted]
    return RightCount(sum(right), len(right))


def _unit_rows(
    study: Study, project: Project, submitted: Sequence[Submission], names: Mapping[int, str]
) -> tuple[UnitRow, ...]:
    instrument, wanted = project.instrument, project.settings.per_unit
    by_unit: dict[int, list[Submission]] = {}
    for entry in submitted:
        by_unit.setdefault(entry.unit.key, []).append(entry)
    rows: list[UnitRow] = []
    for key, count in _counts(study, project, "unit", [Round.MAIN]).items():
        own = by_unit.get(key, [])
        outcomes = outcomes_by_item(instrument, own)
        done, skipped = count[AssignmentState.SUBMITTED], count[AssignmentState.SKIPPED]
        rows.append(
            UnitRow(
                key,
                names[key],
                done,
                wanted,
                skipped,
                count["flagged"],
                bool(skipped) and done + count[AssignmentState.OPEN] < wanted,
                max(spread(instrument, each) for each in outcomes.values()) if len(own) > 1 else None,
                tuple(item.title for item in instrument.items if disagree(instrument, item, outcomes[item.id])),
            )
        )
    return tuple(sorted(rows, key=lambda row: (-(row.spread or -1.0), -len(row.apart), row.submitted)))


class Remark(NamedTuple):
    """Something a rater wants the coordinator to know: a skipped unit, a flag, or a comment."""

    kind: str
    at: str
    number: int  # of the rater
    key: int  # of the unit
    unit: str
    item: str = ""
    text: str = ""
    reason: str = ""


def remarks(study: Study, project: Project) -> list[Remark]:
    """Skips and flags, then comments; the newest first."""
    number, name = rater_numbers(study, project), unit_names(study, project)
    found: list[Remark] = []

    def add(kind: str, at: str, member: int, unit: int, **more: str) -> None:
        found.append(Remark(kind, at, number[member], unit, name[unit], **more))

    for event in events(study, project, "skipped"):
        if event.unit is not None:
            add("skip", event.at, event.member, event.unit, **event.content)
    for entry in submissions(study, project, _WORK):
        for item, answer in entry.answers.items():
            if answer.comment.strip():
                title = project.instrument.item(item).title
                add("comment", entry.done, entry.member, entry.unit.key, item=title, text=answer.comment)
    with study.reading() as connection:
        flagged = store.assignments_where(connection, project=project.key, flagged=True)
    for entry in flagged:
        add("flag", entry.done or entry.opened or "", entry.member, entry.unit.key)
    newest = sorted(found, key=lambda remark: remark.at, reverse=True)
    return sorted(newest, key=lambda remark: remark.kind == "comment")


def rater_numbers(study: Study, project: Project) -> dict[int, int]:
    """The number shown for each rater, by the key of the member."""
    return {member.key: number for number, member in enumerate(store.members(study, project, Role.RATER), 1)}
