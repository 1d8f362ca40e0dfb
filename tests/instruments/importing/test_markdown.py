import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from attunement.instruments.markdown_document import (
    Kind,
    UnclosedFence,
    blocks,
    entries,
    fenced,
    lines,
    outline,
    quoted,
    rows,
)

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
    "",
    " ",
    "\t",
]


def read(text: str):
    return list(blocks(lines(text)))


@settings(deadline=None)
@given(st.lists(st.one_of(st.sampled_from(MARKS), st.text(st.characters(exclude_characters="\r\n"), max_size=8))))
def test_every_line_that_is_not_blank_belongs_to_exactly_one_block_as_it_stands(document: list[str]) -> None:
    try:
        found = list(blocks(document))
    except UnclosedFence:
        reject()
    placed = {block.line + number: line for block in found for number, line in enumerate(block.lines)}
    assert sum(len(block.lines) for block in found) == len(placed)
    assert all(document[number - 1] == line for number, line in placed.items())
    assert all(number in placed for number, line in enumerate(document, start=1) if line.strip())
    for block in found:
        if block.kind is Kind.LIST:
            assert "\n".join(entries(block)).count("\n") == len(block.lines) - 1
        if block.kind is Kind.TABLE:
            assert len(rows(block)) >= len(block.lines) - 1


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("# Title", Kind.HEADING),
        ("#hashtag", Kind.PARAGRAPH),
        ("- - -", Kind.RULE),
        ("* * *", Kind.RULE),
        ("**bold** words", Kind.PARAGRAPH),
        ("-\tafter a tab", Kind.LIST),
        ("12) twelve", Kind.LIST),
        ("1.5 metres", Kind.PARAGRAPH),
        ("| a cell |", Kind.TABLE),
        (">no space", Kind.QUOTE),
        ("    - four spaces in", Kind.PARAGRAPH),
    ],
)
def test_a_line_tells_its_kind(line: str, kind: Kind) -> None:
    assert [block.kind for block in read(line)] == [kind]


def test_line_ends_of_every_system_give_the_same_blocks() -> None:
    text = "# A\n\nwords\n- b\n"
    assert read(text) == read(text.replace("\n", "\r\n")) == read(text.replace("\n", "\r"))


def test_other_line_ends_of_unicode_stay_inside_their_line() -> None:
    assert read("a\u2028b\x85c\x0bd")[0].text == "a\u2028b\x85c\x0bd"


def test_prose_that_begins_with_a_number_stays_a_paragraph_but_a_list_cuts_in() -> None:
    assert [block.kind for block in read("It was in\n1999. Then it ended.")] == [Kind.PARAGRAPH]
    assert [block.kind for block in read("These:\n1. one\n2. two")] == [Kind.PARAGRAPH, Kind.LIST]
    assert [block.kind for block in read("These:\n- one")] == [Kind.PARAGRAPH, Kind.LIST]


def test_an_entry_keeps_its_further_lines_and_its_inner_list() -> None:
    found = entries(read("- one\n  goes on\n  - inner\n- two\nlazily")[0])
    assert found == ["one\ngoes on\n- inner", "two\nlazily"]


def test_a_row_keeps_its_cells_to_the_character() -> None:
    text = "| a | b |\n|:--|--:|\n|  x  |\ty \\| z\t|\n| only\n| 1 | 2 | 3 |\n| 1 | |"
    assert [row.cells for row in rows(read(text)[0])] == [
        ("a", "b"), ("x", "y | z"), ("only",), ("1", "2", "3"), ("1", ""),
    ]  # fmt: skip
    assert [row.line for row in rows(read(text)[0])] == [1, 3, 4, 5, 6]


def test_a_table_without_a_separating_line_loses_no_row() -> None:
    assert [row.cells for row in rows(read("| a |\n| b |")[0])] == [("a",), ("b",)]


def test_a_separator_of_many_dashes_is_recognised_at_once() -> None:
    text = "| a |\n|" + "-" * 5000 + "x"
    assert len(rows(read(text)[0])) == 2


def test_a_quote_loses_only_its_marks() -> None:
    assert quoted(read(">  two spaces\n>\n>> deeper")[0]) == [" two spaces", "", "> deeper"]


def test_a_fence_keeps_what_it_holds_to_the_character() -> None:
    text = "````md\n# no heading\n```\n\tcode  \n\n| no table |\n````\nafter"
    fence, after = read(text)
    assert fenced(fence) == "# no heading\n```\n\tcode  \n\n| no table |"
    assert (fence.line, fence.end, after.line) == (1, 7, 8)


def test_an_indented_fence_is_moved_left_with_its_text() -> None:
    assert fenced(read("  ```\n  a\n    b\n c\n  ```")[0]) == "a\n  b\nc"


def test_a_fence_that_is_never_closed_names_its_line() -> None:
    with pytest.raises(UnclosedFence) as error:
        read("words\n\n~~~\n```\nmore")
    assert error.value.line == 3


def test_sections_nest_by_the_level_of_their_headings() -> None:
    root = outline(blocks(lines("before\n## A ##\n#### B\n### C\n## D\n# E")))
    assert [section.title for section in root.walk()] == ["", "A", "B", "C", "D", "E"]
    assert [section.title for section in root.children] == ["A", "D", "E"]
    assert [section.title for section in root.children[0].children] == ["B", "C"]
    assert root.blocks[0].text == "before"
