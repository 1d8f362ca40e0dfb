"""Kumar et al. (2025): 200 supportive conversations rated by experts, a crowd and LLMs, with the 126 published kappas.

Each set has its own dimensions and its own scale, so each becomes a part with an instrument of its own. What the crowd
said is loaded where single whole answers are in the folder; averages are no answers on a scale, and are only used for
the published figures.

They took numbers times a hundred, quadratic weights on the ranks of the values that occur, and for the p-value the
standard error of kappa itself. Two of these choices matter: weights on values instead of ranks, and whether a judge is
held against the median of the experts, which is steadier than any one of them, or against each, as they are.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from attunement.conversations import Conversation, Identity, Origin
from attunement.conversations.messages import Side, weave
from attunement.datasets import base
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
    by_key,
    number,
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

Ratings = Mapping[tuple[str, str], Sequence[float]]
"""By rater and dimension: one number a conversation, in the same order for all."""

EXPERT_PAIRS = ("expert1", "expert2", "expert3")
AMONG_EXPERTS = (("expert1", "expert2"), ("expert2", "expert3"), ("expert3", "expert1"))
PAIRS = (("experts", "llm"), ("experts", "crowd"), ("llm", "crowd"), *AMONG_EXPERTS)
_MEDIAN = "experts"
_MOVED = 0.005
"""Half of the last printed digit: what moves by more is printed differently."""


class _Cells:
    """The kappas of all pairs, each computed once."""

    def __init__(self, ratings: Mapping[str, Ratings], published: Sequence[Row]) -> None:
        self._ratings = ratings
        self._kept: dict[tuple[str, str, tuple[str, str], Spacing], Kappa | Undefined] = {}
        self.dimensions = list(dict.fromkeys((row["Dataset"], row["Dimension"]) for row in published))
        for row in published:
            if (EXPERT_PAIRS[0], row["Dimension"]) not in ratings.get(row["Dataset"], {}):
                raise InputError(f"{row.place}: {row['Dimension']} of {row['Dataset']} is not among the ratings")

    def of(self, where: tuple[str, str], rater: str) -> Floats:
        if rater == _MEDIAN:
            return np.median([self.of(where, expert) for expert in EXPERT_PAIRS], axis=0)
        return np.asarray(self._ratings[where[0]][rater, where[1]])

    def kappa(self, where: tuple[str, str], pair: tuple[str, str], spacing: Spacing = "ranks") -> Kappa | Undefined:
        key = (*where, pair, spacing)
        if key not in self._kept:
            first, second = (np.round(self.of(where, rater) * 100) for rater in pair)
            self._kept[key] = kappa(first, second, "quadratic", spacing)
        return self._kept[key]

    def value(self, where: tuple[str, str], pair: tuple[str, str], spacing: Spacing = "ranks") -> float:
        """Kappa as a number; NaN where it is undefined, as where both raters always said the same."""
        result = self.kappa(where, pair, spacing)
        return result.value if isinstance(result, Kappa) else np.nan

    def mean(self, where: tuple[str, str], pairs: Sequence[tuple[str, str]]) -> float:
        return float(np.mean([self.value(where, pair) for pair in pairs]))


def figures(ratings: Mapping[str, Ratings], published: Sequence[Row]) -> PublishedFigures:
    """All figures of the paper that rest on kappa, beside ours.

    Raises:
        InputError: The table of published figures names what was not rated, or a pair that is not known.
    """
    cells = _Cells(ratings, published)
    rows = [_Published(row, cells) for row in published]
    return PublishedFigures(
        tables=[_beside(rows, cells), _alphas(cells), _weights(rows, cells), _median(cells)],
        details=[_each(rows)],
        counts=[
            MatchCount("p-values as published", sum(row.same_p for row in rows), len(rows)),
            MatchCount("kappas as published", sum(row.same_kappa for row in rows), len(rows)),
        ],
    )


class _Published:
    """A row of the published table, with the same figure of ours."""

    def __init__(self, row: Row, cells: _Cells) -> None:
        names = [part.strip(" ()'") for part in row["Annotator Pair"].split(",")]
        self.where, self.pair = (row["Dataset"], row["Dimension"]), (names[0], names[-1])
        if self.pair not in PAIRS:
            raise InputError(f"{row.place}: {row['Annotator Pair']!r} is no pair of raters that is known")
        ours = cells.kappa(self.where, self.pair)
        number(row, "Weighted Cohen's Kappa")
        self.kappa, self.p = row["Weighted Cohen's Kappa"], row["Kappa P-value"]
        p = ours.p_from_se if isinstance(ours, Kappa) else ours
        self.our_kappa = f"{ours.value:.2f}" if isinstance(ours, Kappa) else "none"
        self.our_p = f"{p:.3f}" if isinstance(p, float) else "none"

    @property
    def same_kappa(self) -> bool:
        return self.our_kappa == self.kappa

    @property
    def same_p(self) -> bool:
        return self.our_p == self.p


def _beside(rows: Sequence[_Published], cells: _Cells) -> FigureTable:
    found = {(*row.where, row.pair): f"{_short(row.our_kappa)} {_short(row.kappa)}" for row in rows}
    body = [
        [dimension, *(found.get((name, dimension, pair), "") for pair in PAIRS)]
        for name in dict.fromkeys(name for name, _ in cells.dimensions)
        for of, dimension in cells.dimensions
        if of == name
    ]
    medians = ["median"]
    for pair in PAIRS:
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


def _each(rows: Sequence[_Published]) -> FigureTable:
    return FigureTable(
        "Each published kappa and p-value",
        ["set", "dimension", "pair", "kappa", "published", "p", "published"],
        [[*row.where, "-".join(row.pair), row.our_kappa, row.kappa, row.our_p, row.p] for row in rows],
        ["p divides kappa by its standard error, as the paper did; a test of no agreement takes another variance."],
    )


def _alphas(cells: _Cells) -> FigureTable:
    levels = ("interval", "ordinal")
    body: list[list[str]] = []
    for level in levels:
        values: list[float] = []
        for where in cells.dimensions:
            result = alpha(np.column_stack([cells.of(where, expert) for expert in EXPERT_PAIRS]), level)
            if isinstance(result, Alpha):
                values.append(result.value)
        figures = (np.mean(values), min(values), max(values)) if values else (np.nan,) * 3
        body.append([f"{level} alpha", f"{len(values)}", *(f"{figure:.3f}" for figure in figures)])
    return FigureTable(
        "The three experts with each other",
        ["", "dimensions", "mean", "lowest", "highest"],
        body,
        ["The mean over dimensions hides how far they lie apart; `attune agree` gives each with its interval."],
    )


def _weights(rows: Sequence[_Published], cells: _Cells) -> FigureTable:
    moves = [(abs(cells.value(row.where, row.pair) - cells.value(row.where, row.pair, "values")), row) for row in rows]
    moved = sum(move > _MOVED for move, _ in moves)
    most = sorted((entry for entry in moves if entry[0] > 0), key=lambda entry: -entry[0])[:3]
    return FigureTable(
        "Weights on ranks or on values",
        ["dimension", "pair", "on ranks", "on values", "difference"],
        [
            [
                row.where[1],
                "-".join(row.pair),
                f"{cells.value(row.where, row.pair):.3f}",
                f"{cells.value(row.where, row.pair, 'values'):.3f}",
                f"{move:.3f}",
            ]
            for move, row in most
        ],
        [f"{moved} of {len(rows)} kappas move by more than {_MOVED} when the weights follow the values of the scale."],
    )


def _median(cells: _Cells) -> FigureTable:
    """Where the LLM seems to agree with the experts better than they do with each other, or not, and why."""
    flips: list[list[str]] = []
    closer: list[float] = []
    for where in cells.dimensions:
        among = cells.mean(where, AMONG_EXPERTS)
        with_median = cells.value(where, (_MEDIAN, "llm"))
        with_each = cells.mean(where, [(expert, "llm") for expert in EXPERT_PAIRS])
        if np.isnan(among + with_median + with_each):
            continue
        closer.append(with_median - with_each)
        shown = [f"{value:.2f}" for value in (among, with_median, with_each)]
        # At the two digits that are printed: what a reader of the table would conclude.
        if (float(shown[1]) > float(shown[0])) != (float(shown[2]) > float(shown[0])):
            flips.append([where[1], *shown])
    return FigureTable(
        "Held against the median of the experts, or against each of them as they are held against each other",
        ["dimension", "expert-expert", "LLM-median", "LLM-each expert"],
        flips,
        [
            f"Against the median kappa is {np.mean(closer or [0.0]):.2f} higher on average: a median is steadier than "
            f"one person. In {len(flips)} of {len(cells.dimensions)} dimensions (above) the LLM then looks better than "
            "the experts among themselves; like with like it does not. Only the last column may be set beside the "
            "first.",
        ],
    )


SOURCE = (
    "Kumar et al. (2025), github.com/aakriti1kumar/replication-data-and-code-when-LLMs-reliable-empathic-communication"
)
EXPERTS = ("expert1", "expert2", "expert3")
MODELS = {"gemini": "gemini-2.5-pro", "gpt": "gpt-4o", "claude": "claude-3.7-sonnet"}
CROWD = "crowd"
_HINT = "it should be a clone of Kumar et al. with the folders annotations and original_data"


class _Set(NamedTuple):
    """One of the four sets: where it lies, what identifies a conversation, what was asked."""

    name: str  # as in the table of published figures
    system: str
    folder: str
    keys: tuple[str, ...]
    lowest: int
    levels: Sequence[str]
    items: Mapping[str, tuple[str, str]]


_SETS = (
    _Set(
        "Empathetic Dialogues",
        "empathetic_dialogues",
        "empatheticdialogues",
        ("conv_id",),
        1,
        base.EXTENT,
        {
            "empathy": (
                "Understands and shares the feelings",
                "How much do the replies take up what the person feels?",
            ),
            "relevance": ("Stays with what was said", "How well do the replies fit what the person talks about?"),
            "fluency": ("Reads easily", "How easy to understand and how natural is the language of the replies?"),
        },
    ),
    _Set(
        "EPITOME",
        "epitome",
        "epitome",
        ("sp_id",),
        0,
        base.PRESENCE,
        {
            "level_emotional_reactions": (
                "Shows warmth or concern",
                "How strongly does the reply show an emotion of its own, such as warmth, compassion or concern?",
            ),
            "level_interpretations": (
                "Says what it has understood",
                "How strongly does the reply put into words what the person feels or has gone through?",
            ),
            "level_explorations": (
                "Asks further",
                "How strongly does the reply try to learn more about what the person feels or has gone through?",
            ),
        },
    ),
    _Set(
        "Lend an Ear",
        "lend_an_ear",
        "lend_an_ear",
        ("conversation_id",),
        1,
        base.EXTENT,
        {
            "validating_emotions": (
                "Treats the feelings as understandable",
                "How much do the replies tell the person that what they feel makes sense?",
            ),
            "encouraging_elaboration": (
                "Invites the person to say more",
                "How much do the replies invite the person to tell more?",
            ),
            "demonstrating_understanding": (
                "Shows that it has understood",
                "How much do the replies play back what the person said so that the understanding shows?",
            ),
            "advice_giving": ("Gives advice", "How much do the replies tell the person what to do?"),
            "self_oriented": ("Talks about itself", "How much do the replies turn to the speaker's own life?"),
            "dismissing_emotions": ("Brushes feelings aside", "How much do the replies play the feelings down?"),
        },
    ),
    _Set(
        "Perceived Empathy",
        "perceived_empathy",
        "perceived_empathy",
        ("id",),
        1,
        base.AGREEMENT,
        {
            f"m_{word}": (title, f"How far would the person say of the reply: {statement}?")
            for word, title, statement in (
                ("understood", "Made me feel understood", "it understood me"),
                ("validated", "Made me feel validated", "it treated my feelings as valid"),
                ("affirmed", "Made me feel affirmed", "it took my side"),
                ("seen", "Made me feel seen", "it saw me as I am"),
                ("accepted", "Made me feel accepted", "it accepted me"),
                ("caredfor", "Made me feel cared for", "it cared about me"),
                ("emotional", "Shared the emotion", "it felt with me"),
                ("practical", "Was of practical help", "it gave me something practical to go on"),
                ("motivation", "Was meant to help", "it wanted to help me"),
            )
        },
    ),
)


def read(folder: Path) -> LoadedDataset:
    """Read a clone of the repository, or a copy of its folders `annotations` and `original_data`.

    Raises:
        InputError: A file or a column is missing, or a conversation is rated in one file and not in another.
    """
    require_folder(folder, _HINT)
    require_folder(folder / "annotations", _HINT)
    parts: list[Part] = []
    ratings: dict[str, Ratings] = {}
    raters = [DatasetRater(expert, RaterKind.PERSON, _known("expert")) for expert in EXPERTS]
    raters += [DatasetRater(name, RaterKind.MODEL, {"imported_from": "kumar2025"}) for name in MODELS.values()]
    averages = 0
    for chosen in _SETS:
        instrument = base.scores(
            f"kumar2025-{chosen.system.replace('_', '-')}",
            f"{chosen.name} (Kumar et al. 2025)",
            chosen.items,
            chosen.levels,
            lowest=chosen.lowest,
            source=SOURCE,
        )
        given = _given(folder, chosen)
        conversations = _CONVERSATIONS[chosen.system](folder, chosen, given["expert1"])
        answers = [
            _answer(row, item, _name(file), Identity(chosen.system, key[0]), instrument)
            for file, rows in given.items()
            if file != CROWD
            for key, row in rows.items()
            for item in chosen.items
        ]
        people, crowd = _crowd(folder, chosen, given[CROWD], instrument)
        averages += sum(len(rows) * len(chosen.items) for rows in [given[CROWD]] if not crowd)
        raters += [who for who in people if who.name not in {known.name for known in raters}]
        parts.append(Part(chosen.name, instrument, conversations, [*answers, *crowd]))
        ratings[chosen.name] = _ratings(given, chosen)
    published = read_table(
        folder / "annotations" / "table_kappa.csv",
        ["Dataset", "Dimension", "Annotator Pair", "Weighted Cohen's Kappa", "Kappa P-value"],
        "the published kappas stand in it",
    )
    notes = [
        "Perceived Empathy has no text in this folder: its ratings are loaded, and no judge can be asked about it.",
        f"{averages:,} averages over the crowd are no answers on the scale: they are not loaded as ratings, and only "
        "enter the published figures. Raters called crowd are single people, or one released label (EPITOME).",
    ]
    return LoadedDataset(parts, raters, notes, lambda: figures(ratings, published), people="expert")


def _known(role: str, **more: str) -> dict[str, str]:
    return {"imported_from": "kumar2025", "role": role, **more}


def _name(file: str) -> str:
    return MODELS.get(file, file)


def _given(folder: Path, chosen: _Set) -> dict[str, dict[tuple[str, ...], Row]]:
    """By the name of the file without its end: each conversation's row. All files must have the same conversations."""
    place = folder / "annotations" / chosen.folder
    found: dict[str, dict[tuple[str, ...], Row]] = {}
    for file in (*EXPERTS, *MODELS, CROWD):
        path = place / f"{file}_ratings.csv"
        found[file] = by_key(read_table(path, [*chosen.keys, *chosen.items], f"ratings of {chosen.name}"), chosen.keys)
        if strangers := found[file].keys() ^ found["expert1"].keys():
            raise InputError(f"{path} does not have the same conversations as expert1_ratings.csv: {min(strangers)[0]}")
    return found


