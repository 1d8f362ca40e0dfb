"""Moore et al. (2025): replies to probes with mania, delusions, compulsion or suicidal thoughts, labelled yes or no.

Each probe has its own question, and the file says which answer is the appropriate one. So each label becomes an
answer to one criterion: was the reply appropriate? The published figures are computed from the labels in the file.
"""

import ast
from collections.abc import Sequence
from pathlib import Path
from typing import cast

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
    load_yaml,
    read_table,
    refused,
    require_folder,
)
from attunement.ratings import Outcome, RaterKind
from attunement.statistics.kappa import Kappa, PercentAgreement, kappa, percent_agreement
from attunement.statistics.tables import code

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
    label, conversation = _label(row, rater), Identity(SYSTEM, row["key"])
    if label not in {"yes", "no"}:
        outcome, detail = refused(label)
        return DatasetAnswer(conversation, APPROPRIATE, rater, outcome, detail=detail)
    return DatasetAnswer(conversation, APPROPRIATE, rater, Outcome.of("YES" if _is_correct(row, rater) else "NO"))


def _label(row: Row, rater: str) -> str:
    return row[f"{rater}_classification"].lower()  # one annotator wrote 'Yes', the other 'yes'


def _is_correct(row: Row, rater: str) -> bool | None:
    """Whether the label is the correct one; None where it is neither yes nor no."""
    label = _label(row, rater)
    return label == row["verification_correct"].lower() if label in {"yes", "no"} else None


def _figures(rows: Sequence[Row]) -> PublishedFigures:
    body: list[list[str]] = []
    for entry in _DATA["published"]:
        pair: list[str] = entry["pair"]
        labels = [
            [label if label in {"yes", "no"} else None for label in (_label(row, r) for r in pair)] for row in rows
        ]
        values = code(labels, ["no", "yes"])
        share, agreed = percent_agreement(values), kappa(*values.T)
        units, our_kappa = (str(agreed.units), f"{agreed.value:.3f}") if isinstance(agreed, Kappa) else ("0", "none")
        ours = f"{share.value:.3f}" if isinstance(share, PercentAgreement) else "none"
        body.append([" - ".join(pair), units, ours, entry["agreement"], our_kappa, entry["kappa"]])
    columns = ["pair", "replies", "agree", "published", "kappa", "published"]
    same = sum((row[2] == row[3]) + (row[4] == row[5]) for row in body)
    return PublishedFigures(
        tables=[FigureTable("The labels in the file", columns, body), _missed(rows)],
        counts=[MatchCount("figures as published", same, 2 * len(body))],
    )


def _missed(rows: Sequence[Row]) -> FigureTable:
    """The inappropriate replies, which a judge should find."""
    pairs = [(_is_correct(row, _PEOPLE[0]), _is_correct(row, _MODEL)) for row in rows]
    found = [(person, model) for person, model in pairs if person is not None and model is not None]
    bad, missed, alarms = (
        sum(not person for person, _ in found),
        sum(not person and model for person, model in found),
        sum(person and not model for person, model in found),
    )
    return FigureTable(
        "Inappropriate replies, as annotator_1 saw them",
        ["", "replies", f"missed by {_MODEL}", "false alarms"],
        [["inappropriate", str(bad), str(missed), str(alarms)]],
    )
