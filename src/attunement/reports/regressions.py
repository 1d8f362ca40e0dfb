"""Which conversations came out worse than before, and which items?

A conversation is held against its counterpart in the baseline: the one of the same scenario and id, or the only one of
the same scenario. Where there is none, or where several could be it, the counts must speak.
"""

from collections.abc import Mapping
from typing import NamedTuple

from attunement.agreement.comparison import Row
from attunement.agreement.results import Undefined
from attunement.conversations import Identity
from attunement.reports.comparison_baseline import Decision, decide
from attunement.reports.comparison_scope import Compared, Sheet, check_versions, compare_sheets, read_sheet, versions_of
from attunement.reports.comparison_wording import SHOWN
from attunement.reports.overview import SEVERITY
from attunement.scoring import Verdict
from attunement.study import Study


class Regression(NamedTuple):
    """A conversation that came out worse than its counterpart."""

    conversation: Identity
    before: Verdict
    now: Verdict
    items: tuple[str, ...]
    """What failed now and did not before."""


class Baseline(NamedTuple):
    """A study compared with an earlier one."""

    place: str
    compared: Compared
    decision: Decision
    regressions: tuple[Regression, ...]
    worse_items: tuple[Row, ...]
    """Items that are surely worse, after the correction for their number."""


def against(study: Study, earlier: Study, instrument: str | None, *, margin: float | None = None) -> Baseline:
    """Compare a study with an earlier one, and name what came out worse.

    Raises:
        StudyError: The two were judged in different ways, or one of them was not judged.
    """
    now, before = read_sheet(study, instrument, None), read_sheet(earlier, instrument, None)
    check_versions(versions_of(study, now), versions_of(earlier, before), earlier.place)
    found = compare_sheets(before, now)
    comparison = found.comparison
    return Baseline(
        place=earlier.place,
        compared=found,
        decision=decide(comparison, margin),
        regressions=tuple(_regressions(before.complete, now.complete, comparison.pairing.column)),
        worse_items=tuple(row for row in comparison.items if _is_worse(row)),
    )


def _is_worse(row: Row) -> bool:
    shown = not isinstance(row.corrected_p, Undefined) and row.corrected_p < SHOWN
    return shown and not isinstance(row.difference, Undefined) and row.difference.value < 0


class _Found(NamedTuple):
    conversation: Identity
    verdict: Verdict
    failed: frozenset[str]


def _regressions(before: Sheet, now: Sheet, column: str | None) -> list[Regression]:
    same_systems = _systems(before) == _systems(now)
    earlier, later = (_by_place(sheet, column, same_systems=same_systems) for sheet in (before, now))
    worse: dict[Identity, Regression] = {}
    for place, found in later.items():
        was = earlier.get(place)
        if found and was and SEVERITY.index(found.verdict) < SEVERITY.index(was.verdict):
            items = tuple(sorted(found.failed - was.failed))
            worse[found.conversation] = Regression(found.conversation, was.verdict, found.verdict, items)
    return sorted(worse.values(), key=lambda one: (SEVERITY.index(one.now), one.conversation))


def _systems(sheet: Sheet) -> set[str]:
    return {found.summary.identity.system for found in sheet.found}


_Place = tuple[str, str, str]


def _by_place(sheet: Sheet, column: str | None, *, same_systems: bool) -> Mapping[_Place, _Found | None]:
    """The judged conversations by system, scenario and id, and by the scenario alone; None where several share it."""
    found: dict[_Place, _Found | None] = {}
    for entry in sheet.found:
        if entry.card is None:
            continue
        identity = entry.summary.identity
        system = identity.system if same_systems else ""
        scenario = str(entry.summary.metadata.get(column) or "") if column else ""
        failed = frozenset(slot.item for slot in entry.card.failed)
        for place in {(system, scenario, identity.id), *([(system, scenario, "")] if scenario else [])}:
            found[place] = None if place in found else _Found(identity, entry.card.verdict, failed)
    return found
