"""Kumar et al. (2025): 200 supportive conversations rated by experts, a crowd and LLMs, with the 126 published kappas.

Each of the four sets has its own dimensions and scale, so each becomes a part with its own instrument. Ratings of the
crowd are loaded where the folder has single whole answers; averages are not answers on a scale, and are used only for
the published figures.

The authors took numbers times a hundred, quadratic weights on the ranks of the values that occur, and for the p-value
the standard error of kappa itself. Two of these choices matter: weights on values instead of ranks, and whether a
judge is compared with the median of the experts, which is steadier than any one of them, or with each.
"""

import re
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
    load_yaml,
    number,
    on_scale,
    read_table,
    require_folder,
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
_HINT = "it should be a clone of Kumar et al. with the folders annotations and original_data"


class _Set(NamedTuple):
    """One of the four sets: where it is, what identifies a conversation, what was asked."""

    name: str  # as in the table of published figures
    system: str
    folder: str
    key: str
    text: str | None  # the file with the text
    instrument: Instrument

    @property
    def items(self) -> list[str]:
        return [item.id for item in self.instrument.items]

    def answer(self, row: Row, column: str, item: str, rater: str) -> DatasetAnswer:
        outcome, detail = on_scale(row[column], self.instrument)
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
    raters = [_rater(expert, role="expert") for expert in EXPERTS]
    raters += [DatasetRater(name, RaterKind.MODEL, {"imported_from": "kumar2025"}) for name in MODELS.values()]
    averages = 0
    for chosen in _SETS:
        given = _given(folder, chosen)
        conversations = _conversations(folder, chosen, given["expert1"])
        answers = [
            chosen.answer(row, item, item, MODELS.get(file, file))
            for file, rows in given.items()
            if file != CROWD
            for row in rows.values()
            for item in chosen.items
        ]
        people, crowd = _crowd(folder, chosen, given[CROWD])
        if not crowd:
            averages += len(given[CROWD]) * len(chosen.items)
        raters += [rater for rater in people if rater.name not in {known.name for known in raters}]
        parts.append(Part(chosen.name, chosen.instrument, conversations, [*answers, *crowd]))
        for file, rows in given.items():
            rater = "llm" if file == "gemini" else file  # as in the table of published figures
            for item in chosen.items:
                values = np.array([number(rows[unit], item) for unit in given["expert1"]])
                ratings[chosen.name, item, rater] = values
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
    return LoadedDataset(parts, raters, notes, lambda: _figures(ratings, published), people="expert")


def _rater(name: str, **settings: str) -> DatasetRater:
    return DatasetRater(name, RaterKind.PERSON, {"imported_from": "kumar2025", **settings})


def _given(folder: Path, chosen: _Set) -> dict[str, dict[str, Row]]:
    """By the name of the file: each conversation's row. All files must have the same conversations."""
    found: dict[str, dict[str, Row]] = {}
    for file in (*EXPERTS, *MODELS, CROWD):
        path = folder / "annotations" / chosen.folder / f"{file}_ratings.csv"
        found[file] = by_key(read_table(path, [chosen.key, *chosen.items], f"ratings of {chosen.name}"), chosen.key)
        if strangers := found[file].keys() ^ found["expert1"].keys():
            raise InputError(f"{path} does not have the same conversations as expert1_ratings.csv: {min(strangers)}")
    return found


def _crowd(folder: Path, chosen: _Set, released: Mapping[str, Row]) -> tuple[list[DatasetRater], list[DatasetAnswer]]:
    """The ratings of single people of the crowd, where the folder has them."""
    match chosen.system:
        case "lend_an_ear":
            path = folder / "original_data" / "sample_lend_an_ear_annotations.csv"
            rows = read_table(path, ["user_id", chosen.key, *chosen.items], "the crowd's ratings of Lend an Ear")
            names = {row["user_id"]: f"crowd {row['user_id'][:8]}" for row in rows}
            answers = [
                chosen.answer(row, item, item, names[row["user_id"]])
                for row in rows
                if row[chosen.key] in released
                for item in chosen.items
                if row[item]
            ]
            return [_rater(name, role="crowd") for name in names.values()], answers
        case "empathetic_dialogues":
            sides = {side: f"crowd, side {side}" for side in (1, 2)}
            rows = _text_rows(folder, chosen, [f"{item}{side}" for item in chosen.items for side in sides]).values()
            answers = [
                chosen.answer(row, f"{item}{side}", item, name)._replace(detail="")
                for row in rows
                for item in chosen.items
                for side, name in sides.items()
            ]
            note = "one of the two who talked, another person in each conversation"
            return [_rater(name, role="crowd", note=note) for name in sides.values()], answers
        case "epitome":
            name, note = "crowd, one label", "the one label that was released; who gave it is not told"
            answers = [chosen.answer(row, item, item, name) for row in released.values() for item in chosen.items]
            return [_rater(name, role="crowd", note=note)], answers
        case _:
            return [], []


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
            messages = _messages(row)
            if chosen.system == "empathetic_dialogues":
                more = {"metadata": {"emotion": row["context"]}}
        found.append(Conversation(id=id, system=chosen.system, turns=weave(messages).turns, **more))
    return found


