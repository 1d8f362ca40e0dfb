"""What does an instrument ask, in words that a clinician reads?

An instrument becomes a `Page`: headings, sentences, rows and small dialogues, the same whether it is then drawn on a
terminal, written as Markdown or set as HTML. The words of the instrument stay as they are; answers read met, not met
and does not apply. What is not known about an item is said.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from attunement.conversations import UnitKind
from attunement.instruments.model import (
    CrisisCueButNa,
    CrisisNeedsResources,
    Criteria,
    Example,
    GateItem,
    Instrument,
    Item,
    NaPolicy,
    Rule,
    Scores,
    Value,
)

MARK_LENGTH = 12
"""How many characters of a hash people compare: enough to tell any two versions apart."""


class Status(StrEnum):
    """What an answer or a remark is about; each way of showing draws it in its own way, always beside the words."""

    MET = "met"
    NOT_MET = "notmet"
    NA = "na"
    SCORE = "score"
    SAFETY = "safety"
    CONTESTED = "contested"
    UNCHECKED = "open"


class Label(NamedTuple):
    """A few words with what they are about."""

    words: str
    status: Status | None = None


class Row(NamedTuple):
    """Something short and what is to be said about it."""

    label: Label
    text: str


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph of the instrument, or of ours."""

    text: str


@dataclass(frozen=True, slots=True)
class Verbatim:
    """Text whose line breaks matter."""

    text: str


@dataclass(frozen=True, slots=True)
class Points:
    """Several short texts of the same kind."""

    points: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rows:
    """A table of two columns."""

    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A worked example: what was said, the known answer and why."""

    answer: Label
    borderline: bool
    turns: tuple[tuple[str, str], ...]
    why: str


Block = Text | Verbatim | Points | Rows | Dialogue


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands under it. An item's section has its id and labels."""

    title: str
    blocks: tuple[Block, ...]
    sections: "tuple[Section, ...]" = ()
    id: str | None = None
    labels: tuple[Label, ...] = ()


@dataclass(frozen=True, slots=True)
class Page:
    """An instrument, or one item of it, ready to be shown."""

    title: str
    facts: str
    about: str
    sections: tuple[Section, ...]
    language: str


def page(instrument: Instrument, item: str | None = None) -> Page:
    """Describe `instrument`, or only its item with the id `item`; an InstrumentError where it has no such item."""
    if item is not None:
        found = instrument.item(item)
        return Page(instrument.title, _facts(instrument), "", (_item(found, instrument),), instrument.language)
    parts = [
        Section("How it is answered", tuple(_answering(instrument))),
        Section("How the score is made", tuple(_scoring(instrument))),
        Section("Safety items", tuple(_gate(instrument))),
        Section("Answers that do not fit together", tuple(_rules(instrument))),
        Section("Good to know", (Points(instrument.notes),) if instrument.notes else ()),
        Section("Where it comes from", (Points(instrument.source),) if instrument.source else ()),
    ]
    return Page(
        instrument.title,
        _facts(instrument),
        instrument.about,
        (*(part for part in parts if part.blocks), *_items(instrument)),
        instrument.language,
    )


def in_words(answer: Value) -> Label:
    """An answer as people read it: never a bare YES or NO."""
    words = {
        "YES": Label("met", Status.MET),
        "NO": Label("not met", Status.NOT_MET),
        "NA": Label("does not apply", Status.NA),
    }
    return words.get(answer, Label(str(answer), Status.SCORE)) if isinstance(answer, str) else _score(answer, None)


def mark(hash: str) -> str:
    """The part of a hash that people compare."""
    return hash[:MARK_LENGTH]


def noun(instrument: Instrument, count: int) -> str:
    """What the items of `instrument` are called, for so many of them."""
    if isinstance(instrument.scale, Criteria):
        return "criterion" if count == 1 else "criteria"
    return "dimension" if count == 1 else "dimensions"


def _facts(instrument: Instrument) -> str:
    count = len(instrument.items)
    facts = [
        instrument.id,
        f"version {instrument.version}",
        f"version mark {mark(instrument.hash)}",
        f"{count} {noun(instrument, count)}",
    ]
    if instrument.language != "en":
        facts.append(f"language {instrument.language}")
    return " · ".join(facts)


def _score(score: int, label: str | None) -> Label:
    return Label(f"{score} {label}" if label else str(score), Status.SCORE)


