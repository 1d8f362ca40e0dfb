"""A comparison in words, the decision against a baseline, and which conversations got worse.

Shares are conversations (or replies) in a hundred, means are points of the scale. A difference without an interval
says why it has none, and a difference that was not shown comes with the smallest one that would have been.

It fails closed, like the gate: a conversation that is unsafe now and was not before stops it (exit code 1) whatever
the score; so does a score that could be worse by more than the margin, where the end of the interval counts and not
the point. What cannot be decided, because there are too few conversations or something was not judged, is 3.

A conversation is held against its counterpart in the baseline: the one of the same scenario and id, or the only one of
the same scenario. Where there is none, or where several could be it, the counts must speak.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from attunement.analysis.compare import (
    Comparison,
    GroupSummary,
    Measure,
    MeasureComparison,
    MeasureSummary,
    PassTest,
    UnsafeConversation,
)
from attunement.analysis.compare import MeasureKind as CompareKind
from attunement.conversations import Identity, UnitKind
from attunement.instruments import Instrument, Scores
from attunement.reports.blocks import Phrase, Tone
from attunement.reports.comparison_scope import Compared, Sheet, check_versions, compare_sheets, read_sheet, versions_of
from attunement.reports.gate import STOPPED, THROUGH, UNDECIDED
from attunement.reports.numbers import pluralize, share_words
from attunement.reports.records import identity_record
from attunement.reports.sanitize import in_a_line
from attunement.reports.wording import SEVERITY
from attunement.scoring import Verdict
from attunement.statistics.results import FEWEST_CLUSTERS, Interval, Undefined
from attunement.store import ScoredConversation, Study

EMPTY = "–"
SHOWN = 0.05
"""A corrected p-value below this is called a difference."""


class Cells(NamedTuple):
    """A row of a comparison as text."""

    name: str
    first: str
    second: str
    difference: str
    p: str
    detectable: str
    na: str
    """How often the item does not apply, of the first and of the second."""
    not_judged: str
    """How many answers are missing, of the first and of the second."""
    stands_out: bool
    is_safety: bool


HEADS = {
    "difference": "Difference (95 %)",
    "p": "p",
    "detectable": "Could show",
    "na": "Does not\napply",
    "not_judged": "Not\njudged",
}
"""The titles of the columns behind those of the two groups."""
NARROW = ("difference", "p", "not_judged")
WIDE = tuple(HEADS)


def rows_with_values(
    comparison: Comparison, rows: Sequence[MeasureComparison]
) -> list[tuple[MeasureComparison, Cells]]:
    """The rows as text, or none where not one of them has a value."""
    shown = [(row, cells(comparison, row)) for row in rows]
    return shown if any(text != EMPTY for _, each in shown for text in (each.first, each.second)) else []


def filled_columns(rows: Sequence[Cells], columns: Sequence[str]) -> list[str]:
    """Those of the columns in which some row has something to say."""
    return [column for column in columns if any(getattr(row, column) != EMPTY for row in rows)]


def unit_words(instrument: Instrument) -> tuple[str, str]:
    """What the instrument asks about, as one and as many."""
    return ("conversation", "conversations") if instrument.unit is UnitKind.CONVERSATION else ("reply", "replies")


def signed(value: float) -> str:
    """A difference with its sign, in points."""
    return _with_sign(f"{value:+.2f}")


def hundredths(value: float) -> str:
    """A difference of shares with its sign, in a hundred."""
    return _with_sign(f"{100 * value:+.0f}")


def _with_sign(text: str) -> str:
    """Nothing before a zero, and a minus that is as wide as a plus."""
    return text.replace("-", "−") if float(text) else text[1:]


def amount(measure: Measure, value: float) -> str:
    """A difference on the measure with its sign."""
    return hundredths(value) if measure.is_share else signed(value)


def p_words(p: float | Undefined) -> str:
    """A p-value, or a dash."""
    if isinstance(p, Undefined):
        return EMPTY
    return "<0.001" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def difference_words(row: MeasureComparison) -> str:
    """The difference with its interval, or on its own where it has none.

    A share of fewer than ten says nothing in a hundred; there the counts speak.
    """
    few = min(row.first.units, row.second.units) < FEWEST_CLUSTERS
    if isinstance(row.difference, Undefined) or (row.measure.is_share and few):
        return EMPTY
    value, interval = amount(row.measure, row.difference.value), row.difference.interval
    if isinstance(interval, Undefined):
        return value
    return f"{value} ({amount(row.measure, interval.low)} to {amount(row.measure, interval.high)})"


def value_words(row: MeasureComparison, share: MeasureSummary) -> str:
    """One group's value: how many of how many, or a mean."""
    if share.value is None:
        return EMPTY
    if row.measure.is_share:
        return f"{round(share.value * share.units):,} of {share.units:,}"
    return f"{share.value:.2f}"


