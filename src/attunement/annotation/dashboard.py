"""The coordinator's view of a project: progress, agreement, severity, raters' remarks, and each unit in detail.

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

from attunement.analysis.ratings_table import RatingsTable, collect_ratings
from attunement.analysis.summary import ItemAgreement, analyse_agreement
from attunement.annotation.adjudication import disagree, outcomes_by_item, spread
from attunement.annotation.tasks import unit_with_items
from attunement.annotation.training import PracticeResult, agrees, count_right, results
from attunement.conversations import Unit
from attunement.instruments import Value
from attunement.ratings import Outcome, Round
from attunement.statistics.estimates import Mean, mean
from attunement.statistics.results import Undefined
from attunement.statistics.tables import Floats, Ints
from attunement.statistics.tests import Difference, independent_difference
from attunement.store import Study
from attunement.store import projects as store
from attunement.store.annotation import (
    Draft,
    PracticeAnswer,
    Submission,
    decisions_in,
    events,
    mark_notice_seen,
    practice_answers,
    submissions,
    unit_names,
)
from attunement.store.projects import AssignmentState, Member, Project, ProjectUnit, Role

_WORK = [round.value for round in Round if round is not Round.CALIBRATION]


class RaterProgress(NamedTuple):
    member: Member
    submitted: int
    skipped: int
    open: int
    flagged: int
    practice: PracticeResult | None
    """The last attempt at the practice; None: not finished."""


def rater_progress(study: Study, project: Project) -> list[RaterProgress]:
    """The progress of every rater, in the order in which they joined. Practice does not count."""
    counts, practice = _counts(study, project, "member", _WORK), results(study, project)
    return [
        RaterProgress(
            member,
            own[AssignmentState.SUBMITTED],
            own[AssignmentState.SKIPPED],
            own[AssignmentState.OPEN],
            own["flagged"],
            practice[member.key][-1] if member.key in practice else None,
        )
        for member in store.members(study, project, Role.RATER)
        for own in [counts.get(member.key, Counter())]
    ]


def _counts(study: Study, project: Project, by: str, rounds: list[str]) -> dict[int, Counter[str]]:
    """The number of a member's or unit's assignments in each state, and of flagged ones."""
    found: dict[int, Counter[str]] = {}
    with study.reading() as connection:
        counts = store.count_assignments(connection, [by, "state", "flagged"], project=project.key, round=rounds)
    for (key, state, flagged), count in counts.items():
        own = found.setdefault(key, Counter())
        own[state] += count
        own["flagged"] += count if flagged else 0
    return found


def mark_seen(study: Study, project: Project, public: str, by: Member) -> None:
    with study.writing() as connection:
        if mark_notice_seen(connection, project, public):
            store.log_event(connection, project, "notice seen", member=by, content={"notice": public})


class Severity(NamedTuple):
    """A rater's severity: below zero is more severe than the others, above zero more lenient."""

    mean: Mean | Undefined
    drift: Difference | Undefined
    """The mean of the later half of their units minus that of the earlier half."""


SubmissionTimes = Mapping[tuple[int, int], str]


def severity(table: RatingsTable, people: Sequence[str], times: Mapping[str, SubmissionTimes]) -> dict[str, Severity]:
    """The severity of each of these people compared with the others; units without a time do not count in the drift."""
    offsets: dict[str, list[Floats]] = {name: [] for name in people}
    units: dict[str, list[Ints]] = {name: [] for name in people}
    for number in range(len(table.items)):
        matrix = table.item_matrix(number).columns(people)
        for column, rater in enumerate(matrix.raters):
            # One rater's answers minus the mean of the others'; NaN if there are no others.
            others = np.delete(matrix.values, column, axis=1)
            given = ~np.isnan(others)
            count, total = given.sum(axis=1), np.where(given, others, 0.0).sum(axis=1)
            expected = np.where(count > 0, total / np.maximum(count, 1), np.nan)
            offsets[rater.name].append(matrix.values[:, column] - expected)
            units[rater.name].append(matrix.units)
    return {name: _severity(table, offsets[name], units[name], times.get(name, {})) for name in people}


