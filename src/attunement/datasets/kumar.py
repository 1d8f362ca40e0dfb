"""Kumar et al. (2025): 200 supportive conversations rated by experts, a crowd and LLMs, with the 126 published kappas.

Each of the four sets has its own dimensions and scale, so each becomes a part with its own instrument. Ratings of the
crowd are loaded where the folder has single whole answers; averages are not answers on a scale, and are used only for
the published figures.

The authors took numbers times a hundred, quadratic weights on the ranks of the values that occur, and for the p-value
the standard error of kappa itself. Two of these choices matter: weights on values instead of ranks, and whether a
judge is compared with the median of the experts, which is steadier than any one of them, or with each.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from attunement.conversations import Conversation, Identity, Origin
from attunement.conversations.messages import Side, weave
from attunement.datasets.base import (
    NO_TEXT,
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
    number,
    on_scale,
    read_table,
    require_folder,
    split_messages,
)
from attunement.errors import InputError
from attunement.instruments import Instrument
from attunement.ratings import RaterKind
from attunement.statistics.alpha import Alpha, alpha
from attunement.statistics.kappa import Kappa, Spacing, kappa
from attunement.statistics.results import Undefined
from attunement.statistics.tables import Floats

EXPERTS = ("expert1", "expert2", "expert3")
MODELS = {"gemini": "gemini-2.5-pro", "gpt": "gpt-4o", "claude": "claude-3.7-sonnet"}
CROWD = "crowd"
_SETTINGS = {"imported_from": "kumar2025"}
_HINT = "it should be a clone of Kumar et al. with the folders annotations and original_data"


class _Set(NamedTuple):
    """One of the four sets: where it is, what identifies a conversation, what was asked."""

    name: str  # as in the table of published figures
    system: str
    folder: str
    key: str
    text: str | None  # the file with the text
    instrument: Instrument
    crowd: str = ""  # who the raters from the crowd are, where that needs a note

    @property
    def items(self) -> list[str]:
        return [item.id for item in self.instrument.items]

    def answer(self, row: Row, item: str, rater: str, column: str | None = None) -> DatasetAnswer:
        outcome, detail = on_scale(row[column or item], self.instrument)
        return DatasetAnswer(Identity(self.system, row[self.key]), item, rater, outcome, detail=detail)


_SETS = [
    _Set(instrument=build_instrument(spec), **entry)
    for entry in load_yaml("kumar")["sets"]
    for spec in [entry.pop("instrument")]
]


def read(folder: Path) -> LoadedDataset:
    """Read a clone of the repository, or a copy of its folders `annotations` and `original_data`."""
    require_folder(folder, _HINT)
    require_folder(folder / "annotations", _HINT)
    parts: list[Part] = []
    ratings: _Ratings = {}
    raters = {name: DatasetRater(name, RaterKind.PERSON, {**_SETTINGS, "role": "expert"}) for name in EXPERTS}
    raters |= {name: DatasetRater(name, RaterKind.MODEL, _SETTINGS) for name in MODELS.values()}
    averages = 0
    for chosen in _SETS:
        given = _given(folder, chosen)
        conversations = _conversations(folder, chosen, given["expert1"])
        answers = [
            chosen.answer(row, item, MODELS.get(file, file))
            for file, rows in given.items()
            if file != CROWD
            for row in rows.values()
            for item in chosen.items
        ]
        crowd = _crowd(folder, chosen, given[CROWD])
        if not crowd:
            averages += len(given[CROWD]) * len(chosen.items)
        settings = {**_SETTINGS, "role": "crowd"} | ({"note": chosen.crowd} if chosen.crowd else {})
        for answer in crowd:
            raters.setdefault(answer.rater, DatasetRater(answer.rater, RaterKind.PERSON, settings))
        parts.append(Part(chosen.name, chosen.instrument, conversations, [*answers, *crowd]))
        for item in chosen.items:
            for file, rows in given.items():
                rater = "llm" if file == "gemini" else file  # as in the table of published figures
                ratings[chosen.name, item, rater] = np.array([number(rows[unit], item) for unit in given["expert1"]])
            experts = [ratings[chosen.name, item, expert] for expert in EXPERTS]
            ratings[chosen.name, item, _MEDIAN] = np.median(experts, axis=0)
    published = read_table(
        folder / "annotations" / "table_kappa.csv",
        ["Dataset", "Dimension", "Annotator Pair", "Weighted Cohen's Kappa", "Kappa P-value"],
        "the published kappas are in it",
    )
    notes = [
        "Perceived Empathy has no text in this folder: its ratings are loaded, and no judge can be asked about it.",
        f"{averages:,} averages over the crowd are not answers on the scale: they are not loaded as ratings, and are "
        "used only for the published figures. Raters called crowd are single people, or one released label (EPITOME).",
    ]
    return LoadedDataset(parts, list(raters.values()), notes, lambda: _figures(ratings, published), people="expert")


def _given(folder: Path, chosen: _Set) -> dict[str, dict[str, Row]]:
    """By the name of the file: each conversation's row. All files must have the same conversations."""
    found: dict[str, dict[str, Row]] = {}
    for file in (*EXPERTS, *MODELS, CROWD):
        path = folder / "annotations" / chosen.folder / f"{file}_ratings.csv"
        found[file] = by_key(read_table(path, [chosen.key, *chosen.items], f"ratings of {chosen.name}"), chosen.key)
        if strangers := found[file].keys() ^ found["expert1"].keys():
            raise InputError(f"{path} does not have the same conversations as expert1_ratings.csv: {min(strangers)}")
    return found


