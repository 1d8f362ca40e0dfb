"""The trust card as a picture: for each item a dot and an interval for people and for each judge, on one axis.

Judges are ink and told apart by shape; green is for people alone.
"""

from collections.abc import Iterator
from pathlib import Path

from attunement.agreement.results import Interval, Undefined
from attunement.agreement.single_raters import SingleRaters
from attunement.agreement.summary import Agreement, ItemAgreement
from attunement.errors import InputError
from attunement.reports import svg
from attunement.reports.agreement_wording import VERDICTS
from attunement.reports.legible import in_a_line

_PEOPLE = "any two people"
_SHAPES = ("diamond", "square", "triangle", "cross")
_MOST_LETTERS = 34


def picture_format(path: Path) -> None:
    """Check the name of a picture.

    Raises:
        InputError: It is neither SVG nor PNG.
    """
    if path.suffix.lower() not in {".svg", ".png"}:
        raise InputError(f"{path}: a picture is written as .svg or .png")


def write_picture(agreement: Agreement, path: Path, title: str) -> None:
    """Write the picture.

    Raises:
        InputError: There is no figure to draw, the name is neither SVG nor PNG, or the file cannot be written.
    """
    picture_format(path)
    shapes = {judge: _SHAPES[place % len(_SHAPES)] for place, judge in enumerate(agreement.judges)}
    found = [(entry, list(_figures(entry))) for entry in agreement.items]
    lowest = min((low for _, figures in found for _, _, low, _, _ in figures), default=0.0)
    lowest = min(0.0, lowest)

    def place(value: float) -> float:
        return (value - lowest) / (1 - lowest)

    rows = [
        svg.Row(
            in_a_line(entry.item.id, _MOST_LETTERS),
            [
                svg.Mark(
                    place(value),
                    place(low),
                    place(high),
                    shapes.get(who, "circle"),
                    colour="ink" if who in shapes else "person",
                    note=said,
                )
                for who, value, low, high, said in figures
            ],
        )
        for entry, figures in found
        if figures
    ]
    if not rows:
        raise InputError(f"{path} was not written: there is no agreement to draw, because nothing was rated by two")
    drawn = {who for _, figures in found for who, *_ in figures}
    keys = [svg.Key(_PEOPLE, "circle", colour="person")] if _PEOPLE in drawn else []
    keys += [svg.Key(in_a_line(judge, _MOST_LETTERS), shape) for judge, shape in shapes.items() if judge in drawn]
    ticks = [(place(step / 5), f"{step / 5:.1f}") for step in range(int(lowest * 5), 6)]
    note = "Agreement beyond chance: 0 is chance, 1 is perfect."
    svg.write_picture(svg.intervals(title, rows, ticks, keys, note), path)


_Figure = tuple[str, float, float, float, str]
"""Who, the value, from where to where it may lie, and what is said about it."""


def _figures(entry: ItemAgreement) -> Iterator[_Figure]:
    interval = entry.details.interval if entry.details else Undefined("not computed")
    yield from _figure(_PEOPLE, entry.single, interval, "")
    for card in entry.cards:
        said = VERDICTS[card.ruling.verdict].words
        if card.missed is not None and card.missed.failures and not card.missed.unknowable:
            said += f"; missed failures: {card.missed.missed:,} of {card.missed.failures:,}"
        yield from _figure(card.judge, card.held.agreement, card.held.interval, said)


def _figure(who: str, found: SingleRaters | Undefined, interval: Interval | Undefined, said: str) -> Iterator[_Figure]:
    if isinstance(found, SingleRaters):
        low, high = (found.value, found.value) if isinstance(interval, Undefined) else (interval.low, interval.high)
        yield who, found.value, low, high, said