def _severity(
    table: RatingsTable, offsets: Sequence[Floats], units: Sequence[Ints], times: SubmissionTimes
) -> Severity:
    nothing = Undefined("no other rater has the same units")
    if not offsets:
        return Severity(nothing, nothing)
    values, unit = np.concatenate(offsets), np.concatenate(units)
    conversation = table.unit_conversation[unit]
    found = mean(values, conversation)
    if isinstance(found, Undefined):
        return Severity(nothing, nothing)
    when = {
        number: times[place]
        for number in set(unit.tolist())
        if (place := (table.conversations[table.unit_conversation[number]].key, int(table.unit_turn[number]))) in times
    }
    ordered = sorted(when, key=lambda number: (when[number], number))
    early, late = (np.isin(unit, part) for part in (ordered[: len(ordered) // 2], ordered[len(ordered) // 2 :]))
    drift = independent_difference(values[late], values[early], (conversation[late], conversation[early]))
    return Severity(found, drift)


class RightCount(NamedTuple):
    """How many answers were correct, of how many."""

    right: int = 0
    total: int = 0


class RaterRow(NamedTuple):
    number: int
    progress: RaterProgress
    last_day: int
    last_week: int
    again: RightCount
    gold: RightCount
    attention: RightCount
    severity: Severity

    @property
    def member(self) -> Member:
        return self.progress.member


class UnitRow(NamedTuple):
    """A unit's progress, and the disagreement of its ratings."""

    key: int
    name: str  # system, id and turn, as shown to the coordinator
    handed_in: int
    wanted: int
    open: int
    skipped: int
    flagged: int
    spread: float | None  # None with fewer than two ratings
    apart: tuple[str, ...]  # the items on which raters disagree, by title


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
    submitted = submissions(study, project, [round for round in Round if round is not Round.CALIBRATION])
    table, names = collect_ratings(study, project.instrument), unit_names(study, project)
    stored = {rater.key: rater.name for rater in study.raters()}
    raters = {
        member.key: stored[member.rater]
        for member in store.members(study, project, Role.RATER)
        if member.rater is not None and member.rater in stored
    }
    present = [name for name in raters.values() if name in table.people]
    return Dashboard(
        _rater_rows(study, project, submitted, table, raters, present),
        _unit_rows(study, project, [entry for entry in submitted if entry.round is Round.MAIN], names),
        _gold_rows(submitted, names),
        analyse_agreement(table, present, ()).items if present else (),
    )


def _rater_rows(
    study: Study,
    project: Project,
    submitted: Sequence[Submission],
    table: RatingsTable,
    names: Mapping[int, str],
    present: Sequence[str],
) -> tuple[RaterRow, ...]:
    by_member: dict[int, list[Submission]] = {}
    for entry in submitted:
        by_member.setdefault(entry.member, []).append(entry)
    times = {
        names[member]: {
            (entry.unit.conversation or 0, entry.unit.turn or 0): entry.done
            for entry in own
            if entry.round is Round.MAIN
        }
        for member, own in by_member.items()
        if member in names
    }
    severities, attention = severity(table, present, times), _attention(study, project)
    day, week = ((datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="milliseconds") for days in (1, 7))
    unknown = Undefined("nothing has been submitted yet")
    rows: list[RaterRow] = []
    for number, progress in enumerate(rater_progress(study, project), 1):
        key = progress.member.key
        own, name = by_member.get(key, []), names.get(key, "")
        rows.append(
            RaterRow(
                number,
                progress,
                sum(entry.done >= day for entry in own),
                sum(entry.done >= week for entry in own),
                _same_again(table, name),
                _count_gold(entry for entry in own if entry.round is Round.GOLD),
                attention.get(key, RightCount()),
                severities.get(name, Severity(unknown, unknown)),
            )
        )
    return tuple(rows)


def _same_again(table: RatingsTable, name: str) -> RightCount:
    right = total = 0
    for item in range(len(table.items)) if name in table.people else ():
        answers, _ = table.repeated_answers(item, name)
        several = answers[(~np.isnan(answers)).sum(axis=1) >= 2]
        if len(several):
            total += len(several)
            right += int((np.nanmax(several, axis=1) == np.nanmin(several, axis=1)).sum())
    return RightCount(right, total)


def _attention(study: Study, project: Project) -> dict[int, RightCount]:
    """How many of the worked examples among their units each member answered correctly."""
    by_member: dict[int, list[PracticeAnswer]] = {}
    with study.reading() as connection:
        for answer in practice_answers(connection, project, Round.ATTENTION):
            by_member.setdefault(answer.member, []).append(answer)
    return {
        member: RightCount(count_right(answers), len({answer.assignment for answer in answers}))
        for member, answers in by_member.items()
    }


def _gold_rows(submitted: Iterable[Submission], names: Mapping[int, str]) -> tuple[GoldRow, ...]:
    by_unit: dict[int, list[Submission]] = {}
    for entry in submitted:
        if entry.round in {Round.GOLD, Round.ATTENTION}:
            by_unit.setdefault(entry.unit.key, []).append(entry)
    rows = [GoldRow(key, names[key], _count_gold(own)) for key, own in by_unit.items()]
    return tuple(sorted(rows, key=lambda row: (row.found.right / row.found.total, row.key)))


def _count_gold(submitted: Iterable[Submission]) -> RightCount:
    right = [
        all(
            item in entry.answers and agrees(known, entry.answers[item].outcome)
            for item, known in entry.unit.answers.items()
        )
        for entry in submitted
    ]
    return RightCount(sum(right), len(right))


def _unit_rows(
    study: Study, project: Project, submitted: Sequence[Submission], names: Mapping[int, str]
) -> tuple[UnitRow, ...]:
    instrument = project.instrument
    by_unit: dict[int, list[Submission]] = {}
    for entry in submitted:
        by_unit.setdefault(entry.unit.key, []).append(entry)
    rows: list[UnitRow] = []
    for key, count in _counts(study, project, "unit", [Round.MAIN]).items():
        own = by_unit.get(key, [])
        outcomes = outcomes_by_item(instrument, own)
        rows.append(
            UnitRow(
                key,
                names[key],
                count[AssignmentState.SUBMITTED],
                project.settings.per_unit,
                count[AssignmentState.OPEN],
                count[AssignmentState.SKIPPED],
                count["flagged"],
                max(spread(instrument, each) for each in outcomes.values()) if len(own) > 1 else None,
                tuple(item.title for item in instrument.items if disagree(instrument, item, outcomes[item.id])),
            )
        )
    return tuple(sorted(rows, key=lambda row: (-(row.spread or -1.0), -len(row.apart), row.handed_in)))


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
    number, name = _rater_numbers(study, project), unit_names(study, project)
    found: list[Remark] = []
    for event in events(study, project, "skipped"):
        if event.unit is not None:
            text, reason = event.content["text"], event.content["reason"]
            found.append(Remark("skip", event.at, number[event.member], event.unit, name[event.unit], "", text, reason))
    for entry in submissions(study, project, list(Round)):
        who, key = number[entry.member], entry.unit.key
        if entry.flagged:
            found.append(Remark("flag", entry.done, who, key, name[key]))
        found += [
            Remark("comment", entry.done, who, key, name[key], project.instrument.item(item).title, answer.comment)
            for item, answer in entry.answers.items()
            if answer.comment.strip() and entry.round is not Round.CALIBRATION
        ]
    with study.reading() as connection:
        flagged = store.assignments_where(connection, project=project.key, flagged=True)
    for entry in flagged:
        if entry.state is not AssignmentState.SUBMITTED:
            key = entry.unit.key
            found.append(Remark("flag", entry.opened or "", number[entry.member], key, name[key]))
    newest = sorted(found, key=lambda remark: remark.at, reverse=True)
    return sorted(newest, key=lambda remark: remark.kind == "comment")


def _rater_numbers(study: Study, project: Project) -> dict[int, int]:
    """The number shown for each rater, by the key of the member."""
    return {member.key: number for number, member in enumerate(store.members(study, project, Role.RATER), 1)}


class RaterAnswers(NamedTuple):
    """One rater's answers about a unit; `again` if it was shown a second time."""

    number: int
    again: bool
    answers: dict[str, Draft]


class AdjudicatedAnswer(NamedTuple):
    outcome: Outcome
    reason: str


class UnitDetail(NamedTuple):
    """A unit with everything that raters and adjudicators entered about it."""

    unit: ProjectUnit
    name: str
    words: Unit
    items: tuple[str, ...]
    raters: tuple[RaterAnswers, ...]
    known: dict[str, Value]  # the known answers by item
    settled: dict[str, AdjudicatedAnswer]
    remarks: tuple[Remark, ...]


def unit_detail(study: Study, project: Project, key: int) -> UnitDetail | None:
    with study.reading() as connection:
        unit = next((unit for unit in store.units_in(connection, project) if unit.key == key), None)
        decisions = decisions_in(connection, project)
    if unit is None:
        return None
    number, (words, items) = _rater_numbers(study, project), unit_with_items(study, project, unit)
    answers = [
        RaterAnswers(number[entry.member], entry.round is Round.REPEAT, entry.answers)
        for entry in submissions(study, project, list(Round))
        if entry.unit.key == key
    ]
    return UnitDetail(
        unit,
        unit_names(study, project)[key],
        words,
        items,
        tuple(sorted(answers, key=lambda entry: (entry.number, entry.again))),
        unit.answers,
        {
            entry.item: AdjudicatedAnswer(entry.outcome, entry.reason)
            for entry in decisions
            if (entry.conversation, entry.turn) == (unit.conversation, unit.turn)
        },
        tuple(remark for remark in remarks(study, project) if remark.key == key and remark.kind != "comment"),
    )
