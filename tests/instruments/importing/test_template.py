import re
from pathlib import Path

import pytest

from attunement.conversations import UnitKind
from attunement.errors import InstrumentError
from attunement.instruments import Criteria, Item, load
from attunement.instruments.importer import import_markdown
from attunement.instruments.lint import lint
from tests.instruments.importing.documents import TEMPLATE, import_text

NEVER_NA = ["CQ1", "CQ8", "CP2", "MT1", "MT6"]


@pytest.fixture(scope="session")
def assessor_template(shared_data: Path) -> Path:
    path = shared_data.parent / "seeds" / "assessor-template.md"
    if not path.is_file():
        pytest.skip(f"{path} is absent")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("templates")


def test_the_assessor_template_gives_its_prompts_to_the_character(assessor_template: Path) -> None:
    fences = re.findall(r"^```\n(.*?)\n```$", assessor_template.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    prompt = import_markdown(assessor_template).instrument.prompt
    assert [prompt.system, prompt.user] == fences[:2]
    assert (prompt.reasoning_limit, prompt.ask) == (300, "separately")


@pytest.mark.parametrize("lender", [None, "coaching-v1"])
def test_the_assessor_template_gives_its_na_invalid_and_gate_ids(assessor_template: Path, lender: str | None) -> None:
    imported = import_markdown(assessor_template, items_from=load(lender) if lender else None)
    instrument = imported.instrument
    assert sorted(item.id for item in instrument.items if not item.na_valid) == sorted(NEVER_NA)
    assert [entry.item for entry in instrument.gate] == ["CQ8", "CQ9"]
    assert instrument.item("CQ9").na_valid
    assert instrument.item("CQ9").na_note in assessor_template.read_text("utf-8")
    assert (instrument.unit, instrument.scale) == (UnitKind.CONVERSATION, Criteria(kind="criteria"))
    assert imported.unplaced == []


def test_the_mis_encoded_arrow_of_the_assessor_template_survives_with_a_remark(assessor_template: Path) -> None:
    imported = import_markdown(assessor_template)
    assert any("â†’ NO" in rule for rule in imported.instrument.guidance)
    assert any("'â†’'" in remark and "'→'" in remark for remark in imported.remarks)


def test_a_template_of_our_own_is_read_part_by_part(folder: Path) -> None:
    imported = import_text(folder, TEMPLATE)
    instrument = imported.instrument
    assert imported.unplaced == []
    assert (instrument.id, instrument.version, instrument.title) == ("kitchen-judge", "1", "Kitchen Judge")
    assert instrument.about == "Judges talks between cooks."
    assert instrument.prompt.system == (
        "You judge ONE thing, in at most 200 characters.\n\n"
        "\t{criterion_id} ({criterion_category})\n{criterion_prompt}\n"
        'Answer as {"reasoning": "...", "answer": "..."}.'
    )
    assert instrument.prompt.user == "{conversation}\n\nNow the JSON."
    assert instrument.prompt.reasoning_limit == 200
    assert instrument.guidance == (
        "YES: It is so",
        "NO: It is not so",
        "NA: Nobody cooked",
        "A good reason:\n\n1. **Cite**: the turn\n2. **Conclude**: the answer",
        'Bad reasons:\n- "Fine."',
        "**One at a time**: one criterion a call",
        "**All of it**: the whole talk",
    )
    assert instrument.notes == (
        "Template Variables\n\n- `{criterion_id}` - which one\n- `{conversation}` - the talk",
        "Conversation Format\n\nTurns look like this:\n\n```\n--- Turn 1 ---\nUser: [words]\nAssistant: [words]\n```",
        "Never NA for these:",
        "K4 and K7 guard the kitchen. A NO closes it.",
        "Exception: K7 (Fire) may be NA where nothing is hot.",
    )
    assert instrument.items == (
        Item(id="K1", title="Clean hands", na_valid=False, na_note="There are always hands"),
        Item(id="K4", title="Knife safety", na_valid=False, na_note="There is always a knife"),
        Item(id="K7", title="Fire", na_note="Exception: K7 (Fire) may be NA where nothing is hot."),
    )
    assert [entry.item for entry in instrument.gate] == ["K4", "K7"]


def test_what_a_no_leads_to_is_in_no_guidance(folder: Path) -> None:
    guidance = " ".join(import_text(folder, TEMPLATE).instrument.guidance)
    assert "closes it" not in guidance
    assert "K4" not in guidance


def test_undefined_criteria_are_remarked(folder: Path) -> None:
    remarks = import_text(folder, TEMPLATE).remarks
    assert any(remark.startswith("The document names K1, K4, K7 and defines none of them;") for remark in remarks)


def test_items_of_another_instrument_bring_their_categories_scoring_and_rules(folder: Path) -> None:
    lender = load("coaching-v1")
    text = TEMPLATE.replace("K1", "CQ1").replace("K4", "CQ8").replace("K7", "CQ9")
    imported = import_text(folder, text, items_from=lender)
    instrument = imported.instrument
    assert [item.id for item in instrument.items] == [item.id for item in lender.items]
    assert instrument.item("CQ2") == lender.item("CQ2")
    assert instrument.item("CQ1").definition == lender.item("CQ1").definition
    assert instrument.item("CQ1").na_note == "There are always hands"
    assert (instrument.categories, instrument.scoring, instrument.rules) == (
        lender.categories,
        lender.scoring,
        lender.rules,
    )
    assert instrument.guidance == import_text(folder, TEMPLATE).instrument.guidance
    assert any("the document says CQ1 'Clean hands'" in remark for remark in imported.remarks)


def test_the_document_decides_about_na_and_the_gate_and_differences_are_remarked(folder: Path) -> None:
    text = TEMPLATE.replace("K1 (", "CQ2 (").replace("K4 and K7", "CQ9").replace("K4", "CQ8").replace("K7", "CQ9")
    imported = import_text(folder, text, items_from=load("coaching-v1"))
    assert [item.id for item in imported.instrument.items if not item.na_valid] == ["CQ2", "CQ8"]
    assert [entry.item for entry in imported.instrument.gate] == ["CQ9"]
    assert "CQ2: NA is invalid by the document and valid in coaching-v1; the document is followed." in imported.remarks
    assert "MT1: NA is valid by the document and invalid in coaching-v1; the document is followed." in imported.remarks
    assert any(
        remark.startswith("The gate is CQ9 by the document and CQ8, CQ9 in coaching-v1") for remark in imported.remarks
    )


def test_a_criterion_the_other_instrument_lacks_is_kept_and_remarked(folder: Path) -> None:
    imported = import_text(folder, TEMPLATE, items_from=load("coaching-v1"))
    assert [item.id for item in imported.instrument.items[-3:]] == ["K1", "K4", "K7"]
    assert any(remark.startswith("coaching-v1 has no K1, K4, K7;") for remark in imported.remarks)


def test_a_document_without_na_rules_and_gate_leaves_those_of_the_other_instrument(folder: Path) -> None:
    start, end = TEMPLATE.index("### NA-Invalid"), TEMPLATE.index("## Reasoning Pattern")
    lender = load("coaching-v1")
    imported = import_text(folder, TEMPLATE[:start] + TEMPLATE[end:], items_from=lender)
    assert imported.instrument.items == lender.items
    assert imported.instrument.gate == lender.gate
    assert "The document names no gate; that of coaching-v1 is used." in imported.remarks


def test_na_stays_invalid_where_the_document_contradicts_itself(folder: Path) -> None:
    imported = import_text(folder, TEMPLATE.replace("Exception: K7", "Exception: K4"))
    assert not imported.instrument.item("K4").na_valid


def test_an_exception_in_the_same_paragraph_takes_nothing_into_the_gate(folder: Path) -> None:
    text = TEMPLATE.replace("A NO closes it.\n\nException: K7", "A NO closes it. Exception: K9")
    instrument = import_text(folder, text).instrument
    assert [entry.item for entry in instrument.gate] == ["K4", "K7"]
    assert instrument.item("K9").na_note == "Exception: K9 (Fire) may be NA where nothing is hot."


def test_scores_cannot_lend_their_items_to_a_template(folder: Path) -> None:
    with pytest.raises(InstrumentError, match="empathy-v2 asks for scores"):
        import_text(folder, TEMPLATE, items_from=load("empathy-v2"))


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("| K1 (Clean hands) |", "the row needs 2 cells with text"),
        ("| K1 (Clean hands) | |", "the row needs 2 cells with text"),
        ("| clean hands | always | ", "'clean hands' is not the id of a criterion with its name in brackets"),
        ("| K4 (Knives) | again |", "K4 is in this table already"),
    ],
)
def test_a_malformed_row_about_na_is_reported_with_its_line(folder: Path, row: str, reason: str) -> None:
    swapped = TEMPLATE.replace(
        "| K1 (Clean hands) | There are always hands |\n| K4 (Knife safety) | There is always a knife |",
        f"| K4 (Knife safety) | There is always a knife |\n{row}",
    )
    imported = import_text(folder, swapped)
    assert imported.unplaced == [(swapped.split("\n").index(row) + 1, row, reason)]
    assert [item.id for item in imported.instrument.items] == ["K4", "K7"]


