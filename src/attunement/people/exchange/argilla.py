"""Argilla: settings, records, and the responses that come back.

The folder is one that `argilla.Dataset.from_disk` reads. The transcript is a chat field without Markdown, so that
whatever stands in it is shown as text. Argilla marks words in plain text fields only, so there is no evidence here.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from attunement.conversations.readers.record import Place, is_list, is_object
from attunement.conversations.writing import replacing
from attunement.instruments import Instrument, Item
from attunement.people.exchange.handing import Outgoing, messages
from attunement.people.exchange.listed import listed
from attunement.people.exchange.taking import Given, Problem
from attunement.people.exchange.words import choices, guide, hesitant
from attunement.study.encoding import to_json

SETTINGS, DATASET, RECORDS = ".argilla/settings.json", ".argilla/dataset.json", "records.json"
TALK, NOTE = "talk", "note"

_TITLE, _DESCRIPTION, _OPTION, _GUIDELINES = 500, 1000, 500, 10_000
"""The longest texts that Argilla's server takes."""


def write(folder: Path, instrument: Instrument, outgoing: Sequence[Outgoing], *, raters: int = 1) -> list[Path]:
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
        "name": NOTE,
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
                "name": TALK,
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
        "fields": {TALK: talk},
        "metadata": {},
        "suggestions": {},
        "responses": {},
        "vectors": {},
        "status": "pending",
        "_server_id": None,
    }


def read(path: Path) -> Iterator[Given | Problem]:
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
        yield from _given(place, entry["id"], entry["responses"])


def _given(place: Place, token: str, responses: dict[str, Any]) -> Iterator[Given | Problem]:
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
        note = str(answers.pop(NOTE, "") or "")
        yield Given(place, token, who, answers, notes=dict.fromkeys(answers, note))


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