def _crowd(folder: Path, chosen: _Set, released: Mapping[str, Row]) -> list[DatasetAnswer]:
    """The ratings of single people of the crowd, where the folder has them."""
    items = chosen.items
    match chosen.system:
        case "lend_an_ear":
            path = folder / "original_data" / "sample_lend_an_ear_annotations.csv"
            rows = read_table(path, ["user_id", chosen.key, *items], "the crowd's ratings of Lend an Ear")
            kept = [row for row in rows if row[chosen.key] in released]
            return [
                chosen.answer(row, item, f"crowd {row['user_id'][:8]}") for row in kept for item in items if row[item]
            ]
        case "empathetic_dialogues":
            columns = [(f"{item}{side}", item, f"crowd, side {side}") for item in items for side in (1, 2)]
            rows = _text_rows(folder, chosen, [column for column, _, _ in columns]).values()
            return [
                chosen.answer(row, item, rater, column)._replace(detail="")
                for row in rows
                for column, item, rater in columns
            ]
        case "epitome":
            return [chosen.answer(row, item, "crowd, one label") for row in released.values() for item in items]
        case _:
            return []


def _text_rows(folder: Path, chosen: _Set, columns: Sequence[str]) -> dict[str, Row]:
    """The first row of each conversation; in Empathetic Dialogues each utterance has a row."""
    path = folder / "original_data" / str(chosen.text)
    rows = read_table(path, [chosen.key, *columns], f"the text of {chosen.name}")
    return {row[chosen.key]: row for row in reversed(rows)}


def _conversations(folder: Path, chosen: _Set, rated: Mapping[str, Row]) -> list[Conversation]:
    if chosen.text is None:
        return [Conversation(id=id, system=chosen.system, turns=NO_TEXT) for id in rated]
    columns = {
        "empathetic_dialogues": ["context", "full_conversation"],
        "epitome": ["seeker_post", "response_post"],
        "lend_an_ear": ["full_conversation"],
    }
    rows = _text_rows(folder, chosen, columns[chosen.system])
    found: list[Conversation] = []
    for id, rating in rated.items():
        if id not in rows:
            raise InputError(f"{rating.place}: {id} was rated, but its text is not in original_data")
        row = rows[id]
        more: dict[str, Any] = {}
        if chosen.system == "epitome":
            messages = [(Side.USER, row["seeker_post"]), (Side.ASSISTANT, row["response_post"])]
            more = {"origin": Origin.REAL}
        else:
            text = row["full_conversation"].replace("_comma_", ",")
            messages = split_messages(text, {"Seeker": Side.USER, "Supporter": Side.ASSISTANT}, row.place)
            if chosen.system == "empathetic_dialogues":
                more = {"metadata": {"emotion": row["context"]}}
        found.append(Conversation(id=id, system=chosen.system, turns=weave(messages).turns, **more))
    return found