def _answering(instrument: Instrument) -> Iterator[Block]:
    if instrument.unit is UnitKind.CONVERSATION:
        yield Text("Every item is asked about the whole conversation.")
    else:
        yield Text("Every item is asked about one reply of the assistant; what was said before it is context.")
    if isinstance(instrument.scale, Criteria):
        yield Text("Each criterion has one of three answers. A judge writes them as YES, NO and NA.")
        yield Rows(
            (
                Row(in_words("YES"), "YES: the title of the criterion holds."),
                Row(in_words("NO"), "NO: it does not hold."),
                Row(in_words("NA"), "NA: what it asks about does not occur."),
            )
        )
    else:
        lowest, highest = instrument.scale.lowest, instrument.scale.highest
        yield Text(
            f"Each dimension gets a whole number from {lowest} (lowest) to {highest} (highest). "
            "What every number means stands with the dimension."
        )
    if instrument.guidance:
        yield Text("These rules hold for every item, and every question repeats them:")
        yield Points(instrument.guidance)


def _scoring(instrument: Instrument) -> Iterator[Block]:
    scoring = instrument.scoring
    if not scoring.weights:
        yield Text(f"There are no weights and no pass mark. Every {noun(instrument, 1)} is shown by itself.")
        for item in instrument.items:
            if item.holistic:
                yield Text(f"“{item.title}” is a judgement of the whole. It is not the mean of the others.")
        return
    yield Text(" ".join(_counting(instrument)))
    yield Text("The score adds up the categories, each with its share:")
    yield Rows(tuple(_shares(instrument)))
    unit = "conversation" if instrument.unit is UnitKind.CONVERSATION else "reply"
    if scoring.threshold is None:
        yield Text("There is no pass mark.")
    else:
        unless = ", unless a safety item fails" if instrument.gate else ""
        yield Text(f"A {unit} passes with a score of {scoring.threshold:.2f} or more{unless}.")


def _counting(instrument: Instrument) -> Iterator[str]:
    yield "A criterion counts 1 when it is met and 0 when it is not met or was not answered."
    weighted = any(item.weight != 1 for item in instrument.items)
    yield "The score of a category is the mean of its items" + (
        ", where some items count more than others." if weighted else "."
    )
    if instrument.scoring.na is NaPolicy.EXCLUDE:
        yield (
            "“Does not apply” stands in no mean; a category with nothing left drops out, and the others take over its "
            "share."
        )
    else:
        yield "“Does not apply” counts as met."
    if any(not item.na_valid for item in instrument.items):
        yield "Where it is no valid answer, it counts as not met."


def _shares(instrument: Instrument) -> Iterator[Row]:
    for category, weight in instrument.scoring.weights.items():
        members = (_counted(item) for item in instrument.items if item.category == category)
        title = instrument.categories.get(category, category)
        yield Row(Label(f"{100 * weight:.4g} %"), f"{title}: {', '.join(members)}")


def _counted(item: Item) -> str:
    return item.id if item.weight == 1 else f"{item.id} (counts {item.weight:g} times)"


def _gate(instrument: Instrument) -> Iterator[Block]:
    if not instrument.gate:
        return
    unit = "conversation" if instrument.unit is UnitKind.CONVERSATION else "reply"
    if instrument.scoring.threshold is None:
        yield Text(f"A {unit} is flagged when one of these items fails.")
    else:
        yield Text(f"A {unit} is rejected when one of these items fails, whatever its score.")
    yield Rows(tuple(_gate_row(entry, instrument) for entry in instrument.gate))
    yield Text(
        "Where no answer came back it never passes: it shows as “safety not judged”. "
        "No judge is told what a failure leads to."
    )


def _gate_row(entry: GateItem, instrument: Instrument) -> Row:
    item = _find(entry.item, instrument)
    fails = [f"{item.title if item else 'no such item'}."]
    if isinstance(instrument.scale, Scores):
        fails.append(f"Fails at {entry.fails_at} or lower." if entry.fails_at is not None else "")
    else:
        fails.append("Fails when it is not met.")
        if item:
            valid = "a valid answer." if item.na_valid else "no valid answer and fails too."
            fails.append(f"“Does not apply” is {valid}")
    return Row(Label(entry.item, Status.SAFETY), " ".join(part for part in fails if part))


def _find(id: str, instrument: Instrument) -> Item | None:
    return next((item for item in instrument.items if item.id == id), None)


def _rules(instrument: Instrument) -> Iterator[Block]:
    if instrument.rules:
        yield Text("Such answers are not changed. They are pointed out, so that a person looks again.")
        yield Rows(tuple(_rule(rule) for rule in instrument.rules))


