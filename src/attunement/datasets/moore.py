"""Moore et al. (2025): replies to probes with mania, delusions, compulsion or suicidal thoughts, labelled yes or no.

Each probe has its own question, and the file says which answer is the appropriate one. So each label becomes an
answer to one criterion: was the reply appropriate? The published figures are computed from the labels in the file.
"""

import ast
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np

from attunement.conversations import Conversation, Identity
from attunement.conversations.messages import Side, weave
from attunement.datasets.base import (
    DatasetAnswer,
    DatasetRater,
    FigureTable,
    LoadedDataset,
    MatchCount,
    Part,
    PublishedFigures,
    Row,
    build_instrument,
    by_key,
    figure,
    load_yaml,
    read_table,
    refused,
    require_folder,
)
from attunement.ratings import Outcome, RaterKind
from attunement.statistics.kappa import Kappa, kappa, percent_agreement

_DATA = load_yaml("moore")
INSTRUMENT = build_instrument(_DATA["instrument"])
FILE = "classification_validation.csv"
SYSTEM = "moore2025"
APPROPRIATE = "appropriate"
_PEOPLE = ("annotator_1", "annotator_2")
_MODEL = "gpt-4o-2024-08-06"


def read(folder: Path) -> LoadedDataset:
    """Read `classification_validation.csv` in a clone of the repository, or in a folder with that file alone."""
    require_folder(folder, f"it should hold {FILE}")
    labels = [f"{rater}_classification" for rater in (*_PEOPLE, _MODEL)]
    needs = ["key", "condition", "interjection", "model_response", "verification_prompt", "verification_correct"]
    rows = read_table(folder / FILE, [*needs, *labels], "the labels of Moore et al. are in it")
    by_key(rows, "key")
    settings = {"imported_from": "moore2025"}
    raters = [DatasetRater(name, RaterKind.PERSON, {**settings, "role": "annotator"}) for name in _PEOPLE]
    raters.append(DatasetRater(_MODEL, RaterKind.MODEL, settings))
    answers = [_answer(row, rater) for row in rows for rater in (*_PEOPLE, _MODEL) if _label(row, rater)]
    part = Part("Appropriate replies", INSTRUMENT, [_conversation(row) for row in rows], answers)
    notes = [
        "The conversation before a probe is not in this file: a judge reads the probe and the reply.",
        "YES means that the label is the one the file calls correct, whatever the question was.",
    ]
    return LoadedDataset([part], raters, notes, lambda: _figures(rows))


def _conversation(row: Row) -> Conversation:
    _, _, probe = row["key"].rpartition("_")[0].rpartition("_")
    metadata = {"condition": row["condition"], "probe": probe, "question": row["verification_prompt"]}
    messages = [*_probe(row["interjection"]), (Side.ASSISTANT, row["model_response"])]
    return Conversation(id=row["key"], system=SYSTEM, turns=weave(messages).turns, metadata=metadata)


def _probe(text: str) -> list[tuple[Side, str]]:
    """The messages of a probe; one of several messages is written as a list in which both sides take turns."""
    messages: list[str] = [text]
    if text.startswith("["):
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            value = None
        if isinstance(value, list) and all(isinstance(entry, str) for entry in cast(list[object], value)):
            messages = cast(list[str], value)
    return [(Side.ASSISTANT if at % 2 else Side.USER, message) for at, message in enumerate(messages)]


def _answer(row: Row, rater: str) -> DatasetAnswer:
    correct = _is_correct(row, rater)
    outcome, detail = refused(_label(row, rater)) if correct is None else (Outcome.of("YES" if correct else "NO"), "")
    return DatasetAnswer(Identity(SYSTEM, row["key"]), APPROPRIATE, rater, outcome, detail=detail)


_CODES = {"no": 0.0, "yes": 1.0}


def _label(row: Row, rater: str) -> str:
    return row[f"{rater}_classification"].lower()  # one annotator wrote 'Yes', the other 'yes'


def _is_correct(row: Row, rater: str) -> bool | None:
    """Whether the label is the correct one; None where it is neither yes nor no."""
    label = _label(row, rater)
    return label == row["verification_correct"].lower() if label in _CODES else None


def _figures(rows: Sequence[Row]) -> PublishedFigures:
    body: list[list[str]] = []
    for entry in _DATA["published"]:
        pair: list[str] = entry["pair"]
        values = np.array([[_CODES.get(_label(row, rater), np.nan) for rater in pair] for row in rows])
        share, agreed = percent_agreement(values), kappa(*values.T)
        units = str(agreed.units) if isinstance(agreed, Kappa) else "0"
        body.append([" - ".join(pair), units, figure(share), entry["agreement"], figure(agreed), entry["kappa"]])
    columns = ["pair", "replies", "agree", "published", "kappa", "published"]
    same = sum((row[2] == row[3]) + (row[4] == row[5]) for row in body)
    # The inappropriate replies, which a judge should find.
    labels = [(_is_correct(row, _PEOPLE[0]), _is_correct(row, _MODEL)) for row in rows]
    found = Counter(pair for pair in labels if None not in pair)
    bad, missed, alarms = found[False, False] + found[False, True], found[False, True], found[True, False]
    inappropriate = FigureTable(
        "Inappropriate replies, as annotator_1 saw them",
        ["", "replies", f"missed by {_MODEL}", "false alarms"],
        [["inappropriate", str(bad), str(missed), str(alarms)]],
    )
    return PublishedFigures(
        tables=[FigureTable("The labels in the file", columns, body), inappropriate],
        counts=[MatchCount("figures as published", same, 2 * len(body))],
    )
