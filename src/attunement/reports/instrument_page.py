"""What does an instrument ask, in words that a clinician reads?

The words of the instrument stay as they are; answers read met, not met and does not apply. What is not known about an
item is said.
"""

from collections.abc import Iterator

from attunement.conversations import UnitKind
from attunement.instruments import Instrument
from attunement.instruments.model import (
    CrisisCueButNa,
    CrisisNeedsResources,
    Criteria,
    Example,
    GateItem,
    Item,
    NaPolicy,
    Rule,
    Scores,
    Value,
)
from attunement.reports.blocks import (
    Block,
    Bullets,
    Dialogue,
    Document,
    LabelRow,
    LabelRows,
    Phrase,
    Section,
    Text,
    Tone,
    Verbatim,
)

_MARK_LENGTH = 12  # how many characters of a hash people compare: enough to tell any two versions apart


def instrument_page(instrument: Instrument, item: str | None = None) -> Document:
    """Describe `instrument`, or only its item with the id `item`.

    Raises:
        InstrumentError: There is no such item.
    """
    if item is not None:
        sections: list[Block] = [_item(instrument.item(item), instrument)]
    else:
        parts = [
            Section("How it is answered", list(_answering(instrument))),
            Section("How the score is computed", list(_scoring(instrument))),
            Section("Safety items", list(_gate(instrument))),
            Section("Answers that do not fit together", list(_rules(instrument))),
            Section("Good to know", [Bullets(instrument.notes)] if instrument.notes else []),
            Section("Sources", [Bullets(instrument.source)] if instrument.source else []),
        ]
        about = [Text(instrument.about)] if instrument.about else []
        sections = [*about, *(part for part in parts if part.blocks), *_items(instrument)]
    return Document(instrument.title, sections, _facts(instrument), instrument.language)


def answer_words(answer: Value) -> Phrase:
    """An answer as people read it: never a bare YES or NO."""
    words = {
        "YES": Phrase("met", Tone.MET),
        "NO": Phrase("not met", Tone.NOT_MET),
        "NA": Phrase("does not apply", Tone.NA),
    }
    return words.get(str(answer), Phrase(str(answer), Tone.SCORE))


def short_fingerprint(hash: str) -> str:
    return hash[:_MARK_LENGTH]


def item_noun(instrument: Instrument, count: int) -> str:
    if isinstance(instrument.scale, Criteria):
        return "criterion" if count == 1 else "criteria"
    return "dimension" if count == 1 else "dimensions"


def _facts(instrument: Instrument) -> str:
    count = len(instrument.items)
    facts = [
        instrument.id,
        f"version {instrument.version}",
        f"fingerprint {short_fingerprint(instrument.hash)}",
        f"{count} {item_noun(instrument, count)}",
    ]
    if instrument.language != "en":
        facts.append(f"language {instrument.language}")
    return " · ".join(facts)


def _score(score: int, label: str | None) -> Phrase:
    return Phrase(f"{score} {label}" if label else str(score), Tone.SCORE)


def _answering(instrument: Instrument) -> Iterator[Block]:
    if instrument.unit is UnitKind.CONVERSATION:
        yield Text("Every item is asked about the whole conversation.")
    else:
        yield Text("Every item is asked about one reply of the assistant; what was said before it is context.")
    if isinstance(instrument.scale, Criteria):
        yield Text("Each criterion has one of three answers. A judge writes them as YES, NO and NA.")
        meanings = {"YES": "the title of the criterion holds", "NO": "it does not hold"}
        meanings["NA"] = "what it asks about does not occur"
        yield LabelRows([LabelRow(answer_words(key), f"{key}: {meaning}.") for key, meaning in meanings.items()])
    else:
        lowest, highest = instrument.scale.lowest, instrument.scale.highest
        yield Text(
            f"Each dimension gets a whole number from {lowest} (lowest) to {highest} (highest). "
            "Each dimension says what every number means."
        )
    if instrument.guidance:
        yield Text("These rules hold for every item, and every question repeats them:")
        yield Bullets(instrument.guidance)


def _scoring(instrument: Instrument) -> Iterator[Block]:
    scoring = instrument.scoring
    if not scoring.weights:
        yield Text(f"There are no weights and no pass mark. Every {item_noun(instrument, 1)} is shown separately.")
        for item in instrument.items:
            if item.holistic:
                yield Text(f"“{item.title}” is a judgement of the whole. It is not the mean of the others.")
        return
    yield Text(" ".join(_counting(instrument)))
    yield Text("The score adds up the categories, each with its share:")
    yield LabelRows(tuple(_shares(instrument)))
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
            "“Does not apply” is left out of every mean; a category with nothing left drops out, and the others take "
            "over its share."
        )
    else:
        yield "“Does not apply” counts as met."
    if any(not item.na_valid for item in instrument.items):
        yield "Where it is not a valid answer, it counts as not met."


