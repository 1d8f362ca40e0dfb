"""MentalAlign-70k: 1,000 contexts, 10 systems, 7 attributes, with the published ICCs.

The replies are not in the set, so ratings are loaded and no judge can be asked. Scores are JSON in the cells of
workbooks: plain, in code fences, once with curly quotes, a few broken by a quotation mark in the explanation, some
not at all. A score is read where its name occurs once with a number after it; nothing else is guessed.

The published intraclass correlations are of ten or fewer pairs of numbers: each system's mean score by people and by
the judge, without the judge's own model. They show whether a judge ranks systems as people do. Whether it rates a
single reply as they do is another question with another answer; both are in one row here.
"""

import json
import re
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from attunement.conversations import Conversation, Identity
from attunement.datasets.base import (
    NO_TEXT,
    DatasetAnswer,
    DatasetRater,
    FigureTable,
    LoadedDataset,
    MatchCount,
    Part,
    PublishedFigures,
    build_instrument,
    by_key,
    load_yaml,
    on_scale,
    read_table,
    require_folder,
)
from attunement.errors import InputError
from attunement.ratings import ErrorKind, Outcome, RaterKind
from attunement.statistics.correlation import ICC, Correlation, Model, icc, spearman
from attunement.statistics.tables import Floats

_DATA = load_yaml("mentalalign")
INSTRUMENT = build_instrument(_DATA["instrument"])
ATTRIBUTES = tuple(item.id for item in INSTRUMENT.items)
SYSTEMS: list[str] = _DATA["systems"]
HUMAN = "human expert"
_JUDGES: dict[str, dict[str, Any]] = _DATA["judges"]
_HUMAN_FILE = "Human_judge.xlsx"
_FILES = {HUMAN: (_HUMAN_FILE, "human_response_")} | {
    judge: (entry["file"], "judge_response_") for judge, entry in _JUDGES.items()
}
_HINT = "it should hold Human_judge.xlsx and four files *_llm_judge.xlsx, or be a clone with the folder MentalAlign-70k"
_NEAR = 0.006  # counts as the published figure: the largest difference is .005, and two digits are kept


class CellScores(NamedTuple):
    """The scores in a cell. `how` is `json`, `fenced`, `mended`, or, where there is none, `blank` or `prose`."""

    scores: Mapping[str, int | float | None]
    how: str


def read(folder: Path) -> LoadedDataset:
    """Read the five workbooks, which may be anywhere below `folder`."""
    require_folder(folder, _HINT)
    conversations: list[Conversation] = []
    contexts: dict[str, int] = {}
    answers: list[DatasetAnswer] = []
    hows: Counter[str] = Counter()
    values: dict[str, Floats] = {}
    for rater, (file, prefix) in _FILES.items():
        # Files that an open spreadsheet program leaves next to a workbook have another name.
        paths = sorted(folder.rglob(file), key=lambda path: ("MentalAlign-70k" not in path.parts, len(path.parts)))
        if not paths:
            raise InputError(f"{folder} has no file {file}: {_HINT}")
        rows = by_key(read_table(paths[0], ["ConvID", *(f"{prefix}{system}" for system in SYSTEMS)], _HINT), "ConvID")
        if rater == HUMAN:
            contexts = {context: place for place, context in enumerate(rows)}
            conversations = [
                Conversation(id=context, system=system, turns=NO_TEXT, metadata={"scenario": context})
                for context in contexts
                for system in SYSTEMS
            ]
        given = values[rater] = np.full((len(ATTRIBUTES), len(contexts), len(SYSTEMS)), np.nan)
        for context, row in rows.items():
            if context not in contexts:
                raise InputError(f"{row.place}: ConvID {context} is not in {_HUMAN_FILE}")
            for place, system in enumerate(SYSTEMS):
                cell = read_cell(row[f"{prefix}{system}"])
                hows[cell.how] += 1
                for layer, attribute in enumerate(ATTRIBUTES):
                    value, detail = cell.scores.get(attribute), ""
                    if value is not None:
                        given[layer, contexts[context], place] = value
                        outcome, detail = _on_scale(value)
                    elif rater == HUMAN:
                        continue  # a person's blank is no answer; a judge was asked, so it is an ERROR
                    else:
                        outcome = Outcome.failed(ErrorKind.REFUSED if cell.how == "prose" else ErrorKind.MISSING)
                    answers.append(DatasetAnswer(Identity(system, context), attribute, rater, outcome, detail=detail))
    settings = {"imported_from": "mentalalign"}
    person = {**settings, "role": "expert", "note": "one score a cell; which of the experts gave it is not told"}
    raters = [DatasetRater(HUMAN, RaterKind.PERSON, person)]
    raters += [DatasetRater(judge, RaterKind.MODEL, settings) for judge in _JUDGES]
    part = Part("Seven attributes", INSTRUMENT, conversations, answers)
    numbers = sum(np.isfinite(given).sum() for given in values.values())
    notes = [
        "The replies are not in this set: ratings are loaded, and no judge can be asked.",
        f"{numbers:,} scores were read from {hows.total():,} cells: {hows['json']:,} plain JSON, {hows['fenced']:,} in "
        f"a code fence or with words around it, {hows['mended']:,} with curly quotes or broken JSON; {hows['prose']:,} "
        f"with words instead of scores (a refusal), {hows['blank']:,} blank.",
    ]
    return LoadedDataset([part], raters, notes, lambda: _figures(values))


