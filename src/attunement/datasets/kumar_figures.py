"""Kumar et al. (2025): the 126 published kappas again, and what they would have been counted otherwise.

They took numbers times a hundred, quadratic weights on the ranks of the values that occur, and for the p-value the
standard error of kappa itself. Two of these choices matter: weights on values instead of ranks, and whether a judge is
held against the median of the experts, which is steadier than any one of them, or against each, as they are.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from attunement.agreement.alpha import Alpha, alpha
from attunement.agreement.kappa import Kappa, Spacing, kappa
from attunement.agreement.results import Undefined
from attunement.agreement.tables import Floats
from attunement.datasets.folder import Row, number
from attunement.datasets.model import Count, Figures, Table
from attunement.errors import InputError

Ratings = Mapping[tuple[str, str], Sequence[float]]
"""By rater and dimension: one number a conversation, in the same order for all."""

EXPERTS = ("expert1", "expert2", "expert3")
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
            if (EXPERTS[0], row["Dimension"]) not in ratings.get(row["Dataset"], {}):
                raise InputError(f"{row.place}: {row['Dimension']} of {row['Dataset']} is not among the ratings")

    def of(self, where: tuple[str, str], rater: str) -> Floats:
        if rater == _MEDIAN:
            return np.median([self.of(where, expert) for expert in EXPERTS], axis=0)
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


def figures(ratings: Mapping[str, Ratings], published: Sequence[Row]) -> Figures:
    """All figures of the paper that rest on kappa, beside ours.

    Raises:
        InputError: The table of published figures names what was not rated, or a pair that is not known.
    """
    cells = _Cells(ratings, published)
    rows = [_Published(row, cells) for row in published]
    return Figures(
        tables=[_beside(rows, cells), _alphas(cells), _weights(rows, cells), _median(cells)],
        details=[_each(rows)],
        counts=[
            Count("p-values as published", sum(row.same_p for row in rows), len(rows)),
            Count("kappas as published", sum(row.same_kappa for row in rows), len(rows)),
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


def _beside(rows: Sequence[_Published], cells: _Cells) -> Table:
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
    return Table(
        "Quadratic kappa on ranks: ours, then the published figure",
        ["dimension", "med-LLM", "med-crd", "LLM-crd", "e1-e2", "e2-e3", "e3-e1"],
        [*body, medians],
        ["med: the median of the experts; e1 to e3: each expert; crd: the crowd; LLM: Gemini 2.5 Pro, as published."],
    )


def _short(figure: str) -> str:
    return figure.replace("0.", ".", 1) if figure.startswith(("0.", "-0.")) else figure


def _each(rows: Sequence[_Published]) -> Table:
    return Table(
        "Each published kappa and p-value",
        ["set", "dimension", "pair", "kappa", "published", "p", "published"],
        [[*row.where, "-".join(row.pair), row.our_kappa, row.kappa, row.our_p, row.p] for row in rows],
        ["p divides kappa by its standard error, as the paper did; a test of no agreement takes another variance."],
    )


def _alphas(cells: _Cells) -> Table:
    levels = ("interval", "ordinal")
    body: list[list[str]] = []
    for level in levels:
        values: list[float] = []
        for where in cells.dimensions:
            result = alpha(np.column_stack([cells.of(where, expert) for expert in EXPERTS]), level)
            if isinstance(result, Alpha):
                values.append(result.value)
        figures = (np.mean(values), min(values), max(values)) if values else (np.nan,) * 3
        body.append([f"{level} alpha", f"{len(values)}", *(f"{figure:.3f}" for figure in figures)])
    return Table(
        "The three experts with each other",
        ["", "dimensions", "mean", "lowest", "highest"],
        body,
        ["The mean over dimensions hides how far they lie apart; `attune agree` gives each with its interval."],
    )


def _weights(rows: Sequence[_Published], cells: _Cells) -> Table:
    moves = [(abs(cells.value(row.where, row.pair) - cells.value(row.where, row.pair, "values")), row) for row in rows]
    moved = sum(move > _MOVED for move, _ in moves)
    most = sorted((entry for entry in moves if entry[0] > 0), key=lambda entry: -entry[0])[:3]
    return Table(
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


def _median(cells: _Cells) -> Table:
    """Where the LLM seems to agree with the experts better than they do with each other, or not, and why."""
    flips: list[list[str]] = []
    closer: list[float] = []
    for where in cells.dimensions:
        among = cells.mean(where, AMONG_EXPERTS)
        with_median = cells.value(where, (_MEDIAN, "llm"))
        with_each = cells.mean(where, [(expert, "llm") for expert in EXPERTS])
        if np.isnan(among + with_median + with_each):
            continue
        closer.append(with_median - with_each)
        shown = [f"{value:.2f}" for value in (among, with_median, with_each)]
        # At the two digits that are printed: what a reader of the table would conclude.
        if (float(shown[1]) > float(shown[0])) != (float(shown[2]) > float(shown[0])):
            flips.append([where[1], *shown])
    return Table(
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
