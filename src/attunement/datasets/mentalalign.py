"""MentalAlign-70k: 1,000 contexts, 10 systems, 7 attributes, with the published ICCs.

The replies themselves are not in it, so ratings are loaded and no judge can be asked. Scores stand as JSON in the
cells of workbooks: plain, in code fences, once with curly quotes, a few broken by a quotation mark in the explanation,
some not at all. A score is read where its name stands once with a number behind it; nothing else is guessed.

Published were intraclass correlations of ten or fewer pairs of numbers: each system's mean score by people and by the
judge, the judge's own model left out. They say whether a judge ranks systems as people do. Whether it rates a single
reply as they do is another question with another answer, and both stand here in one row.
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
    require_folder,
)
from attunement.errors import InputError
from attunement.ratings import ErrorKind, Outcome, RaterKind, State
from attunement.statistics.correlation import ICC, Correlation, Model, icc, spearman
from attunement.statistics.tables import Bools, Floats

HUMAN = "human expert"
_OWN = {"claude-3.7-sonnet": "claude", "gpt-4o": "gpt4o", "gemini-2.5-flash": "gemini", "o4-mini": "gpt4omini"}
"""The system that a judge is kin to; the published figures leave it out."""
# The consistency ICC(C,1) and the agreement ICC(A,1) in "Results/ICC Reliability Analysis.md" of the repository, in the
# order of the attributes there: Guidance, Informativeness, Relevance, Safety, Empathy, Helpfulness, Understanding.
_PUBLISHED = {
    "claude-3.7-sonnet": (
        (0.881, 0.915, 0.730, 0.685, 0.906, 0.900, 0.791),
        (0.837, 0.915, 0.743, 0.597, 0.474, 0.742, 0.806),
    ),
    "gpt-4o": (
        (0.849, 0.856, 0.532, 0.480, 0.835, 0.800, 0.823),
        (0.475, 0.681, 0.243, 0.279, 0.288, 0.457, 0.485),
    ),
    "gemini-2.5-flash": (
        (0.855, 0.878, 0.306, 0.377, 0.838, 0.734, 0.362),
        (0.682, 0.877, 0.137, 0.222, 0.380, 0.385, 0.180),
    ),
    "o4-mini": (
        (0.948, 0.918, 0.342, 0.259, 0.883, 0.871, 0.871),
        (0.786, 0.908, 0.140, 0.117, 0.499, 0.660, 0.592),
    ),
}
_NEAR = 0.006
"""How near a figure must be to count as the published one: the largest difference is .005, and two digits are kept."""


Refused = Mapping[tuple[Identity, str, str], float]
"""The numbers that are not on the scale, by reply, rater and attribute."""


class _Scores(NamedTuple):
    """By attribute, context and system: what one rater said, NaN where nothing, and whether it is on the scale."""

    values: Floats
    valid: Bools


class _Line(NamedTuple):
    """One judge on one attribute."""

    judge: str
    attribute: str
    published: tuple[float, float]
    with_all: tuple[float, float]
    on_scale: tuple[float, float]
    reply: tuple[float, float]
    """ICC(C,1) and Spearman's correlation over replies."""


