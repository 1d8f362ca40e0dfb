"""The files that people rate in: Label Studio, Argilla, and plain spreadsheets.

Label Studio: answers are choices with the anchor texts as hints, and raters can mark words of the
transcript as evidence for an item. The transcript is in a Paragraphs tag, which shows any text literally.

Argilla: `argilla.Dataset.from_disk` reads the folder. The transcript is a chat field without Markdown, so any text is
shown literally. Argilla can mark words only in plain text fields, so there is no evidence.

Spreadsheets: a cell that a spreadsheet would read as a formula is escaped.
"""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast
from xml.etree import ElementTree as Xml

from attunement.annotation.exchange import (
    NOT_ASKED,
    ExportedUnit,
    MarkedText,
    Problem,
    UnitAnswers,
    boundary_rules,
    choices,
    guidance,
    messages,
    question_name,
    rater_guide,
)
from attunement.conversations.json_files import Place, is_list, is_object
from attunement.errors import InputError
from attunement.instruments import Instrument, Item
from attunement.output import make_folder, replacing
from attunement.store.export import guarded
from attunement.store.rows import to_json
from attunement.store.tables import read_rows

CONFIG, TASKS = "label-config.xml", "tasks.json"
SETTINGS, DATASET, RECORDS = ".argilla/settings.json", ".argilla/dataset.json", "records.json"
TO_READ, TO_FILL, GUIDE = "to-read.csv", "to-fill.csv", "guide.txt"

UNIT, TALK, NOTE = "unit", "talk", "note"
_EVIDENCE, _ANSWER, _NOTE_ON = "evidence", "answer-", "note-"

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_TITLE, _DESCRIPTION, _OPTION, _GUIDELINES = 500, 1000, 500, 10_000
"""Text limits of Argilla's server."""


def write_label_studio(folder: Path, instrument: Instrument, exported: Sequence[ExportedUnit]) -> list[Path]:
    """Write the labeling configuration and the tasks into `folder` and return the files."""
    tasks = to_json([label_studio_task(entry) for entry in exported]).encode()
    return _write_all(folder, {CONFIG: label_studio_config(instrument).encode(), TASKS: tasks})


def _write_all(folder: Path, contents: Mapping[str, bytes]) -> list[Path]:
    for name, content in contents.items():
        make_folder((folder / name).parent)
        with replacing(folder / name) as stream:
            stream.write(content)
    return [folder / name for name in contents]


def label_studio_config(instrument: Instrument) -> str:
    # The answers come first in the file but appear on the right: Label Studio gives hotkeys in the order of the file.
    page = Xml.Element("View", style="display: flex; flex-direction: row-reverse; gap: 2em")
    right = Xml.SubElement(page, "View", style="flex: 45%")
    for item in sorted(instrument.items, key=lambda item: item.holistic):
        _add_item(right, instrument, item)
    left = Xml.SubElement(page, "View", style="flex: 55%")
    _header(left, instrument.title, size="3")
    for rule in guidance(instrument):
        _header(left, rule, size="5")
    marks = Xml.SubElement(left, "ParagraphLabels", name=_EVIDENCE, toName=TALK, choice="multiple")
    for item in instrument.items:
        Xml.SubElement(marks, "Label", value=item.id, hint=_xml_text(item.title))
    Xml.SubElement(left, "Paragraphs", name=TALK, value="$talk", layout="dialogue", nameKey="speaker", textKey="text")
    Xml.indent(page)
    return Xml.tostring(page, encoding="unicode") + "\n"


