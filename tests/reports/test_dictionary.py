import csv
import json
import re

import pytest

from attunement.errors import AttunementError
from attunement.reports.dictionary import Described, dictionary, write_dictionary
from attunement.store import Study, audit_log, samples
from attunement.store import export as exporting
from tests.reports.html.studies import mixed
from tests.reports.samples import COACHING, EMPATHY


def tables(path):
    with Study(path) as study:
        yield "ratings", exporting.ratings(study), None
        for instrument in (COACHING, EMPATHY):
            yield "scorecards", exporting.scorecards(study, instrument), instrument
        yield "practice", samples.practice_answers(study), None
        yield "events", audit_log.audit_events(study), None


def test_every_exported_column_is_described(tmp_path):
    for what, export, instrument in tables(mixed(tmp_path / "s.db")):
        described = dictionary(what, export.columns, instrument)
        assert [entry.column for entry in described] == [column.name for column in export.columns]
        assert all(entry.meaning.endswith(".") and entry.values for entry in described)


def test_the_values_that_are_listed_are_those_that_occur(tmp_path):
    what, export, _ = next(tables(mixed(tmp_path / "s.db", people=True)))
    listed = {entry.column: re.split(r"[,;] ", entry.values) for entry in dictionary(what, export.columns)}
    rows = list(export.records)
    for column in ("outcome", "rater_kind", "round"):
        assert {row[column] for row in rows} <= set(listed[column])
    assert {row["error"] for row in rows} - {None} <= set(listed["error"])


def test_it_is_written_as_csv_json_or_markdown(tmp_path):
    described = dictionary("ratings", exporting.EXPORT_COLUMNS)
    for ending in ("csv", "json", "md"):
        write_dictionary(described, tmp_path / f"d.{ending}")
    with (tmp_path / "d.csv").open(newline="") as file:
        assert [Described(**row) for row in csv.DictReader(file)] == described
    assert [Described(**row) for row in json.loads((tmp_path / "d.json").read_text())] == described
    markdown = (tmp_path / "d.md").read_text()
    assert markdown.count("\n| <code>") == len(described)
    assert "\n| --- | --- | --- | --- |\n" in markdown  # words stand to the left
    with pytest.raises(AttunementError, match=r"written as \.csv, \.json or \.md"):
        write_dictionary(described, tmp_path / "d.txt")
