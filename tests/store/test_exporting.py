import csv
import io
import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from attunement.errors import InputError
from attunement.ratings import ABSTAINED, MISSING, Consistency, ErrorKind, Mark, Outcome, RaterKind, RuleFinding
from attunement.scoring import PANEL
from attunement.store import AnswerRecord, StoredRating, Study, export
from attunement.store.export import Column, Export, Format
from attunement.store.import_ratings import check_import, save_import
from tests.builders import rating
from tests.store.samples import COACHING, fill, keep_rating, talks

FORMATS: tuple[Format, ...] = ("jsonl", "csv", "parquet")


@pytest.fixture
def study(study_place: str) -> Iterator[Study]:
    with fill(study_place, talks(2)) as opened:
        yield opened


def read_back(path: Path, format: Format) -> list[dict[str, Any]]:
    """The rows of a file as another program reads them."""
    match format:
        case "jsonl":
            return [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        case "csv":
            with path.open(encoding="utf-8", newline="") as file:
                return list(csv.DictReader(file))
        case "parquet":
            return pyarrow.parquet.read_table(path).to_pylist()


def test_a_rating_is_exported_with_everything_that_is_known_about_it(study: Study, tmp_path: Path) -> None:
    judge = study.save_rater("m", RaterKind.MODEL, {"temperature": 0.5})
    (key, _) = study.save_conversations(talks(2))
    made = rating(
        COACHING,
        "CQ9",
        "NA",
        conversation=talks(1)[0].identity,
        rater="m",
        repeat=1,
        asked="p",
        reasoning="Turn 1: 'I feel 0.'",
        evidence=({"standing": "found"},),
        rules=(RuleFinding("crisis_cue_but_na", Consistency.VIOLATED, "Look.", 1, "0"),),
        marks=frozenset({Mark.LONG_REASONING, Mark.FENCED}),
        at="2026-01-02",
    )
    said = AnswerRecord("p", judge.key, 1, "{}", None, "", "m-1", "stop", 10, 20, 5, 0.5, 1.25, 2, [["YES", -0.1]])
    study.write([said], [StoredRating(key, judge.key, made)])
    export.write(export.ratings(study), tmp_path / "a.jsonl", "jsonl")
    record = next(entry for entry in read_back(tmp_path / "a.jsonl", "jsonl") if entry["rater"] == "m")
    assert record == {
        "system": "bot",
        "conversation": "c0",
        "turn": None,
        "item": "CQ9",
        "title": COACHING.item("CQ9").title,
        "outcome": "na",
        "value": "NA",
        "error": None,
        "detail": "",
        "reasoning": "Turn 1: 'I feel 0.'",
        "evidence": [{"standing": "found"}],
        "rules": [
            {"rule": "crisis_cue_but_na", "consistency": "violated", "text": "Look.", "turn": 1, "quote": "0"},
        ],
        "marks": ["fenced", "long_reasoning"],
        "rater": "m",
        "rater_kind": "model",
        "rater_settings": {"temperature": 0.5},
        "repeat": 1,
        "round": "main",
        "instrument": "coaching-v1",
        "instrument_version": COACHING.version,
        "instrument_hash": COACHING.hash,
        "item_hash": COACHING.item_hashes["CQ9"],
        "asked": "p",
        "at": "2026-01-02",
        "model": "m-1",
        "finish_reason": "stop",
        "prompt_tokens": 10,
        "completion_tokens": 20,
        "cached_tokens": 5,
        "cost": 0.5,
        "latency": 1.25,
        "attempts": 2,
        "reply": "{}",
        "logprobs": [["YES", -0.1]],
    }


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_has_the_same_columns_in_the_same_order(study: Study, tmp_path: Path, format: Format) -> None:
    path = tmp_path / f"a.{format}"
    assert export.write(export.ratings(study), path, format) == 2 * len(COACHING.items)
    rows = read_back(path, format)
    assert len(rows) == 2 * len(COACHING.items)
    assert [list(row) for row in rows] == [[column.name for column in export.EXPORT_COLUMNS]] * len(rows)
    assert {row["value"] for row in rows} == {"YES"}
    assert {row["cost"] for row in rows} == ({"0.25"} if format == "csv" else {0.25})


def test_a_rating_without_an_answer_has_no_cost_and_a_failed_one_says_why(study: Study, tmp_path: Path) -> None:
    person = study.save_rater("Ada", RaterKind.PERSON, {})
    keep_rating(study, person, talks(1)[0], "CQ1", "NO")
    keep_rating(study, person, talks(1)[0], "CQ2", Outcome.failed(ErrorKind.TIMEOUT), detail="too late")
    export.write(export.ratings(study), tmp_path / "a.jsonl", "jsonl")
    by_item = {row["item"]: row for row in read_back(tmp_path / "a.jsonl", "jsonl") if row["rater"] == "Ada"}
    assert by_item["CQ1"]["rater_kind"] == "person"
    assert by_item["CQ1"]["attempts"] is by_item["CQ1"]["reply"] is by_item["CQ1"]["cost"] is None
    assert by_item["CQ2"]["outcome"] == "error"
    assert by_item["CQ2"]["error"] == "timeout"
    assert by_item["CQ2"]["detail"] == "too late"


@pytest.mark.parametrize("format", FORMATS)
def test_scorecards_are_exported_per_rater_and_panel_and_unrated_conversations_stay_visible(
    study: Study, tmp_path: Path, format: Format
) -> None:
    second = study.save_rater("k", RaterKind.MODEL, {})
    here, _, unrated = talks(3)
    study.save_conversations([unrated])
    for item in COACHING.items:
        if item.id != "CQ9":
            keep_rating(study, second, here, item.id, "NO" if item.id in {"CQ8", "CP2"} else "YES")
    path = tmp_path / f"a.{format}"
    assert export.write(export.scorecards(study, COACHING), path, format) == 5
    rows = read_back(path, format)
    assert [(row["conversation"], row["rater"] or None) for row in rows] == [
        ("c0", "j"),
        ("c0", "k"),
        ("c0", PANEL),
        ("c1", "j"),
        ("c2", None),
    ]
    assert [row["verdict"] or None for row in rows] == [
        "PASS",
        "REJECTED: unsafe",
        "REJECTED: unsafe",
        "PASS",
        None,
    ]
    failing = rows[1] if format == "jsonl" else {**rows[1], **_parsed(rows[1])}
    assert failing["failed"] == ["CQ8", "CP2"]
    assert failing["unsafe"] == ["CQ8"]
    assert failing["open"] == ["CQ9"]
    assert failing["outcomes"]["CQ8"] == "NO"
    assert failing["outcomes"]["CQ9"] == str(MISSING)
    assert set(failing["not_due"]) == {"CP6", "CP7", "MT4", "MT5", "MT7"}
    assert float(rows[0]["category_naturalness"]) == 1.0
    assert str(rows[0]["passed"]) == "True"
    assert list(rows[0])[17:22] == [f"category_{category}" for category in COACHING.scoring.weights]


def test_a_scorecard_is_exported_with_what_needs_a_person_and_with_pointers_and_the_rule_check_has_none(
    tmp_path: Path,
) -> None:
    held = RuleFinding("crisis_cue_but_na", Consistency.VIOLATED, "Look.", 1, "0")
    with Study(tmp_path / "b.db", create=True) as study:
        study.save_instrument(COACHING)
        judge, checker = (study.save_rater(name, RaterKind.MODEL, {}) for name in ("j", "signals"))
        first, second, third = talks(3)
        for item in COACHING.items:
            answer, crisis = ("NA" if item.id == "CQ9" else "YES"), item.id == "CQ9"
            keep_rating(study, judge, first, item.id, answer, rules=(held,) if crisis else ())
            pointer = held._replace(consistency=Consistency.NOTICE)
            keep_rating(study, judge, second, item.id, answer, rules=(pointer,) if crisis else ())
            keep_rating(study, checker, third, item.id, ABSTAINED, rules=(pointer,) if crisis else ())
        export.write(export.scorecards(study, COACHING), tmp_path / "a.jsonl", "jsonl")
    rows = read_back(tmp_path / "a.jsonl", "jsonl")
    columns = ("rater", "verdict", "passed", "needs_person", "pointers")
    assert [tuple(row[column] for column in columns) for row in rows] == [
        ("j", "PASS", False, ["CQ9: crisis_cue_but_na"], []),
        ("j", "PASS", True, [], ["CQ9: crisis_cue_but_na"]),
        (None, None, None, None, None),
    ]
    assert "inconsistent" not in rows[0]


def _parsed(row: dict[str, Any]) -> dict[str, Any]:
    return {name: json.loads(row[name]) for name in ("failed", "unsafe", "open", "not_due", "outcomes")}


@pytest.mark.parametrize("format", FORMATS)
def test_an_export_that_breaks_off_leaves_no_file_and_not_a_broken_one(tmp_path: Path, format: Format) -> None:
    def breaking() -> Iterator[dict[str, Any]]:
        yield {"a": "1"}
        raise RuntimeError("the study is gone")

    path = tmp_path / f"a.{format}"
    path.write_text("what was there")
    with pytest.raises(RuntimeError):
        export.write(Export([Column("a")], breaking()), path, format)
    assert [(entry.name, entry.read_text()) for entry in tmp_path.iterdir()] == [(path.name, "what was there")]


@pytest.mark.parametrize("format", FORMATS)
def test_nothing_to_export_is_a_file_without_rows(tmp_path: Path, format: Format) -> None:
    path = tmp_path / f"a.{format}"
    assert export.write(Export([Column("a"), Column("b", "json")], []), path, format) == 0
    assert read_back(path, format) == []


def test_a_file_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere/a\.csv: cannot write the file: No such file"):
        export.write(Export([Column("a")], []), tmp_path / "nowhere" / "a.csv", "csv")


def test_half_a_character_is_refused_by_parquet_with_a_way_out(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--format jsonl"):
        export.write(Export([Column("a")], [{"a": "\ud800"}]), tmp_path / "a.parquet", "parquet")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "format"), [("-", "jsonl"), ("a.JSONL", "jsonl"), ("b.csv", "csv"), ("c.parquet", "parquet")]
)
def test_the_name_of_the_file_says_the_format(name: str, format: Format) -> None:
    assert export.format_of(name) == format


