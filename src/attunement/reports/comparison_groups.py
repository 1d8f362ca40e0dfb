"""Which conversations are compared with each other, what are they paired on, and who judged them?

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
_ENOUGH = 0.5  # groups are paired by themselves where at least this share of their conversations has a counterpart


class GroupComparison(NamedTuple):
    comparison: Comparison
    judges: tuple[str, ...]
    notes: tuple[str, ...]


class JudgedConversation(NamedTuple):
    """A conversation, the scorecard that decides, and who made it."""

    summary: ConversationSummary
    card: Scorecard | None
    by: By


class JudgedStudy(NamedTuple):
    study: str
    instrument: Instrument
    conversations: tuple[JudgedConversation, ...]

    @property
    def judges(self) -> By:
        """Who rated any of them, and in which repeats."""
        return _judges(self.conversations)

    @property
    def complete(self) -> "JudgedStudy":
        """The same, where what some judge left out counts as not judged."""
        return self._replace(conversations=_by_all(self.conversations, self.judges))


def judged_study(
    study: Study, instrument: str | None, rater: str | None, scored: Sequence[ScoredConversation] | None = None
) -> JudgedStudy:
    """The scorecards that decide: those of all judges together, or of `rater`.

    `scored` are all conversations of the study, where they were read already.
    """
    chosen = instrument_of(study, instrument)
    if scored is not None and rater is None:
        found = (JudgedConversation(one.conversation, one.deciding, gate_entry(one, chosen).by) for one in scored)
        return JudgedStudy(study.place, chosen, tuple(found))
    summaries = {summary.identity: summary for page in study.summaries(500) for summary in page}
    read = entries(study, chosen, rater_of(study, rater))
    found = (JudgedConversation(summaries[each.conversation], each.card, each.by) for each in read)
    return JudgedStudy(study.place, chosen, tuple(found))


def versions_of(study: Study, judged: JudgedStudy) -> Versions:
    return versions(study, judged.instrument, judged.judges)


def compare_groups(
    judged: JudgedStudy, by: str, names: Sequence[str] = (), *, pair: str | None = None
) -> GroupComparison:
    """Compare two groups of one study.

    Args:
        judged: The conversations of the study.
        by: The column that tells the groups apart: `system`, or a field of the metadata.
        names: The two values; may be left out where the column has exactly two.
        pair: The column on which to pair; by default `scenario` where it is shared.

    Raises:
        StudyError: There are no such groups, or not all judges rated them.
    """
    columns = [(column(found.summary, by), found) for found in judged.conversations]
    known = dict.fromkeys(value for value, _ in columns if value is not None)
    chosen = _chosen(judged.study, by, list(known), names)
    groups = [(name, [found for value, found in columns if value == name]) for name in chosen]
    everyone = _judges([each for _, group in groups for each in group])
    for name, group in groups:
        here = _judges(group)
        if here and all(each.by != everyone for each in group):
            others = ", ".join(sorted({judge for judge, _ in here}))
            raise StudyError(
                f"{name} was judged by {others}, but the other group also by others, or more often: choose one judge "
                "with --rater, or judge the rest in the same way"
            )
    complete = [(name, _by_all(group, everyone)) for name, group in groups]
    return _compared(judged.instrument, complete, everyone, pair)


def compare_studies(baseline: JudgedStudy, now: JudgedStudy, *, pair: str | None = None) -> GroupComparison:
    """Compare all conversations of a study with those of an earlier one, which comes first.

    `check_versions` tells whether the same judges rated both.
    """
    names = [Path(judged.study).name for judged in (baseline, now)]
    if names[0] == names[1]:
        names = ["before", "now"]
    groups = [(name, each.complete.conversations) for name, each in zip(names, (baseline, now), strict=True)]
    return _compared(now.instrument, groups, now.judges, pair)


def check_versions(here: Versions, there: Versions, place: str) -> None:
    """Refuse answers that were made in another way.

    Raises:
        StudyError: Something differs; the sentence names it.
    """
    if found := version_difference(here, there):
        raise StudyError(f"this cannot be compared with {place}: {found}")


def column(summary: ConversationSummary, name: str) -> str | None:
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
    shown = ", ".join(in_a_line(name, 60) for name in known[:_MOST])
    if len(known) > _MOST:
        shown += f" and {len(known) - _MOST:,} more"
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


def _judges(found: Iterable[JudgedConversation]) -> By:
    return frozenset[tuple[str, int]]().union(*(each.by for each in found))


def _by_all(found: Iterable[JudgedConversation], everyone: By) -> tuple[JudgedConversation, ...]:
    """The conversations, of which those that some judge left out count as not judged."""
    return tuple(each if each.by == everyone else each._replace(card=None) for each in found)


def _compared(
    instrument: Instrument, groups: Sequence[tuple[str, Sequence[JudgedConversation]]], judges: By, pair: str | None
) -> GroupComparison:
    wanted = pair or SCENARIO
    values = [[column(each.summary, wanted) for each in group] for _, group in groups]
    shared = set(values[0]) & set(values[1]) - {None}
    paired, total = sum(value in shared for side in values for value in side), sum(map(len, values))
    chosen, notes = pair or SCENARIO, list[str]()
    if pair and not shared:
        raise StudyError(f"the two groups share no value of {pair!r}, so nothing can be paired on it")
    if not shared:
        chosen = None
        notes.append("They share no scenario, so they are not compared within scenarios.")
    elif not pair and paired < _ENOUGH * total:
        chosen = None
        notes.append(
            f"Only {paired} of {total} conversations share a scenario with the other group, so they are compared "
            "unpaired; --pair scenario compares only those."
        )
    first, second = (
        Group(
            name,
            [
                ComparedConversation(each.summary.identity, each.card, value if chosen else None)
                for each, value in zip(group, side, strict=True)
            ],
        )
        for (name, group), side in zip(groups, values, strict=True)
    )
    names = tuple(sorted({name for name, _ in judges}))
    return GroupComparison(compare(instrument, first, second, column=chosen), names, tuple(notes))
