"""Worked examples from the literature, as tables of units by raters or of counts."""

import numpy as np
from numpy.typing import ArrayLike

from attunement.statistics.tables import Floats


def _units_by_raters(*raters: str) -> Floats:
    """Each rater's answers in the order of the units, a dot where there is none."""
    return np.array([[np.nan if answer == "." else float(answer) for answer in row.split()] for row in raters]).T


# Krippendorff (2011), section C: four coders, twelve units.
KRIPPENDORFF_2011 = _units_by_raters(
    "1 2 3 3 2 1 4 1 2 . . .",
    "1 2 3 3 2 2 4 1 2 5 . 3",
    ". 3 3 3 2 3 4 2 2 5 1 .",
    "1 2 3 3 2 4 4 1 2 5 1 .",
)
# Three coders, fifteen units, among them one without any and several with one rating.
KRIPPENDORFF_SPARSE = _units_by_raters(
    ". . . . . 3 4 1 2 1 1 3 3 . 3",
    "1 . 2 1 3 3 4 3 . . . . . . .",
    ". . 2 1 3 4 4 . 2 1 1 3 3 . 4",
)
# Shrout and Fleiss (1979), table 2: six persons rated by four judges.
SHROUT_FLEISS_1979 = np.array(
    [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], dtype=np.float64
)
# Cohen (1960).
COHEN_1960 = [[88, 10, 2], [14, 40, 6], [18, 10, 12]]
# Gwet's example of two raters and a hundred units.
GWET_TWO_RATERS = [[13, 0, 0], [0, 20, 7], [0, 4, 56]]
# Fleiss (1971) as reproduced in many textbooks: ten units, fourteen raters, five categories.
FLEISS_COUNTS = [
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]


def pairs_of(table: ArrayLike) -> Floats:
    """The two ratings of each unit that a square table counts."""
    counts = np.asarray(table)
    return np.repeat(np.argwhere(counts >= 0), counts.reshape(-1), axis=0).astype(np.float64)


# Dawid and Skene (1979), table 1: 45 patients, five anaesthetists of whom the first looked three times. One word a
# patient: the first observer's three answers, then one each of the others.
DAWID_SKENE_1979 = """
    1111111 3334334 1122122 2223121 2223222 2223322 1222111 3333433 2222223 2322223 4444444 2223343 1111111 2223212
    1211111 1112111 1111111 1111111 2222221 2221322 2222222 2222221 2223222 2212222 1111111 1111111 2322222 1111111
    1111111 1121121 1111111 3333233 1111111 2222222 2223232 4334343 2212232 2323233 3333432 1111111 1111111 1212111
    2322222 1211111 2222222
"""