def detectable_words(row: MeasureComparison) -> str:
    """The smallest difference that this sample could have shown."""
    return EMPTY if isinstance(row.detectable, Undefined) else amount(row.measure, row.detectable).lstrip("+")


def cells(comparison: Comparison, row: MeasureComparison) -> Cells:
    """The row as text."""
    measure = row.measure
    name = (
        f"{measure.id} {measure.title}"
        if measure.title != measure.id and row.measure.kind is CompareKind.ITEM
        else measure.title
    )
    if measure.above is not None:
        name = f"{name}: {measure.above + 1} or more"
    p = comparison.pass_test.p if comparison.pass_test and row is comparison.passed else row.corrected_p
    return Cells(
        name=name,
        first=value_words(row, row.first),
        second=value_words(row, row.second),
        difference=difference_words(row),
        p=p_words(p),
        detectable=detectable_words(row),
        na=_both(row.first.na, row.second.na),
        not_judged=_both(row.first.not_judged, row.second.not_judged),
        stands_out=not isinstance(p, Undefined) and p < SHOWN,
        is_safety=measure.id in comparison.instrument.gate_ids,
    )


def _both(first: int, second: int) -> str:
    return f"{first:,}, {second:,}" if first or second else EMPTY


def heading_words(comparison: Comparison, judges: tuple[str, ...]) -> list[str]:
    """What is compared, by whom, and how."""
    first, second, pairing = comparison.first, comparison.second, comparison.pairing
    instrument = comparison.instrument
    who = f"Judged by {', '.join(judges)}. " if judges else "Judged by nobody. "
    groups = " and ".join(f"{pluralize(side.conversations, 'conversation')} of {side.name}" for side in (first, second))
    if pairing.paired:
        how = f"paired on {pairing.column}: {pluralize(pairing.scenarios, 'scenario')} in common"
        if pairing.without:
            how += f", {pluralize(pairing.without, 'conversation')} without a counterpart left out"
    else:
        how = "not paired"
    return [
        f"{second.name} compared with {first.name} ({instrument.title}, {instrument.id} {instrument.version})",
        f"{who}{groups}, {how}.",
        f"A difference above zero means that {second.name} does better than {first.name}.",
    ]


def findings(comparison: Comparison) -> Iterator[str]:
    """The answer in a few sentences, what matters most first."""
    yield from _safety(comparison)
    if not any(row.first.units and row.second.units for row in comparison.rows):
        yield "Nothing can be compared: not a single answer of both was judged."
        return
    if comparison.score:
        yield f"{comparison.score.measure.title}: {_finding(comparison, comparison.score)}"
    if comparison.passed and comparison.pass_test:
        yield _passed(comparison, comparison.passed, comparison.pass_test)
    yield from _items(comparison)


def _safety(comparison: Comparison) -> Iterator[str]:
    sides = (comparison.first, comparison.second)
    if not comparison.instrument.gate:
        yield "Safety was not compared: the instrument has no safety items."
        return
    word = "Unsafe" if comparison.instrument.scoring.threshold is not None else "Flagged"
    parts = [f"{side.name} {_unsafe_share(side)}" for side in sides]
    open_ = [f"{side.name} {len(side.safety_not_judged)}" for side in sides if side.safety_not_judged]
    yield f"{word}: {', '.join(parts)}." + (f" Safety not judged: {', '.join(open_)}." if open_ else "")


def _finding(comparison: Comparison, row: MeasureComparison) -> str:
    first, second = comparison.first.name, comparison.second.name
    difference = row.difference
    if isinstance(difference, Undefined):
        return f"not comparable, {difference.reason}."
    sizes = f"{first} {value_words(row, row.first)}, {second} {value_words(row, row.second)}"
    interval = difference.interval
    if isinstance(interval, Undefined):
        return f"{sizes}, a difference of {amount(row.measure, difference.value)}. {unsure(interval)}"
    words = f"{sizes}, a difference of {difference_words(row)}"
    if interval.low > 0 or interval.high < 0:
        return f"{words}. {second} does {'better' if difference.value > 0 else 'worse'}{_could_show(row)}."
    return f"{words}. That is compatible with no difference{_could_show(row)}."


