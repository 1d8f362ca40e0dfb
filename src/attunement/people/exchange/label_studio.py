"""Label Studio: a labelling configuration, tasks, and the annotations that come back.

Answers are choices with the anchor texts as hints and a key each; words of the transcript can be marked as evidence
for an item. The transcript is shown by Label Studio's Paragraphs, which shows whatever stands in it as text.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

from attunement.conversations.readers.record import Place, is_list, is_object
from attunement.conversations.writing import replacing
from attunement.instruments import Instrument, Item
from attunement.people.exchange.handing import Outgoing, messages
from attunement.people.exchange.listed import listed
from attunement.people.exchange.taking import Given, Marked, Problem
from attunement.people.exchange.words import choices, guidance, hesitant
from attunement.study.encoding import to_json

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
