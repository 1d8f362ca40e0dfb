"""The data dictionary: what each column of an exported table means, and which values it can have.

Every column that `attune export` can write is described here. The instrument describes the categories of scorecards.
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
    table: str
    column: str
    type: str
    meaning: str
    values: str  # which values it can have, and what an empty cell means


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
    "instrument_hash": ("The fingerprint of the instrument. It changes if any word changes.", "64 hex digits"),
    "rater": ("The name of the judge or person who answered.", "any text"),
    "rater_kind": ("What the rater is. A simulation never counts as a person.", _any_of(RaterKind)),
}

_RATINGS = _COMMON | {
    "turn": ("The turn whose reply was rated.", "1 and up; empty: the whole conversation"),
    "item": ("The id of the item in the instrument.", "the ids of the instrument"),
    "title": ("The good behavior that the item asks for.", "any text"),
    "outcome": ("The outcome: a value, not applicable, no way to know, no answer, or not due.", _any_of(State)),
    "value": ("The answer on the scale.", f"{_CRITERIA}, a whole number for a score; empty: there is no answer"),
    "error": ("Why there is no answer.", f"{_any_of(ErrorKind)}; empty: there is one"),
    "detail": ("What went wrong, in one sentence.", "any text"),
    "reasoning": ("The rater's reasoning in their own words.", "any text"),
    "evidence": (
        "Each quotation in the reasoning: the cited turns, the quoted words, and where they were found.",
        f"a list of objects; standing is one of {_any_of(CitationStatus)}",
    ),
    "rules": (
        "Findings of the instrument's rules about the rating, with the words they are based on.",
        f"a list of objects; consistency is one of {_any_of(Consistency)}",
    ),
    "marks": ("Remarks on how the answer was obtained.", f"a list of {_any_of(Mark)}"),
    "rater_settings": (
        "For a judge all its settings; for a person what they entered about themselves.",
        "an object",
    ),
    "repeat": ("Which repeat of the same question this is.", "0 for the first, 1 for the second, ..."),
    "round": ("The purpose of the rating. Only the main round counts for scores and agreement.", _any_of(Round)),
    "item_hash": ("The fingerprint of the item's wording when it was asked.", "64 hex digits"),
    "asked": ("The fingerprint of the prompt that a judge read, or of the item that a person read.", "hex digits"),
    "at": ("When the rating was given.", "a time in ISO 8601 with its time zone"),
    "model": ("The model, as the server named it.", "any text; empty: no server answered"),
    "finish_reason": ("Why the judge stopped writing, as the server reported it.", "such as stop or length"),
    "prompt_tokens": ("Tokens of the prompt, as the server counted them.", "0 and up"),
    "completion_tokens": ("Tokens of the reply, as the server counted them.", "0 and up"),
    "cached_tokens": ("Tokens of the prompt that the server took from its cache.", "0 and up"),
    "cost": ("The cost of the answer in US dollars.", "0 and up; empty: the price is not known"),
    "latency": ("Seconds from sending the question to receiving the whole reply.", "0 and up"),
    "attempts": ("How many times the question was sent until this answer came back.", "1 and up"),
    "reply": ("The judge's reply, unchanged.", "any text"),
    "logprobs": ("The probabilities that the server gave for the words of the reply.", "as the server gave them"),
}
"""From `model` on the columns belong to the judge's answer behind the rating. One answer may have several ratings."""

_NAMES = "a list of item ids; if the item is about a reply, followed by a number sign and the turn"

_SCORECARDS = _COMMON | {
    "turns": ("How many turns the conversation has.", "1 and up"),
    "origin": ("Where the conversation comes from.", _any_of(Origin)),
    "rater": (
        "The rater of the scorecard; panel: all judges together.",
        "any text; empty: it was not rated",
    ),
    "repeat": ("Which repeat this is.", "0 and up; empty: the panel"),
    "members": ("The raters whose ratings the scorecard is based on.", "a list of names"),
    "verdict": ("The verdict of the scorecard.", f"{_any_of(Verdict)}; empty: it was not rated"),
    "passed": ("Whether the verdict is PASS and there is nothing that a person must still confirm.", "true, false"),
    "score": ("The weighted score. No answer counts as 0, no way to know is left out.", "0 to 1; empty: no weights"),
    "lowest": ("The score if everything open were failed.", "0 to 1"),
    "highest": ("The score if everything open were met.", "0 to 1"),
    "uncontested": ("The score without the contested items.", "0 to 1"),
    "failed": ("What is not met.", _NAMES),
    "open": ("What has no answer.", _NAMES),
    "unsafe": ("Safety items that failed.", _NAMES),
    "unjudged": ("Safety items without an answer.", _NAMES),
    "not_due": ("Items that the conversation is too short for.", "a list of item ids"),
    "needs_person": ("Why a person must read the conversation before it counts as passed.", "a list of item and rule"),
    "pointers": (
        "What the instrument's rules point to. It changes no score or verdict.",
        "a list of item and rule",
    ),
    "outcomes": ("The answer to each item.", "an object of items and answers, or why there is none"),
}