def unsure(interval: Undefined) -> str:
    """That a difference has no interval, and why."""
    if interval.reason.startswith("too few"):
        return f"How sure that is cannot be said ({interval.reason})."
    return "It is the same everywhere, so nothing shows how far it could vary."


def _could_show(row: MeasureComparison) -> str:
    if isinstance(row.detectable, Undefined):
        return ""
    size = detectable_words(row) + (" in a hundred" if row.measure.is_share else "")
    return f"; a sample like this shows one of {size} in four of five cases"


def _passed(comparison: Comparison, row: MeasureComparison, test: PassTest) -> str:
    first, second = comparison.first.name, comparison.second.name
    counts = f"{first} {value_words(row, row.first)}, {second} {value_words(row, row.second)}"
    if isinstance(row.difference, Undefined):
        return f"Passed: not comparable, {row.difference.reason}."
    words = f"Passed: {counts}"
    if row.first.not_judged or row.second.not_judged:
        words += f" of those with a verdict (without one: {row.first.not_judged:,} and {row.second.not_judged:,})"
    if difference_words(row) != EMPTY:
        words += f", a difference of {difference_words(row)} in a hundred"
    if test.pairs:
        words += (
            f". Only {first} passed in {pluralize(test.pairs.only_first, 'scenario')}, only {second} in "
            f"{test.pairs.only_second:,}"
        )
    return f"{words} ({test.test}, p {p_words(test.p)}){_could_show(row)}."


def _items(comparison: Comparison) -> Iterator[str]:
    tested = [row for row in comparison.items if not isinstance(row.corrected_p, Undefined)]
    if not tested:
        return
    shown = [row for row in tested if not isinstance(row.corrected_p, Undefined) and row.corrected_p < SHOWN]
    after = f"after Holm's correction for {pluralize(len(tested), 'item')} tested"
    if shown:
        names = ", ".join(f"{row.measure.id} ({difference_words(row)})" for row in shown)
        yield f"Items that differ {after}: {names}."
    else:
        yield f"No item differs {after}."


def notes(comparison: Comparison, *, wide: bool = True) -> Iterator[str]:
    """How to read the tables, which have all columns where they are wide, and what they leave out."""
    many = unit_words(comparison.instrument)[1]
    if any(row.measure.is_share for row in comparison.items):
        yield f"Differences between shares are {many} in a hundred; what an item does not apply to is left out."
    if any(not isinstance(row.corrected_p, Undefined) for row in comparison.rows):
        yield "p of items is corrected for their number (Holm), p of scores and categories is not."
        if wide:
            yield "Could show: the smallest difference that a sample like this shows in four of five cases."
    else:
        yield "No difference has an interval, so these numbers describe these conversations and no others."
    for side in (comparison.first, comparison.second):
        if side.not_judged:
            counts = share_words(len(side.not_judged), side.conversations)
            yield f"Not judged, or not by all judges: {counts} of {side.name}."
    if missing := sum(row.first.not_judged + row.second.not_judged for row in comparison.items):
        yield (
            f"{pluralize(missing, 'answer is', 'answers are')} missing, because of an error or because the judge has "
            "no "
            "way to know, and enter no difference. Where many are missing, the others are no fair picture."
        )
    if unpaired := sum(row.first.unpaired + row.second.unpaired for row in comparison.items):
        yield f"{pluralize(unpaired, 'answer')} had no counterpart in the same scenario and enter no difference."


def side_words(comparison: Comparison, side: GroupSummary) -> str:
    """One group's failures in a line, without their names."""
    word = "unsafe" if comparison.instrument.scoring.threshold is not None else "flagged"
    return f"{side.name}: {f'{_unsafe_share(side)} {word}' if side.safety_judged else 'safety not known'}"


def _unsafe_share(side: GroupSummary) -> str:
    """How many of those whose safety was judged; not a word like none where it was not."""
    return share_words(len(side.unsafe), side.safety_judged) if side.safety_judged else "not known"


def scale_words(instrument: Instrument) -> str:
    """From where to where a score goes."""
    if isinstance(instrument.scale, Scores):
        return f"{instrument.scale.lowest} to {instrument.scale.highest}"
    return "0 to 1"


def score_rows(comparison: Comparison) -> list[MeasureComparison]:
    """The rows whose values are means."""
    whole = [comparison.score] if comparison.score else []
    return [*whole, *comparison.categories, *(row for row in comparison.items if not row.measure.is_share)]


def share_rows(comparison: Comparison) -> list[MeasureComparison]:
    """The rows whose values are shares: the pass rate, then safety, then the rest."""
    whole = [comparison.passed] if comparison.passed else []
    shares = [row for row in comparison.items if row.measure.is_share]
    gate = comparison.instrument.gate_ids
    return [*whole, *sorted(shares, key=lambda row: row.measure.id not in gate)]


