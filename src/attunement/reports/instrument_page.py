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
    Item,
    NaPolicy,
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
            Section("Answers that do not fit together", _rules(instrument)),
            Section("Good to know", [Bullets(instrument.notes)] if instrument.notes else []),
            Section("Sources", [Bullets(instrument.source)] if instrument.source else []),
        ]
        about = [Text(instrument.about)] if instrument.about else []
        sections = [*about, *(part for part in parts if part.blocks), *_items(instrument)]
    count = len(instrument.items)
    facts = [instrument.id, f"version {instrument.version}", f"fingerprint {short_fingerprint(instrument.hash)}"]
    facts.append(f"{count} {item_noun(instrument, count)}")
    if instrument.language != "en":
        facts.append(f"language {instrument.language}")
    return Document(instrument.title, sections, " · ".join(facts), instrument.language)


_ANSWERS = {
    "YES": Phrase("met", Tone.MET),
    "NO": Phrase("not met", Tone.NOT_MET),
    "NA": Phrase("does not apply", Tone.NA),
}


def answer_words(answer: Value) -> Phrase:
    """An answer as people read it: never a bare YES or NO."""
    return _ANSWERS.get(str(answer), Phrase(str(answer), Tone.SCORE))


def short_fingerprint(hash: str) -> str:
    return hash[:_MARK_LENGTH]


def item_noun(instrument: Instrument, count: int) -> str:
    if isinstance(instrument.scale, Criteria):
        return "criterion" if count == 1 else "criteria"
    return "dimension" if count == 1 else "dimensions"


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
    weighted = any(item.weight != 1 for item in instrument.items)
    sentences = [
        "A criterion counts 1 when it is met and 0 when it is not met or was not answered.",
        "The score of a category is the mean of its items"
        + (", where some items count more than others." if weighted else "."),
        "“Does not apply” is left out of every mean; a category with nothing left drops out, and the others take "
        "over its share."
        if scoring.na is NaPolicy.EXCLUDE
        else "“Does not apply” counts as met.",
    ]
    if any(not item.na_valid for item in instrument.items):
        sentences.append("Where it is not a valid answer, it counts as not met.")
    yield Text(" ".join(sentences))
    yield Text("The score adds up the categories, each with its share:")
    rows: list[LabelRow] = []
    for category, weight in scoring.weights.items():
        members = [
            item.id if item.weight == 1 else f"{item.id} (counts {item.weight:g} times)"
            for item in instrument.items
            if item.category == category
        ]
        title = instrument.categories.get(category, category)
        rows.append(LabelRow(Phrase(f"{100 * weight:.4g} %"), f"{title}: {', '.join(members)}"))
    yield LabelRows(rows)
    unit = "conversation" if instrument.unit is UnitKind.CONVERSATION else "reply"
    if scoring.threshold is None:
        yield Text("There is no pass mark.")
    else:
        unless = ", unless a safety item fails" if instrument.gate else ""
        yield Text(f"A {unit} passes with a score of {scoring.threshold:.2f} or more{unless}.")


def _gate(instrument: Instrument) -> Iterator[Block]:
    if not instrument.gate:
        return
    unit = "conversation" if instrument.unit is UnitKind.CONVERSATION else "reply"
    if instrument.scoring.threshold is None:
        yield Text(f"A {unit} is flagged when one of these items fails.")
    else:
        yield Text(f"A {unit} is rejected when one of these items fails, whatever its score.")
    items = {item.id: item for item in instrument.items}
    rows: list[LabelRow] = []
    for entry in instrument.gate:
        item = items.get(entry.item)
        fails = [f"{item.title if item else 'no such item'}."]
        if not isinstance(instrument.scale, Scores):
            fails.append("Fails when it is not met.")
            if item:
                valid = "a valid answer" if item.na_valid else "not a valid answer and fails too"
                fails.append(f"“Does not apply” is {valid}.")
        elif entry.fails_at is not None:
            fails.append(f"Fails at {entry.fails_at} or lower.")
        rows.append(LabelRow(Phrase(entry.item, Tone.SAFETY), " ".join(fails)))
    yield LabelRows(rows)
    yield Text(
        "Where no answer came back it never passes: it shows as “safety not judged”. "
        "No judge is told what a failure leads to."
    )


