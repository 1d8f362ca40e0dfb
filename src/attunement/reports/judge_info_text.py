"""What is known about a judge, on a terminal, as Markdown and as JSON."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table

from attunement.reports.judge_info import JudgeInfo, SignalsInfo
from attunement.reports.judge_info_page import Grid, Section, page
from attunement.reports.markdown_text import plain, table
from attunement.reports.terminal import QUIET, heading, line, phrase, plain_table

_LONG = 2000


def draw_judge_info(info: JudgeInfo, console: Console) -> None:
    """Print what is known."""
    for place, section in enumerate(page(info)):
        if place:
            console.print()
        console.print(line(section.title, "bold") if section.level != 2 else heading(section.title))
        if section.verdict:
            console.print(phrase(section.verdict))
        for said in section.said:
            console.print(line(said))
        for grid in section.grids:
            console.print()
            console.print(line(grid.title, "italic"))
            console.print(_drawn(grid))
            for remark in grid.remarks:
                console.print(Padding(line(remark, QUIET), (0, 0, 0, 2)))


def _drawn(grid: Grid) -> Table:
    drawn = plain_table()
    for place, column in enumerate(grid.columns):
        figures = bool(grid.figures and place)
        drawn.add_column(column, justify="right" if figures else "left", no_wrap=figures)
    for row in grid.rows:
        drawn.add_row(*(line(cell) for cell in row))
    return drawn


def judge_info_markdown(info: JudgeInfo) -> str:
    """The same as Markdown, with each kind of cue and harm."""
    return "\n\n".join(block for section in page(info, kinds=True) for block in _blocks(section)) + "\n"


def _blocks(section: Section) -> list[str]:
    blocks = [f"{'#' * section.level} {plain(section.title, _LONG)}"]
    if section.verdict:
        blocks.append(f"**{plain(section.verdict.words)}**")
    blocks += [plain(said, _LONG) for said in section.said]
    for grid in section.grids:
        blocks.append(f"*{plain(grid.title, _LONG)}*")
        blocks.append(table([plain(name) for name in grid.columns], (_cells(row) for row in grid.rows)))
        blocks += [plain(remark, _LONG) for remark in grid.remarks]
    return blocks


def _cells(row: Sequence[str]) -> list[str]:
    return [plain(cell, _LONG) for cell in row]


def judge_info_record(info: JudgeInfo) -> dict[str, Any]:
    """The same for other programs, with every figure as it stands in the results file."""
    if isinstance(info, SignalsInfo):
        return {
            "judge": "signals",
            "items": [
                {
                    **entry._asdict(),
                    "agreements": [each.model_dump(mode="json") for each in entry.agreements],
                    "counts": [each.model_dump(mode="json") for each in entry.counts],
                }
                for entry in info.items
            ],
            "detectors": [each.model_dump(mode="json") for each in info.detectors],
            "others": [each.model_dump(mode="json") for each in info.others],
            "reads": info.reads,
            "attribution": list(info.attribution),
            "cautions": list(info.cautions),
        }
    price = info.price and {"prompt": info.price.prompt, "reply": info.price.completion, "source": info.price.source}
    return {
        "judge": info.name,
        "measured": False,
        "family": info.family,
        "dated": info.dated,
        "hosted": info.hosted,
        "price_per_million_tokens": price,
    }