@lru_cache(64)  # few different numbers, many cells
def _on_scale(value: float) -> tuple[Outcome, str]:
    return on_scale(f"{value:g}", INSTRUMENT)


_PAIR = re.compile(rf'"({"|".join(ATTRIBUTES)})"\s*:\s*(-?\d+(?:\.\d+)?)\s*(?=[,}}\n])')
_CURLY = str.maketrans("“”", '""')


def read_cell(text: str) -> CellScores:
    """The scores in a cell. Where it is not JSON, each name that occurs exactly once with a number after it."""
    if not text.strip():
        return CellScores({}, "blank")
    for how, part in (("json", text), ("fenced", text[text.find("{") : text.rfind("}") + 1])):
        if (scores := _json_scores(part)) is not None:
            return CellScores(scores, how)
    pairs = _PAIR.findall(text.translate(_CURLY))
    times = Counter(name for name, _ in pairs)
    found = {name: float(digits) for name, digits in pairs if times[name] == 1}
    return CellScores(found, "mended" if found else "prose")


def _json_scores(text: str) -> dict[str, int | float | None] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    content = cast(dict[str, Any], value)
    return {name: score if type(score := content.get(name)) in {int, float} else None for name in ATTRIBUTES}


class _Line(NamedTuple):
    """One judge on one attribute: over systems ICC(C,1) and ICC(A,1), over replies ICC(C,1) and Spearman's rho."""

    judge: str
    attribute: str
    published: tuple[float, float]
    all_values: tuple[float, float]
    on_scale: tuple[float, float]
    replies: tuple[float, float]


def _figures(every: Mapping[str, Floats]) -> PublishedFigures:
    """The published ICCs, ours with and without values off the scale, and both figures reply by reply."""
    valid = {
        rater: np.where(np.isin(values, INSTRUMENT.scale.answers), values, np.nan) for rater, values in every.items()
    }
    refused = sum(np.isfinite(every[rater]).sum() - np.isfinite(valid[rater]).sum() for rater in every)
    lines = [_line(judge, at, every, valid) for judge in _JUDGES for at in range(len(ATTRIBUTES))]
    differences = [abs(line.published[which] - line.all_values[which]) for line in lines for which in (0, 1)]
    moved = max(lines, key=lambda line: abs(line.all_values[0] - line.on_scale[0]))
    rhos = [line.replies[1] for line in lines]
    remarks = [
        "published, all, 1-5: consistency ICC(C,1) over the means of 9 systems: theirs, ours with all values, ours "
        "without those off the scale. ICC, rho: ICC(C,1) and Spearman's correlation over single replies.",
        f"The published figures include {refused:,} scores that are not on the scale 1-5; without them "
        f"{moved.attribute} by {moved.judge} goes from {moved.all_values[0]:.3f} to {moved.on_scale[0]:.3f}.",
        f"Over replies rho goes from {min(rhos):.2f} to {max(rhos):.2f}: ranking systems is not rating replies.",
    ]
    columns = ["judge", "attribute", "published", "all", "1-5"]
    systems = [_system_cells(line, 0) + [f"{value:.2f}" for value in line.replies] for line in lines]
    agreement = [_system_cells(line, 1) for line in lines]
    near, title = (
        sum(difference < _NEAR for difference in differences),
        "Systems and replies: the same scores give two answers",
    )
    return PublishedFigures(
        tables=[FigureTable(title, [*columns, "ICC", "rho"], systems, remarks)],
        details=[FigureTable("Absolute agreement ICC(A,1) over the means of systems", columns, agreement)],
        counts=[MatchCount(f"ICCs over systems as published, to within {_NEAR}", near, len(differences))],
    )


def _system_cells(line: _Line, which: int) -> list[str]:
    figures = (line.published[which], line.all_values[which], line.on_scale[which])
    return [line.judge, line.attribute, *(f"{value:.3f}" for value in figures)]


def _line(judge: str, at: int, every: Mapping[str, Floats], valid: Mapping[str, Floats]) -> _Line:
    entry = _JUDGES[judge]
    others = [place for place, system in enumerate(SYSTEMS) if system != entry["own_system"]]
    people, model = every[HUMAN][at][:, others], every[judge][at][:, others]
    on_scale = valid[HUMAN][at][:, others], valid[judge][at][:, others]
    replies = np.column_stack([side.ravel() for side in on_scale])
    rho = spearman(*replies.T)
    return _Line(
        judge,
        ATTRIBUTES[at],
        (entry["consistency"][at], entry["agreement"][at]),
        _over_systems(people, model),
        _over_systems(*on_scale),
        (_icc(replies[~np.isnan(replies).any(axis=1)], 3), rho.value if isinstance(rho, Correlation) else float("nan")),
    )


def _over_systems(first: Floats, second: Floats) -> tuple[float, float]:
    """ICC(C,1) and ICC(A,1) of the means of systems, over the replies that both rated."""
    both = ~np.isnan(first) & ~np.isnan(second)
    means = np.column_stack([np.nanmean(np.where(both, side, np.nan), axis=0) for side in (first, second)])
    return _icc(means, 3), _icc(means, 2)


def _icc(values: Floats, model: Model) -> float:
    result = icc(values, model)
    return result.value if isinstance(result, ICC) else float("nan")
