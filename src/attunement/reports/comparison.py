"""How does a comparison look on a terminal? Sentences first, then who fails the gate, then the numbers."""

from collections.abc import Sequence

from rich.console import Console

from attunement.agreement.comparison import Comparison, Row
from attunement.instruments import Scores
from attunement.reports.comparison_baseline import OUTCOMES, Decision, Kind
from attunement.reports.comparison_scope import Compared
from attunement.reports.comparison_wording import (
    HEADS,
    NARROW,
    WIDE,
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
from attunement.reports.legible import in_a_line
from attunement.reports.terminal import QUIET, SIGNS, STYLES, bullets, line, names, phrase, plain_table
from attunement.reports.wording import Tone

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
    console.print(bullets(line(sentence) for sentence in findings(comparison)))
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
        console.print(bullets([said], sign=SIGNS.get(tone, "-")))


def _draw_gate(comparison: Comparison, console: Console) -> None:
    for side in (comparison.first, comparison.second):
        if not side.unsafe and not side.safety_not_judged:
            continue
        console.print()
        console.print(line(side_words(comparison, side), STYLES[Tone.UNSAFE] if side.unsafe else ""))
        if side.unsafe:
            console.print(
                bullets((line(unsafe_words(comparison, entry)) for entry in side.unsafe), sign=SIGNS[Tone.UNSAFE])
            )
        if side.safety_not_judged:
            unknown = line(f"safety not judged: {names(side.safety_not_judged)}", STYLES[Tone.OPEN])
            console.print(bullets([unknown], sign=SIGNS[Tone.OPEN]))


def _draw_table(comparison: Comparison, rows: Sequence[Row], title: str, console: Console) -> None:
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