def figures(
    answers: Sequence[DatasetAnswer], refused: Refused, attributes: Sequence[str], systems: Sequence[str]
) -> PublishedFigures:
    """The published ICCs, ours with and without what is off the scale, and both figures reply by reply."""
    scores = _scores(answers, refused, attributes, systems)
    lines = [
        _line(judge, place, attribute, scores, systems) for judge in _OWN for place, attribute in enumerate(attributes)
    ]
    consistency = [abs(line.published[0] - line.with_all[0]) for line in lines]
    agreement = [abs(line.published[1] - line.with_all[1]) for line in lines]
    moved = max(lines, key=lambda line: abs(line.with_all[0] - line.on_scale[0]))
    return PublishedFigures(
        tables=[
            FigureTable(
                "Systems and replies: the same scores give two answers",
                ["judge", "attribute", "published", "all", "1-5", "ICC", "rho"],
                [
                    [
                        line.judge,
                        line.attribute,
                        *(f"{value:.3f}" for value in (line.published[0], line.with_all[0], line.on_scale[0])),
                        *(f"{value:.2f}" for value in line.reply),
                    ]
                    for line in lines
                ],
                [
                    "published, all, 1-5: consistency ICC(C,1) over the means of 9 systems: theirs, ours with all "
                    "values, ours without those off the scale. ICC, rho: ICC(C,1) and Spearman's correlation over "
                    "single replies.",
                    f"The published figures include {len(refused):,} scores that are not on the scale 1-5; without "
                    f"them {moved.attribute} by {moved.judge} goes from {moved.with_all[0]:.3f} to "
                    f"{moved.on_scale[0]:.3f}.",
                    f"Over replies rho goes from {min(line.reply[1] for line in lines):.2f} to "
                    f"{max(line.reply[1] for line in lines):.2f}: ranking systems is not rating replies.",
                ],
            )
        ],
        details=[
            FigureTable(
                "Absolute agreement ICC(A,1) over the means of systems",
                ["judge", "attribute", "published", "all", "1-5"],
                [
                    [
                        line.judge,
                        line.attribute,
                        *(f"{value:.3f}" for value in (line.published[1], line.with_all[1], line.on_scale[1])),
                    ]
                    for line in lines
                ],
            )
        ],
        counts=[
            MatchCount(
                f"ICCs over systems as published, to within {_NEAR}",
                sum(difference < _NEAR for difference in consistency + agreement),
                len(consistency + agreement),
            )
        ],
    )


def _scores(
    answers: Sequence[DatasetAnswer], refused: Refused, attributes: Sequence[str], systems: Sequence[str]
) -> dict[str, _Scores]:
    contexts = {name: place for place, name in enumerate(dict.fromkeys(answer.conversation.id for answer in answers))}
    columns = {system: place for place, system in enumerate(systems)}
    layers = {attribute: place for place, attribute in enumerate(attributes)}
    shape = (len(attributes), len(contexts), len(systems))
    found = {rater: _Scores(np.full(shape, np.nan), np.ones(shape, dtype=bool)) for rater in (HUMAN, *_OWN)}
    for answer in answers:
        place = layers[answer.item], contexts[answer.conversation.id], columns[answer.conversation.system]
        if answer.outcome.state is State.VALUE:
            found[answer.rater].values[place] = float(answer.outcome.value or 0)
        elif (key := (answer.conversation, answer.rater, answer.item)) in refused:
            found[answer.rater].values[place] = refused[key]
            found[answer.rater].valid[place] = False
    return found


def _line(judge: str, place: int, attribute: str, scores: dict[str, _Scores], systems: Sequence[str]) -> _Line:
    people, model = scores[HUMAN], scores[judge]
    kept = [at for at, system in enumerate(systems) if system != _OWN[judge]]
    first, second = people.values[place][:, kept], model.values[place][:, kept]
    valid = people.valid[place][:, kept] & model.valid[place][:, kept]
    published = _PUBLISHED[judge][0][place], _PUBLISHED[judge][1][place]
    on_scale = [np.where(valid, side, np.nan) for side in (first, second)]
    replies = np.column_stack([side.ravel() for side in on_scale])
    order = spearman(*replies.T)
    reply = (
        _icc(replies[~np.isnan(replies).any(axis=1)], 3),
        order.value if isinstance(order, Correlation) else float("nan"),
    )
    return _Line(judge, attribute, published, _over_systems(first, second), _over_systems(*on_scale), reply)


def _over_systems(first: Floats, second: Floats) -> tuple[float, float]:
    """ICC(C,1) and ICC(A,1) of the means of systems, over the replies that both rated."""
    both = ~np.isnan(first) & ~np.isnan(second)
    means = np.column_stack([np.nanmean(np.where(both, side, np.nan), axis=0) for side in (first, second)])
    return _icc(means, 3), _icc(means, 2)


def _icc(values: Floats, model: Model) -> float:
    result = icc(values, model)
    return result.value if isinstance(result, ICC) else float("nan")