def share_title(comparison: Comparison) -> str:
    """What the shares are shares of."""
    return f"{unit_words(comparison.instrument)[1].capitalize()} that meet it"


def unsafe_words(comparison: Comparison, entry: UnsafeConversation) -> str:
    """A conversation that fails the gate, with the items it fails."""
    items = ", ".join(f"{item} {comparison.instrument.item(item).title}" for item in entry.items)
    return f"{in_a_line(str(entry.conversation), 80)}: {items}"


_MARGIN = 0.05
"""Of the whole scale: .05 of a score from 0 to 1, .2 of scores from 1 to 5."""
_TINY = 1e-9

OUTCOMES = {
    THROUGH: Phrase("No worse than the baseline.", Tone.MET),
    STOPPED: Phrase("Worse than the baseline, or not shown to be no worse.", Tone.NOT_MET),
    UNDECIDED: Phrase("Whether it is worse than the baseline cannot be decided: not everything is known.", Tone.OPEN),
}


class Kind(StrEnum):
    """Why it is decided so."""

    NEW_UNSAFE = "new_unsafe"
    WORSE = "worse"
    NO_WORSE = "no_worse"
    TOO_FEW = "too_few"
    NOT_JUDGED = "not_judged"


class Reason(NamedTuple):
    """One thing that the decision rests on."""

    kind: Kind
    exit_code: int
    text: str
    conversations: Sequence[Identity] = ()


class Decision(NamedTuple):
    """Whether the second group is no worse than the first."""

    margin: float
    reasons: tuple[Reason, ...]

    @property
    def exit_code(self) -> int:
        """1 where a reason stops, else 3 where one leaves it undecided, else 0."""
        demanded = {reason.exit_code for reason in self.reasons}
        return next((code for code in (STOPPED, UNDECIDED) if code in demanded), THROUGH)


def decide(comparison: Comparison, margin: float | None = None) -> Decision:
    """Decide whether the second group is no worse than the first by more than the margin.

    Args:
        comparison: The baseline and what is there now.
        margin: In points of the score; by default a twentieth of its scale.
    """
    scale = comparison.instrument.scale
    length = scale.highest - scale.lowest if isinstance(scale, Scores) else 1
    chosen = _MARGIN * length if margin is None else margin
    reasons = [*_unsafe(comparison), *_unknown(comparison.second)]
    for row in deciding(comparison):
        reasons += _score(row, chosen)
    return Decision(chosen, tuple(sorted(reasons, key=lambda reason: _ORDER.index(reason.exit_code))))


def nothing_judged(place: str) -> Decision:
    """The decision where a study holds no ratings yet."""
    text = f"{place} holds no ratings yet: judge something first, with attune judge."
    return Decision(_MARGIN, (Reason(Kind.NOT_JUDGED, UNDECIDED, text),))


_ORDER = (STOPPED, UNDECIDED, THROUGH)


def deciding(comparison: Comparison) -> list[MeasureComparison]:
    """The rows that must be no worse: the weighted score, or without one each item that is not about safety."""
    if comparison.score:
        return [comparison.score]
    return [row for row in comparison.items if row.measure.id not in comparison.instrument.gate_ids]


def new_unsafe(comparison: Comparison) -> list[UnsafeConversation]:
    """The conversations that are unsafe now and whose counterpart was not.

    A counterpart is the conversation of the same scenario, or of the same id where nothing is paired; of the same
    system too where both groups have the same systems. One without a counterpart counts as new.
    """
    before, now = comparison.first, comparison.second
    same_systems = _systems(before) == _systems(now)

    def place(entry: UnsafeConversation) -> tuple[str, str]:
        scenario = entry.scenario if comparison.pairing.paired and entry.scenario else entry.conversation.id
        return (entry.conversation.system if same_systems else ""), scenario

    known = Counter(place(entry) for entry in before.unsafe)
    identities = {entry.conversation for entry in before.unsafe}
    new: list[UnsafeConversation] = []
    for entry in sorted(now.unsafe, key=lambda entry: entry.conversation not in identities):
        if known[place(entry)]:
            known[place(entry)] -= 1
        else:
            new.append(entry)
    return sorted(new, key=lambda entry: entry.conversation)


def _systems(side: GroupSummary) -> set[str]:
    judged = {name.system for names in side.verdicts.values() for name in names}
    return judged | {name.system for name in side.not_judged}


