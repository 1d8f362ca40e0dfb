"""Agreement and trust cards on a terminal: sentences, the table, and with --full every card."""

from collections.abc import Iterable

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from attunement.agreement.summary import Agreement, ItemAgreement
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
from attunement.reports.agreement_wording import VERDICTS, sentence, single
from attunement.reports.legible import in_a_line
from attunement.reports.terminal import QUIET, SIGNS, STYLES, heading, line, phrase, plain_table
from attunement.reports.trust import Line, again_line, card_lines, people_lines
from attunement.reports.wording import Tone

_WIDE = 110
"""From this width on columns may be as wide as what stands in them."""
_WIDTHS = (12, 7, 10, 7, 7, 9, 10)
"""Of the seven columns on 80 signs: figures stay whole, and words break where they may."""
_PERSON = "green"
"""What rests on people's ratings alone; nothing else is green."""


def draw_agreement(agreement: Agreement, title: str, console: Console, *, full: bool = False) -> None:
    """Print the table, what it rests on and what its verdicts mean; with `full` all that is known."""
    console.print(line(title, "bold"))
    for said in opening(agreement):
        console.print(line(said))
    if any(entry.units for entry in agreement.items):
        console.print()
        console.print(_table(agreement, full=full, wide=console.width >= _WIDE))
        console.print()
        _draw_reading(agreement, console)
        _draw_levels(agreement, console)
        _draw_again(agreement, console)
        if full:
            _draw_full(agreement, console)
    for said in closing(agreement):
        console.print(line(said, QUIET))


def _table(agreement: Agreement, *, full: bool, wide: bool) -> Table:
    rows = list(table_rows(agreement, full=full))
    # Without judges there is nothing in two of the columns.
    shown = [place for place in range(len(COLUMNS)) if agreement.judges or place not in {4, 5}]
    table = plain_table()
    for place in shown:
        name, width = COLUMNS[place], _WIDTHS[place] if agreement.judges and not wide else None
        name = name if wide else name.replace("Conversations", "Conver-\nsations")
        table.add_column(name, justify="right" if place in {1, 3, 4} else "left", overflow="fold", width=width)
    for row in rows:
        cells = [
            line(f"{'  ' * row.below}{in_a_line(row.name, 40)}", QUIET if row.below else "bold"),
            line(row.conversations),
            line(row.answers),
            _figure(row.people, _PERSON),
            _figure(row.judge, ""),
            line(row.missed),
            phrase(row.verdict),
        ]
        table.add_row(*(cells[place] for place in shown))
    return table


def _figure(cell: tuple[str, ...], style: str) -> Text:
    """The figure, and below it what it rests on."""
    lines = [line(part, QUIET if place else style) for place, part in enumerate(cell)]
    return Text("\n").join(lines)


def _draw_reading(agreement: Agreement, console: Console) -> None:
    """What the columns and the verdicts mean."""
    reading = (
        "Figures are agreement beyond chance: 1 is perfect, 0 is chance; with each, from where to where it may lie "
        "(95 %)."
    )
    if agreement.judges and len(agreement.people) > 1:
        reading += (
            " People with people says whether all your raters together can be relied upon. To hold a judge against "
            "them, compare its figure with the one below it: what any two people reach on the same conversations, "
            "measured in the same way."
        )
    console.print(reading, style=QUIET)
    for said in warnings(agreement):
        console.print(line(said, STYLES[Tone.NOT_MET]))
    for verdict, meaning in meanings(agreement):
        tone = VERDICTS[verdict].tone
        sign = f"{SIGNS[tone]} " if tone in SIGNS else ""
        console.print(Text.assemble((f"{sign}{verdict.value}", STYLES[tone]), f": {meaning}"), style=QUIET)
    for said in needs(agreement):
        console.print(line(said, QUIET))


def _draw_levels(agreement: Agreement, console: Console) -> None:
    rows = level_rows(agreement)
    if not rows:
        return
    console.print()
    console.print(heading(LEVELS_TITLE))
    table = plain_table()
    for name in LEVEL_COLUMNS:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(line(in_a_line(cell, 40)) for cell in row))
    console.print(table)


def _draw_again(agreement: Agreement, console: Console) -> None:
    """Judges that were asked again, where there are no trust cards to say it: no person has rated."""
    if agreement.people or not any(entry.judges_again for entry in agreement.items):
        return
    console.print()
    console.print(heading("Same answer when asked again"))
    table = plain_table()
    for name in ("Item", "Judge", "The same each time", "Agreement of the repeats"):
        table.add_column(name, overflow="fold")
    for entry in agreement.items:
        for judge, found in entry.judges_again.items():
            said = again_line(found)
            table.add_row(
                line(entry.item.id), line(in_a_line(judge, 40)), line(said.text), line(said.technical.split()[-1])
            )
    console.print(table)


def _draw_full(agreement: Agreement, console: Console) -> None:
    for entry in agreement.items:
        lines = list(people_lines(entry))
        if lines:
            console.print()
            console.print(heading(_named(entry, "your raters")))
            console.print(_lines(lines))
        for card in entry.cards:
            console.print()
            console.print(heading(_named(entry, card.judge)))
            tone = VERDICTS[card.ruling.verdict].tone
            console.print(line(sentence(card), STYLES[tone]))
            console.print(_lines(card_lines(card)))
    _draw_judges(agreement, console)
    console.print()


def _named(entry: ItemAgreement, who: str) -> str:
    title = f" {entry.item.title}" if entry.item.title else ""
    return in_a_line(f"{entry.item.id}{title}: {who}")


def _lines(lines: Iterable[Line]) -> Padding:
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style=QUIET, width=24)
    grid.add_column(overflow="fold")
    for said in lines:
        text = line(said.text)
        if said.technical:
            text.append(f"\n{said.technical}", QUIET)
        grid.add_row(said.label, text)
    return Padding(grid, (0, 0, 0, 2))


def _draw_judges(agreement: Agreement, console: Console) -> None:
    if not any(entry.judges for entry in agreement.items):
        return
    console.print()
    console.print(heading("Judges with judges"))
    table = plain_table()
    for name in ("Item", "Judges", "How far they agree"):
        table.add_column(name, overflow="fold")
    for entry in agreement.items:
        for pair in entry.judges:
            names = f"{in_a_line(pair.first, 30)} and {in_a_line(pair.second, 30)}"
            table.add_row(line(entry.item.id), line(names), line(single(pair.agreement)))
    console.print(table)
