r"""The tables of a paper in LaTeX: scores by system with intervals, and the agreement of people and judges.

They need the packages `booktabs` and, for names in other scripts, XeLaTeX or LuaLaTeX. A table holds four systems at
most, so that it fits a page; more systems make more tables.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from attunement.agreement.summary import Agreement
from attunement.instruments import Instrument
from attunement.reports.agreement import COLUMNS, table_rows
from attunement.reports.digest import Digest
from attunement.reports.legible import in_a_line
from attunement.reports.scores import SystemScores, estimate_words, measures
from attunement.version import __version__

_ACROSS = 4
_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "−": r"$-$",
    "–": "--",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    # Two of these in a row would be drawn as other signs.
    "-": "{-}",
    "`": r"\textasciigrave{}",
    "'": r"\textquotesingle{}",
}
_SIGNS = re.compile("|".join(map(re.escape, _SPECIAL)))


def latex(text: str, longest: int = 200) -> str:
    """Anybody's text on one line, without a meaning in LaTeX."""
    return _SIGNS.sub(lambda sign: _SPECIAL[sign[0]], in_a_line(text, longest))


def latex_tables(found: Digest) -> str:
    """All tables, each with a caption that says what it rests on."""
    made = [f"% Attunement {__version__}, {found.report.made}. Needs \\usepackage{{booktabs,textcomp}}."]
    made += _scores(found)
    if found.agreement is not None and any(entry.units for entry in found.agreement.items):
        made.append(_agreement(found.agreement, found))
    return "\n\n".join(made) + "\n"


def _scores(found: Digest) -> Iterator[str]:
    top, instrument = found.report.top, found.instrument
    if not top.verdict:
        yield "% Nothing was judged, so there is no table of scores."
        return
    parts = [found.scores[start : start + _ACROSS] for start in range(0, len(found.scores), _ACROSS)]
    for number, systems in enumerate(parts, 1):
        which = f" (part {number} of {len(parts)})" if len(parts) > 1 else ""
        caption = (
            f"Scores by system on {instrument.id} {instrument.version} (version mark {instrument.hash[:8]}), according "
            f"to {top.judges}{which}. In parentheses: 95 % intervals, exact for shares of conversations and "
            f"cluster-robust for means; none below ten conversations. {top.checked.sentence}"
        )
        label = f"tab:scores-{number}" if len(parts) > 1 else "tab:scores"
        yield _table(caption, label, f"l{'r' * len(systems)}", _score_rows(instrument, systems))


def _score_rows(instrument: Instrument, systems: Sequence[SystemScores]) -> Iterator[Sequence[str]]:
    alarm = "Unsafe" if instrument.scoring.threshold is not None else "Flagged"
    yield ["", *(one.name for one in systems)]
    yield ["Conversations", *(f"{one.conversations:,}" for one in systems)]
    yield ["Judged", *(f"{one.judged:,}" for one in systems)]
    yield [alarm, *(f"{one.unsafe:,}" for one in systems)]
    yield ["Safety not judged", *(f"{one.safety_not_judged:,}" for one in systems)]
    for measure in measures(instrument):
        cells = [estimate_words(measure, one.estimates.get(measure.id), between=", ") for one in systems]
        yield [measure.title, *cells]


def _agreement(agreement: Agreement, found: Digest) -> str:
    instrument = found.instrument
    shown = [(0, "l"), (1, "r"), (3, "r"), (4, "r"), (5, "l"), (6, "l")]
    rows: list[list[str]] = [[COLUMNS[number] for number, _ in shown]]
    for row in table_rows(agreement):
        every = [
            f"{'– ' * row.below}{found.hiding.text(row.name)}", row.conversations, row.answers, "; ".join(row.people),
            "; ".join(row.judge), row.missed, row.verdict.words,
        ]  # fmt: skip
        rows.append([every[number] for number, _ in shown])
    caption = (
        f"Agreement of people and judges on {instrument.id} {instrument.version}. People with people: Krippendorff's "
        "alpha; judge with people: kappa with single raters; with 95 % intervals by bootstrap over conversations."
    )
    return _table(caption, "tab:agreement", "".join(place for _, place in shown), rows)


def _table(caption: str, label: str, columns: str, rows: Iterable[Sequence[str]]) -> str:
    head, *body = (" & ".join(map(latex, row)) + r" \\" for row in rows)
    lines = [r"\begin{table}", r"\centering", r"\small", f"\\caption{{{latex(caption, 2000)}}}", f"\\label{{{label}}}"]
    lines += [f"\\begin{{tabular}}{{{columns}}}", r"\toprule", head, r"\midrule", *body]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}"])