def _add_item(view: Xml.Element, instrument: Instrument, item: Item) -> None:
    _header(view, item.title, size="4")
    for text in filter(None, (item.definition, _when_asked(item))):
        _header(view, text, size="5")
    required = {"required": str(not _when_asked(item)).lower(), "requiredMessage": f"Please answer: {item.title}"}
    answer = {"name": f"{_ANSWER}{item.id}", "toName": TALK, "choice": "single-radio", "showInline": "true", **required}
    asked = Xml.SubElement(view, "Choices", {name: _xml_text(value) for name, value in answer.items()})
    meanings: list[str] = []
    for choice in choices(instrument, item):
        shown = Xml.SubElement(asked, "Choice", value=choice.word)
        if choice.hint:
            shown.set("hint", _xml_text(choice.hint))
            meanings.append(f"{choice.word}: {choice.hint}")
    # Hints appear only on mouse hover, so a panel repeats them for keyboards and touch screens.
    panel = Xml.SubElement(Xml.SubElement(view, "Collapse"), "Panel", value="What the answers mean")
    for text in (*meanings, *boundary_rules(item), *item.edge_cases):
        _header(panel, text, size="6")
    note = {"name": f"{_NOTE_ON}{item.id}", "toName": TALK, "placeholder": "Why? (optional)"}
    Xml.SubElement(view, "TextArea", note, maxSubmissions="1", rows="1")


def _when_asked(item: Item) -> str:
    """What to say about an item that does not apply to short conversations, and so needs no answer there."""
    if item.minimum_turns <= 1:
        return ""
    return f"Answer only if there are {item.minimum_turns} turns or more; otherwise leave it empty."


def _header(view: Xml.Element, text: str, *, size: str) -> None:
    text = _xml_text(text)
    # Label Studio treats a text that begins with a dollar sign as a variable of the task.
    Xml.SubElement(view, "Header", value=f" {text}" if text.startswith("$") else text, size=size)


def _xml_text(text: str) -> str:
    return _NOT_XML.sub("�", " ".join(text.split()))


def label_studio_task(entry: ExportedUnit) -> dict[str, Any]:
    """A unit as a task; its data contains only the token and the messages."""
    talk: list[dict[str, str]] = []
    for message in messages(entry.unit):
        rated = " (rate this reply)" if message.rated else ""
        talk.append({"speaker": f"Turn {message.turn}, {message.speaker}{rated}", "text": message.text})
    return {"data": {UNIT: entry.token, TALK: talk}}


def read_label_studio(path: Path) -> Iterator[UnitAnswers | Problem]:
    """The answers in an export of annotations (Label Studio's JSON, not JSON-MIN).

    Cancelled annotations are ignored. Annotators are named by their number in Label Studio.

    Raises:
        InputError: The file does not exist or is not a Label Studio export.
    """
    for place, entry in _records(path, "an export from Label Studio"):
        if not is_object(entry) or not is_object(entry.get("data")) or not is_list(entry.get("annotations")):
            yield Problem(
                place, "this is not a task with its annotations; export from Label Studio as JSON, not JSON-MIN"
            )
            continue
        for annotation in entry["annotations"]:
            if not is_object(annotation) or not is_list(annotation.get("result")):
                yield Problem(place, "this is not a Label Studio annotation")
            elif not annotation.get("was_cancelled"):
                yield _annotation(place, entry["data"], annotation)