_SPEAKER = re.compile(r"^\s*(Seeker|Supporter):", re.MULTILINE)


def _messages(row: Row) -> list[tuple[Side, str]]:
    """The messages in a text in which each begins with the speaker."""
    pieces = _SPEAKER.split(row["full_conversation"].replace("_comma_", ","))
    if pieces[0].strip() or len(pieces) < 3:
        raise InputError(f"{row.place}: full_conversation does not begin with 'Seeker:' or 'Supporter:'")
    sides = {"Seeker": Side.USER, "Supporter": Side.ASSISTANT}
    return [(sides[who], words.strip()) for who, words in zip(pieces[1::2], pieces[2::2], strict=True)]


# The published figures

_Ratings = dict[tuple[str, str, str], Floats]
"""By set, dimension and rater: one number a conversation, in the same order for all."""
_Dimension = tuple[str, str]
_Pair = tuple[str, str]

_MEDIAN = "experts"
_AMONG_EXPERTS = (("expert1", "expert2"), ("expert2", "expert3"), ("expert3", "expert1"))
_PAIRS = ((_MEDIAN, "llm"), (_MEDIAN, CROWD), ("llm", CROWD), *_AMONG_EXPERTS)
_MOVED = 0.005  # half of the last printed digit: a larger difference is printed differently


class _Kappas:
    """The kappas of all pairs, each computed once."""

    def __init__(self, ratings: _Ratings) -> None:
        self._ratings = ratings
        self._computed: dict[tuple[_Dimension, _Pair, Spacing], Kappa | Undefined] = {}

    def ratings(self, dimension: _Dimension, rater: str) -> Floats:
        if rater == _MEDIAN:
            return np.median([self._ratings[*dimension, expert] for expert in EXPERTS], axis=0)
        return self._ratings[*dimension, rater]

    def kappa(self, dimension: _Dimension, pair: _Pair, spacing: Spacing = "ranks") -> Kappa | Undefined:
        key = (dimension, pair, spacing)
        if key not in self._computed:
            first, second = (np.round(self.ratings(dimension, rater) * 100) for rater in pair)
            self._computed[key] = kappa(first, second, "quadratic", spacing)
        return self._computed[key]

    def value(self, dimension: _Dimension, pair: _Pair, spacing: Spacing = "ranks") -> float:
        """Kappa as a number; NaN where it is undefined, as where both raters always gave the same answer."""
        result = self.kappa(dimension, pair, spacing)
        return result.value if isinstance(result, Kappa) else np.nan

    def mean(self, dimension: _Dimension, pairs: Sequence[_Pair]) -> float:
        return float(np.mean([self.value(dimension, pair) for pair in pairs]))


class _Published(NamedTuple):
    """A row of the published table, with the same figures of ours."""

    dimension: _Dimension
    pair: _Pair
    kappa: str
    our_kappa: str
    p: str
    our_p: str


def _figures(ratings: _Ratings, published: Sequence[Row]) -> PublishedFigures:
    """All figures of the paper that are computed from kappa, next to ours."""
    kappas = _Kappas(ratings)
    rows: list[_Published] = []
    for row in published:
        dimension = (row["Dataset"], row["Dimension"])
        if (*dimension, EXPERTS[0]) not in ratings:
            raise InputError(f"{row.place}: {dimension[1]} of {dimension[0]} is not among the ratings")
        names = [part.strip(" ()'") for part in row["Annotator Pair"].split(",")]
        pair = (names[0], names[-1])
        if pair not in _PAIRS:
            raise InputError(f"{row.place}: {row['Annotator Pair']!r} is not a known pair of raters")
        ours = kappas.kappa(dimension, pair)
        number(row, "Weighted Cohen's Kappa")
        p = ours.p_from_se if isinstance(ours, Kappa) else None
        our_kappa = f"{ours.value:.2f}" if isinstance(ours, Kappa) else "none"
        our_p = f"{p:.3f}" if isinstance(p, float) else "none"
        rows.append(_Published(dimension, pair, row["Weighted Cohen's Kappa"], our_kappa, row["Kappa P-value"], our_p))
    dimensions = list(dict.fromkeys(row.dimension for row in rows))
    each = FigureTable(
        "Each published kappa and p-value",
        ["set", "dimension", "pair", "kappa", "published", "p", "published"],
        [[*row.dimension, "-".join(row.pair), row.our_kappa, row.kappa, row.our_p, row.p] for row in rows],
        ["p divides kappa by its standard error, as the paper did; a test of no agreement takes another variance."],
    )
    return PublishedFigures(
        tables=[
            _comparison(rows, dimensions),
            _alphas(kappas, dimensions),
            _weights(rows, kappas),
            _median(kappas, dimensions),
        ],
        details=[each],
        counts=[
            MatchCount("p-values as published", sum(row.our_p == row.p for row in rows), len(rows)),
            MatchCount("kappas as published", sum(row.our_kappa == row.kappa for row in rows), len(rows)),
        ],
    )