@pytest.mark.parametrize("name", ["a", "a.txt", "jsonl"])
def test_a_name_that_does_not_say_the_format_is_refused(name: str) -> None:
    with pytest.raises(InputError, match="--format"):
        export.format_of(name)


def test_standard_output_gets_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(stream))
    assert export.write(Export([Column("a", "json")], [{"a": [1]}]), "-", "csv") == 1
    assert stream.getvalue() == b"a\r\n[1]\r\n"


def test_exporting_takes_no_more_memory_for_many_ratings_than_for_few(tmp_path: Path) -> None:
    def peak(count: int) -> int:
        with fill(tmp_path / f"{count}.db", talks(count)) as study:
            tracemalloc.start()
            try:
                export.write(export.ratings(study), tmp_path / "a.jsonl", "jsonl")
                return tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()

    peak(1)  # what is loaded once is no matter of ratings
    assert peak(600) < 2 * peak(120)  # one or two fetches of 1,000 rows are in memory, however many there are


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_no_cell_of_a_csv_file_begins_like_a_formula(tmp_path: Path, start: str) -> None:
    text = f'{start}HYPERLINK("http://x")'
    kinds = [Column("text"), Column("value", "value"), Column("json", "json"), Column("number", "number")]
    export.write(
        Export(kinds, [{"text": text, "value": text, "json": [text], "number": -1.5}]), tmp_path / "a.csv", "csv"
    )
    with (tmp_path / "a.csv").open(newline="") as file:
        row = next(csv.DictReader(file))
    assert row == {"text": f"'{text}", "value": f"'{text}", "json": json.dumps([text]), "number": "-1.5"}


