"""The table of agreement on a terminal, as Markdown and as plain data.

Seven columns say what a reader needs first. The judge's figure stands beside the one that people reach with each
other on the same conversations: like with like.

The names are those of the results in `attunement.agreement`. A figure that does not exist is `{"undefined": why}`,
never null and never NaN.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from enum import Enum
from typing import Any, NamedTuple, cast

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from attunement.analysis.reliability import FEWEST_SYSTEMS, Reliability, ReliabilityStatus
from attunement.analysis.summary import Agreement, ItemAgreement
from attunement.analysis.trust import TrustCard, Verdict
from attunement.reports.agreement_wording import (
    MEANINGS,
    NONE,
    STANDINGS,
    VERDICTS,
    Line,
    again_line,
    card_lines,
    common_answers,
    format_interval,
    format_number,
    missed_failures,
    order,
    people_lines,
    points,
    sentence,
    single,
    verdict_phrase,
)
from attunement.reports.blocks import Phrase, Tone
from attunement.reports.numbers import pluralize
from attunement.reports.render_terminal import QUIET, SIGNS, STYLES, heading, line, phrase, plain_table
from attunement.reports.sanitize import in_a_line, plain
from attunement.statistics.alpha import Alpha
from attunement.statistics.kappa import PairwiseKappa
from attunement.statistics.results import Undefined

COLUMNS = (
    "Item",
    "Conversations",
    "How common each answer is",
    "People with people",
    "Judge with people",
    "Missed failures, or bias",
    "Verdict",
)


class Row(NamedTuple):
    """One row: an item, or below it a judge, a trivial judge, or a part of the conversations."""

    name: str
    conversations: str
    answers: str
    people: tuple[str, ...]
    """The figure and its interval."""
    judge: tuple[str, ...]
    """The figure, its interval, and what people reach with each other on the same conversations."""
    missed: str
    verdict: Phrase
    below: int = 0
    """How far the row is set in: 0 for an item."""


def table_rows(agreement: Agreement, *, full: bool = False) -> Iterator[Row]:
    """The rows of the table, of each item and of its parts."""
    for place, entry in enumerate(agreement.items):
        yield from _item_rows(entry, agreement, entry.item.id, 0, full=full)
        for part in agreement.parts:
            if part.items[place].units:
                yield from _item_rows(part.items[place], agreement, part.part, 1, full=False)


_EMPTY = Phrase("", Tone.NONE)


def _item_rows(entry: ItemAgreement, agreement: Agreement, name: str, below: int, *, full: bool) -> Iterator[Row]:
    merged = entry.cards[0] if len(agreement.judges) == 1 and entry.cards else None
    yield Row(
        name,
        f"{entry.conversations:,}" if entry.units else NONE,
        common_answers(entry),
        _people(entry.people),
        _judge(merged) if merged else (),
        _missed(merged) if merged else "",
        verdict_phrase(merged) if merged else _EMPTY if entry.cards else _standing(entry.people),
        below,
    )
    if not merged:
        for card in entry.cards:
            yield Row(card.judge, "", "", (), _judge(card), _missed(card), verdict_phrase(card), below + 1)
    for rival, found in _rivals(entry, full=full):
        yield Row(rival, "", "", (), (format_number(found.value),), "", Phrase("to be beaten", Tone.NONE), below + 1)


def _people(people: Reliability) -> tuple[str, ...]:
    if isinstance(people.alpha, Alpha):
        return tuple(filter(None, (format_number(people.alpha.value), format_interval(people.interval))))
    return (NONE, "one rater") if people.people == 1 else (NONE,)


def _judge(card: TrustCard) -> tuple[str, ...]:
    held = card.with_people
    if isinstance(held.agreement, Undefined):
        return (NONE,)
    beside = f"people {format_number(held.people.value)}" if isinstance(held.people, PairwiseKappa) else ""
    return tuple(filter(None, (format_number(held.agreement.value), format_interval(held.interval), beside)))


def _missed(card: TrustCard) -> str:
    return points(card.bias, card.item.scale) if card.detection is None else missed_failures(card.detection)


def _standing(people: Reliability) -> Phrase:
    return STANDINGS[people.status] if people.people else Phrase("no person rated", Tone.OPEN)


def _rivals(entry: ItemAgreement, *, full: bool) -> list[tuple[str, PairwiseKappa]]:
    """The trivial judges that have a figure; in short only the best, because the others say less."""
    if not entry.cards:
        return []
    shown = {card.judge for card in entry.cards}
    found = [
        (name, rival)
        for name, rival in entry.baselines.items()
        if isinstance(rival, PairwiseKappa) and name not in shown
    ]
    found.sort(key=lambda pair: -pair[1].value)
    return found if full else found[:1]


LEVELS_TITLE = "Ranking systems is not rating conversations"
LEVEL_COLUMNS = ("Item", "Judge", "Unit level: order one by one", "System level: order of systems")


def level_rows(agreement: Agreement) -> list[tuple[str, str, str, str]]:
    """For each item and judge, how far it orders conversations, and systems, as people do; empty for few systems."""
    return [
        (entry.item.id, card.judge, order(card.levels.unit), order(card.levels.system))
        for entry in agreement.items
        for card in entry.cards
        if card.levels.system.number >= FEWEST_SYSTEMS
    ]


def opening(agreement: Agreement) -> list[str]:
    """What the table rests on, in sentences; the first thing to read."""
    people, judges = len(agreement.people), len(agreement.judges)
    most = sorted(agreement.professions.items(), key=lambda stated: (-stated[1], stated[0]))
    kinds = ", ".join(f"{number} × {profession}" for profession, number in most)
    said = [
        f"{pluralize(agreement.conversations, 'conversation')}, {pluralize(people, 'person', 'people')}"
        f"{f' ({kinds})' if kinds else ''}, "
        f"{pluralize(judges, 'judge')}" + (f": {', '.join(agreement.judges)}." if judges == 1 else ".")
    ]
    if not any(entry.units for entry in agreement.items):
        return [*said, "Nobody has rated anything here, so there is nothing to compare."]
    if not any(word_count for entry in agreement.items for word_count in _values(entry)):
        return [*said, "There is no answer to compare: all that was asked got an error, or no answer."]
    if not people:
        said.append("No person has rated anything here, so no judge can be held against people.")
    elif people == 1:
        said.append("Only one person has rated, so how far people agree is not known, and no judge gets a verdict.")
    return said


def _values(entry: ItemAgreement) -> Iterator[int]:
    return (entry.answers.get(word, 0) for word in entry.item.scale.words)


def closing(agreement: Agreement) -> list[str]:
    """What was left out, and how the ratings were read."""
    left_out = [f"Left out: {pluralize(count, 'rating')} {why}." for why, count in agreement.left_out.items()]
    return [*agreement.notes, *left_out]


def meanings(agreement: Agreement) -> list[tuple[Verdict, str]]:
    """The verdicts that occur, in full, each with what it means."""
    cards = (card for part in (agreement, *agreement.parts) for entry in part.items for card in entry.cards)
    present = {card.ruling.verdict for card in cards}
    return [(verdict, MEANINGS[verdict]) for verdict in Verdict if verdict in present]


def needs(agreement: Agreement) -> list[str]:
    """What would be enough, where there is not enough data: a sentence for all items that need the same."""
    items: dict[str, list[str]] = {}
    for entry in agreement.items:
        wanted: dict[str, list[str]] = {}
        for card in entry.cards:
            if card.ruling.needed:
                wanted.setdefault(card.ruling.needed, []).append(card.judge)
        if not entry.cards and entry.people.needed:
            wanted[f"about {entry.people.needed:,} conversations rated by two people each"] = []
        for needed, judges in wanted.items():
            some = 0 < len(judges) < len(entry.cards)
            items.setdefault(needed, []).append(f"{entry.item.id} ({', '.join(judges)})" if some else entry.item.id)
    return [f"Enough for {', '.join(names)} would be: {needed}." for needed, names in items.items()]


def warnings(agreement: Agreement) -> list[str]:
    """The items on which people cannot be relied upon: no pooled figure may hide them."""
    standings = {entry.item.id: entry.people.status for entry in agreement.items}
    said = {
        ReliabilityStatus.DISAGREE: "Your raters disagree on {}: nothing can be held against them there.",
        ReliabilityStatus.LITTLE_VARIATION: (
            "Nearly all answers of your raters are the same on {}: agreement beyond chance says nothing there."
        ),
    }
    found = {kind: [item for item, standing in standings.items() if standing is kind] for kind in said}
    return [said[kind].format(", ".join(items)) for kind, items in found.items() if items]


def agreement_record(agreement: Agreement, *, instrument: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """All that is known, the parts included."""
    record = _plain(agreement)
    for entry, found in zip(record["items"], agreement.items, strict=True):
        for card, made in zip(entry["cards"], found.cards, strict=True):
            del card["item"], card["people"]  # the entry has both
            card["sentence"] = sentence(made)
    record["parts"] = [agreement_record(part) for part in agreement.parts]
    return record if instrument is None else {"instrument": dict(instrument), **record}


# What `--json` calls some fields. Programs read these keys, so they stay as they are.
_KEYS = {
    "alt_test": "stand_in",
    "baselines": "rivals",
    "best_baseline": "best_rival",
    "detection": "missed",
    "gap_to_half": "half",
    "judge_pairs": "judges",
    "judge_retests": "judges_again",
    "margin": "ahead",
    "people_kappa": "single",
    "retest": "again",
    "status": "standing",
    "with_people": "held",
}


def _plain(value: Any) -> Any:
    """Results, their parts and numbers as JSON has them."""
    named: Any = getattr(value, "_asdict", None)
    if named is not None:
        return {_KEYS.get(name, name): _plain(part) for name, part in named().items()}
    match value:
        case Undefined():
            return {"undefined": value.reason}
        case Agreement():
            return {part.name: _plain(getattr(value, part.name)) for part in fields(value) if part.name != "parts"}
        case Enum():
            return value.value
        case Mapping():
            return {str(name): _plain(part) for name, part in cast("Mapping[Any, Any]", value).items()}
        case tuple() | list():
            return [_plain(part) for part in cast("list[Any]", value)]
        case _:
            return value


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
    found = [(entry.item.id, judge, each) for entry in agreement.items for judge, each in entry.judge_retests.items()]
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
        console.print(_draw_table(agreement, full=full, wide=console.width >= _WIDE))
        console.print()
        _draw_reading(agreement, console)
        _draw_levels(agreement, console)
        _draw_again(agreement, console)
        if full:
            _draw_full(agreement, console)
    for said in closing(agreement):
        console.print(line(said, QUIET))


def _draw_table(agreement: Agreement, *, full: bool, wide: bool) -> Table:
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
    if agreement.people or not any(entry.judge_retests for entry in agreement.items):
        return
    console.print()
    console.print(heading("Same answer when asked again"))
    table = plain_table()
    for name in ("Item", "Judge", "The same each time", "Agreement of the repeats"):
        table.add_column(name, overflow="fold")
    for entry in agreement.items:
        for judge, found in entry.judge_retests.items():
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
            console.print(_draw_lines(lines))
        for card in entry.cards:
            console.print()
            console.print(heading(_named(entry, card.judge)))
            tone = VERDICTS[card.ruling.verdict].tone
            console.print(line(sentence(card), STYLES[tone]))
            console.print(_draw_lines(card_lines(card)))
    _draw_judges(agreement, console)
    console.print()


def _named(entry: ItemAgreement, who: str) -> str:
    title = f" {entry.item.title}" if entry.item.title else ""
    return in_a_line(f"{entry.item.id}{title}: {who}")


def _draw_lines(lines: Iterable[Line]) -> Padding:
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
    if not any(entry.judge_pairs for entry in agreement.items):
        return
    console.print()
    console.print(heading("Judges with judges"))
    table = plain_table()
    for name in ("Item", "Judges", "How far they agree"):
        table.add_column(name, overflow="fold")
    for entry in agreement.items:
        for pair in entry.judge_pairs:
            names = f"{in_a_line(pair.first, 30)} and {in_a_line(pair.second, 30)}"
            table.add_row(line(entry.item.id), line(names), line(single(pair.agreement)))
    console.print(table)
