"""Which groups of conversations are compared, what they are paired on, and whose ratings count.

A group is a value of a column: the system, or a field of the metadata. Conversations are paired on a column that the
groups share values of. Two groups are compared, more are ranked.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import cast

from attunement.analysis.compare import Comparison, Group, compare, pairing_of, shared_scenarios
from attunement.analysis.measures import Basis, RatedConversation, RatedStudy, by_all, with_sample
from attunement.analysis.ranking import RankedStudy, rank
from attunement.errors import InputError, StudyError
from attunement.statistics.results import FEWEST_CLUSTERS
from attunement.store import ConversationSummary, Study

SCENARIO = "scenario"
_ENOUGH = 0.5  # groups are paired by themselves where at least this share of their conversations has a counterpart
_MOST = 8


def compare_groups(
    study: Study | None, rated: RatedStudy, by: str, names: Sequence[str] = (), *, pair: str | None = None
) -> Comparison | RankedStudy:
    """Compare two groups of a study, or rank more of them.

    Args:
        study: Where people's ratings of a random sample are looked up; None compares without correction.
        rated: Its conversations.
        by: The column that tells the groups apart: `system`, or a field of the metadata.
        names: The values to compare; may be left out to compare all.
        pair: The column on which to pair; by default `scenario` where it is shared.

    Raises:
        StudyError: There are no such groups, or not all judges rated them.
    """
    known = dict.fromkeys(value for each in rated.conversations if (value := value_in(each.summary, by)) is not None)
    chosen = _chosen(rated.place, by, list(known), names)
    every = [Group(name, (), _where(rated, by, name)) for name in chosen]
    basis, notes = Basis.PEOPLE if rated.by_people else Basis.JUDGE, list[str]()
    if study and basis is Basis.JUDGE and any(each.people for group in every for each in group.everything):
        try:
            sampled = with_sample(study, rated)
        except StudyError as error:
            notes.append(f"People's ratings do not correct the judge's: {error}.")
        else:
            labelled = [sum(each.probability is not None for each in _where(sampled, by, name)) for name in chosen]
            if min(labelled) < FEWEST_CLUSTERS:
                few = " and ".join(f"{number} of {name}" for number, name in zip(labelled, chosen, strict=True))
                notes.append(f"People's ratings do not correct the judge's, because they are of too few: {few}.")
            else:
                rated, basis, notes = sampled, Basis.CORRECTED, list(sampled.notes)
    groups = [group._replace(conversations=_where(rated, by, group.name)) for group in every]
    everyone = frozenset[tuple[str, int]]().union(*(each.by for group in groups for each in group.conversations))
    for group in groups:
        here = {judge for each in group.conversations for judge, _ in each.by}
        if here and all(each.by != everyone for each in group.conversations):
            raise StudyError(
                f"{group.name} was judged by {', '.join(sorted(here))}, but another group also by others, or more "
                "often: choose one judge with --rater, or judge the rest in the same way"
            )
    groups = [group._replace(conversations=by_all(group.conversations, everyone)) for group in groups]
    return _compared(rated, groups, pair, basis, notes)


def _where(rated: RatedStudy, by: str, value: str) -> tuple[RatedConversation, ...]:
    return tuple(each for each in rated.conversations if value_in(each.summary, by) == value)


def compare_studies(baseline: RatedStudy, now: RatedStudy, *, pair: str | None = None) -> Comparison:
    """Compare all conversations of a study with those of an earlier one, which comes first.

    `check_versions` tells whether the same judges rated both.
    """
    names = [Path(rated.place).name for rated in (baseline, now)]
    if names[0] == names[1]:
        names = ["before", "now"]
    groups = [Group(name, each.complete.conversations) for name, each in zip(names, (baseline, now), strict=True)]
    return cast(Comparison, _compared(now, groups, pair, Basis.PEOPLE if now.by_people else Basis.JUDGE, []))


def value_in(summary: ConversationSummary | None, name: str) -> str | None:
    match name:
        case _ if summary is None:
            return None
        case "system":
            return summary.identity.system
        case "id":
            return summary.identity.id
        case "origin":
            return summary.origin.value
        case _:
            value = summary.metadata.get(name)
            return None if value is None else str(value)


def _chosen(place: str, by: str, known: list[str], names: Sequence[str]) -> list[str]:
    if not known:
        raise StudyError(f"no conversation in {place} has a value for {by!r}")
    shown = ", ".join(" ".join(name.split())[:60] for name in known[:_MOST])
    if len(known) > _MOST:
        shown += f" and {len(known) - _MOST:,} more"
    for name in names:
        if name not in known:
            raise StudyError(f"no conversation in {place} has {name!r} for {by!r}; there are {shown}")
    if len(set(names)) < len(names):
        raise InputError(f"{names[0]} cannot be compared with itself")
    if len(names) == 1 or len(known) == 1:
        raise InputError(f"name two values of {by!r} to compare, the earlier or simpler one first; {place} has {shown}")
    return list(names) or known


def _compared(
    rated: RatedStudy,
    groups: Sequence[Group],
    pair: str | None,
    basis: Basis,
    notes: Sequence[str],
) -> Comparison | RankedStudy:
    """Pair the conversations and compare them."""
    said = list(notes)
    scenarios = [[value_in(each.summary, pair or SCENARIO) for each in group.conversations] for group in groups]
    shared = shared_scenarios(scenarios)
    paired, total = sum(value in shared for side in scenarios for value in side), sum(map(len, scenarios))
    chosen: str | None = pair or SCENARIO
    if pair and not shared:
        raise StudyError(f"the groups share no value of {pair!r}, so nothing can be paired on it")
    if not shared:
        chosen = None
        said.append("They share no scenario, so they are not compared within scenarios.")
    elif not pair and paired < _ENOUGH * total:
        chosen = None
        said.append(
            f"Only {paired} of {total} conversations share a scenario with the others, so they are compared unpaired; "
            "--pair scenario compares only those."
        )
    made = [
        group._replace(
            conversations=[
                each._replace(scenario=value if chosen else None)
                for each, value in zip(group.conversations, side, strict=True)
            ]
        )
        for group, side in zip(groups, scenarios, strict=True)
    ]
    raters = rated._replace(conversations=tuple(each for group in groups for each in group.conversations)).raters
    if len(made) == 2:
        found = compare(rated.instrument, *made, column=chosen, basis=basis)
        return found._replace(raters=raters, notes=tuple(said))
    rankings = rank(rated.instrument, made, paired=chosen is not None, basis=basis)
    return RankedStudy(
        rated.instrument, tuple(rankings), pairing_of(scenarios, chosen), tuple(made), raters, tuple(said)
    )