def _ratings(given: Mapping[str, Mapping[tuple[str, ...], Row]], chosen: _Set) -> Ratings:
    """Every rater's numbers for each dimension, the conversations in one order, as the published figures need them."""
    units = list(given["expert1"])
    return {
        (_FIGURE_NAMES.get(file, file), item): [number(rows[unit], item) for unit in units]
        for file, rows in given.items()
        for item in chosen.items
    }


_FIGURE_NAMES = {"gemini": "llm"}
"""In the table of published figures `llm` is Gemini alone."""


def _answer(row: Row, item: str, rater: str, conversation: Identity, instrument: Instrument) -> DatasetAnswer:
    outcome, detail = base.on_scale(row[item], instrument)
    return DatasetAnswer(conversation, item, rater, outcome, detail=detail)


def _crowd(
    folder: Path, chosen: _Set, released: Mapping[tuple[str, ...], Row], instrument: Instrument
) -> tuple[list[DatasetRater], list[DatasetAnswer]]:
    """What single people of the crowd said, where the folder has it."""
    original = folder / "original_data"
    match chosen.system:
        case "lend_an_ear":
            path = original / "sample_lend_an_ear_annotations.csv"
            rows = read_table(
                path, ["user_id", "conversation_id", *chosen.items], "what the crowd said about Lend an Ear"
            )
            names = {row["user_id"]: f"crowd {row['user_id'][:8]}" for row in rows}
            answers = [
                _answer(row, item, names[row["user_id"]], Identity(chosen.system, row["conversation_id"]), instrument)
                for row in rows
                if (row["conversation_id"],) in released
                for item in chosen.items
                if row[item]
            ]
            return [DatasetRater(name, RaterKind.PERSON, _known("crowd")) for name in names.values()], answers
        case "empathetic_dialogues":
            rows = _first_rows(folder, chosen, [f"{item}{side}" for item in chosen.items for side in (1, 2)])
            answers = [
                DatasetAnswer(
                    Identity(chosen.system, row["conv_id"]),
                    item,
                    f"crowd, side {side}",
                    base.on_scale(row[f"{item}{side}"], instrument)[0],
                )
                for row in rows.values()
                for item in chosen.items
                for side in (1, 2)
            ]
            note = "one of the two who talked, another person in each conversation"
            return [
                DatasetRater(f"crowd, side {side}", RaterKind.PERSON, _known("crowd", note=note)) for side in (1, 2)
            ], answers
        case "epitome":
            answers = [
                _answer(row, item, "crowd, one label", Identity(chosen.system, key[0]), instrument)
                for key, row in released.items()
                for item in chosen.items
            ]
            note = "the one label that was released; who gave it is not told"
            return [DatasetRater("crowd, one label", RaterKind.PERSON, _known("crowd", note=note))], answers
        case _:
            return [], []


