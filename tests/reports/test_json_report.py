import json
from pathlib import Path

import jsonschema
import pytest

from attunement.ratings import ABSTAINED
from attunement.reports.machine import FORMAT, report_schema
from attunement.reports.privacy import Privacy
from attunement.scoring import Verdict
from tests.builders import talk
from tests.fake_judge import Behaviour, FakeJudge
from tests.reports.html.studies import mixed, one, rated
from tests.reports.made import asked, harsh
from tests.reports.made import written as form
from tests.reports.samples import COACHING, EMPATHY, NOT_ENGLISH, POINTER, checked, fill, judged

CHECK = jsonschema.Draft202012Validator(report_schema())


def written(path: Path, hiding: Privacy | None = None, **more) -> dict:
    """The report, after its schema has accepted it."""
    record = json.loads(form(path, "json", hiding or Privacy(), **more))
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
    summary = record["summary"]
    assert (summary["unsafe"], summary["safety_not_judged"], summary["not_judged"]) == (1, 1, 2)
    assert (summary["crisis_talk"], summary["rule_check"]["pointed"]) == (1, 0)
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


def test_every_verdict_is_one_of_the_schema():
    schema = report_schema()["properties"]
    (baseline,) = (each for each in schema["baseline"]["anyOf"] if "properties" in each)
    regression = baseline["properties"]["regressions"]["items"]["properties"]
    verdicts = {verdict.value for verdict in Verdict}
    assert set(schema["counts"]["properties"]["verdicts"]["propertyNames"]["enum"]) == verdicts
    assert set(schema["conversations"]["items"]["properties"]["verdict"]["enum"]) - {None} == verdicts
    assert set(regression["before"]["enum"]) == set(regression["now"]["enum"]) == verdicts


def test_what_the_rule_check_points_to_is_counted_and_judges_nothing(tmp_path):
    talks = [one("crisis"), one("foreign"), one("plain")]
    given = [*checked(talks[0], POINTER), *checked(talks[1], NOT_ENGLISH), *checked(talks[2])]
    record = written(fill(tmp_path / "s.db", COACHING, talks, given))
    summary = record["summary"]
    assert (summary["rule_check"]["pointed"], summary["rule_check"]["not_english"]) == (1, 1)
    assert summary["rule_check"]["measured"].startswith("Measured: ")
    assert (summary["not_judged"], summary["judged_by"], record["gate"]["exit_code"]) == (3, [], 3)
    assert {(each["verdict"], each["gate"]) for each in record["conversations"]} == {(None, 3)}
    assert record["counts"]["verdicts"] == {}


def test_a_judge_that_abstained_from_everything_fits_the_schema(tmp_path):
    about = one("a")
    record = written(fill(tmp_path / "s.db", COACHING, [about], rated(about, others=ABSTAINED)))
    assert [each["verdict"] for each in record["conversations"]] == ["NOT JUDGED"]
    assert (record["summary"]["not_judged"], record["gate"]["exit_code"]) == (1, 3)


def test_a_failed_item_is_listed_in_a_conversation_that_passes(tmp_path):
    record = written(fill(tmp_path / "s.db", COACHING, [one("a")], rated(one("a"), {"CP5": "NO"})))
    (conversation,) = record["conversations"]
    assert conversation["passed"]
    assert [entry["item"] for entry in conversation["objections"]] == ["CP5"]


@pytest.mark.parametrize("hiding", [Privacy(), Privacy(texts=False), Privacy(lambda text: "[name]")])
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
