"""The trust card as a picture: for each item a dot and an interval for people and for each judge, on one axis.

Made with Altair and written as SVG or PNG without a browser. Judges are ink and told apart by shape; green is for
people alone.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attunement.agreement.results import Interval, Undefined
from attunement.agreement.single_raters import SingleRaters
from attunement.agreement.summary import Agreement, ItemAgreement
from attunement.conversations.writing import replacing
from attunement.errors import InputError
from attunement.reports.agreement_wording import VERDICTS
from attunement.reports.legible import in_a_line

# The tokens of the style sheet that a picture needs.
PERSON, INK, INK_2, INK_3, LINE, PAPER = "#0b634f", "#1c2024", "#4a5056", "#646a6f", "#e0dcd4", "#ffffff"
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'Noto Sans', sans-serif"
_PEOPLE = "any two people"
_SHAPES = ("circle", "diamond", "square", "triangle-up", "cross", "triangle-down")
_ROW = 20
"""Height of one dot and its interval."""
_MOST_LETTERS = 34


def picture_format(path: Path) -> str:
    """What the name of a picture asks for.

    Raises:
        InputError: It is neither SVG nor PNG.
    """
    suffix = path.suffix.lower().removeprefix(".")
    if suffix not in {"svg", "png"}:
        raise InputError(f"{path}: a picture is written as .svg or .png")
    return suffix


def write_picture(agreement: Agreement, path: Path, title: str) -> None:
    """Write the picture.

    Raises:
        InputError: There is no figure to draw, the name is neither SVG nor PNG, or the file cannot be written.
    """
    kind = picture_format(path)
    points = [point for entry in agreement.items for point in _points(entry)]
    if not points:
        raise InputError(f"{path} was not written: there is no agreement to draw, because nothing was rated by two")
    import vl_convert

    chart: dict[str, Any] = _chart(points, agreement, title).to_dict()
    made: str | bytes
    made = vl_convert.vegalite_to_svg(chart) if kind == "svg" else vl_convert.vegalite_to_png(chart, scale=2)
    with replacing(path) as stream:
        stream.write(made.encode() if isinstance(made, str) else made)


def _points(entry: ItemAgreement) -> Iterator[dict[str, Any]]:
    item = in_a_line(entry.item.id, _MOST_LETTERS)
    interval = entry.details.interval if entry.details else Undefined("not computed")
    yield from _point(item, _PEOPLE, entry.single, interval, "")
    for card in entry.cards:
        said = VERDICTS[card.ruling.verdict].words
        if card.missed is not None and card.missed.failures and not card.missed.unknowable:
            said += f"; missed failures: {card.missed.missed:,} of {card.missed.failures:,}"
        yield from _point(item, in_a_line(card.judge, _MOST_LETTERS), card.held.agreement, card.held.interval, said)


def _point(
    item: str, who: str, found: SingleRaters | Undefined, interval: Interval | Undefined, verdict: str
) -> Iterator[dict[str, Any]]:
    if isinstance(found, SingleRaters):
        ends = (found.value, found.value) if isinstance(interval, Undefined) else (interval.low, interval.high)
        yield {
            "item": item,
            "who": who,
            "value": round(found.value, 4),
            "low": round(ends[0], 4),
            "high": round(ends[1], 4),
            "verdict": verdict,
        }


def _chart(points: list[dict[str, Any]], agreement: Agreement, title: str) -> Any:
    # Altair is untyped, and takes a quarter of a second to import.
    import altair

    alt: Any = altair
    judges = [in_a_line(judge, _MOST_LETTERS) for judge in agreement.judges]
    who = [name for name in (_PEOPLE, *judges) if any(point["who"] == name for point in points)]
    items = list(dict.fromkeys(point["item"] for point in points))
    lowest = min(0.0, *(point["low"] for point in points))
    shapes = [_SHAPES[0], *(_SHAPES[1 + place % (len(_SHAPES) - 1)] for place in range(len(who) - 1))]
    if who[0] != _PEOPLE:
        shapes = shapes[1:] + shapes[:1]
    colours = [PERSON if name == _PEOPLE else INK for name in who]
    base = alt.Chart(alt.Data(values=points)).encode(
        y=alt.Y("who:N", sort=who, axis=alt.Axis(title=None, ticks=False, domain=False, labelLimit=200)),
        color=alt.Color("who:N", scale=alt.Scale(domain=who, range=colours), legend=None),
    )
    axis = alt.Axis(title="Agreement beyond chance: 0 is chance, 1 is perfect", tickCount=6, format=".1f")
    x = alt.X("value:Q", scale=alt.Scale(domain=[lowest, 1], nice=False), axis=axis)
    shape = alt.Shape("who:N", scale=alt.Scale(domain=who, range=shapes), legend=None)
    layers = alt.layer(
        base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", title=""), x2="high:Q"),
        base.mark_point(filled=True, size=70, opacity=1).encode(x=x, shape=shape),
        base.mark_text(align="left", dx=6, fontSize=12, color=INK_2).encode(
            x=alt.value("width"), text="verdict:N", color=alt.value(INK_2)
        ),
        height=_ROW * len(who),
        width=420,
    )
    header = alt.Header(title=None, labelAngle=0, labelAlign="left", labelFontSize=13, labelColor=INK, labelLimit=240)
    return (
        layers.facet(row=alt.Row("item:N", sort=items, header=header), spacing=6)
        .properties(title=alt.TitleParams(title, anchor="start", fontSize=15, color=INK, offset=12), background=PAPER)
        .configure(font=_FONT, padding=16)
        .configure_view(stroke=None)
        .configure_axis(
            gridColor=LINE, domainColor=LINE, tickColor=LINE, labelColor=INK_3, labelFontSize=12, titleColor=INK_2
        )
    )