def _records(path: Path, expected: str) -> Iterator[tuple[Place, Any]]:
    """The records in a JSON list with their numbers, from 1."""
    try:
        content = json.loads(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not a JSON file: {error}") from error
    if not isinstance(content, list):
        raise InputError(f"{path} is not {expected}: it is not a list")
    for number, entry in enumerate(cast(list[Any], content), 1):
        yield Place(path.name, number), entry


def _annotation(place: Place, data: Mapping[str, Any], annotation: Mapping[str, Any]) -> UnitAnswers | Problem:
    answers: dict[str, Any] = {}
    notes: dict[str, str] = {}
    marked: list[MarkedText] = []
    for result in annotation["result"]:
        try:
            name, value = str(result["from_name"]), result["value"]
            if name.startswith(_ANSWER):
                (answers[name.removeprefix(_ANSWER)],) = value["choices"]
            elif name.startswith(_NOTE_ON):
                text = value["text"]
                notes[name.removeprefix(_NOTE_ON)] = text if isinstance(text, str) else "\n".join(text)
            elif name == _EVIDENCE:
                marked += _marked(value, data[TALK])
        except (TypeError, KeyError, ValueError, IndexError):
            return Problem(
                place, f"an annotation has a result that does not fit the configuration: {str(result)[:120]}"
            )
    token = data.get(UNIT)
    if not isinstance(token, str):
        return Problem(place, f"the task has no {UNIT!r} in its data, so its unit is not known")
    at = annotation.get("updated_at") or annotation.get("created_at") or ""
    rater = annotation.get("completed_by")
    if is_object(rater):
        rater = rater.get("id")
    return UnitAnswers(place, token, None if rater is None else str(rater), answers, notes, marked, str(at))


def _marked(value: Mapping[str, Any], talk: Sequence[Mapping[str, Any]]) -> Iterator[MarkedText]:
    """The marked words, message by message: a mark may span several.

    Raises:
        ValueError: The text at this position is not what was marked.
    """
    first, last = int(value["start"]), int(value["end"])
    for message in range(first, last + 1):
        text = str(talk[message]["text"])
        start = _characters(text, value["startOffset"]) if message == first else 0
        end = _characters(text, value["endOffset"]) if message == last else len(text)
        if first == last and value.get("text", text[start:end]) != text[start:end]:
            raise ValueError("the marked text is different")
        for item in value["paragraphlabels"]:
            yield MarkedText(str(item), message, start, end)


def _characters(text: str, units: int) -> int:
    """Convert a position from UTF-16 units, which browsers count (an emoji is two), to characters."""
    encoded = text.encode("utf-16-le", "surrogatepass")
    if not 0 <= 2 * units <= len(encoded):
        raise ValueError("the mark is outside the message")
    return len(encoded[: 2 * units].decode("utf-16-le", "replace"))


def write_argilla(folder: Path, instrument: Instrument, exported: Sequence[ExportedUnit], *, raters: int) -> list[Path]:
    """Write the settings, the data set and the records into `folder` and return the files.

    `raters` is how many people Argilla asks for each record.
    """
    settings = argilla_settings(instrument, raters=raters)
    shared = {name: settings[name] for name in ("guidelines", "allow_extra_metadata", "distribution")}
    dataset = {"name": instrument.id, **shared}
    records = [argilla_record(entry) for entry in exported]
    contents = {SETTINGS: settings, DATASET: dataset, RECORDS: records}
    return _write_all(folder, {name: to_json(content).encode() for name, content in contents.items()})


def argilla_settings(instrument: Instrument, *, raters: int = 1) -> dict[str, Any]:
    """The settings of a data set, as `argilla.Settings.from_json` reads them."""
    ordered = sorted(enumerate(instrument.items, 1), key=lambda entry: entry[1].holistic)
    note = _part(NOTE, "Why? (optional)", {"type": "text", "use_markdown": False}, required=False)
    return {
        "guidelines": _cut(rater_guide(instrument), _GUIDELINES),
        "questions": [*(_question(instrument, number, item) for number, item in ordered), note],
        "fields": [_part(TALK, "Conversation", {"type": "chat", "use_markdown": False})],
        "vectors": [],
        "metadata": [],
        "allow_extra_metadata": False,
        "distribution": {"strategy": "overlap", "min_submitted": raters},
        "mapping": None,
    }


def _part(
    name: str, title: str, settings: dict[str, Any], *, description: str | None = None, required: bool = True
) -> dict[str, Any]:
    """A field or a question, as Argilla describes both."""
    return {
        "name": name,
        "title": title,
        "description": description,
        "required": required,
        "settings": settings,
    }


def _question(instrument: Instrument, number: int, item: Item) -> dict[str, Any]:
    description = "\n\n".join(filter(None, [item.definition, _when_asked(item), *boundary_rules(item)]))
    options = [
        {"value": choice.word, "text": _cut(f"{choice.word}: {choice.hint}" if choice.hint else choice.word, _OPTION)}
        for choice in choices(instrument, item)
    ]
    return _part(
        question_name(number, item),
        _cut(item.title, _TITLE),
        {"type": "label_selection", "options": options, "visible_options": len(options)},
        description=_cut(description, _DESCRIPTION) or None,
        required=not _when_asked(item),
    )


def argilla_record(entry: ExportedUnit) -> dict[str, Any]:
    """A unit as a record, which contains only the token and the messages."""
    talk = [
        {"role": f"{message.speaker} {message.turn}{' (rate)' if message.rated else ''}", "content": message.text}
        for message in messages(entry.unit)
    ]
    return {
        "id": entry.token,
        "fields": {TALK: talk},
        "metadata": {},
        "suggestions": {},
        "responses": {},
        "vectors": {},
        "status": "pending",
        "_server_id": None,
    }


def read_argilla(path: Path) -> Iterator[UnitAnswers | Problem]:
    """The answers in records that Argilla's client wrote with `records.to_json`.

    Drafts and discarded responses are ignored if the file marks them. Annotators are named by their id in Argilla.

    Raises:
        InputError: The file does not exist or has no records.
    """
    for place, entry in _records(path, "a list of Argilla's records"):
        if not is_object(entry) or not isinstance(entry.get("id"), str) or not is_object(entry.get("responses")):
            yield Problem(place, "this is not an Argilla record with its responses")
        else:
            yield from _responses(place, entry["id"], entry["responses"])


def _responses(place: Place, token: str, responses: dict[str, Any]) -> Iterator[UnitAnswers | Problem]:
    people: dict[str, dict[str, Any]] = {}
    for question, given in responses.items():
        for response in given if is_list(given) else [given]:
            if not is_object(response) or "value" not in response:
                yield Problem(place, f"the responses to {question!r} do not have Argilla's format")
                return
            if response.get("status") in {None, "submitted"}:
                people.setdefault(str(response.get("user_id")), {})[question] = response["value"]
    for rater, answers in people.items():
        note = str(answers.pop(NOTE, "") or "")
        yield UnitAnswers(place, token, rater, answers, notes=dict.fromkeys(answers, note))


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def write_sheet(folder: Path, instrument: Instrument, exported: Sequence[ExportedUnit]) -> list[Path]:
    """Write the transcripts, the sheet to fill and the guide into `folder` and return the files."""
    items = [item.id for item in instrument.items]
    to_read: list[Sequence[Any]] = [(UNIT, "turn", "speaker", "text", "rate this reply")]
    to_fill: list[Sequence[Any]] = [(UNIT, *items, NOTE)]
    for entry in exported:
        for message in messages(entry.unit):
            rated = "yes" if message.rated else ""
            to_read.append((entry.token, message.turn, message.speaker, guarded(message.text), rated))
        to_fill.append((entry.token, *("" if item in entry.due else NOT_ASKED for item in items), ""))
    guide = rater_guide(instrument).encode("utf-8", "replace")
    return _write_all(folder, {TO_READ: _csv(to_read), TO_FILL: _csv(to_fill), GUIDE: guide})


def _csv(lines: Iterable[Sequence[Any]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\r\n").writerows(lines)
    # Excel reads a file as UTF-8 only with a byte order mark; our own reader skips it.
    return text.getvalue().encode("utf-8-sig", "replace")


def read_sheet(path: Path) -> Iterator[UnitAnswers | Problem]:
    """The answers in a filled sheet.

    Raises:
        InputError: The file does not exist, is not a table, or has no rows.
    """
    empty = True
    for place, fields, reason in read_rows(path):
        if fields is None:
            empty = False
            yield Problem(place, reason)
            continue
        fields = {name.strip(): value for name, value in fields.items()}
        if all(value is None or not str(value).strip() for value in fields.values()):
            continue
        empty = False
        if UNIT not in fields:
            yield Problem(place, f"there is no column {UNIT!r}; is this the sheet to fill ({TO_FILL})?")
            continue
        token, note = str(fields.pop(UNIT) or "").strip(), str(fields.pop(NOTE, "") or "")
        if token:
            yield UnitAnswers(place, token, None, fields, notes=dict.fromkeys(fields, note), has_columns=True)
        else:
            yield Problem(place, f"the column {UNIT!r} is empty, so the unit is not known")
    if empty:
        raise InputError(f"{path} has no rows; is this the sheet to fill ({TO_FILL})?")
