"""Which conversations of a study stand against each other, on what are they paired, and who judged them?

A group is a value of a column: the system, or a field of the metadata. Conversations are paired on a column that both
groups share values of. Only what all judges rated is compared: a panel of two is stricter than either of them.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from attunement.analysis.compare import ComparedConversation, Comparison, Group, compare
from attunement.analysis.versions import Versions, version_difference, versions
from attunement.errors import InputError, StudyError
from attunement.instruments import Instrument
from attunement.reports.gate import By, entries, gate_entry
from attunement.reports.overview import instrument_of, rater_of
from attunement.reports.sanitize import in_a_line
from attunement.scoring import Scorecard
from attunement.store import ConversationSummary, ScoredConversation, Study

SCENARIO = "scenario"
_MOST = 8
_ENOUGH = 0.5
"""Groups are paired by themselves where at least this share of their conversations has a counterpart."""


class Compared(NamedTuple):
    """Two groups as they were found, and what a reader should know about how."""

    comparison: Comparison
    judges: tuple[str, ...]
    notes: tuple[str, ...]


class Found(NamedTuple):
    """A conversation, the scorecard that decides, and who made it."""

    summary: ConversationSummary
    card: Scorecard | None
    by: By


class Sheet(NamedTuple):
    """All conversations of a study under one instrument."""

    study: str
    instrument: Instrument
    found: tuple[Found, ...]

    @property
    def judges(self) -> By:
        """Who rated any of them, and in which repeats."""
        return _judges(self.found)

    @property
    def complete(self) -> "Sheet":
        """The same, where what some judge left out counts as not judged."""
        return self._replace(found=_by_all(self.found, self.judges))


class _Part(NamedTuple):
    """The conversations of one group."""

    name: str
    found: Sequence[Found]


def read_sheet(
    study: Study, instrument: str | None, rater: str | None, scored: Sequence[ScoredConversation] | None = None
) -> Sheet:
    """The scorecards that decide: those of all judges together, or of `rater`.

    `scored` are all conversations of the study, where they were read already.
    """
    chosen = instrument_of(study, instrument)
    if scored is not None and rater is None:
        found = (Found(one.conversation, one.deciding, gate_entry(one, chosen).by) for one in scored)
        return Sheet(study.place, chosen, tuple(found))
    summaries = {summary.identity: summary for page in study.summaries(500) for summary in page}
    found = entries(study, chosen, rater_of(study, rater))
    return Sheet(
        study.place, chosen, tuple(Found(summaries[entry.conversation], entry.card, entry.by) for entry in found)
    )


def versions_of(study: Study, sheet: Sheet) -> Versions:
    """How the answers behind a sheet came about."""
    return versions(study, sheet.instrument, sheet.judges)


def compare_groups(sheet: Sheet, by: str, names: Sequence[str] = (), *, pair: str | None = None) -> Compared:
    """Compare two groups of one study.

    Args:
        sheet: What the study holds.
        by: The column that tells the groups apart: `system`, or a field of the metadata.
        names: The two values; may be left out where the column has exactly two.
        pair: The column on which to pair; by default `scenario` where it is shared.

    Raises:
        StudyError: There are no such groups, or not all judges rated them.
    """
    known = dict.fromkeys(value for found in sheet.found if (value := column(found.summary, by)) is not None)
    chosen = _chosen(sheet.study, by, list(known), names)
    parts = [_Part(name, [each for each in sheet.found if column(each.summary, by) == name]) for name in chosen]
    everyone = _judges([each for part in parts for each in part.found])
    for part in parts:
        _check_judged(part, everyone)
    complete = [part._replace(found=_by_all(part.found, everyone)) for part in parts]
    return _compared(sheet.instrument, complete, everyone, pair)


def compare_sheets(baseline: Sheet, now: Sheet, *, pair: str | None = None) -> Compared:
    """Compare all conversations of a study with those of an earlier one, which comes first.

    That the same judges rated both is for `check_versions` to say.
    """
    names = [Path(sheet.study).name for sheet in (baseline, now)]
    if names[0] == names[1]:
        names = ["before", "now"]
    parts = [_Part(name, sheet.complete.found) for name, sheet in zip(names, (baseline, now), strict=True)]
    return _compared(now.instrument, parts, now.judges, pair)


def check_versions(here: Versions, there: Versions, place: str) -> None:
    """Refuse answers that came about in another way.

    Raises:
        StudyError: Something differs; the sentence names it.
    """
    if found := version_difference(here, there):
        raise StudyError(f"this cannot be compared with {place}: {found}")


def column(summary: ConversationSummary, name: str) -> str | None:
    """The value of a column: the system, the id, the origin, or a field of the metadata."""
    match name:
        case "system":
            return summary.identity.system
        case "id":
            return summary.identity.id
        case "origin":
            return summary.origin.value
        case _:
            value = summary.metadata.get(name)
            return None if value is None else str(value)


def _chosen(place: str, by: str, known: list[str], names: Sequence[str]) -> tuple[str, str]:
    if not known:
        raise StudyError(f"no conversation in {place} has a value for {by!r}")
    shown = _named(known)
    if not names:
        if len(known) != 2:
            raise StudyError(f"name the two values of {by!r} to compare; {place} has {shown}")
        return known[0], known[1]
    if len(names) != 2:
        raise InputError(f"name two values of {by!r} to compare, the earlier or simpler one first")
    for name in names:
        if name not in known:
            raise StudyError(f"no conversation in {place} has {name!r} for {by!r}; there are {shown}")
    if names[0] == names[1]:
        raise InputError(f"{names[0]} cannot be compared with itself")
    return names[0], names[1]


def _judges(found: Iterable[Found]) -> By:
    return frozenset[tuple[str, int]]().union(*(each.by for each in found))


def _by_all(found: Iterable[Found], everyone: By) -> tuple[Found, ...]:
    """The conversations, of which those that some judge left out count as not judged."""
    return tuple(each if each.by == everyone else each._replace(card=None) for each in found)


def _check_judged(part: _Part, everyone: By) -> None:
    here = _judges(part.found)
    if here and all(each.by != everyone for each in part.found):
        names = ", ".join(sorted({judge for judge, _ in here}))
        raise StudyError(
            f"{part.name} was judged by {names}, but the other group also by others, or more often: choose one judge "
            "with --rater, or judge the rest in the same way"
        )


def _compared(instrument: Instrument, parts: Sequence[_Part], judges: By, pair: str | None) -> Compared:
    chosen, notes = _pair_on(pair, [[each.summary for each in part.found] for part in parts])
    first, second = (_group(part, chosen) for part in parts)
    names = tuple(sorted({name for name, _ in judges}))
    return Compared(compare(instrument, first, second, column=chosen), names, tuple(notes))


def _group(part: _Part, pair: str | None) -> Group:
    return Group(
        part.name,
        [
            ComparedConversation(each.summary.identity, each.card, column(each.summary, pair) if pair else None)
            for each in part.found
        ],
    )


def _pair_on(pair: str | None, sides: Sequence[Sequence[ConversationSummary]]) -> tuple[str | None, list[str]]:
    """The column to pair on, and what to say about it."""
    wanted = pair or SCENARIO
    values = [[column(summary, wanted) for summary in side] for side in sides]
    shared = set(values[0]) & set(values[1]) - {None}
    if pair:
        if not shared:
            raise StudyError(f"the two groups share no value of {pair!r}, so nothing can be paired on it")
        return pair, []
    if not shared:
        return None, ["They share no scenario, so they are not compared within scenarios."]
    paired = sum(value in shared for side in values for value in side)
    total = sum(map(len, values))
    if paired < _ENOUGH * total:
        note = (
            f"Only {paired} of {total} conversations share a scenario with the other group, so they are compared "
            "unpaired; --pair scenario compares only those."
        )
        return None, [note]
    return SCENARIO, []


def _named(names: Sequence[str]) -> str:
    shown = ", ".join(in_a_line(name, 60) for name in names[:_MOST])
    return f"{shown} and {len(names) - _MOST:,} more" if len(names) > _MOST else shown