def _comparison(rows: Sequence[_Published], dimensions: Sequence[_Dimension]) -> FigureTable:
    found = {(row.dimension, row.pair): f"{_short(row.our_kappa)} {_short(row.kappa)}" for row in rows}
    sets = list(dict.fromkeys(name for name, _ in dimensions))
    body = [
        [dimension[1], *(found.get((dimension, pair), "") for pair in _PAIRS)]
        for dimension in sorted(dimensions, key=lambda dimension: sets.index(dimension[0]))
    ]
    medians = ["median"]
    for pair in _PAIRS:
        here = [row for row in rows if row.pair == pair]
        ours = np.median([float(row.our_kappa) for row in here if row.our_kappa != "none"] or [np.nan])
        theirs = np.median([float(row.kappa) for row in here] or [np.nan])
        medians.append(f"{_short(f'{ours:.2f}')} {_short(f'{theirs:.2f}')}")
    return FigureTable(
        "Quadratic kappa on ranks: ours, then the published figure",
        ["dimension", "med-LLM", "med-crd", "LLM-crd", "e1-e2", "e2-e3", "e3-e1"],
        [*body, medians],
        ["med: the median of the experts; e1 to e3: each expert; crd: the crowd; LLM: Gemini 2.5 Pro, as published."],
    )


def _short(figure: str) -> str:
    return figure.replace("0.", ".", 1) if figure.startswith(("0.", "-0.")) else figure


def _alphas(kappas: _Kappas, dimensions: Sequence[_Dimension]) -> FigureTable:
    body: list[list[str]] = []
    for level in ("interval", "ordinal"):
        results = [
            alpha(np.column_stack([kappas.ratings(dimension, expert) for expert in EXPERTS]), level)
            for dimension in dimensions
        ]
        values = [result.value for result in results if isinstance(result, Alpha)]
        figures = (np.mean(values), min(values), max(values)) if values else (np.nan,) * 3
        body.append([f"{level} alpha", f"{len(values)}", *(f"{figure:.3f}" for figure in figures)])
    return FigureTable(
        "The three experts with each other",
        ["", "dimensions", "mean", "lowest", "highest"],
        body,
        ["The mean over dimensions hides how much they differ; `attune agree` gives each with its interval."],
    )


def _weights(rows: Sequence[_Published], kappas: _Kappas) -> FigureTable:
    moves = [
        (row, ranks, values, abs(ranks - values))
        for row in rows
        for ranks, values in [(kappas.value(*row[:2]), kappas.value(*row[:2], "values"))]
    ]
    moved = sum(move > _MOVED for *_, move in moves)
    most = sorted((entry for entry in moves if entry[-1] > 0), key=lambda entry: -entry[-1])[:3]
    return FigureTable(
        "Weights on ranks or on values",
        ["dimension", "pair", "on ranks", "on values", "difference"],
        [[row.dimension[1], "-".join(row.pair), *(f"{value:.3f}" for value in values)] for row, *values in most],
        [f"{moved} of {len(rows)} kappas move by more than {_MOVED} when the weights follow the values of the scale."],
    )


def _median(kappas: _Kappas, dimensions: Sequence[_Dimension]) -> FigureTable:
    """Does the LLM agree with the experts better than they do with each other? It depends on the comparison."""
    flips: list[list[str]] = []
    closer: list[float] = []
    for dimension in dimensions:
        among = kappas.mean(dimension, _AMONG_EXPERTS)
        with_median = kappas.value(dimension, (_MEDIAN, "llm"))
        with_each = kappas.mean(dimension, [(expert, "llm") for expert in EXPERTS])
        if np.isnan(among + with_median + with_each):
            continue
        closer.append(with_median - with_each)
        shown = [f"{value:.2f}" for value in (among, with_median, with_each)]
        # At the two digits that are printed: what a reader of the table would conclude.
        if (float(shown[1]) > float(shown[0])) != (float(shown[2]) > float(shown[0])):
            flips.append([dimension[1], *shown])
    return FigureTable(
        "Compared with the median of the experts, or with each of them as they are compared with each other",
        ["dimension", "expert-expert", "LLM-median", "LLM-each expert"],
        flips,
        [
            f"Against the median kappa is {np.mean(closer or [0.0]):.2f} higher on average: a median is steadier than "
            f"one person. In {len(flips)} of {len(dimensions)} dimensions (above) the LLM then looks better than "
            "the experts among themselves; like with like it does not. Only the last column may be compared with the "
            "first.",
        ],
    )
