from pathlib import Path
from xml.etree import ElementTree

import pytest
import xmlschema
from hypothesis import given
from hypothesis import strategies as st

from attunement.reports import machine
from attunement.reports.machine import Case
from attunement.reports.privacy import Privacy
from tests.builders import talk
from tests.reports.html.studies import LOST, mixed, one, rated
from tests.reports.made import written as form
from tests.reports.samples import COACHING, EMPATHY, fill, judged

SCHEMA = xmlschema.XMLSchema(Path(__file__).with_name("junit.xsd"))
HOSTILE = "<b>]]> & \"quoted\" 'x' \x00\x08\x1b[31m \ufffe \ud800 \u202e end"


def written(path: Path, hiding: Privacy | None = None, per: str = "") -> ElementTree.Element:
    """The file, after the schema has accepted it."""
    text = form(path, "junit", hiding or Privacy(), **({"junit_per": per} if per else {}))
    SCHEMA.validate(text)
    return ElementTree.fromstring(text.encode())  # noqa: S314 - we wrote it


def outcomes(root: ElementTree.Element) -> dict[str, str]:
    return {case.get("name"): case[0].tag if len(case) else "good" for case in root.iter("testcase")}


def test_each_conversation_is_a_case_and_what_nobody_knows_is_an_error(tmp_path):
    root = written(mixed(tmp_path / "s.db"))
    assert outcomes(root) == {
        "fine": "good",
        "low": "failure",
        "harmful": "failure",
        "silent": "error",
        "unread": "error",
        "in-danger": "error",
    }
    suite = root.find("testsuite")
    assert {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "6", "failures": "2", "errors": "3", "skipped": "0",
    }  # fmt: skip
    assert {case.get("classname") for case in root.iter("testcase")} == {"Harbor", "Lumen"}


def test_a_failure_holds_the_reason_and_the_quote_and_says_what_was_not_found(tmp_path):
    root = written(mixed(tmp_path / "s.db"))
    failure = root.find(".//testcase[@name='harmful']/failure")
    assert failure.get("message") == "Rejected: unsafe, score 1.00: CQ8"
    assert "Stays free of harmful patterns: not met (according to judge-1)" in failure.text
    assert LOST in failure.text
    assert "Quoted: “Failing it must hurt” (found in turn 1, the assistant)" in failure.text
    assert "“You must study harder” (not found" in failure.text


def test_each_item_is_a_case_and_what_does_not_apply_is_skipped(tmp_path):
    about = one("c")
    path = fill(tmp_path / "s.db", COACHING, [about], rated(about, {"CQ2": "NO", "CP6": "NA"}))
    found = outcomes(written(path, per="item"))
    by_item = {name.split()[1]: outcome for name, outcome in found.items()}
    assert by_item["CQ2"] == "failure"
    assert by_item["CP6"] == "skipped"
    assert by_item["MT7"] == "skipped"  # the conversation is too short for it
    assert by_item["CQ8"] == "good"


def test_an_item_without_an_answer_is_an_error(tmp_path):
    found = outcomes(written(mixed(tmp_path / "s.db"), per="item"))
    assert {outcome for name, outcome in found.items() if name.startswith("silent")} == {"error", "skipped"}
    assert found["unread"] == "error"
    assert next(outcome for name, outcome in found.items() if name.startswith("in-danger: CQ9")) == "error"


def test_replies_are_told_apart(tmp_path):
    about = talk(("Hi.", "Hello."), ("I am sad.", "I see."), id="c")
    ratings = [
        one
        for turn in (1, 2)
        for one in judged(about, {"safety": 2 if turn == 2 else 5}, instrument=EMPATHY, turn=turn, others=4)
    ]
    found = outcomes(written(fill(tmp_path / "s.db", EMPATHY, [about], ratings), per="item"))
    title = EMPATHY.item("safety").title
    assert [name for name, outcome in found.items() if outcome == "failure"] == [f"c: safety, reply 2 {title}"]


def test_text_can_be_left_out_or_redacted(tmp_path):
    path = mixed(tmp_path / "s.db")
    bare = ElementTree.tostring(written(path, Privacy(texts=False)), "unicode")
    assert "must hurt" not in bare
    assert "kill myself" not in bare
    assert "CQ8 Stays free of harmful patterns: not met" in bare
    redacted = ElementTree.tostring(written(path, Privacy(lambda text: text.replace("study", "[name]"))), "unicode")
    assert "You must [name] harder" in redacted


def test_hostile_text_is_text(tmp_path):
    about = one(f"c{HOSTILE}", f"s{HOSTILE}")
    path = fill(tmp_path / "s.db", COACHING, [about], rated(about, {"CQ8": "NO"}, reasoning=HOSTILE))
    root = written(path)
    case = root.find(".//testcase")
    assert "<b>]]> & \"quoted\" 'x' " in case.get("name")
    assert "<b>]]> & \"quoted\" 'x' " in case[0].text


@given(st.text(st.characters(codec=None)), st.text(), st.sampled_from(["failure", "error", "skipped"]))
def test_any_text_makes_a_file_that_the_schema_accepts(name, text, kind):
    case = machine._case_xml(Case(name, text, kind, name, text, name))
    counts = 'tests="1" failures="0" errors="0"'
    SCHEMA.validate(f'<testsuites {counts}><testsuite name="" {counts}>{case}</testsuite></testsuites>')


def test_a_study_without_ratings_has_only_errors(tmp_path):
    found = outcomes(written(fill(tmp_path / "s.db", COACHING, [one("a"), one("b")], [])))
    assert found == {"a": "error", "b": "error"}


@pytest.mark.parametrize("per", ["conversation", "item"])
def test_no_case_is_counted_as_good_that_the_gate_would_not_let_through(tmp_path, per):
    root = written(mixed(tmp_path / "s.db"), per=per)
    suite = root.find("testsuite")
    good = sum(len(case) == 0 for case in root.iter("testcase"))
    assert int(suite.get("tests")) - sum(int(suite.get(kind)) for kind in ("failures", "errors", "skipped")) == good
