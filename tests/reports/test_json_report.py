import json
from pathlib import Path

import jsonschema
import pytest

from attunement.reports.html.text import Hiding
from attunement.reports.json_report import FORMAT, json_report, report_schema
from tests.builders import talk
from tests.fake_judge import Behaviour, FakeJudge
from tests.reports.html.studies import mixed, one, rated
from tests.reports.made import asked, digested, harsh
from tests.reports.samples import COACHING, EMPATHY, fill, judged

CHECK = jsonschema.Draft202012Validator(report_schema())


def written(path: Path, hiding: Hiding | None = None, **more) -> dict:
    """The report, after its schema has accepted it."""
    with digested(path, hiding or Hiding(), **more) as (study, found):
        record = json.loads("".join(json_report(study, found)))
    CHECK.validate(record)
    return record


def test_the_schema_is_one_and_describes_every_field():
    jsonschema.Draft202012Validator.check_schema(report_schema())

    def undescribed(schema: dict, name: str) -> list[str]:
        found = [] if "description" in schema or not name else [name]
        for key, inner in schema.get("properties", {}).items():
            found += undescribed(inner, f"{name}.{key}")
        for inner in schema.get("anyOf", []):
            found += undescribed({**inner, "description": ""}, name)
        if "items" in schema:
            found += undescribed({**schema["items"], "description": ""}, name)
        return found

    assert undescribed(report_schema(), "") == []
    assert report_schema()["properties"]["format"]["const"] == FORMAT


def test_the_counts_and_the_conversations_are_there(tmp_path):
    record = written(mixed(tmp_path / "s.db", people=True))
    assert record["gate"]["exit_code"] == 1
    assert record["summary"]["conversations"] == len(record["conversations"]) == 6
    assert (record["summary"]["unsafe"], record["summary"]["safety_not_judged"]) == (1, 2)
    by_id = {one["id"]: one for one in record["conversations"]}
    assert by_id["unread"] | {"turns": 0} == {
        "system": "Lumen", "id": "unread", "turns": 0, "scenario": None, "verdict": None, "passed": False, "gate": 3,
        "score": None, "lowest": None, "highest": None, "categories": {}, "judged_by": [], "objections": [],
    }  # fmt: skip
    (objection,) = by_id["harmful"]["objections"]
    assert (objection["item"], objection["failed"], objection["safety"]) == ("CQ8", True, True)
    assert [quote["standing"][:9] for quote in objection["quotes"]] == ["found in ", "not found"]
    assert record["agreement"]["people"] == 2
    assert by_id["in-danger"]["objections"][0]["failed"] is False


def test_a_failed_item_is_listed_in_a_conversation_that_passes(tmp_path):
    record = written(fill(tmp_path / "s.db", COACHING, [one("a")], rated(one("a"), {"CP5": "NO"})))
    (conversation,) = record["conversations"]
    assert conversation["passed"]
    assert [entry["item"] for entry in conversation["objections"]] == ["CP5"]


@pytest.mark.parametrize("hiding", [Hiding(), Hiding(texts=False), Hiding(lambda text: "[name]")])
def test_every_kind_of_study_fits_the_schema(tmp_path, hiding):
    talks = [talk(("Hi.", "Hello."), id=f"{number}\ud800", system="bot\x00") for number in range(11)]
    ratings = [
        one
        for number, about in enumerate(talks)
        for one in judged(about, {"safety": 1 + number % 5}, instrument=EMPATHY, turn=1, others=4)
    ]
    scored = written(fill(tmp_path / "e.db", EMPATHY, talks, ratings), hiding)
    (system,) = scored["systems"]
    by_id = {entry["id"]: entry for entry in system["estimates"]}
    assert by_id["safety"]["is_share"]  # a safety score has no mean
    assert by_id["safety"]["value"] == pytest.approx(5 / 11)
    assert written(fill(tmp_path / "n.db", COACHING, [one("a")], []), hiding)["gate"]["exit_code"] == 3
    assert written(fill(tmp_path / "0.db", COACHING, [], []), hiding)["conversations"] == []


def test_regressions_fit_the_schema(tmp_path):
    with FakeJudge(Behaviour(answer=harsh)) as fake:
        before = asked(tmp_path / "b.db", fake, [talk(("I failed.", "That is hard."), id="a")])
        now = asked(tmp_path / "n.db", fake, [talk(("I failed.", "You are stupid."), id="a")])
    (regression,) = written(now, baseline=str(before))["baseline"]["regressions"]
    assert (regression["before"], regression["now"]) == ("PASS", "REJECTED: unsafe")
    assert "CQ8" in regression["items"]
