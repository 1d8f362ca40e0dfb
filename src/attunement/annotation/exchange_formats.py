"""The files of other tools: Label Studio, Argilla, and plain sheets.

Answers are choices with the anchor texts as hints and a key each; words of the transcript can be marked as evidence
for an item. The transcript is shown by Label Studio's Paragraphs, which shows whatever stands in it as text.

The folder is one that `argilla.Dataset.from_disk` reads. The transcript is a chat field without Markdown, so that
whatever stands in it is shown as text. Argilla marks words in plain text fields only, so there is no evidence here.

A cell that a spreadsheet would take for a formula is written so that it stays text.
"""

import codecs
import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, cast
from xml.etree import ElementTree as Xml

from attunement.annotation.exchange_ratings import (
    NOT_ASKED,
    Given,
    Marked,
    Outgoing,
    Problem,
    choices,
    guidance,
    guide,
    hesitant,
    messages,
)
from attunement.conversations.messages import Place, is_list, is_object
from attunement.conversations.writer import replacing
from attunement.errors import InputError
from attunement.instruments import Instrument, Item
from attunement.store.import_files import rows
from attunement.store.rows import to_json


def listed(path: Path, what: str) -> Iterator[tuple[Place, Any]]:
    """The records in a file with their numbers, which count from 1; `what` says whose list it ought to be.

    Raises:
        InputError: The file is not there, or is no such list.
    """
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is no JSON file: {error}") from error
    if not isinstance(content, list):
        raise InputError(f"{path} is not {what}: it is no list")
    for number, entry in enumerate(cast(list[Any], content), 1):
        yield Place(path.name, number), entry


CONFIG, TASKS = "label-config.xml", "tasks.json"
TALK, EVIDENCE, ANSWER, NOTE = "talk", "evidence", "answer-", "note-"
UNIT = "unit"

