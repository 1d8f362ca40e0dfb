"""Tables of ratings as raters give them: a short scale, some units rated by nobody or by one."""

import numpy as np
from hypothesis import strategies as st

from attunement.statistics.tables import Floats


@st.composite
def tables(draw: st.DrawFn, raters: tuple[int, int] = (2, 5), missing: bool = True) -> Floats:
    """A table of up to twelve units on a scale of five."""
    columns = draw(st.integers(*raters))
    answer = st.integers(1, 5).map(float)
    cell = st.one_of(answer, answer, answer, st.just(np.nan)) if missing else answer
    rows = st.lists(st.lists(cell, min_size=columns, max_size=columns), min_size=1, max_size=12)
    return np.array(draw(rows))
