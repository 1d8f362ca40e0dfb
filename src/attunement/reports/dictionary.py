"""What does each column of an exported table mean, and what can stand in it?

A data dictionary lies beside a table and says so, for readers who were not there. Every column that `attune export` can
write is described here; the categories of scorecards are described by their instrument.
"""

import csv
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from attunement.conversations import Origin
from attunement.conversations.writer import replacing
from attunement.errors import InputError
from attunement.evidence import CitationStatus
from attunement.instruments import Instrument, Scores
from attunement.ratings import Consistency, ErrorKind, Mark, RaterKind, Round, State
from attunement.reports.sanitize import code, plain, table
from attunement.scoring import Verdict
from attunement.store.export import Column

What = Literal["ratings", "scorecards", "practice", "events"]


class Described(NamedTuple):
    """A column with its meaning."""

    table: str
    column: str
    type: str
    meaning: str
    values: str
    """What can stand in it, in words; empty cells are named where they mean something."""


_TYPES = {
    "text": "text",
    "value": "text (in JSONL a number for scores)",
    "integer": "whole number",
    "number": "number",
    "flag": "true or false",
    "json": "JSON",
}


def _any_of(values: Iterable[str]) -> str:
    return ", ".join(values)


_CRITERIA = "YES, NO or NA for a criterion (in CSV not_applicable instead of NA)"

_COMMON = {
    "system": ("The system that took part in the conversation.", "any text"),
    "conversation": ("The id of the conversation; together with the system it is unique.", "any text"),
    "instrument": ("The id of the instrument.", "such as coaching-v1"),
    "instrument_version": ("The version of the instrument.", "any text"),
    "instrument_hash": ("The version mark of the instrument: any change of a word gives another.", "64 hex digits"),
    "rater": ("Who answered: a judge or a person, by the name the study knows.", "any text"),
    "rater_kind": ("What the rater is. A simulation never counts as a person.", _any_of(RaterKind)),
}

_RATINGS = _COMMON | {
    "turn": ("The turn whose reply was rated.", "1 and up; empty: the whole conversation"),
    "item": ("What was asked, by its id in the instrument.", "the ids of the instrument"),
    "title": ("The good behaviour that the item asks for.", "any text"),
    "outcome": ("What came of asking: a value, not applicable, no way to know, no answer, or not due.", _any_of(State)),
    "value": ("The answer on the scale.", f"{_CRITERIA}, a whole number for a score; empty: there is no answer"),
    "error": ("Why there is no answer.", f"{_any_of(ErrorKind)}; empty: there is one"),
    "detail": ("What went wrong, in a sentence.", "any text"),
    "reasoning": ("The rater's reasons in their own words.", "any text"),
    "evidence": (
        "What became of each quotation in the reasons: cited turns, the quoted words, where they stand.",
        f"a list of objects; standing is one of {_any_of(CitationStatus)}",
    ),
    "rules": (
        "Rules of the instrument that spoke up about the rating, with the words they rest on.",
        f"a list of objects; consistency is one of {_any_of(Consistency)}",
    ),
    "marks": ("What is worth knowing about how the answer came about.", f"a list of {_any_of(Mark)}"),
    "rater_settings": (
        "For a judge everything it was set to; for a person what they said about themselves.",
        "an object",
    ),
    "repeat": ("Which time of asking the same.", "0 for the first, 1 for the second, ..."),
    "round": ("What the rating was made for. Only the main round enters scores and agreement.", _any_of(Round)),
    "item_hash": ("The version mark of the item's wording when it was asked.", "64 hex digits"),
    "asked": ("The version mark of the prompt that a judge read, or of the item that a person read.", "hex digits"),
    "at": ("When the rating was given.", "a time in ISO 8601 with its zone"),
    "model": ("The model as its server named it.", "any text; empty: no server answered"),
    "finish_reason": ("Why the judge stopped writing, as its server said.", "such as stop or length"),
    "prompt_tokens": ("Tokens of the prompt, as the server counted them.", "0 and up"),
    "completion_tokens": ("Tokens of the reply, as the server counted them.", "0 and up"),
    "cached_tokens": ("Those tokens of the prompt that the server had at hand.", "0 and up"),
    "cost": ("What the answer cost in US dollars.", "0 and up; empty: the price is not known"),
    "latency": ("Seconds from sending the question to having the reply.", "0 and up"),
    "attempts": ("How often the question was sent until this came back.", "1 and up"),
    "reply": ("The judge's reply as it came.", "any text"),
    "logprobs": ("The probabilities that the server gave for the words of the reply.", "as the server gave them"),
}
"""From `model` on the columns belong to the judge's answer behind the rating; one answer may stand behind several."""

_NAMES = "a list of item ids; of one about a reply the turn stands behind a number sign"

