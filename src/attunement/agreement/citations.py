"""Do the words that a judge quotes really stand in the conversations it judged?"""

from collections import Counter
from typing import NamedTuple

from sqlalchemy import select

from attunement.evidence import Standing
from attunement.instruments import Instrument
from attunement.ratings import RaterKind, Round
from attunement.study import Study
from attunement.study.encoding import from_json
from attunement.study.tables import raters, ratings

_THERE = {Standing.FOUND, Standing.UNCITED}
_QUOTED = {*_THERE, Standing.ELSEWHERE, Standing.CLOSE, Standing.NOT_FOUND, Standing.NO_SUCH_TURN}


class Citations(NamedTuple):
    """How many of a judge's quotations were looked up, and how many stand where it says."""

    found: int
    quoted: int


def citations(study: Study, instrument: Instrument) -> dict[tuple[str, str], Citations]:
    """The quotations of each judge on each item, by the judge's name and the item's id."""
    table = ratings.c
    query = (
        select(raters.c.name, table.item, table.evidence)
        .where(table.rater == raters.c.key, raters.c.kind == RaterKind.MODEL, table.round == Round.MAIN)
        .where(table.item_hash.in_(list(instrument.item_hashes.values())), table.evidence != "[]")
    )
    found: Counter[tuple[str, str]] = Counter()
    quoted: Counter[tuple[str, str]] = Counter()
    with study.reading() as connection, connection.execution_options(yield_per=1000).execute(query) as rows:
        for name, item, evidence in rows:
            standings = [finding["standing"] for finding in from_json(evidence)]
            found[name, item] += sum(standing in _THERE for standing in standings)
            quoted[name, item] += sum(standing in _QUOTED for standing in standings)
    return {key: Citations(found[key], number) for key, number in quoted.items()}
