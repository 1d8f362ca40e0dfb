import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attunement.errors import InstrumentError
from attunement.instruments.importer import Imported, import_markdown
from tests.instruments.importing.documents import RUBRIC, TEMPLATE, import_text, numbered, words_of

STRUCTURE = re.compile(r"-{3,}|```|\|[-| ]+\||>")
HEADINGS = re.compile(
    r"#+ (?:Boundary guidance|Score \d example(?: \(boundary\))?|Version History|Template Variables|System Prompt"
    r"|User Prompt|Conversation Format|Scoring Rules|Answer Types|NA-Invalid Criteria|Safety Gate"
    r"|Evidence-First Reasoning Pattern|Usage Notes)"
)
MARKS = re.compile(
    r"#+ (?:Dimension \d: )?|> (?:\*\*(?:Purpose|Scope|User|Response)\*\*: )?"
    r"|- (?:\*\*\d vs \d\*\*: )?|\d\. |\*\*Definition\*\*: "
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("documents")


@pytest.fixture(scope="session", params=["rubric-v2.md", "assessor-template.md"])
def document(request: pytest.FixtureRequest, shared_data: Path) -> Path:
    path = shared_data.parent / "seeds" / request.param
    if not path.is_file():
        pytest.skip(f"{path} is absent")
    return path


def fragments(line: str, following: str) -> list[str]:
    """The words of a line that must stand somewhere; none for a line that only gives the document its structure."""
    if STRUCTURE.fullmatch(line) or HEADINGS.fullmatch(line) or re.fullmatch(r"\|[-| ]+\|", following):
        return []
    if line.startswith("|"):
        return [part for cell in line.strip("|").split("|") for part in re.split(r" \((?=.*\)$)", cell.strip())]
    words = MARKS.sub("", line, count=1) if MARKS.match(line) else line
    return [part.strip(' "—)`') for part in re.split(r" — v|\(`", words) if part.strip(' "')]


def test_every_line_of_both_documents_has_its_place(document: Path) -> None:
    lines = document.read_text("utf-8").split("\n")
    imported = import_markdown(document)
    assert imported.unplaced == []
    words = "\0".join(words_of(imported.instrument))
    homeless = [
        (number, part)
        for number, (line, following) in enumerate(pairwise([*lines, ""]), start=1)
        if line.strip()
        for part in fragments(line, following)
        if part.rstrip(")") not in words
    ]
    assert homeless == []


def insert(text: str, place: int, words: str) -> str:
    lines = text.split("\n")
    return "\n".join([*lines[:place], *words.split("\n"), *lines[place:]])


def outside_fences(text: str) -> list[str]:
    """The lines, with those inside fences and the fences themselves as a mark."""
    inside, found = False, list[str]()
    for line in text.split("\n"):
        fence = line.startswith("```")
        found.append("(fenced)" if fence or inside else line)
        inside ^= fence
    return found


def headings(text: str) -> list[int]:
    return [number for number, line in enumerate(outside_fences(text)) if line.startswith("## ")]


def blanks(text: str) -> list[int]:
    return [number for number, line in enumerate(outside_fences(text)) if not line.strip()]


def check_stray_section(folder: Path, text: str, before: Imported, place: int, words: str) -> None:
    section = f"## Zoology of {words}\n\nOn {words}.\n\n- {words}\n\n### Boundary guidance\n- {words}\n"
    after = import_text(folder, insert(text, place, section))
    assert after.instrument.model_copy(update={"source": ()}) == before.instrument.model_copy(update={"source": ()})
    assert [(entry.line - place, entry.text) for entry in after.unplaced] == [
        (1, f"## Zoology of {words}"),
        (3, f"On {words}."),
        (5, f"- {words}"),
        (7, "### Boundary guidance"),
        (8, f"- {words}"),
    ]


def check_stray_paragraph(folder: Path, text: str, before: Imported, place: int, words: str) -> None:
    stray = f"Zebras and {words}."
    after = import_text(folder, insert(text, place, f"\n{stray}\n"))
    unplaced = [(entry.line, entry.text) for entry in after.unplaced]
    if after.instrument.model_copy(update={"source": ()}) == before.instrument.model_copy(update={"source": ()}):
        assert unplaced == [(place + 2, stray)]
    else:
        # It stands in a part that is prose, such as the paragraphs below the title.
        assert unplaced == []
        assert any(stray in found for found in words_of(after.instrument))


texts = st.lists(st.text("abcdefghij", min_size=1), min_size=1, max_size=4).map(" ".join)
own = pytest.mark.parametrize("text", [RUBRIC, TEMPLATE], ids=["rubric", "template"])


@own
@settings(deadline=None, max_examples=50)
@given(data=st.data(), words=texts)
def test_an_unknown_section_is_unplaced_and_changes_nothing(
    folder: Path, text: str, data: st.DataObject, words: str
) -> None:
    place = data.draw(st.sampled_from(headings(text)))
    check_stray_section(folder, text, import_text(folder, text), place, words)


@own
@settings(deadline=None, max_examples=50)
@given(data=st.data(), words=texts)
def test_a_stray_paragraph_is_unplaced_or_kept_in_a_part_that_is_prose(
    folder: Path, text: str, data: st.DataObject, words: str
) -> None:
    place = data.draw(st.sampled_from(blanks(text)))
    check_stray_paragraph(folder, text, import_text(folder, text), place, words)


def test_strays_in_both_documents_are_found_wherever_they_stand(document: Path, folder: Path) -> None:
    text, before = document.read_text("utf-8"), import_markdown(document)
    for place in headings(text):
        check_stray_section(folder, text, before, place, "ants")
    for place in blanks(text):
        check_stray_paragraph(folder, text, before, place, "bees")


@pytest.mark.parametrize(
    "before",
    ["**Definition**: Does", "| Score | Label", "### Boundary", "### Score 3 example", "## Overall"],
)
def test_a_stray_paragraph_in_a_dimension_is_unplaced_with_its_line(folder: Path, before: str) -> None:
    text = RUBRIC.replace(before, f"Stray words.\n\n{before}", 1)
    imported = import_text(folder, text)
    assert [(entry.line, entry.text) for entry in imported.unplaced] == [(*numbered(text, "Stray"), "Stray words.")]
    assert "has no place for it" in imported.unplaced[0].reason


def test_an_unplaced_line_says_whether_its_section_is_known(folder: Path) -> None:
    imported = import_text(folder, f"first\n\n{RUBRIC}\nlast\n\n## Weather\n\nrain")
    assert [entry.reason for entry in imported.unplaced] == [
        "it comes before the title",
        "the section 'Version History' has no place for it",
        "the section 'Weather' is not one that an import knows here",
        "the section 'Weather' is not one that an import knows here",
    ]


@own
def test_line_ends_and_a_byte_order_mark_change_nothing(folder: Path, text: str) -> None:
    plain = import_text(folder, text)
    assert import_text(folder, text.replace("\n", "\r\n")) == plain
    assert import_text(folder, b"\xef\xbb\xbf" + text.encode()) == plain


@own
def test_odd_characters_survive(folder: Path, text: str) -> None:
    odd = "Â½ â†’ \u2028\x0c‏שלום 😀\t|"
    imported = import_text(folder, text.replace("Hurries.", f"x {odd[:-1]}x").replace("the turn", f"x {odd}x"))
    assert any(f"x {odd[:-1]}" in found for found in words_of(imported.instrument))
    assert any("'â†’" in remark for remark in imported.remarks)


@pytest.mark.parametrize("text", ["", "# Only a title\n\nand words", "# T\n## System Prompt\n```\na\n```"])
def test_another_document_is_refused_with_what_was_looked_for(folder: Path, text: str) -> None:
    with pytest.raises(InstrumentError, match="neither a rubric nor a prompt template; a rubric has headings such as"):
        import_text(folder, text)


def test_a_file_that_cannot_be_read_is_named(folder: Path) -> None:
    with pytest.raises(InstrumentError, match=r"absent\.md cannot be read: No such file"):
        import_markdown(folder / "absent.md")
    with pytest.raises(InstrumentError, match=r"document\.md is not UTF-8 text: .* at byte 4"):
        import_text(folder, b"# R\n\xff")


@pytest.mark.parametrize(
    ("heading", "name", "id", "version"),
    [
        ("# Talk Rubric — v2", "x", "talk-rubric-v2", "v2"),
        ("# Talk Rubric (version 3.1)", "x", "talk-rubric-version-3.1", "3.1"),
        ("# Étude des 5 sens", "x", "etude-des-5-sens", "1"),
        ("# 温かさ v2", "Warm Talk", "warm-talk", "v2"),
        ("# 温かさ", "Warm Talk", "warm-talk", "1"),
        ("", "Warm Talk", "warm-talk", "1"),
        ("", "温", "imported", "1"),
    ],
)
def test_the_id_and_version_follow_from_the_title_or_the_file(
    folder: Path, heading: str, name: str, id: str, version: str
) -> None:
    instrument = import_text(folder, f"{heading}\n## Dimension 1: A (`a`)\n", f"{name}.md").instrument
    assert (instrument.id, instrument.version) == (id, version)


def test_the_version_is_taken_from_the_history_where_the_title_has_none(folder: Path) -> None:
    imported = import_text(folder, RUBRIC.replace(" - v1.2", ""))
    assert imported.instrument.version == "v1.2"
    assert not any("version" in remark for remark in imported.remarks)


def test_a_title_and_a_history_that_disagree_are_remarked(folder: Path) -> None:
    imported = import_text(folder, RUBRIC.replace(" - v1.2", " - v2"))
    assert imported.instrument.version == "v2"
    assert "The title says v2, the last line of the history v1.2; v2 is used." in imported.remarks


def test_the_id_of_a_built_in_instrument_is_remarked(folder: Path) -> None:
    imported = import_text(folder, RUBRIC.replace("Garden Talk Rubric - v1.2", "Empathy v2"))
    assert "There is a built-in instrument empathy-v2; give this one another id before you use it." in imported.remarks


LINES = [line for line in f"{RUBRIC}{TEMPLATE}".split("\n") if r"\|" not in line]


@pytest.mark.parametrize(
    "head", ["## Dimension 9: Z (`z`)", "## System Prompt\n```\na\n```\n## User Prompt\n```\nb\n```"]
)
@settings(deadline=None, max_examples=50)
@given(lines=st.lists(st.sampled_from(LINES), max_size=40))
def test_a_document_in_disorder_is_imported_or_refused_and_no_line_is_lost(
    folder: Path, head: str, lines: list[str]
) -> None:
    try:
        imported = import_text(folder, "\n".join([head, *lines]))
    except InstrumentError:
        return
    kept = "\0".join([*words_of(imported.instrument), *(entry.text for entry in imported.unplaced)])
    for line, following in pairwise([*lines, ""]):
        if not re.match(r"#|```|\| (?:Score|Version|Answer|Criterion) ", line):
            assert all(part.strip() in kept for part in fragments(line, following))