_KEYS = (*"1234567890qwertyuiopasdfghjklzxcvbnm", *(f"shift+{sign}" for sign in "qwertyuiopasdfghjklzxcvbnm1234567890"))
"""Keys for answers, in the order in which they lie on a keyboard; Label Studio's own all go with ctrl or alt. A key
means one thing on a page, so that the last items of a long instrument have none."""
_UNFIT = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What no XML can hold."""


def write(folder: Path, instrument: Instrument, outgoing: Sequence[Outgoing]) -> list[Path]:
    """Write the configuration and the tasks into `folder` and return the files."""
    with replacing(folder / CONFIG) as stream:
        stream.write(config(instrument).encode())
    with replacing(folder / TASKS) as stream:
        stream.write(to_json([task(entry) for entry in outgoing]).encode())
    return [folder / CONFIG, folder / TASKS]


def config(instrument: Instrument) -> str:
    """The labelling configuration of an instrument."""
    # The answers come first, and stand on the right all the same: Label Studio gives keys to the marks for evidence
    # from those that are still free.
    page = Xml.Element("View", style="display: flex; flex-direction: row-reverse; gap: 2em")
    right = Xml.SubElement(page, "View", style="flex: 45%")
    keys = iter(_KEYS)
    for item in sorted(instrument.items, key=lambda item: item.holistic):
        _ask(right, instrument, item, keys)
    left = Xml.SubElement(page, "View", style="flex: 55%")
    _header(left, instrument.title, size="3")
    for rule in guidance(instrument):
        _header(left, rule, size="5")
    marks = Xml.SubElement(left, "ParagraphLabels", name=EVIDENCE, toName=TALK, choice="multiple")
    for item in instrument.items:
        Xml.SubElement(marks, "Label", value=item.id, hint=_fit(item.title))
    Xml.SubElement(left, "Paragraphs", name=TALK, value="$talk", layout="dialogue", nameKey="speaker", textKey="text")
    Xml.indent(page)
    return Xml.tostring(page, encoding="unicode") + "\n"


def _ask(view: Xml.Element, instrument: Instrument, item: Item, keys: Iterator[str]) -> None:
    always = item.minimum_turns <= 1
    _header(view, item.title, size="4")
    if item.definition:
        _header(view, item.definition, size="5")
    if not always:
        _header(view, f"Only where there are {item.minimum_turns} turns or more; else leave it empty.", size="5")
    asked = Xml.SubElement(
        view,
        "Choices",
        name=f"{ANSWER}{item.id}",
        toName=TALK,
        choice="single-radio",
        showInline="true",
        required="true" if always else "false",
        requiredMessage=_fit(f"Please answer: {item.title}"),
    )
    meanings: list[str] = []
    for choice in choices(instrument, item):
        shown = Xml.SubElement(asked, "Choice", value=choice.word)
        if choice.hint:
            shown.set("hint", _fit(choice.hint))
            meanings.append(f"{choice.word}: {choice.hint}")
        if key := next(keys, None):
            shown.set("hotkey", key)
    # Hints appear where a pointer rests; the same words can be unfolded for those who use keys or a touch screen.
    panel = Xml.SubElement(Xml.SubElement(view, "Collapse"), "Panel", value="What the answers mean")
    for text in chain(
        meanings, (hesitant(boundary.between, boundary.text) for boundary in item.boundaries), item.edge_cases
    ):
        _header(panel, text, size="6")
    Xml.SubElement(
        view,
        "TextArea",
        name=f"{NOTE}{item.id}",
        toName=TALK,
        placeholder="Why? (optional)",
        maxSubmissions="1",
        rows="1",
    )


def _header(view: Xml.Element, text: str, *, size: str) -> None:
    fitting = _fit(text)
    # A text that begins with a dollar sign would be looked up in the task.
    Xml.SubElement(view, "Header", value=f" {fitting}" if fitting.startswith("$") else fitting, size=size)


def _fit(text: str) -> str:
    return _UNFIT.sub("�", " ".join(text.split()))


def task(entry: Outgoing) -> dict[str, Any]:
    """A unit as a task. Its data holds the token and the words, and nothing else."""
    talk = [
        {"speaker": f"Turn {message.turn}, {message.speaker}{' (rate this reply)' if message.rated else ''}"}
        | {"text": message.text}
        for message in messages(entry.unit)
    ]
    return {"data": {UNIT: entry.token, TALK: talk}}


def read(path: Path) -> Iterator[Given | Problem]:
    """What stands in an export of annotations (Label Studio's JSON, not JSON-MIN).

    Annotations that were cancelled are no answers. Who annotated is called by their number in Label Studio.

    Raises:
        InputError: The file is not there or is no such export.
    """
    for place, entry in listed(path, "an export of Label Studio"):
        if not is_object(entry) or not is_object(entry.get("data")) or not is_list(entry.get("annotations")):
            yield Problem(place, "this is no task with its annotations; export from Label Studio as JSON, not JSON-MIN")
            continue
        for annotation in entry["annotations"]:
            if not is_object(annotation) or not is_list(annotation.get("result")):
                yield Problem(place, "this is no annotation of Label Studio")
            elif not annotation.get("was_cancelled"):
                yield _given(place, entry["data"], annotation)


def _given(place: Place, data: Mapping[str, Any], annotation: Mapping[str, Any]) -> Given | Problem:
    answers: dict[str, Any] = {}
    notes: dict[str, str] = {}
    marked: list[Marked] = []
    for result in annotation["result"]:
        try:
            name, value = str(result["from_name"]), result["value"]
            if name.startswith(ANSWER):
                (answers[name.removeprefix(ANSWER)],) = value["choices"]
            elif name.startswith(NOTE):
                notes[name.removeprefix(NOTE)] = "\n".join(
                    [value["text"]] if isinstance(value["text"], str) else value["text"]
                )
            elif name == EVIDENCE:
                marked += _marked(value, data[TALK])
        except (TypeError, KeyError, ValueError, IndexError):
            return Problem(place, f"an annotation holds what the configuration does not give: {str(result)[:120]}")
    token = data.get(UNIT)
    if not isinstance(token, str):
        return Problem(place, f"the task has no {UNIT!r} in its data, so nobody can tell what it is about")
    at = annotation.get("updated_at") or annotation.get("created_at") or ""
    return Given(place, token, _annotator(annotation.get("completed_by")), answers, notes, marked, str(at))


def _annotator(who: Any) -> str | None:
    if is_object(who):
        who = who.get("id")
    return None if who is None else str(who)


def _marked(value: Mapping[str, Any], talk: Sequence[Mapping[str, Any]]) -> Iterator[Marked]:
    """The marked words, message by message: a mark may reach over several.

    Raises:
        ValueError: The mark is not where its words are.
    """
    first, last = int(value["start"]), int(value["end"])
    for message in range(first, last + 1):
        text = str(talk[message]["text"])
        start = _characters(text, value["startOffset"]) if message == first else 0
        end = _characters(text, value["endOffset"]) if message == last else len(text)
        if first == last and value.get("text", text[start:end]) != text[start:end]:
            raise ValueError("other words stand there")
        for item in value["paragraphlabels"]:
            yield Marked(str(item), message, start, end)


def _characters(text: str, units: int) -> int:
    """A browser counts in units of UTF-16, in which an emoji is two; we count characters."""
    encoded = text.encode("utf-16-le", "surrogatepass")
    if not 0 <= 2 * units <= len(encoded):
        raise ValueError("the mark lies outside the message")
    return len(encoded[: 2 * units].decode("utf-16-le", "replace"))


SETTINGS, DATASET, RECORDS = ".argilla/settings.json", ".argilla/dataset.json", "records.json"
ARGILLA_TALK, ARGILLA_NOTE = "talk", "note"

_TITLE, _DESCRIPTION, _OPTION, _GUIDELINES = 500, 1000, 500, 10_000
"""The longest texts that Argilla's server takes."""


def write_argilla(folder: Path, instrument: Instrument, outgoing: Sequence[Outgoing], *, raters: int = 1) -> list[Path]:
    """Write the settings, the data set and the records into `folder` and return the files.

    `raters` is how many people Argilla asks for each record.
    """
    distribution = {"strategy": "overlap", "min_submitted": raters}
    contents: dict[str, Any] = {
        SETTINGS: settings(instrument, raters=raters),
        DATASET: {
            "name": instrument.id,
            "guidelines": _cut(guide(instrument), _GUIDELINES),
            "allow_extra_metadata": False,
            "distribution": distribution,
        },
        RECORDS: [record(entry) for entry in outgoing],
    }
    (folder / SETTINGS).parent.mkdir()
    for name, content in contents.items():
        with replacing(folder / name) as stream:
            stream.write(to_json(content).encode())
    return [folder / name for name in contents]


def settings(instrument: Instrument, *, raters: int = 1) -> dict[str, Any]:
    """The settings of a data set, as `argilla.Settings.from_json` reads them."""
    ordered = sorted(enumerate(instrument.items), key=lambda entry: entry[1].holistic)
    note = {
        "name": ARGILLA_NOTE,
        "title": "Why? (optional)",
        "description": None,
        "required": False,
        "settings": {"type": "text", "use_markdown": False},
    }
    return {
        "guidelines": _cut(guide(instrument), _GUIDELINES),
        "questions": [*(_question(instrument, number, item) for number, item in ordered), note],
        "fields": [
            {
                "name": ARGILLA_TALK,
                "title": "Conversation",
                "required": True,
                "description": None,
                "settings": {"type": "chat", "use_markdown": False},
            }
        ],
        "vectors": [],
        "metadata": [],
        "allow_extra_metadata": False,
        "distribution": {"strategy": "overlap", "min_submitted": raters},
        "mapping": None,
    }


def question_names(instrument: Instrument) -> dict[str, str]:
    """The id of each item by the name of its question.

    Argilla allows small letters only, in which two ids may be the same, so the position goes before them.
    """
    return {_name(number, item): item.id for number, item in enumerate(instrument.items)}


def _name(number: int, item: Item) -> str:
    return f"q{number + 1:02d}-{item.id.lower().replace('.', '_')}"


def _question(instrument: Instrument, number: int, item: Item) -> dict[str, Any]:
    rules = [hesitant(boundary.between, boundary.text) for boundary in item.boundaries]
    if item.minimum_turns > 1:
        rules.insert(0, f"Only where there are {item.minimum_turns} turns or more; else leave it empty.")
    options = [
        {"value": choice.word, "text": _cut(f"{choice.word}: {choice.hint}" if choice.hint else choice.word, _OPTION)}
        for choice in choices(instrument, item)
    ]
    return {
        "name": _name(number, item),
        "title": _cut(item.title, _TITLE),
        "description": _cut("\n\n".join(part for part in (item.definition, *rules) if part), _DESCRIPTION) or None,
        "required": item.minimum_turns <= 1,
        "settings": {"type": "label_selection", "options": options, "visible_options": len(options)},
    }


def record(entry: Outgoing) -> dict[str, Any]:
    """A unit as a record. It holds the token and the words, and nothing else."""
    talk = [
        {"role": f"{message.speaker} {message.turn}{' (rate)' if message.rated else ''}", "content": message.text}
        for message in messages(entry.unit)
    ]
    return {
        "id": entry.token,
        "fields": {ARGILLA_TALK: talk},
        "metadata": {},
        "suggestions": {},
        "responses": {},
        "vectors": {},
        "status": "pending",
        "_server_id": None,
    }


def read_argilla(path: Path) -> Iterator[Given | Problem]:
    """What stands in records that Argilla's client wrote with `records.to_json`.

    Such a file does not say which responses are drafts or were discarded; where one does, those are no answers. Who
    responded is called by their id in Argilla.

    Raises:
        InputError: The file is not there or holds no records.
    """
    for place, entry in listed(path, "a list of Argilla's records"):
        if not is_object(entry) or not isinstance(entry.get("id"), str) or not is_object(entry.get("responses")):
            yield Problem(place, "this is no record of Argilla with its responses")
            continue
        yield from _argilla_answer(place, entry["id"], entry["responses"])


def _argilla_answer(place: Place, token: str, responses: dict[str, Any]) -> Iterator[Given | Problem]:
    """One entry a person: responses stand by question, and in each by person."""
    people: dict[str, dict[str, Any]] = {}
    for question, given in responses.items():
        for response in given if is_list(given) else [given]:
            if not is_object(response) or "value" not in response:
                yield Problem(place, f"the responses to {question!r} are not as Argilla writes them")
                return
            if response.get("status") in {None, "submitted"}:
                people.setdefault(str(response.get("user_id")), {})[question] = response["value"]
    for who, answers in people.items():
        note = str(answers.pop(ARGILLA_NOTE, "") or "")
        yield Given(place, token, who, answers, notes=dict.fromkeys(answers, note))


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


TO_READ, TO_FILL, GUIDE = "to-read.csv", "to-fill.csv", "guide.txt"
SHEET_UNIT, SHEET_NOTE = "unit", "note"

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""A spreadsheet takes a cell that begins so for a formula, and a transcript may hold anything."""


def write_sheet(folder: Path, instrument: Instrument, outgoing: Sequence[Outgoing]) -> list[Path]:
    """Write the three files into `folder` and return them."""
    items = [item.id for item in instrument.items]
    _write(folder / TO_READ, [SHEET_UNIT, "turn", "speaker", "text", "rate this reply"], _to_read(outgoing))
    _write(folder / TO_FILL, [SHEET_UNIT, *items, SHEET_NOTE], _to_fill(outgoing, items))
    with replacing(folder / GUIDE) as stream:
        stream.write(guide(instrument).encode("utf-8", "replace"))
    return [folder / TO_READ, folder / TO_FILL, folder / GUIDE]


def read_sheet(path: Path) -> Iterator[Given | Problem]:
    """What stands in a sheet that was filled.

    Raises:
        InputError: The file is not there, is no table, or has no row.
    """
    empty = True
    for place, fields, reason in rows(path):
        if fields is None:
            empty = False
            yield Problem(place, reason)
            continue
        fields = {name.strip(): value for name, value in fields.items()}
        token = str(fields.get(SHEET_UNIT) or "").strip()
        if not any(str(value).strip() for value in fields.values() if value is not None):
            continue
        empty = False
        if SHEET_UNIT not in fields:
            yield Problem(
                place, f"there is no column {SHEET_UNIT!r}; is this the sheet that was to be filled ({TO_FILL})?"
            )
        elif not token:
            yield Problem(place, f"the column {SHEET_UNIT!r} is empty, so nobody can tell what these answers are about")
        else:
            note = str(fields.get(SHEET_NOTE) or "")
            answers: dict[str, Any] = {
                name: value for name, value in fields.items() if name not in {SHEET_UNIT, SHEET_NOTE}
            }
            yield Given(place, token, None, answers, notes=dict.fromkeys(answers, note), has_columns=True)
    if empty:
        raise InputError(f"{path} has no row; is this the sheet that was to be filled ({TO_FILL})?")


def _write(path: Path, header: Sequence[str], lines: Iterable[Sequence[Any]]) -> None:
    with replacing(path) as stream:
        # Excel takes a file for UTF-8 only where it begins with this mark; our own reader passes over it.
        stream.write(codecs.BOM_UTF8)
        text = io.TextIOWrapper(stream, "utf-8", errors="replace", newline="", write_through=True)
        writer = csv.writer(text, lineterminator="\r\n")
        writer.writerow(header)
        writer.writerows(lines)
        text.detach()


def _to_read(outgoing: Sequence[Outgoing]) -> Iterator[Sequence[Any]]:
    for entry in outgoing:
        for message in messages(entry.unit):
            text = f"'{message.text}" if message.text.startswith(_FORMULA) else message.text
            yield entry.token, message.turn, message.speaker, text, "yes" if message.rated else ""


def _to_fill(outgoing: Sequence[Outgoing], items: Sequence[str]) -> Iterator[Sequence[Any]]:
    for entry in outgoing:
        yield entry.token, *("" if item in entry.due else NOT_ASKED for item in items), ""