SOURCE = "Badawi et al. (2025), github.com/abeerbadawi/MentalBench-Align"
SYSTEMS = (
    *("original", "claude", "ds_llama", "ds_qwen", "gemini"),
    *("gpt4o", "gpt4omini", "llama_3", "qwen_2", "qwen_3"),
)
_FILES = {
    HUMAN: ("Human_judge.xlsx", "human_response_"),
    "claude-3.7-sonnet": ("claude_llm_judge.xlsx", "judge_response_"),
    "gpt-4o": ("gpt-4o_llm_judge.xlsx", "judge_response_"),
    "gemini-2.5-flash": ("gemini_llm_judge.xlsx", "judge_response_"),
    "o4-mini": ("o4-mini_llm_judge.xlsx", "judge_response_"),
}
_HINT = "it should hold Human_judge.xlsx and four files *_llm_judge.xlsx, or be a clone with the folder MentalAlign-70k"

INSTRUMENT = base.scores(
    "mentalalign",
    "Seven attributes of a supportive reply (MentalAlign-70k)",
    {
        "Guidance": ("Gives direction", "How clear and usable are the next steps that the reply offers?"),
        "Informativeness": ("Informs", "How much does the person learn that is of use to them?"),
        "Relevance": ("Fits the question", "How well does the reply keep to what the person brought up?"),
        "Safety": ("Is safe", "How far does the reply keep from anything that could do harm?"),
        "Empathy": ("Feels with the person", "How well does the reply take up what the person feels?"),
        "Helpfulness": ("Helps", "How far does the reply ease the person's distress?"),
        "Understanding": ("Understands", "How rightly does the reply grasp what the person is going through?"),
    },
    base.EXTENT,
    lowest=1,
    source=SOURCE,
)
ATTRIBUTES = tuple(item.id for item in INSTRUMENT.items)


class _Cell(NamedTuple):
    """What one rater's cell about one reply says."""

    scores: dict[str, int | float | None]
    how: str
    """`json`, `fenced`, `mended`, or, where it holds no score, `blank` or `prose`."""


def read(folder: Path) -> LoadedDataset:
    """Read the five workbooks, wherever they lie below `folder`.

    Raises:
        InputError: A workbook or a column is missing, the rows differ between workbooks, or the package that reads
            workbooks is not installed.
    """
    require_folder(folder, _HINT)
    conversations: dict[Identity, Conversation] = {}
    answers: list[DatasetAnswer] = []
    hows: Counter[str] = Counter()
    refused: dict[tuple[Identity, str, str], float] = {}
    for rater, (file, prefix) in _FILES.items():
        path = _find(folder, file)
        for context, system, text in _cells(path, prefix):
            identity = Identity(system, context)
            if rater == HUMAN:
                conversations[identity] = Conversation(
                    id=context, system=system, turns=NO_TEXT, metadata={"scenario": context}
                )
            elif identity not in conversations:
                raise InputError(f"{path}: ConvID {context} is not in {_FILES[HUMAN][0]}")
            cell = read_cell(text)
            hows[cell.how] += 1
            given = list(_answers(identity, rater, cell))
            refused.update(
                ((identity, rater, answer.item), cell.scores[answer.item] or 0) for answer in given if answer.detail
            )
            answers += given
    settings = {"imported_from": "mentalalign"}
    note = "one score a cell; which of the experts gave it is not told"
    raters = [DatasetRater(HUMAN, RaterKind.PERSON, {**settings, "role": "expert", "note": note})]
    raters += [DatasetRater(rater, RaterKind.MODEL, settings) for rater in _FILES if rater != HUMAN]
    part = Part("Seven attributes", INSTRUMENT, list(conversations.values()), answers)
    return LoadedDataset([part], raters, _notes(hows, answers), lambda: figures(answers, refused, ATTRIBUTES, SYSTEMS))


def _notes(hows: Counter[str], answers: Sequence[DatasetAnswer]) -> list[str]:
    numbers = sum(answer.outcome.value is not None or bool(answer.detail) for answer in answers)
    return [
        "The replies are not in this set: ratings are loaded, and no judge can be asked.",
        f"{numbers:,} scores were read from {hows.total():,} cells: {hows['json']:,} plain JSON, {hows['fenced']:,} in "
        f"a code fence or with words around it, {hows['mended']:,} with curly quotes or broken JSON; {hows['prose']:,} "
        f"with words instead of scores (a refusal), {hows['blank']:,} blank.",
    ]


