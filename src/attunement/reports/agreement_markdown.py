"""Agreement and trust cards as Markdown, for a pull request, a wiki or a paper's appendix."""

from collections.abc import Iterator

from attunement.agreement.summary import Agreement
from attunement.reports.agreement import (
    COLUMNS,
    LEVEL_COLUMNS,
    LEVELS_TITLE,
    closing,
    level_rows,
    meanings,
    needs,
    opening,
    table_rows,
    warnings,
)
from attunement.reports.agreement_wording import sentence
from attunement.reports.markdown_text import plain
from attunement.reports.trust import Line, again_line, card_lines, people_lines


def agreement_markdown(agreement: Agreement, title: str, *, full: bool = False) -> str:
    """The same as on a terminal."""
    return "\n".join(_lines(agreement, title, full=full)) + "\n"


def _lines(agreement: Agreement, title: str, *, full: bool) -> Iterator[str]:
    yield f"## {_text(title)}"
    yield ""
    yield from (_text(said) for said in opening(agreement))
    if any(entry.units for entry in agreement.items):
        yield ""
        yield from _table(agreement, full=full)
        for said in warnings(agreement):
            yield ""
            yield f"**{_text(said)}**"
        yield ""
        yield from (f"- **{verdict.value}**: {meaning}" for verdict, meaning in meanings(agreement))
        yield from (f"- {_text(said)}" for said in needs(agreement))
        yield from _levels(agreement)
        yield from _again(agreement)
        if full:
            yield from _cards(agreement)
    for said in closing(agreement):
        yield ""
        yield _text(said)


def _table(agreement: Agreement, *, full: bool) -> Iterator[str]:
    yield f"| {' | '.join(COLUMNS)} |"
    yield "|---|---:|---|---:|---:|---|---|"
    for row in table_rows(agreement, full=full):
        figures = ["; ".join(cell) for cell in (row.people, row.judge)]
        name = f"{'&nbsp;&nbsp;' * row.below}{_text(row.name)}"
        cells = [row.conversations, row.answers, *figures, row.missed, row.verdict.words]
        yield f"| {' | '.join([name, *map(_text, cells)])} |"


def _levels(agreement: Agreement) -> Iterator[str]:
    rows = level_rows(agreement)
    if not rows:
        return
    yield ""
    yield f"{LEVELS_TITLE}:"
    yield ""
    yield f"| {' | '.join(LEVEL_COLUMNS)} |"
    yield "|---|---|---|---|"
    yield from (f"| {' | '.join(map(_text, row))} |" for row in rows)


def _again(agreement: Agreement) -> Iterator[str]:
    found = [(entry.item.id, judge, each) for entry in agreement.items for judge, each in entry.judges_again.items()]
    if agreement.people or not found:
        return
    yield ""
    yield "| Item | Judge | Same answer when asked again | Agreement of the repeats |"
    yield "|---|---|---|---:|"
    for item, judge, each in found:
        said = again_line(each)
        yield f"| {_text(item)} | {_text(judge)} | {_text(said.text)} | {_text(said.technical.split()[-1])} |"


def _cards(agreement: Agreement) -> Iterator[str]:
    for entry in agreement.items:
        lines = list(people_lines(entry))
        if lines:
            yield from _section(f"{entry.item.id}: your raters", None, lines)
        for card in entry.cards:
            yield from _section(f"{entry.item.id}: {card.judge}", sentence(card), list(card_lines(card)))


def _section(title: str, said: str | None, lines: list[Line]) -> Iterator[str]:
    yield ""
    yield f"### {_text(title)}"
    yield ""
    if said:
        yield f"**{_text(said)}**"
        yield ""
    for each in lines:
        technical = f" ({_text(each.technical)})" if each.technical else ""
        yield f"- {each.label}: {_text(each.text)}{technical}"


def _text(text: str) -> str:
    """Anybody's text, so that it is no Markdown."""
    return plain(text, 1000)