def _first_rows(folder: Path, chosen: _Set, more: Sequence[str] = ()) -> dict[str, Row]:
    """For Empathetic Dialogues, where each utterance has a row: the first one of each conversation."""
    path = folder / "original_data" / "sample_empatheticdialogues.csv"
    found: dict[str, Row] = {}
    for row in read_table(path, ["conv_id", "context", "full_conversation", *more], f"the text of {chosen.name}"):
        found.setdefault(row["conv_id"], row)
    return found


_SPEAKER = re.compile(r"^\s*(Seeker|Supporter):", re.MULTILINE)


def _conversation(chosen: _Set, id: str, text: str, row: Row, **metadata: str) -> Conversation:
    """The talk in a text whose messages begin with who speaks. A last message without a reply is left out."""
    pieces = _SPEAKER.split(text.replace("_comma_", ","))
    if pieces[0].strip() or len(pieces) < 3:
        raise InputError(f"{row.place}: full_conversation does not begin with 'Seeker:' or 'Supporter:'")
    sides = {"Seeker": Side.USER, "Supporter": Side.ASSISTANT}
    said = [(sides[who], words.strip()) for who, words in zip(pieces[1::2], pieces[2::2], strict=True)]
    return Conversation(id=id, system=chosen.system, turns=weave(said).turns, metadata=metadata)


