"""MentalAlign-70k: 1,000 contexts x 10 systems x 7 attributes, one human score and four LLM judges for each.

The replies themselves are not in it, so ratings are loaded and no judge can be asked. Scores stand as JSON in the
cells of workbooks: plain, in code fences, once with curly quotes, a few broken by a quotation mark in the explanation,
some not at all. A score is read where its name stands once with a number behind it; nothing else is guessed.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, cast

from attunement.conversations import Conversation, Identity
from attunement.datasets import asking
from attunement.datasets.folder import some_folder
from attunement.datasets.mentalalign_figures import HUMAN, figures
from attunement.datasets.model import WORDLESS, Answer, Loaded, Part, Who
from attunement.errors import InputError
from attunement.ratings import ErrorKind, Outcome, RaterKind

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

INSTRUMENT = asking.scores(
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
    asking.EXTENT,
    lowest=1,
    source=SOURCE,
)
ATTRIBUTES = tuple(item.id for item in INSTRUMENT.items)


class _Cell(NamedTuple):
    """What one rater's cell about one reply says."""

    scores: dict[str, int | float | None]
    how: str
    """`json`, `fenced`, `mended`, or, where it holds no score, `blank` or `prose`."""


def read(folder: Path) -> Loaded:
    """Read the five workbooks, wherever they lie below `folder`.

    Raises:
        InputError: A workbook or a column is missing, the rows differ between workbooks, or the package that reads
            workbooks is not installed.
    """
    some_folder(folder, _HINT)
    conversations: dict[Identity, Conversation] = {}
    answers: list[Answer] = []
    hows: Counter[str] = Counter()
    refused: dict[tuple[Identity, str, str], float] = {}
    for rater, (file, prefix) in _FILES.items():
        path = _find(folder, file)
        for context, system, text in _cells(path, prefix):
            identity = Identity(system, context)
            if rater == HUMAN:
                conversations[identity] = Conversation(
                    id=context, system=system, turns=WORDLESS, metadata={"scenario": context}
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
    raters = [Who(HUMAN, RaterKind.PERSON, {**settings, "role": "expert", "note": note})]
    raters += [Who(rater, RaterKind.MODEL, settings) for rater in _FILES if rater != HUMAN]
    part = Part("Seven attributes", INSTRUMENT, list(conversations.values()), answers)
    return Loaded([part], raters, _notes(hows, answers), lambda: figures(answers, refused, ATTRIBUTES, SYSTEMS))


def _notes(hows: Counter[str], answers: Sequence[Answer]) -> list[str]:
    numbers = sum(answer.outcome.value is not None or bool(answer.detail) for answer in answers)
    return [
        "The replies are not in this set: ratings are loaded, and no judge can be asked.",
        f"{numbers:,} scores were read from {hows.total():,} cells: {hows['json']:,} plain JSON, {hows['fenced']:,} in "
        f"a code fence or with words around it, {hows['mended']:,} with curly quotes or broken JSON; {hows['prose']:,} "
        f"with words instead of scores (a refusal), {hows['blank']:,} blank.",
    ]


def _answers(identity: Identity, rater: str, cell: _Cell) -> Iterator[Answer]:
    for attribute in ATTRIBUTES:
        value = cell.scores.get(attribute)
        if value is not None:
            outcome, detail = _on_scale(value)
            yield Answer(identity, attribute, rater, outcome, detail=detail)
        elif rater != HUMAN:
            # A judge was asked, so what it did not say is an ERROR; a person's blank is no answer, and no error.
            yield Answer(identity, attribute, rater, _REFUSED if cell.how == "prose" else _MISSING)


_REFUSED, _MISSING = Outcome.failed(ErrorKind.REFUSED), Outcome.failed(ErrorKind.MISSING)


@lru_cache(64)  # few different numbers, many cells
def _on_scale(value: float) -> tuple[Outcome, str]:
    return asking.on_scale(f"{value:g}", INSTRUMENT)


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