def _rules(instrument: Instrument) -> list[Block]:
    rows: list[LabelRow] = []
    for rule in instrument.rules:
        if isinstance(rule, CrisisNeedsResources):
            rows.append(LabelRow(Phrase("A crisis without a resource"), rule.text))
        elif isinstance(rule, CrisisCueButNa):
            rows.append(LabelRow(Phrase("A crisis cue, yet “does not apply”"), rule.text))
        else:
            rows.append(LabelRow(Phrase("Harmful advice"), f"{rule.text}\nNotice: {rule.notice}"))
    text = Text("Such answers are not changed. They are flagged, so that a person looks again.")
    return [text, LabelRows(rows)] if rows else []


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
    between = [
        LabelRow(Phrase("{} or {}?".format(*each.between)), each.text) for each in item.boundaries if each.between
    ]
    boundaries: list[Block] = [LabelRows(between)] if between else []
    if others := [each.text for each in item.boundaries if not each.between]:
        boundaries.append(Bullets(others))
    validity = item.validity
    checked = any(finding.people for finding in validity.findings)
    known: list[Block] = [] if checked else [Text("Not checked against people.")]
    if validity.findings:
        known.append(Bullets([f"{finding.text} ({finding.source})" for finding in validity.findings]))
    if validity.contested:
        known.append(Text(f"Contested: {validity.contested}"))
    sections = [
        Section("In doubt", boundaries),
        Section("Examples", [_example(example, item) for example in item.examples]),
        Section("Special cases", [Bullets(item.edge_cases)] if item.edge_cases else []),
        Section("What a judge is told, word for word", [Verbatim(item.prompt)] if item.prompt else []),
        Section("What is known about it", known),
    ]
    labels = (
        (item.id in instrument.gate_ids, Phrase("Safety item", Tone.SAFETY)),
        (item.holistic, Phrase("Judges the whole")),
        (validity.contested, Phrase("Contested", Tone.CONTESTED)),
        (not checked, Phrase("Not checked against people", Tone.OPEN)),
    )
    blocks = [*_asked(item, instrument), *(section for section in sections if section.blocks)]
    return Section(item.title, blocks, id=item.id, labels=[label for applies, label in labels if applies])


def _asked(item: Item, instrument: Instrument) -> Iterator[Block]:
    if item.definition.strip():
        yield Text(item.definition)
    if item.minimum_turns > 1:
        yield Text(f"Asked from {item.minimum_turns} turns on; in a shorter conversation it is not due, shown as “–”.")
    if item.statistics:
        yield Text("The question comes with counts of the length of the messages.")
    if isinstance(instrument.scale, Criteria):
        meanings = {answer: item.meanings[answer] for answer in ("YES", "NO") if answer in item.meanings}
        na = item.meanings.get("NA", "") if item.na_valid else "Not a valid answer here."
        if na or item.na_note:
            meanings["NA"] = f"{na} {item.na_note}".strip()
        rows = [LabelRow(answer_words(answer), text) for answer, text in meanings.items()]
    else:
        anchors = sorted(item.anchors.items())
        rows = [LabelRow(_score(score, anchor.label), anchor.text) for score, anchor in anchors]
    if rows:
        yield LabelRows(rows)


def _example(example: Example, item: Item) -> Dialogue:
    answer = answer_words(example.answer)
    if isinstance(example.answer, int) and example.answer in item.anchors:
        answer = _score(example.answer, item.anchors[example.answer].label)
    turns = tuple((message.user, message.assistant) for message in example.turns)
    return Dialogue(answer, example.kind == "borderline", turns, example.why)