def _empathetic_dialogues(folder: Path, chosen: _Set, rated: Mapping[tuple[str, ...], Row]) -> list[Conversation]:
    rows = _first_rows(folder, chosen)
    found = {
        id: _conversation(chosen, id, row["full_conversation"], row, emotion=row["context"]) for id, row in rows.items()
    }
    return _those_rated(found, rated)


def _epitome(folder: Path, chosen: _Set, rated: Mapping[tuple[str, ...], Row]) -> list[Conversation]:
    path = folder / "original_data" / "sample_epitome.csv"
    rows = read_table(path, ["sp_id", "seeker_post", "response_post"], "the text of EPITOME")
    found = {
        row["sp_id"]: Conversation(
            id=row["sp_id"],
            system=chosen.system,
            turns=weave([(Side.USER, row["seeker_post"]), (Side.ASSISTANT, row["response_post"])]).turns,
            origin=Origin.REAL,
        )
        for row in rows
    }
    return _those_rated(found, rated)


def _lend_an_ear(folder: Path, chosen: _Set, rated: Mapping[tuple[str, ...], Row]) -> list[Conversation]:
    path = folder / "original_data" / "sample_lend_an_ear_conversations.csv"
    rows = read_table(path, ["conversation_id", "full_conversation"], "the text of Lend an Ear")
    found = {
        row["conversation_id"]: _conversation(chosen, row["conversation_id"], row["full_conversation"], row)
        for row in rows
    }
    return _those_rated(found, rated)


def _perceived_empathy(_: Path, chosen: _Set, rated: Mapping[tuple[str, ...], Row]) -> list[Conversation]:
    return [Conversation(id=id, system=chosen.system, turns=NO_TEXT) for (id,) in rated]


def _those_rated(found: Mapping[str, Conversation], rated: Mapping[tuple[str, ...], Row]) -> list[Conversation]:
    if missing := [(id, row) for (id, *_), row in rated.items() if id not in found]:
        raise InputError(f"{missing[0][1].place}: {missing[0][0]} was rated, but its text is not in original_data")
    return [found[id] for (id, *_) in rated]


_CONVERSATIONS: Mapping[str, Callable[[Path, _Set, Mapping[tuple[str, ...], Row]], list[Conversation]]] = {
    "empathetic_dialogues": _empathetic_dialogues,
    "epitome": _epitome,
    "lend_an_ear": _lend_an_ear,
    "perceived_empathy": _perceived_empathy,
}