def test_an_answer_that_is_none_of_the_three_is_reported(folder: Path) -> None:
    imported = import_text(folder, TEMPLATE.replace("| NA | Nobody", "| MAYBE | Nobody"))
    assert [entry.reason for entry in imported.unplaced] == ["'MAYBE' is not an answer; the answers are YES, NO and NA"]


@pytest.mark.parametrize(
    ("old", "new", "remark"),
    [
        ("at most 200 characters", "short", "The prompt asks for no length of reasoning"),
        ("at most 200 characters", "at most 20 characters", "The prompt asks for no length of reasoning"),
        ("--- Turn 1 ---", "[1]", "'Conversation Format' does not show turns as --- Turn 1 ---, User:, Assistant:;"),
        ("K4 and K7 guard", "They guard", "'Safety Gate' names no criterion"),
    ],
)
def test_what_would_surprise_in_a_question_is_remarked(folder: Path, old: str, new: str, remark: str) -> None:
    assert not any(found.startswith(remark) for found in import_text(folder, TEMPLATE).remarks)
    assert any(found.startswith(remark) for found in import_text(folder, TEMPLATE.replace(old, new)).remarks)


def test_unknown_and_missing_variables_of_the_prompt_are_found_by_lint(folder: Path) -> None:
    text = TEMPLATE.replace("{criterion_prompt}\n", "{rubric}\n").replace("{conversation}\n\nNow", "Now")
    problems = [str(problem) for problem in lint(import_text(folder, text).instrument) if problem.where == "prompt"]
    assert any("never names {criterion_prompt}" in problem for problem in problems)
    assert any("never names {conversation}" in problem for problem in problems)
    assert any("names {rubric}, which nothing fills in" in problem for problem in problems)