@pytest.mark.parametrize("score", ["-1", "-2.5", "3"])
def test_a_negative_score_stays_a_number_in_a_csv_file(tmp_path: Path, score: str) -> None:
    export.write(Export([Column("value", "value")], [{"value": score}]), tmp_path / "a.csv", "csv")
    assert (tmp_path / "a.csv").read_text().split() == ["value", score]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("text", ["=1", "'=1", "''@x", "'quoted'", "-1", "\t", "'"])
def test_a_text_that_looks_like_a_formula_comes_back_as_it_was(tmp_path: Path, format: Format, text: str) -> None:
    (told,) = talks(1)
    made = rating(COACHING, "CQ1", Outcome.of("YES"), conversation=told.identity, reasoning=text)
    with Study(tmp_path / "a.db", create=True) as study:
        study.save_instrument(COACHING)
        judge = study.save_rater("j", RaterKind.MODEL, {})
        study.write([], [StoredRating(study.save_conversations([told])[0], judge.key, made)])
        export.write(export.ratings(study), tmp_path / f"a.{format}", format)
    with Study(tmp_path / "b.db", create=True) as study:
        save_import(check_import([tmp_path / f"a.{format}"], [told], COACHING, study=study), study)
        assert [saved.reasoning for saved in study.ratings()] == [text]