def _unsafe(comparison: Comparison) -> Iterator[Reason]:
    if new := new_unsafe(comparison):
        text = f"Unsafe now and not before: {pluralize(len(new), 'conversation')}."
        yield Reason(Kind.NEW_UNSAFE, STOPPED, text, [entry.conversation for entry in new])
    elif comparison.second.unsafe:
        names = [entry.conversation for entry in comparison.second.unsafe]
        text = f"Unsafe as before: {pluralize(len(names), 'conversation')}."
        yield Reason(Kind.NO_WORSE, THROUGH, text, names)


def _unknown(now: GroupSummary) -> Iterator[Reason]:
    for text, names in (
        ("Not judged, or not by all judges", now.not_judged),
        ("Safety not judged", now.safety_not_judged),
        ("Incomplete, the verdict is still open", now.verdicts.get(Verdict.INCOMPLETE, ())),
        ("Needs a person", now.needs_person),
    ):
        if names:
            yield Reason(Kind.NOT_JUDGED, UNDECIDED, f"{text}: {pluralize(len(names), 'conversation')}.", names)


def _score(row: MeasureComparison, margin: float) -> Iterator[Reason]:
    name, difference = row.measure.title, row.difference
    if missing := row.second.not_judged:
        text = f"{name}: {pluralize(missing, 'value is', 'values are')} not known, because something was not judged."
        yield Reason(Kind.NOT_JUDGED, UNDECIDED, text)
    if isinstance(difference, Undefined):
        yield Reason(Kind.TOO_FEW, UNDECIDED, f"{name}: not comparable, {difference.reason}.")
        return
    allowed = f"{margin:g} is allowed"
    interval = difference.interval
    if isinstance(interval, Interval):
        holds = interval.low >= -margin - _TINY
        words = f"{difference_words(row)}; the lower end counts, and {signed(-margin)} is allowed"
    elif interval.reason.startswith("too few"):
        yield Reason(Kind.TOO_FEW, UNDECIDED, f"{name}: {interval.reason}.")
        return
    else:
        holds = difference.value >= -margin - _TINY
        words = f"{difference_words(row)} everywhere; a loss of {allowed}"
    if holds:
        yield Reason(Kind.NO_WORSE, THROUGH, f"{name}: no worse. {words}.")
    else:
        worse = isinstance(interval, Undefined) or interval.high < -margin
        verdict = "worse" if worse else "may be worse than is allowed"
        yield Reason(Kind.WORSE, STOPPED, f"{name}: {verdict}. {words}.")


def decision_record(decision: Decision) -> dict[str, Any]:
    """The decision as plain data, for `--json`."""
    return {
        "exit_code": decision.exit_code,
        "margin": decision.margin,
        "reasons": [
            {**reason._asdict(), "conversations": [identity_record(name) for name in reason.conversations]}
            for reason in decision.reasons
        ],
    }


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
    worse_items: tuple[MeasureComparison, ...]
    """Items that are surely worse, after the correction for their number."""


def against(
    study: Study,
    earlier: Study,
    instrument: str | None,
    *,
    margin: float | None = None,
    scored: Sequence[ScoredConversation] | None = None,
) -> Baseline:
    """Compare a study with an earlier one, and name what came out worse.

    `scored` are all conversations of the later study, where they were read already.

    Raises:
        StudyError: The two were judged in different ways, or one of them was not judged.
    """
    now, before = read_sheet(study, instrument, None, scored), read_sheet(earlier, instrument, None)
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


def _is_worse(row: MeasureComparison) -> bool:
    shown = not isinstance(row.corrected_p, Undefined) and row.corrected_p < SHOWN
    return shown and not isinstance(row.difference, Undefined) and row.difference.value < 0


class _Found(NamedTuple):
    conversation: Identity
    verdict: Verdict
    failed: frozenset[str]


def _regressions(before: Sheet, now: Sheet, column: str | None) -> list[Regression]:
    same_systems = _worse_systems(before) == _worse_systems(now)
    earlier, later = (_by_place(sheet, column, same_systems=same_systems) for sheet in (before, now))
    worse: dict[Identity, Regression] = {}
    for place, found in later.items():
        was = earlier.get(place)
        if found and was and SEVERITY.index(found.verdict) < SEVERITY.index(was.verdict):
            items = tuple(sorted(found.failed - was.failed))
            worse[found.conversation] = Regression(found.conversation, was.verdict, found.verdict, items)
    return sorted(worse.values(), key=lambda one: (SEVERITY.index(one.now), one.conversation))


def _worse_systems(sheet: Sheet) -> set[str]:
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
