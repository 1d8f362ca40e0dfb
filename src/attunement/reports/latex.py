r"""The tables of a paper in LaTeX: scores by system with intervals, and the agreement of people and judges.

They need the packages `array` and `booktabs`, the font encoding T1, and for names in other scripts XeLaTeX or LuaLaTeX.
Columns are parts of the line, and a table holds three systems at most, so that it fits a page; more systems make more
tables. Items have a table of their own, because their titles take several lines.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from attunement.analysis.summary import Agreement
from attunement.reports.agreement import COLUMNS, table_rows
from attunement.reports.sanitize import in_a_line
from attunement.reports.study_report import Report
from attunement.reports.summary import PASSED, SCORE, Measure, SystemScores, estimate_words, measures
from attunement.version import __version__

_ACROSS = 3
_ROOM = 0.88  # the part of a line that columns may take together; the rest is the space between them
_MOST_ROWS = 16  # rows of agreement after which an item begins a new table; each takes up to four lines
_FIGURES = 0.18  # the part of a line that a mean with its interval takes
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
    "–": r"\textendash{}",
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
    return _SIGNS.sub(lambda sign: _SPECIAL[sign[0]], in_a_line(text, longest))


def latex_tables(found: Report) -> str:
    made = [
        f"% Attunement {__version__}, {found.made}. "
        r"Needs \usepackage[T1]{fontenc} and \usepackage{array,booktabs,textcomp}."
    ]
    made += _scores(found)
    if found.agreement is not None and any(entry.units for entry in found.agreement.items):
        made += _agreement(found.agreement, found)
    return "\n\n".join(made) + "\n"


def _scores(found: Report) -> Iterator[str]:
    top, instrument = found.top, found.instrument
    if not top.verdict:
        yield "% Nothing was judged, so there is no table of scores."
        return
    every = measures(instrument)
    whole = [each for each in every if each.id in {PASSED, SCORE} or each.id.startswith("category_")]
    weighted = whole if instrument.scoring.weights else []
    items = [measure for measure in every if measure not in weighted]
    alarm = "Unsafe" if instrument.scoring.threshold is not None else "Flagged"
    parts = [found.scores[start : start + _ACROSS] for start in range(0, len(found.scores), _ACROSS)]
    for number, systems in enumerate(parts, 1):
        which, mark = (f" (part {number} of {len(parts)})", f"-{number}") if len(parts) > 1 else ("", "")
        widths = [_ROOM - _FIGURES * len(systems), *(_FIGURES for _ in systems)]
        about = (
            f"by system on {instrument.id} {instrument.version} (fingerprint {instrument.hash[:8]}), according to "
            f"{top.judges}{which}. In parentheses: 95 % intervals, exact for shares of conversations and "
            f"cluster-robust for means; none below ten conversations. {top.checked.sentence}"
        )
        head = ["", *(one.name for one in systems)]
        counts = [
            head,
            ["Conversations", *(f"{one.conversations:,}" for one in systems)],
            ["Judged", *(f"{one.judged:,}" for one in systems)],
            [alarm, *(f"{one.unsafe:,}" for one in systems)],
            ["Safety not judged", *(f"{one.safety_not_judged:,}" for one in systems)],
        ]
        scores = [*counts, *_measure_rows(weighted or items, systems)]
        yield _table(f"Scores {about}", f"tab:scores{mark}", widths, scores)
        if weighted:
            yield _table(f"Items {about}", f"tab:items{mark}", widths, [head, *_measure_rows(items, systems)])


def _measure_rows(shown: Iterable[Measure], systems: Sequence[SystemScores]) -> Iterator[Sequence[str]]:
    for measure in shown:
        cells = [estimate_words(measure, one.estimates.get(measure.id), between=", ") for one in systems]
        yield [measure.title, *cells]


def _agreement(agreement: Agreement, found: Report) -> Iterator[str]:
    instrument = found.instrument
    shown = [(0, 0.11), (1, 0.15), (3, 0.14), (4, 0.18), (5, 0.13), (6, 0.17)]
    parts: list[list[list[str]]] = [[]]
    for row in table_rows(agreement):
        every = [
            f"{'– ' * row.below}{found.hiding.text(row.name)}", row.number, row.answers, "; ".join(row.people),
            "; ".join(row.judge), row.missed, row.verdict.words,
        ]  # fmt: skip
        if row.below == 0 and len(parts[-1]) >= _MOST_ROWS:
            parts.append([])
        parts[-1].append([every[number] for number, _ in shown])
    for number, rows in enumerate(parts, 1):
        which = f" (part {number} of {len(parts)})" if len(parts) > 1 else ""
        caption = (
            f"Agreement of people and judges on {instrument.id} {instrument.version}{which}. People with people: "
            "Krippendorff's alpha; judge with people: kappa with single raters; with 95 % intervals over conversations."
        )
        label = f"tab:agreement{f'-{number}' if len(parts) > 1 else ''}"
        head = [COLUMNS[number] for number, _ in shown]
        yield _table(caption, label, [width for _, width in shown], [head, *rows])


def _table(caption: str, label: str, widths: Sequence[float], rows: Iterable[Sequence[str]]) -> str:
    head, *body = (" & ".join(map(latex, row)) + r" \\" for row in rows)
    columns = "".join(f">{{\\raggedright\\arraybackslash}}p{{{width:.2f}\\linewidth}}" for width in widths)
    lines = [r"\begin{table}", r"\centering", r"\footnotesize", r"\setlength{\tabcolsep}{4pt}"]
    lines += [f"\\caption{{{latex(caption, 2000)}}}", f"\\label{{{label}}}"]
    lines += [f"\\begin{{tabular}}{{@{{}}{columns}@{{}}}}", r"\toprule", head, r"\midrule", *body]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}"])