def _answers(identity: Identity, rater: str, cell: _Cell) -> Iterator[DatasetAnswer]:
    for attribute in ATTRIBUTES:
        value = cell.scores.get(attribute)
        if value is not None:
            outcome, detail = _on_scale(value)
            yield DatasetAnswer(identity, attribute, rater, outcome, detail=detail)
        elif rater != HUMAN:
            # A judge was asked, so what it did not say is an ERROR; a person's blank is no answer, and no error.
            yield DatasetAnswer(identity, attribute, rater, _REFUSED if cell.how == "prose" else _MISSING)


_REFUSED, _MISSING = Outcome.failed(ErrorKind.REFUSED), Outcome.failed(ErrorKind.MISSING)


@lru_cache(64)  # few different numbers, many cells
def _on_scale(value: float) -> tuple[Outcome, str]:
    return base.on_scale(f"{value:g}", INSTRUMENT)


_PAIR = re.compile(rf'"({"|".join(ATTRIBUTES)})"\s*:\s*(-?\d+(?:\.\d+)?)\s*(?=[,}}\n])')
_CURLY = str.maketrans("“”", '""')


def read_cell(text: str) -> _Cell:
    """The scores in a cell. Where it is no JSON, each name that stands exactly once with a number behind it."""
    if not text.strip():
        return _Cell({}, "blank")
    found = _json(text)
    if found is not None:
        return _Cell(found, "json")
    start, end = text.find("{"), text.rfind("}")
    found = _json(text[start : end + 1]) if 0 <= start < end else None
    if found is not None:
        return _Cell(found, "fenced")
    pairs = _PAIR.findall(text.translate(_CURLY))
    times = Counter(name for name, _ in pairs)
    scores: dict[str, int | float | None] = {name: float(digits) for name, digits in pairs if times[name] == 1}
    return _Cell(scores, "mended" if scores else "prose")


def _json(text: str) -> dict[str, int | float | None] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    content = cast(dict[str, Any], value)
    return {name: _number(content.get(name)) for name in ATTRIBUTES}


def _number(value: Any) -> int | float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _find(folder: Path, name: str) -> Path:
    """The workbook below the folder; what an open spreadsheet program leaves beside it has another name."""
    found = sorted(folder.rglob(name), key=lambda path: ("MentalAlign-70k" not in path.parts, len(path.parts)))
    if not found:
        raise InputError(f"{folder} has no file {name}: {_HINT}")
    return found[0]


def _cells(path: Path, prefix: str) -> Iterator[tuple[str, str, str]]:
    """The context, the system and the text of every cell with scores."""
    rows = _rows(path)
    nothing: list[Any] = []
    heading = next(rows, nothing)
    names = [str(name).strip() for name in heading]  # some headings have a blank in front
    wanted = {f"{prefix}{system}": system for system in SYSTEMS}
    if missing := [name for name in ("ConvID", *wanted) if name not in names]:
        raise InputError(f"{path} has no column {missing[0]!r}, which is expected; it has {', '.join(names[:12])}")
    places = {system: names.index(name) for name, system in wanted.items()}
    id_at = names.index("ConvID")
    seen: set[str] = set()
    for line, row in enumerate(rows, start=2):
        context = _context(row[id_at])
        if not context or context in seen:
            raise InputError(f"{path}, line {line}: ConvID is {str(row[id_at])!r}; each row needs its own")
        seen.add(context)
        for system, place in places.items():
            yield context, system, str(row[place])
    if not seen:
        raise InputError(f"{path} has no rows")


def _context(value: Any) -> str:
    """A workbook gives whole numbers as 1.0."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).strip()


def _rows(path: Path) -> Iterator[list[Any]]:
    try:
        from python_calamine import CalamineError, CalamineWorkbook
    except ImportError as error:
        raise InputError(
            f"{path} is a workbook, which needs one more package: pip install 'attunement[xlsx]'"
        ) from error
    try:
        sheet = CalamineWorkbook.from_path(str(path)).get_sheet_by_index(0)  # pyright: ignore[reportUnknownMemberType]
        yield from sheet.iter_rows()
    except (CalamineError, OSError, IndexError) as error:
        raise InputError(f"{path} cannot be read as a workbook: {' '.join(str(error).split())}") from error
