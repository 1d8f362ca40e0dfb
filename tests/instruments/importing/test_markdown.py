import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from attunement.errors import InstrumentError
from attunement.instruments.markdown_document import LISTS, Block, Document, Kind

MARKS = [
    "#",
    "## A",
    "- a",
    "* b",
    "2. c",
    "1) d",
    "> e",
    ">",
    "| f | g |",
    "|-|-|",
    "---",
    "***",
    "~~~",
    "```",
    "[h]: i",
    "===",
    "",
    " ",
    "\t",
]
COLUMNS = {"a": "a", "b": "b"}


def read(text: str) -> list[Block]:
    sections = Document(text, "document.md").root.walk()
    return [block for section in sections for block in (section.heading, *section.blocks) if block]


def records(text: str) -> list[tuple[int, list[str]]]:
    found = Document(text, "document.md").records(read(text)[0], COLUMNS)
    return [(line, [*cells.values()]) for line, cells in found or []]


@settings(deadline=None)
@given(st.lists(st.one_of(st.sampled_from(MARKS), st.text(st.characters(exclude_characters="\r\n"), max_size=8))))
def test_every_line_that_is_not_blank_belongs_to_exactly_one_block_as_it_stands(document: list[str]) -> None:
    try:
        found = read("\n".join(document))
    except InstrumentError:
        reject()
    placed = {block.line + number: line for block in found for number, line in enumerate(block.lines)}
    assert sum(len(block.lines) for block in found) == len(placed)
    assert all(document[number - 1] == line for number, line in placed.items())
    assert all(number in placed for number, line in enumerate(document, start=1) if line.strip())
    for block in found:
        if block.kind in LISTS:
            assert "\n".join(block.parts).count("\n") <= len(block.lines) - 1


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("# Title", Kind.HEADING),
        ("#hashtag", Kind.PARAGRAPH),
        ("- - -", Kind.RULE),
        ("* * *", Kind.RULE),
        ("**bold** words", Kind.PARAGRAPH),
        ("-\tafter a tab", Kind.BULLETS),
        ("12) twelve", Kind.NUMBERS),
        ("1.5 metres", Kind.PARAGRAPH),
        ("| a cell |\n|---|", Kind.TABLE),
        (">no space", Kind.QUOTE),
        ("    - four spaces in", Kind.PARAGRAPH),
        ("[name]: no link", Kind.PARAGRAPH),
    ],
)
def test_a_line_tells_its_kind(line: str, kind: Kind) -> None:
    assert [block.kind for block in read(line)] == [kind]


def test_a_line_of_dashes_separates_and_makes_no_heading() -> None:
    assert [block.kind for block in read("words\n---\nmore")] == [Kind.PARAGRAPH, Kind.RULE, Kind.PARAGRAPH]


def test_line_ends_of_every_system_give_the_same_blocks() -> None:
    text = "# A\n\nwords\n- b\n"
    assert read(text) == read(text.replace("\n", "\r\n")) == read(text.replace("\n", "\r"))


def test_other_line_ends_of_unicode_stay_inside_their_line() -> None:
    assert read("a\u2028b\x85c\x0bd")[0].text == "a\u2028b\x85c\x0bd"


def test_prose_that_begins_with_a_number_stays_a_paragraph_but_a_list_cuts_in() -> None:
    assert [block.kind for block in read("It was in\n1999. Then it ended.")] == [Kind.PARAGRAPH]
    assert [block.kind for block in read("These:\n1. one\n2. two")] == [Kind.PARAGRAPH, Kind.NUMBERS]
    assert [block.kind for block in read("These:\n- one")] == [Kind.PARAGRAPH, Kind.BULLETS]


def test_an_entry_keeps_its_further_lines_and_its_inner_list() -> None:
    found = read("- one\n  goes on\n  - inner\n- two\nlazily")[0]
    assert found.parts == ("one\ngoes on\n- inner", "two\nlazily")


def test_a_row_keeps_its_cells_to_the_character() -> None:
    text = "| a | b |\n|:--|--:|\n|  x  |\ty \\| z\t|\n| 1 | 2"
    assert records(text) == [(3, ["x", "y | z"]), (4, ["1", "2"])]


def test_a_row_with_another_number_of_cells_is_refused_and_the_others_are_read() -> None:
    text = "| a | b |\n|-|-|\n| only\n| 1 | 2 | 3 |\n| 1 | |\n| 1 | 2 |"
    document = Document(text, "document.md")
    assert document.records(document.root.blocks[0], COLUMNS) == [(6, {"a": "1", "b": "2"})]
    assert [(line, reason) for line, _, reason in document.unplaced()] == [
        (3, "the row has 1 cell, the table has 2"),
        (4, "the row has 3 cells, the table has 2"),
        (5, "the cell for the b is empty"),
    ]


def test_a_separator_of_many_dashes_is_recognised_at_once() -> None:
    assert [block.kind for block in read("| a |\n|" + "-" * 5000 + "x")] == [Kind.PARAGRAPH]


def test_a_quote_loses_only_its_marks() -> None:
    assert read(">  two spaces\n>\n>> deeper")[0].parts == (" two spaces", "", "> deeper")


def test_a_fence_keeps_what_it_holds_to_the_character() -> None:
    text = "````md\n# no heading\n```\n\tcode  \n\n| no table |\n````\nafter"
    fence, after = read(text)
    assert fence.content == "# no heading\n```\n\tcode  \n\n| no table |"
    assert (fence.numbers, after.line) == (range(1, 8), 8)


def test_an_indented_fence_is_moved_left_with_its_text() -> None:
    assert read("  ```\n  a\n    b\n c\n  ```")[0].content == "a\n  b\nc"


@pytest.mark.parametrize("text", ["words\n\n~~~\n```\nmore", "words\n\n~~~", "words\n\n~~~\n\n"])
def test_a_fence_that_is_never_closed_names_its_line(text: str) -> None:
    with pytest.raises(InstrumentError, match=r"document\.md, line 3: this fence is never closed"):
        read(text)


def test_sections_nest_by_the_level_of_their_headings() -> None:
    root = Document("before\n## A ##\n#### B\n### C\n## D\n# E", "document.md").root
    assert [section.title for section in root.walk()] == ["", "A", "B", "C", "D", "E"]
    assert [section.title for section in root.children] == ["A", "D", "E"]
    assert [section.title for section in root.children[0].children] == ["B", "C"]
    assert root.blocks[0].text == "before"