def test_text_is_kept_as_it_is_written(folder: Path) -> None:
    text = TEMPLATE.replace(
        "1. **One at a time**: one criterion a call",
        "It was in\n1999. Then it ended.\n\n- one\n  goes on\n  - inner\n- two\nlazily",
    ).replace("## User Prompt\n\n```text\n", "## User Prompt\n\n````text\n# no heading\n```\n| no table |\n")
    text = text.replace("Now the JSON.\n```", "Now the JSON.\n````")
    instrument = import_text(folder, text).instrument
    assert instrument.prompt.user == "# no heading\n```\n| no table |\n{conversation}\n\nNow the JSON."
    assert instrument.guidance[-4:-1] == ("It was in\n1999. Then it ended.", "one\ngoes on\n- inner", "two\nlazily")


def test_a_prompt_without_a_fence_is_an_error_with_its_line(folder: Path) -> None:
    with pytest.raises(InstrumentError, match=r"document\.md, line 3: there is no text between ``` fences"):
        import_text(folder, "# T\n\n## User Prompt\n\nwords\n\n## System Prompt\n\n```\na\n```\n")


def test_a_fence_that_is_never_closed_is_an_error_with_its_line(folder: Path) -> None:
    with pytest.raises(InstrumentError, match=r"document\.md, line 9: this fence is never closed"):
        import_text(folder, "# T\n\n## User Prompt\n\n```\na\n```\n## System Prompt\n~~~\na\n```\n")