def _rule(rule: Rule) -> Row:
    if isinstance(rule, CrisisNeedsResources):
        return Row(Label("A crisis without a resource"), rule.text)
    if isinstance(rule, CrisisCueButNa):
        return Row(Label("A crisis cue, yet “does not apply”"), rule.text)
    return Row(Label("Harmful advice"), f"{rule.text}\nNotice: {rule.notice}")


def _items(instrument: Instrument) -> Iterator[Section]:
    """The items under their categories, in the order in which the file first names them."""
    if not instrument.categories:
        yield Section("Items", (), tuple(_item(item, instrument) for item in instrument.items))
        return
    for category in dict.fromkeys(item.category for item in instrument.items):
        members = tuple(_item(item, instrument) for item in instrument.items if item.category == category)
        title = "Without a category" if category is None else instrument.categories.get(category, category)
        yield Section(title, (), members)


def _item(item: Item, instrument: Instrument) -> Section:
    sections = (
        Section("In doubt", tuple(_boundaries(item))),
        Section("Examples", tuple(_example(example, item) for example in item.examples)),
        Section("Special cases", (Points(item.edge_cases),) if item.edge_cases else ()),
        Section("What a judge is told, word for word", (Verbatim(item.prompt),) if item.prompt else ()),
        Section("What is known about it", tuple(_known(item))),
    )
    return Section(
        item.title,
        tuple(_asked(item, instrument)),
        tuple(section for section in sections if section.blocks),
        id=item.id,
        labels=tuple(_labels(item, instrument)),
    )


def _labels(item: Item, instrument: Instrument) -> Iterator[Label]:
    if item.id in instrument.gate_ids:
        yield Label("Safety item", Status.SAFETY)
    if item.holistic:
        yield Label("Judges the whole")
    if item.validity.contested:
        yield Label("Contested", Status.CONTESTED)
    if not _checked_with_people(item):
        yield Label("Not checked against people", Status.UNCHECKED)


def _asked(item: Item, instrument: Instrument) -> Iterator[Block]:
    if item.definition.strip():
        yield Text(item.definition)
    if item.minimum_turns > 1:
        yield Text(f"Asked from {item.minimum_turns} turns on; in a shorter conversation it is not due, shown as “–”.")
    if item.statistics:
        yield Text("The question comes with counted figures on the length of the messages.")
    if isinstance(instrument.scale, Criteria):
        rows = tuple(Row(in_words(answer), text) for answer, text in _meanings(item))
    else:
        rows = tuple(Row(_score(score, anchor.label), anchor.text) for score, anchor in sorted(item.anchors.items()))
    if rows:
        yield Rows(rows)


def _meanings(item: Item) -> Iterator[tuple[str, str]]:
    for answer in ("YES", "NO"):
        if answer in item.meanings:
            yield answer, item.meanings[answer]
    meaning = item.meanings.get("NA", "") if item.na_valid else "Not a valid answer here."
    if meaning or item.na_note:
        yield "NA", f"{meaning} {item.na_note}".strip()


def _boundaries(item: Item) -> Iterator[Block]:
    rows = tuple(Row(Label("{} or {}?".format(*b.between)), b.text) for b in item.boundaries if b.between)
    if rows:
        yield Rows(rows)
    others = tuple(boundary.text for boundary in item.boundaries if not boundary.between)
    if others:
        yield Points(others)


def _example(example: Example, item: Item) -> Dialogue:
    answer = in_words(example.answer)
    if isinstance(example.answer, int) and example.answer in item.anchors:
        answer = _score(example.answer, item.anchors[example.answer].label)
    turns = tuple((message.user, message.assistant) for message in example.turns)
    return Dialogue(answer, example.kind == "borderline", turns, example.why)


def _checked_with_people(item: Item) -> bool:
    return any(finding.people for finding in item.validity.findings)


def _known(item: Item) -> Iterator[Block]:
    if not _checked_with_people(item):
        yield Text("Not checked against people.")
    if item.validity.findings:
        yield Points(tuple(f"{finding.text} ({finding.source})" for finding in item.validity.findings))
    if item.validity.contested:
        yield Text(f"Contested: {item.validity.contested}")


def visible(text: str) -> str:
    """`text` with its control characters drawn as signs, so that a file cannot steer the terminal or page it is on."""
    return text.translate(_SIGNS)


# Unicode has a picture for each of the first 32 characters and for DEL; line breaks and tabs stay what they are. The
# second row of controls has no pictures.
_SIGNS = (
    {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\n\t"}
    | {0x7F: "\u2421"}
    | dict.fromkeys(range(0x80, 0xA0), "\ufffd")
)
