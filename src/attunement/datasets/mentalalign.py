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
from collections.abc import Iterator, Mapping, Sequence
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
    load_yaml,
    on_scale,
    require_folder,
)
from attunement.errors import InputError
from attunement.ratings import ErrorKind, Outcome, RaterKind, State
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

Refused = dict[tuple[Identity, str, str], float]
"""The numbers that are not on the scale, by reply, rater and attribute."""


class CellScores(NamedTuple):
    """The scores in a cell. `how` is `json`, `fenced`, `mended`, or, where there is none, `blank` or `prose`."""

    scores: Mapping[str, int | float | None]
    how: str


def read(folder: Path) -> LoadedDataset:
    """Read the five workbooks, which may be anywhere below `folder`."""
    require_folder(folder, _HINT)
    conversations: dict[Identity, Conversation] = {}
    answers: list[DatasetAnswer] = []
    hows: Counter[str] = Counter()
    refused: Refused = {}
    for rater, (file, prefix) in _FILES.items():
        # Files that an open spreadsheet program leaves next to a workbook have another name.
        paths = sorted(folder.rglob(file), key=lambda path: ("MentalAlign-70k" not in path.parts, len(path.parts)))
        if not paths:
            raise InputError(f"{folder} has no file {file}: {_HINT}")
        for context, system, text in _cells(paths[0], prefix):
            identity = Identity(system, context)
            if rater == HUMAN:
                metadata = {"scenario": context}
                conversations[identity] = Conversation(id=context, system=system, turns=NO_TEXT, metadata=metadata)
            elif identity not in conversations:
                raise InputError(f"{paths[0]}: ConvID {context} is not in {_HUMAN_FILE}")
            cell = read_cell(text)
            hows[cell.how] += 1
            for attribute in ATTRIBUTES:
                value = cell.scores.get(attribute)
                if value is not None:
                    outcome, detail = _on_scale(value)
                    answers.append(DatasetAnswer(identity, attribute, rater, outcome, detail=detail))
                    if detail:
                        refused[identity, rater, attribute] = value
                elif rater != HUMAN:
                    # A judge was asked, so a score that is not there is an ERROR; a person's blank is no answer.
                    error = ErrorKind.REFUSED if cell.how == "prose" else ErrorKind.MISSING
                    answers.append(DatasetAnswer(identity, attribute, rater, Outcome.failed(error)))
    settings = {"imported_from": "mentalalign"}
    person = {**settings, "role": "expert", "note": "one score a cell; which of the experts gave it is not told"}
    raters = [DatasetRater(HUMAN, RaterKind.PERSON, person)]
    raters += [DatasetRater(judge, RaterKind.MODEL, settings) for judge in _JUDGES]
    part = Part("Seven attributes", INSTRUMENT, list(conversations.values()), answers)
    numbers = sum(answer.outcome.value is not None or bool(answer.detail) for answer in answers)
    notes = [
        "The replies are not in this set: ratings are loaded, and no judge can be asked.",
        f"{numbers:,} scores were read from {hows.total():,} cells: {hows['json']:,} plain JSON, {hows['fenced']:,} in "
        f"a code fence or with words around it, {hows['mended']:,} with curly quotes or broken JSON; {hows['prose']:,} "
        f"with words instead of scores (a refusal), {hows['blank']:,} blank.",
    ]
    return LoadedDataset([part], raters, notes, lambda: _figures(answers, refused))


@lru_cache(64)  # few different numbers, many cells
def _on_scale(value: float) -> tuple[Outcome, str]:
    return on_scale(f"{value:g}", INSTRUMENT)


_PAIR = re.compile(rf'"({"|".join(ATTRIBUTES)})"\s*:\s*(-?\d+(?:\.\d+)?)\s*(?=[,}}\n])')
_CURLY = str.maketrans("“”", '""')


def read_cell(text: str) -> CellScores:
    """The scores in a cell. Where it is not JSON, each name that occurs exactly once with a number after it."""
    if not text.strip():
        return CellScores({}, "blank")
    if (scores := _json_scores(text)) is not None:
        return CellScores(scores, "json")
    start, end = text.find("{"), text.rfind("}")
    if 0 <= start < end and (scores := _json_scores(text[start : end + 1])) is not None:
        return CellScores(scores, "fenced")
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