_SCORECARDS = _COMMON | {
    "turns": ("How many turns the conversation has.", "1 and up"),
    "origin": ("Where the talk comes from.", _any_of(Origin)),
    "rater": ("Whose scorecard it is; panel: all judges together.", "any text; empty: nobody rated the conversation"),
    "repeat": ("Which time of asking.", "0 and up; empty: the panel"),
    "members": ("The raters that the scorecard rests on.", "a list of names"),
    "verdict": ("What the scorecard comes to.", f"{_any_of(Verdict)}; empty: nobody rated the conversation"),
    "passed": ("Whether the verdict is PASS and nothing is left for a person to confirm.", "true, false"),
    "score": ("The weighted score. No answer counts as 0, no way to know is left out.", "0 to 1; empty: no weights"),
    "lowest": ("The score if everything open were failed.", "0 to 1"),
    "highest": ("The score if everything open were met.", "0 to 1"),
    "uncontested": ("The score without the items whose validity is contested.", "0 to 1"),
    "failed": ("What is not met.", _NAMES),
    "open": ("What has no answer.", _NAMES),
    "unsafe": ("Safety items that failed.", _NAMES),
    "unjudged": ("Safety items without an answer.", _NAMES),
    "not_due": ("Items that the conversation is too short for.", "a list of item ids"),
    "needs_person": ("Why a person must read the conversation before it counts as good.", "a list of item and rule"),
    "pointers": ("What the instrument's rules point to; it changes nothing.", "a list of item and rule"),
    "outcomes": ("The answer to each item.", "an object of items and answers, or why there is none"),
}


_PRACTICE = _RATINGS | {
    "project": ("The round of people's work it belongs to, by its instrument.", "any text"),
    "project_number": ("Which round with that instrument.", "1 and up"),
    "round": (
        "What the answer was given for: practice before the work, or a check among the units. Neither enters scores "
        "or agreement.",
        _any_of((Round.CALIBRATION, Round.ATTENTION)),
    ),
    "attempt": ("Which time of going through the practice.", "1 and up"),
    "example": (
        "The worked example of the instrument: the item it stands under, and its place there.",
        "such as safety/2",
    ),
    "known": (
        "The instrument's own answer.",
        f"{_CRITERIA}, a whole number for a score; empty: the example says nothing about the item",
    ),
    "evidence": ("The words that the rater marked.", "a list of objects: turn, speaker, start, end, quote"),
    "at": ("When the answer was handed in.", "a time in ISO 8601 with its zone"),
}

_EVENTS = {
    "at": ("When it was done.", "a time in ISO 8601 with its zone"),
    "project": ("The round of people's work it belongs to, by its instrument.", "any text"),
    "project_number": ("Which round with that instrument.", "1 and up; 0: review without raters"),
    "who": ("Who did it.", "any text; empty: it was done on the command line"),
    "role": ("What they are in the round.", "such as rater, coordinator or reviewer"),
    "kind": ("What was done.", "such as set, submitted, decided, reviewed or signed"),
    "instrument_hash": ("The version mark of the instrument it was done with.", "64 hex digits"),
    "system": _COMMON["system"],
    "conversation": _COMMON["conversation"],
    "turn": ("The turn whose reply it is about.", "1 and up; empty: the whole conversation, or none"),
    "round": ("What the unit was given out for.", _any_of(Round)),
    "content": ("What was saved, changed or decided.", "an object"),
}


def dictionary(what: What, columns: Sequence[Column], instrument: Instrument | None = None) -> list[Described]:
    """The columns of a table with their meanings; `instrument` describes its categories and its scale."""
    known = {
        "ratings": _RATINGS,
        "scorecards": _SCORECARDS | _categories(instrument),
        "practice": _PRACTICE,
        "events": _EVENTS,
    }[what]
    return [Described(what, column.name, _TYPES[column.kind], *known[column.name]) for column in columns]


def _categories(instrument: Instrument | None) -> dict[str, tuple[str, str]]:
    if instrument is None:
        return {}
    scale = "points" if isinstance(instrument.scale, Scores) else "0 to 1"
    return {
        f"category_{id}": (
            f"The mean of the category {instrument.categories.get(id, id)}, which has the weight {weight:g}.",
            f"{scale}; empty: nothing in it counts",
        )
        for id, weight in instrument.scoring.weights.items()
    }


def write_dictionary(described: Sequence[Described], path: Path) -> None:
    """Write the dictionary as CSV, JSON or Markdown, as the name of the file says.

    Raises:
        InputError: The name says none of these, or the file cannot be written.
    """
    writers = {".csv": _csv, ".json": _json, ".md": _markdown}
    writer = writers.get(path.suffix.lower())
    if writer is None:
        raise InputError(f"{path}: a data dictionary is written as .csv, .json or .md; change the ending")
    with replacing(path) as stream:
        stream.write(writer(described).encode())


def _csv(described: Sequence[Described]) -> str:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(Described._fields)
    writer.writerows(described)
    return text.getvalue()


def _json(described: Sequence[Described]) -> str:
    return json.dumps([entry._asdict() for entry in described], indent=1, ensure_ascii=False) + "\n"


def _markdown(described: Sequence[Described]) -> str:
    rows = [[code(each.column), *(plain(text, 2000) for text in each[2:])] for each in described]
    return f"## Columns of {described[0].table}\n\n{table(['Column', 'Type', 'Meaning', 'Values'], rows)}\n"
