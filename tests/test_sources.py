"""Does the table of rules in `docs/sources.md` still point to files, names, places and tests that exist?"""

import ast
import re
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from attunement.instruments import load

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "sources.md").read_text("utf-8")
SOURCES, TESTS = ROOT / "src" / "attunement", ROOT / "tests"


class Row(NamedTuple):
    """One row of a table: the rule, and the references behind it with the files of their part filled in."""

    rule: str
    implemented: tuple[str, ...]
    tested: tuple[str, ...]


def rows() -> list[Row]:
    found: list[Row] = []
    instrument = tests = ""
    for line in PAGE.splitlines():
        if part := re.fullmatch(r"In this part: `(.+)`, `(.+)`\.", line):
            instrument, tests = part.groups()
        cells = [cell.strip() for cell in line.strip("|").split(" | ")] if line.startswith("| ") else []
        if cells and cells[0] != "rule":
            rule, implemented, tested = cells
            found.append(Row(rule, references(implemented, instrument), references(tested, tests)))
    return found


def references(cell: str, file: str) -> tuple[str, ...]:
    """What stands in code marks in a cell, as `file` or `file::name`; a name alone is one of the part's own file."""
    spans = re.findall(r"`([^`]+)`", cell)
    assert re.sub(r"`[^`]+`|, ", "", cell) == "", f"only references belong here: {cell}"
    return tuple(span if "/" in span or ".py" in span else f"{file}::{span}" for span in spans)


ROWS = rows()


def test_every_row_says_where_its_rule_is_implemented_and_where_it_is_tested() -> None:
    assert len(ROWS) > 150
    assert [row.rule for row in ROWS if not (row.implemented and row.tested)] == []


def test_what_is_named_as_implementation_exists() -> None:
    named = {reference for row in ROWS for reference in row.implemented}
    assert sorted(reference for reference in named if not is_there(*reference.split("::"))) == []


def is_there(name: str, place: str = "") -> bool:
    file = SOURCES / name
    if not place or not file.is_file():
        return file.is_file()
    return stands_at(place, file) if file.suffix == ".yaml" else place in names(file)


def test_what_is_named_as_test_exists_and_is_run() -> None:
    named = {reference for row in ROWS for reference in row.tested}
    assert sorted(reference for reference in named if not is_a_test(*reference.split("::"))) == []


def is_a_test(name: str, *test: str) -> bool:
    file = TESTS / name
    found_by_pytest = file.name.startswith("test_") and bool(test) and test[-1].startswith("test_")
    return found_by_pytest and file.is_file() and ".".join(test) in names(file)


def stands_at(place: str, file: Path) -> bool:
    """Whether a YAML file has such a place: by key, by the id of an entry, or by its number, counted from 1."""
    try:
        at(content_of(file), place.split("."))
    except (KeyError, IndexError, TypeError, ValueError):
        return False
    return True


@cache
def content_of(file: Path) -> Any:
    return yaml.safe_load(file.read_text("utf-8"))


def at(content: Any, way: list[str]) -> Any:
    for step in way:
        if isinstance(content, list) and step.isdigit():
            content = content[int(step) - 1]
        elif isinstance(content, list):
            (content,) = [entry for entry in content if step in (entry.get("id"), entry.get("item"), entry.get("kind"))]
        else:
            content = content[int(step) if step.isdigit() else step]
    return content


@cache
def names(file: Path) -> frozenset[str]:
    """Everything a module defines at its top level, and what its classes define as `Class.name`."""
    found: set[str] = set()
    for node in ast.parse(file.read_text("utf-8")).body:
        found.update(defined(node))
        if isinstance(node, ast.ClassDef):
            found.update(f"{node.name}.{name}" for inner in node.body for name in defined(inner))
    return frozenset(found)


def defined(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


@pytest.mark.parametrize("instrument", ["empathy-v2", "coaching-v1"])
def test_every_item_has_its_row(instrument: str) -> None:
    rules = " ".join(row.rule for row in ROWS)
    assert [item.id for item in load(instrument).items if not re.search(rf"\b{item.id}\b", rules)] == []


def test_every_definition_level_boundary_rule_and_example_of_the_empathy_rubric_has_its_row() -> None:
    file = "instruments/library/empathy-v2.yaml"
    wanted = {
        f"{file}::items.{item.id}.{place}"
        for item in load("empathy-v2").items
        for place in (
            "definition",
            *(f"anchors.{level}" for level in item.anchors),
            *(f"boundaries.{number}" for number in range(1, len(item.boundaries) + 1)),
            *(f"examples.{number}" for number in range(1, len(item.examples) + 1)),
        )
    }
    assert wanted - {reference for row in ROWS for reference in row.implemented} == set()


def test_every_general_rule_and_gate_item_and_rule_of_the_coaching_instrument_has_its_row() -> None:
    file = "instruments/library/coaching-v1.yaml"
    coaching = load("coaching-v1")
    wanted = {
        *(f"{file}::guidance.{number}" for number in range(1, len(coaching.guidance) + 1)),
        *(f"{file}::gate.{entry.item}" for entry in coaching.gate),
        *(f"{file}::rules.{rule.kind}" for rule in coaching.rules),
        *(f"{file}::scoring.weights.{category}" for category in coaching.scoring.weights),
        *(f"{file}::items.{item.id}.definition" for item in coaching.items),
    }
    assert wanted - {reference for row in ROWS for reference in row.implemented} == set()


@pytest.mark.parametrize("document", ["seeds/rubric-v2.md", "seeds/assessor-template.md", "criteria.md"])
def test_the_page_repeats_no_eight_words_in_a_row_of_a_source(shared_data: Path, document: str) -> None:
    path = shared_data.parent / document
    if not path.is_file():
        pytest.skip(f"{path.name} is not beside the data")
    assert runs(PAGE) & runs(path.read_text("utf-8")) == set()


def runs(text: str) -> set[tuple[str, ...]]:
    words = re.findall(r"[a-z0-9']+", text.lower())
    return {tuple(words[start : start + 8]) for start in range(len(words) - 7)}