def _cells(path: Path, prefix: str) -> Iterator[tuple[str, str, str]]:
    """The context, the system and the text of every cell with scores."""
    rows = _rows(path)
    nothing: list[Any] = []
    names = [str(name).strip() for name in next(rows, nothing)]  # some headings begin with a blank
    wanted = {f"{prefix}{system}": system for system in SYSTEMS}
    if missing := [name for name in ("ConvID", *wanted) if name not in names]:
        raise InputError(f"{path} has no column {missing[0]!r}, which is expected; it has {', '.join(names[:12])}")
    places = {system: names.index(name) for name, system in wanted.items()}
    id_at = names.index("ConvID")
    seen: set[str] = set()
    for line, row in enumerate(rows, start=2):
        id = row[id_at]
        context = str(int(id)) if isinstance(id, float) and id.is_integer() else str(id).strip()  # workbooks say 1.0
        if not context or context in seen:
            raise InputError(f"{path}, line {line}: ConvID is {str(id)!r}; each row needs its own")
        seen.add(context)
        for system, place in places.items():
            yield context, system, str(row[place])
    if not seen:
        raise InputError(f"{path} has no rows")


def _rows(path: Path) -> Iterator[list[Any]]:
    try:
        from python_calamine import CalamineError, CalamineWorkbook
    except ImportError as error:
        raise InputError(f"{path} is a workbook, which needs an extra: pip install 'attunement[xlsx]'") from error
    try:
        sheet = CalamineWorkbook.from_path(str(path)).get_sheet_by_index(0)  # pyright: ignore[reportUnknownMemberType]
        yield from sheet.iter_rows()
    except (CalamineError, OSError, IndexError) as error:
        raise InputError(f"{path} cannot be read as a workbook: {' '.join(str(error).split())}") from error


class _Line(NamedTuple):
    """One judge on one attribute: over systems ICC(C,1) and ICC(A,1), over replies ICC(C,1) and Spearman's rho."""

    judge: str
    attribute: str
    published: tuple[float, float]
    all_values: tuple[float, float]
    on_scale: tuple[float, float]
    replies: tuple[float, float]


def _figures(answers: Sequence[DatasetAnswer], refused: Refused) -> PublishedFigures:
    """The published ICCs, ours with and without values off the scale, and both figures reply by reply."""
    every, valid = _values(answers, refused), _values(answers, {})
    lines = [_line(judge, at, every, valid) for judge in _JUDGES for at in range(len(ATTRIBUTES))]
    differences = [abs(line.published[which] - line.all_values[which]) for line in lines for which in (0, 1)]
    moved = max(lines, key=lambda line: abs(line.all_values[0] - line.on_scale[0]))
    rhos = [line.replies[1] for line in lines]
    remarks = [
        "published, all, 1-5: consistency ICC(C,1) over the means of 9 systems: theirs, ours with all values, ours "
        "without those off the scale. ICC, rho: ICC(C,1) and Spearman's correlation over single replies.",
        f"The published figures include {len(refused):,} scores that are not on the scale 1-5; without them "
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


def _values(answers: Sequence[DatasetAnswer], refused: Refused) -> dict[str, Floats]:
    """By rater: the scores by attribute, context and system; NaN where there is none. `refused` values count too."""
    contexts = {name: place for place, name in enumerate(dict.fromkeys(answer.conversation.id for answer in answers))}
    columns = {system: place for place, system in enumerate(SYSTEMS)}
    layers = {attribute: place for place, attribute in enumerate(ATTRIBUTES)}
    found = {rater: np.full((len(layers), len(contexts), len(columns)), np.nan) for rater in _FILES}
    for answer in answers:
        if answer.outcome.state is State.VALUE:
            value = float(answer.outcome.value or 0)
        else:
            value = refused.get((answer.conversation, answer.rater, answer.item), np.nan)
        place = layers[answer.item], contexts[answer.conversation.id], columns[answer.conversation.system]
        found[answer.rater][place] = value
    return found


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