def _shares(instrument: Instrument) -> Iterator[LabelRow]:
    for category, weight in instrument.scoring.weights.items():
        members = (_counted(item) for item in instrument.items if item.category == category)
        title = instrument.categories.get(category, category)
        yield LabelRow(Phrase(f"{100 * weight:.4g} %"), f"{title}: {', '.join(members)}")


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
    yield LabelRows(tuple(_gate_row(entry, instrument) for entry in instrument.gate))
    yield Text(
        "Where no answer came back it never passes: it shows as “safety not judged”. "
        "No judge is told what a failure leads to."
    )


def _gate_row(entry: GateItem, instrument: Instrument) -> LabelRow:
    item = _find(entry.item, instrument)
    fails = [f"{item.title if item else 'no such item'}."]
    if isinstance(instrument.scale, Scores):
        fails.append(f"Fails at {entry.fails_at} or lower." if entry.fails_at is not None else "")
    else:
        fails.append("Fails when it is not met.")
        if item:
            valid = "a valid answer." if item.na_valid else "not a valid answer and fails too."
            fails.append(f"“Does not apply” is {valid}")
    return LabelRow(Phrase(entry.item, Tone.SAFETY), " ".join(part for part in fails if part))


def _find(id: str, instrument: Instrument) -> Item | None:
    return next((item for item in instrument.items if item.id == id), None)


def _rules(instrument: Instrument) -> Iterator[Block]:
    if instrument.rules:
        yield Text("Such answers are not changed. They are flagged, so that a person looks again.")
        yield LabelRows(tuple(_rule(rule) for rule in instrument.rules))


def _rule(rule: Rule) -> LabelRow:
    if isinstance(rule, CrisisNeedsResources):
        return LabelRow(Phrase("A crisis without a resource"), rule.text)
    if isinstance(rule, CrisisCueButNa):
        return LabelRow(Phrase("A crisis cue, yet “does not apply”"), rule.text)
    return LabelRow(Phrase("Harmful advice"), f"{rule.text}\nNotice: {rule.notice}")


def _items(instrument: Instrument) -> Iterator[Section]:
    """The items under their categories, in the order in which the file first names them."""
    if not instrument.categories:
        yield Section("Items", [_item(item, instrument) for item in instrument.items])
        return
    for category in dict.fromkeys(item.category for item in instrument.items):
        members = [_item(item, instrument) for item in instrument.items if item.category == category]
        title = "Without a category" if category is None else instrument.categories.get(category, category)
        yield Section(title, members)


def _item(item: Item, instrument: Instrument) -> Section:
    sections = [
        Section("In doubt", list(_boundaries(item))),
        Section("Examples", [_example(example, item) for example in item.examples]),
        Section("Special cases", [Bullets(item.edge_cases)] if item.edge_cases else []),
        Section("What a judge is told, word for word", [Verbatim(item.prompt)] if item.prompt else []),
        Section("What is known about it", list(_known(item))),
    ]
    blocks = [*_asked(item, instrument), *(section for section in sections if section.blocks)]
    return Section(item.title, blocks, id=item.id, labels=list(_labels(item, instrument)))


def _labels(item: Item, instrument: Instrument) -> Iterator[Phrase]:
    if item.id in instrument.gate_ids:
        yield Phrase("Safety item", Tone.SAFETY)
    if item.holistic:
        yield Phrase("Judges the whole")
    if item.validity.contested:
        yield Phrase("Contested", Tone.CONTESTED)
    if not _checked_with_people(item):
        yield Phrase("Not checked against people", Tone.OPEN)


def _asked(item: Item, instrument: Instrument) -> Iterator[Block]:
    if item.definition.strip():
        yield Text(item.definition)
    if item.minimum_turns > 1:
        yield Text(f"Asked from {item.minimum_turns} turns on; in a shorter conversation it is not due, shown as “–”.")
    if item.statistics:
        yield Text("The question comes with counts of the length of the messages.")
    if isinstance(instrument.scale, Criteria):
        rows = tuple(LabelRow(answer_words(answer), text) for answer, text in _meanings(item))
    else:
        rows = tuple(
            LabelRow(_score(score, anchor.label), anchor.text) for score, anchor in sorted(item.anchors.items())
        )
    if rows:
        yield LabelRows(rows)


def _meanings(item: Item) -> Iterator[tuple[str, str]]:
    for answer in ("YES", "NO"):
        if answer in item.meanings:
            yield answer, item.meanings[answer]
    meaning = item.meanings.get("NA", "") if item.na_valid else "Not a valid answer here."
    if meaning or item.na_note:
        yield "NA", f"{meaning} {item.na_note}".strip()


def _boundaries(item: Item) -> Iterator[Block]:
    rows = tuple(LabelRow(Phrase("{} or {}?".format(*b.between)), b.text) for b in item.boundaries if b.between)
    if rows:
        yield LabelRows(rows)
    others = tuple(boundary.text for boundary in item.boundaries if not boundary.between)
    if others:
        yield Bullets(others)


def _example(example: Example, item: Item) -> Dialogue:
    answer = answer_words(example.answer)
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
        yield Bullets(tuple(f"{finding.text} ({finding.source})" for finding in item.validity.findings))
    if item.validity.contested:
        yield Text(f"Contested: {item.validity.contested}")