_PRACTICE = _RATINGS | {
    "project": ("The annotation project it belongs to, named after its instrument.", "any text"),
    "project_number": ("The number of the round with that instrument.", "1 and up"),
    "round": (
        "The purpose of the answer: practice before the work, or an attention check among the units. Neither counts "
        "for scores or agreement.",
        _any_of((Round.CALIBRATION, Round.ATTENTION)),
    ),
    "attempt": ("Which attempt at the practice this is.", "1 and up"),
    "example": (
        "The worked example of the instrument: its item, and its position there.",
        "such as safety/2",
    ),
    "known": (
        "The instrument's own answer.",
        f"{_CRITERIA}, a whole number for a score; empty: the example has no answer for the item",
    ),
    "evidence": ("The words that the rater marked.", "a list of objects: turn, speaker, start, end, quote"),
    "at": ("When the answer was submitted.", "a time in ISO 8601 with its time zone"),
}

_EVENTS = {
    "at": ("When it was done.", "a time in ISO 8601 with its time zone"),
    "project": ("The annotation project it belongs to, named after its instrument.", "any text"),
    "project_number": ("The number of the round with that instrument.", "1 and up; 0: review without raters"),
    "who": ("The person who did it.", "any text; empty: it was done on the command line"),
    "role": ("The person's role in the round.", "such as rater, coordinator or reviewer"),
    "kind": ("What was done.", "such as set, submitted, decided, reviewed or signed"),
    "instrument_hash": ("The fingerprint of the instrument that was used.", "64 hex digits"),
    "system": _COMMON["system"],
    "conversation": _COMMON["conversation"],
    "turn": ("The turn whose reply it is about.", "1 and up; empty: the whole conversation, or none"),
    "round": ("The purpose of the unit.", _any_of(Round)),
    "content": ("What was saved, changed or decided.", "an object"),
}


def dictionary(what: What, columns: Sequence[Column], instrument: Instrument | None = None) -> list[Described]:
    """The columns of a table with their meanings; `instrument` describes its categories and its scale."""
    known = {"ratings": _RATINGS, "scorecards": _SCORECARDS, "practice": _PRACTICE, "events": _EVENTS}[what]
    if what == "scorecards" and instrument is not None:
        scale = "points" if isinstance(instrument.scale, Scores) else "0 to 1"
        known = known | {
            f"category_{id}": (
                f"The mean of the category {instrument.categories.get(id, id)}, which has the weight {weight:g}.",
                f"{scale}; empty: nothing in it counts",
            )
            for id, weight in instrument.scoring.weights.items()
        }
    return [Described(what, column.name, _TYPES[column.kind], *known[column.name]) for column in columns]


def write_dictionary(described: Sequence[Described], path: Path) -> None:
    """Write the dictionary as CSV, JSON or Markdown, as the name of the file says.

    Raises:
        InputError: The name says none of these, or the file cannot be written.
    """
    match path.suffix.lower():
        case ".csv":
            stream = io.StringIO(newline="")
            csv.writer(stream, lineterminator="\r\n").writerows([Described._fields, *described])
            text = stream.getvalue()
        case ".json":
            text = json.dumps([entry._asdict() for entry in described], indent=1, ensure_ascii=False) + "\n"
        case ".md":
            rows = [[code(each.column), *(plain(words, 2000) for words in each[2:])] for each in described]
            head = ["Column", "Type", "Meaning", "Values"]
            text = f"## Columns of {described[0].table}\n\n{table(head, rows)}\n"
        case _:
            raise InputError(f"{path}: a data dictionary is written as .csv, .json or .md; change the ending")
    with replacing(path) as file:
        file.write(text.encode())
