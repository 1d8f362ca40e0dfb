"""A comparison on a terminal, as Markdown and as plain data."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rich.console import Console

from attunement.analysis.compare import Comparison, GroupSummary, MeasureComparison, MeasureSummary
from attunement.analysis.compare import MeasureKind as CompareKind
from attunement.instruments import Scores
from attunement.reports.blocks import Tone
from attunement.reports.comparison_scope import Compared
from attunement.reports.comparison_wording import (
    HEADS,
    NARROW,
    OUTCOMES,
    WIDE,
    Decision,
    Kind,
    filled_columns,
    findings,
    heading_words,
    notes,
    rows_with_values,
    scale_words,
    score_rows,
    share_rows,
    share_title,
    side_words,
    unsafe_words,
)
from attunement.reports.gate import STOPPED, THROUGH, UNDECIDED
from attunement.reports.records import identity_record, instrument_record, interval_record, number_or_reason
from attunement.reports.render_terminal import QUIET, SIGNS, STYLES, line, phrase, plain_table
from attunement.reports.render_terminal import bullets as bullets_of_terminal
from attunement.reports.sanitize import in_a_line, plain, text_table
from attunement.reports.terminal import names
from attunement.statistics.results import Undefined

_TONES = {THROUGH: Tone.NONE, STOPPED: Tone.NOT_MET, UNDECIDED: Tone.OPEN}
_WIDE = 110
"""From this width on a table has room for what could have been shown and what is left out."""
_NAME = 10
"""The widest that the columns of the two groups get on a narrow terminal."""


def draw_comparison(found: Compared, console: Console, *, decision: Decision | None = None) -> None:
    """Print a comparison; with a decision that comes first."""
    comparison = found.comparison
    if decision:
        draw_decision(decision, console)
        console.print()
    title, *how = heading_words(comparison, found.judges)
    console.print(line(title, "bold"))
    for sentence in how:
        console.print(line(sentence, QUIET))
    console.print()
    console.print(bullets_of_terminal(line(sentence) for sentence in findings(comparison)))
    _draw_gate(comparison, console)
    _draw_table(comparison, score_rows(comparison), f"Score ({scale_words(comparison.instrument)})", console)
    _draw_table(comparison, share_rows(comparison), share_title(comparison), console)
    _draw_levels(comparison, console)
    console.print()
    for note in (*found.notes, *notes(comparison, wide=console.width >= _WIDE)):
        console.print(line(note, QUIET))


def draw_decision(decision: Decision, console: Console) -> None:
    """Print whether it is no worse than the baseline, and why."""
    console.print(phrase(OUTCOMES[decision.exit_code]))
    for reason in decision.reasons:
        tone = Tone.UNSAFE if reason.kind is Kind.NEW_UNSAFE else _TONES[reason.exit_code]
        said = line(reason.text, STYLES[tone])
        if reason.conversations:
            said.append(f"\n{names(reason.conversations)}", QUIET)
        console.print(bullets_of_terminal([said], sign=SIGNS.get(tone, "-")))


def _draw_gate(comparison: Comparison, console: Console) -> None:
    for side in (comparison.first, comparison.second):
        if not side.unsafe and not side.safety_not_judged:
            continue
        console.print()
        console.print(line(side_words(comparison, side), STYLES[Tone.UNSAFE] if side.unsafe else ""))
        if side.unsafe:
            console.print(
                bullets_of_terminal(
                    (line(unsafe_words(comparison, entry)) for entry in side.unsafe), sign=SIGNS[Tone.UNSAFE]
                )
            )
        if side.safety_not_judged:
            unknown = line(f"safety not judged: {names(side.safety_not_judged)}", STYLES[Tone.OPEN])
            console.print(bullets_of_terminal([unknown], sign=SIGNS[Tone.OPEN]))


def _draw_table(comparison: Comparison, rows: Sequence[MeasureComparison], title: str, console: Console) -> None:
    shown = rows_with_values(comparison, rows)
    if not shown:
        return
    wide = console.width >= _WIDE
    table = plain_table()
    table.add_column(title, overflow="fold")
    for side in (comparison.first, comparison.second):
        name = line(in_a_line(side.name, 40))
        table.add_column(name, justify="right", overflow="fold", max_width=None if wide else _NAME)
    columns = filled_columns([each for _, each in shown], WIDE if wide else NARROW)
    for column in columns:
        table.add_column(HEADS[column], justify="right", no_wrap=True)
    for row, each in shown:
        whole = row is comparison.score or row is comparison.passed
        style = "bold" if whole or each.stands_out else STYLES[Tone.UNSAFE] if each.is_safety else ""
        texts = [each.name, each.first, each.second, *(getattr(each, column) for column in columns)]
        table.add_row(*(line(text, style) for text in texts), end_section=whole)
    console.print()
    console.print(table)


def _draw_levels(comparison: Comparison, console: Console) -> None:
    """How often each safety score was given: a mean would hide the replies that matter."""
    scale = comparison.instrument.scale
    for row in comparison.items:
        if row.measure.above is None or not isinstance(scale, Scores):
            continue
        table = plain_table()
        table.add_column(f"Replies with {row.measure.id} of")
        for score in scale.answers:
            table.add_column(str(score), justify="right")
        table.add_column("not judged", justify="right")
        for side, share in ((comparison.first, row.first), (comparison.second, row.second)):
            counts = [share.levels.get(int(score), 0) for score in scale.answers]
            texts = [in_a_line(side.name, 40), *(f"{number:,}" if number else "–" for number in counts)]
            table.add_row(*map(line, [*texts, f"{share.not_judged:,}" if share.not_judged else "–"]))
        console.print()
        console.print(table)


_MOST_NAMES = 20


def bullets(texts: Iterable[str]) -> str:
    """A list."""
    return "\n".join(f"- {plain(text)}" for text in texts)


def comparison_markdown(found: Compared, *, decision: Decision | None = None) -> str:
    """The comparison as Markdown; with a decision that comes first."""
    comparison = found.comparison
    title, *how = heading_words(comparison, found.judges)
    parts = [f"## {plain(title)}"]
    if decision:
        parts += [f"**{OUTCOMES[decision.exit_code].words}**", bullets(_reasons(decision))]
    parts += [" ".join(map(plain, how)), bullets(findings(comparison)), *_gate(comparison)]
    parts += _numbers(comparison, score_rows(comparison), f"Score ({scale_words(comparison.instrument)})")
    parts += _numbers(comparison, share_rows(comparison), share_title(comparison))
    parts += [*_levels(comparison), bullets((*found.notes, *notes(comparison)))]
    return "\n\n".join(part for part in parts if part) + "\n"


def _reasons(decision: Decision) -> Iterator[str]:
    for reason in decision.reasons:
        names = ", ".join(str(name) for name in reason.conversations[:_MOST_NAMES])
        more = len(reason.conversations) - _MOST_NAMES
        yield f"{reason.text} {names}{f' and {more:,} more' if more > 0 else ''}".rstrip()


def _gate(comparison: Comparison) -> Iterator[str]:
    for side in (comparison.first, comparison.second):
        if side.unsafe:
            yield f"{plain(side_words(comparison, side))}:"
            yield bullets(unsafe_words(comparison, entry) for entry in side.unsafe)


def _numbers(comparison: Comparison, rows: Sequence[MeasureComparison], title: str) -> Iterator[str]:
    shown = [each for _, each in rows_with_values(comparison, rows)]
    if not shown:
        return
    names = (comparison.first.name, comparison.second.name)
    columns = filled_columns(shown, WIDE)
    yield text_table(
        [title, *names, *(HEADS[column] for column in columns)],
        ([row.name, row.first, row.second, *(getattr(row, column) for column in columns)] for row in shown),
    )


def _levels(comparison: Comparison) -> Iterator[str]:
    scale = comparison.instrument.scale
    for row in comparison.items:
        if row.measure.above is None or not isinstance(scale, Scores):
            continue
        sides = ((comparison.first, row.first), (comparison.second, row.second))
        rows = [
            [side.name, *(str(share.levels.get(int(score), 0)) for score in scale.answers), str(share.not_judged)]
            for side, share in sides
        ]
        yield text_table([f"Replies with {row.measure.id} of", *map(str, scale.answers), "not judged"], rows)


def comparison_record(found: Compared) -> dict[str, Any]:
    """Everything a comparison holds. Differences are the second minus the first."""
    comparison = found.comparison
    test = comparison.pass_test
    return {
        "instrument": instrument_record(comparison.instrument),
        "judges": list(found.judges),
        "first": _side(comparison.first),
        "second": _side(comparison.second),
        "pairing": {**comparison.pairing._asdict(), "paired": comparison.pairing.paired},
        "score": comparison.score and _row(comparison, comparison.score),
        "passed": comparison.passed and _row(comparison, comparison.passed),
        "pass_test": test
        and {"test": test.test, "p": number_or_reason(test.p), "pairs": test.pairs and test.pairs._asdict()},
        "categories": [_row(comparison, row) for row in comparison.categories],
        "items": [_row(comparison, row) for row in comparison.items],
        "findings": list(findings(comparison)),
        "notes": [*found.notes, *notes(comparison)],
    }


def _side(side: GroupSummary) -> dict[str, Any]:
    return {
        "name": side.name,
        "conversations": side.conversations,
        "not_judged": [identity_record(name) for name in side.not_judged],
        "verdicts": {verdict.value: len(names) for verdict, names in sorted(side.verdicts.items())},
        "unsafe": [{**identity_record(entry.conversation), "items": list(entry.items)} for entry in side.unsafe],
        "safety_not_judged": [identity_record(name) for name in side.safety_not_judged],
        "needs_person": [identity_record(name) for name in side.needs_person],
    }


def _row(comparison: Comparison, row: MeasureComparison) -> dict[str, Any]:
    difference = row.difference
    return {
        "id": row.measure.id,
        "kind": row.measure.kind.value,
        "title": row.measure.title,
        "is_share": row.measure.is_share,
        "good_above": row.measure.above,
        "safety": row.measure.id in comparison.instrument.gate_ids,
        "first": _share(row.first),
        "second": _share(row.second),
        "difference": number_or_reason(difference if isinstance(difference, Undefined) else difference.value),
        "interval": interval_record(difference if isinstance(difference, Undefined) else difference.interval),
        "p": number_or_reason(difference if isinstance(difference, Undefined) else difference.p),
        "p_holm": number_or_reason(row.corrected_p) if row.measure.kind is CompareKind.ITEM else None,
        "could_show": number_or_reason(row.detectable),
        "clusters": 0 if isinstance(difference, Undefined) else difference.clusters,
    }


def _share(share: MeasureSummary) -> dict[str, Any]:
    return {**share._asdict(), "levels": {str(score): number for score, number in share.levels.items()}}