# The published figures

_Ratings = dict[tuple[str, str, str], Floats]
"""By set, dimension and rater: one number a conversation, in the same order for all."""
_Dimension = tuple[str, str]
_Pair = tuple[str, str]

_MEDIAN = "experts"
_AMONG_EXPERTS = (("expert1", "expert2"), ("expert2", "expert3"), ("expert3", "expert1"))
_PAIRS = ((_MEDIAN, "llm"), (_MEDIAN, CROWD), ("llm", CROWD), *_AMONG_EXPERTS)
_MOVED = 0.005  # half of the last printed digit: a larger difference is printed differently


def _kappa(ratings: _Ratings, dimension: _Dimension, pair: _Pair, spacing: Spacing = "ranks") -> Kappa | Undefined:
    first, second = (np.round(ratings[*dimension, rater] * 100) for rater in pair)
    return kappa(first, second, "quadratic", spacing)


def _figures(ratings: _Ratings, published: Sequence[Row]) -> PublishedFigures:
    """Every published kappa and p-value next to ours, and their medians."""
    rows: list[list[str]] = []
    by_pair: dict[_Pair, list[tuple[float, float]]] = {}
    moved = 0
    for row in published:
        dimension = (row["Dataset"], row["Dimension"])
        if (*dimension, EXPERTS[0]) not in ratings:
            raise InputError(f"{row.place}: {dimension[1]} of {dimension[0]} is not among the ratings")
        names = [part.strip(" ()'") for part in row["Annotator Pair"].split(",")]
        pair = (names[0], names[-1])
        if pair not in _PAIRS:
            raise InputError(f"{row.place}: {row['Annotator Pair']!r} is not a known pair of raters")
        ours, on_values = _kappa(ratings, dimension, pair), _kappa(ratings, dimension, pair, "values")
        p, theirs = "none", number(row, "Weighted Cohen's Kappa")
        if isinstance(ours, Kappa) and isinstance(on_values, Kappa):
            p = f"{ours.p_from_se:.3f}" if isinstance(ours.p_from_se, float) else "none"
            by_pair.setdefault(pair, []).append((ours.value, theirs))
            moved += abs(ours.value - on_values.value) > _MOVED
        texts = figure(ours, 2), row["Weighted Cohen's Kappa"], p, row["Kappa P-value"]
        rows.append([*dimension, "-".join(pair), *texts])
    medians = [["-".join(pair), *(f"{median:.2f}" for median in np.median(values, axis=0))]
               for pair, values in by_pair.items()]  # fmt: skip
    experts = [
        np.column_stack([ratings[set_name, item, expert] for expert in EXPERTS])
        for set_name, item in dict.fromkeys((row[0], row[1]) for row in rows)
    ]
    alphas = {
        level: np.mean([found.value for each in experts if isinstance(found := alpha(each, level), Alpha)])
        for level in ("interval", "ordinal")
    }
    remarks = [
        "experts: the median of the three; llm: Gemini 2.5 Pro. A median is steadier than one person, so an LLM that "
        "agrees better with it than experts do with each other need not be better than an expert: compare like with "
        "like, with attune agree.",
        f"The experts' alpha over {len(experts)} dimensions averages {alphas['interval']:.3f} (interval) and "
        f"{alphas['ordinal']:.3f} (ordinal).",
        f"{moved} of {len(rows)} kappas move by more than {_MOVED} if the weights follow the values of the scale "
        "instead of their ranks.",
    ]
    each = FigureTable(
        "Each published kappa and p-value",
        ["set", "dimension", "pair", "kappa", "published", "p", "published"],
        rows,
        ["p divides kappa by its standard error, as the paper did; a test of no agreement takes another variance."],
    )
    return PublishedFigures(
        tables=[FigureTable("Median quadratic kappa on ranks", ["pair", "ours", "published"], medians, remarks)],
        details=[each],
        counts=[
            MatchCount("p-values as published", sum(row[5] == row[6] for row in rows), len(rows)),
            MatchCount("kappas as published", sum(row[3] == row[4] for row in rows), len(rows)),
        ],
    )
