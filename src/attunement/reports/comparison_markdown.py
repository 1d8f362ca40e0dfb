"""A comparison as Markdown, for a pull request or a paper."""

from collections.abc import Iterable, Iterator, Sequence

from attunement.agreement.comparison import Comparison, Row
from attunement.instruments import Scores
from attunement.reports.comparison_baseline import OUTCOMES, Decision
from attunement.reports.comparison_scope import Compared
from attunement.reports.comparison_wording import (
    HEADS,
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
from attunement.reports.markdown_text import plain, text_table

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


def _numbers(comparison: Comparison, rows: Sequence[Row], title: str) -> Iterator[str]:
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
