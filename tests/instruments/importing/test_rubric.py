import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attunement.conversations import UnitKind
from attunement.errors import InstrumentError
from attunement.instruments import Anchor, Boundary, Example, Item, Scores, load
from attunement.instruments.importer import import_markdown
from attunement.instruments.model import Message
from tests.instruments.importing.documents import RUBRIC, import_text, numbered


@pytest.fixture(scope="session")
def rubric_v2(shared_data: Path) -> Path:
    path = shared_data.parent / "seeds" / "rubric-v2.md"
    if not path.is_file():
        pytest.skip(f"{path} is absent")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("rubrics")


def test_the_empathy_rubric_gives_four_dimensions_and_overall_with_all_their_parts(rubric_v2: Path) -> None:
    text = rubric_v2.read_text("utf-8")
    instrument = import_markdown(rubric_v2).instrument
    assert [item.id for item in instrument.items] == ["emotion", "validation", "helpfulness", "safety", "overall"]
    assert [item.holistic for item in instrument.items] == [False] * 4 + [True]
    anchors = [(item.id, score, anchor) for item in instrument.items for score, anchor in item.anchors.items()]
    assert len(anchors) == len(numbered(text, r"^\| \d ")) == 25
    assert sum(anchor.label is not None for _, _, anchor in anchors) == 20
    assert all(set(item.anchors) == {1, 2, 3, 4, 5} and item.definition for item in instrument.items)
    assert sum(len(item.boundaries) for item in instrument.items) == len(numbered(text, r"^- "))
    assert sum(len(item.examples) for item in instrument.items) == len(numbered(text, r"^### Score \d example"))
    between = [boundary.between for item in instrument.items for boundary in item.boundaries if boundary.between]
    assert between == [(1, 2), (3, 4)] * 4
    borderline = [example for item in instrument.items for example in item.examples if example.kind == "borderline"]
    assert len(borderline) == len(numbered(text, r"\(boundary\)$"))
    assert instrument.scale == Scores(kind="scores", lowest=1, highest=5)
    assert (instrument.version, instrument.unit) == ("v2", UnitKind.RESPONSE)


def test_the_empathy_rubric_keeps_its_wording_to_the_character(rubric_v2: Path) -> None:
    text = rubric_v2.read_text("utf-8")
    instrument = import_markdown(rubric_v2).instrument
    for item in instrument.items:
        assert item.definition in text
        for score, anchor in item.anchors.items():
            label = rf"{re.escape(anchor.label)} *\| " if anchor.label else ""
            assert re.search(rf"^\| {score} +\| {label}{re.escape(anchor.text)} \|$", text, re.MULTILINE)
        for boundary in item.boundaries:
            prefix = "**{} vs {}**: ".format(*boundary.between) if boundary.between else ""
            assert f"\n- {prefix}{boundary.text}\n" in text
        for example in item.examples:
            (turn,) = example.turns
            assert f'\n> **User**: "{turn.user}"\n>\n> **Response**: "{turn.assistant}"\n' in text


def test_a_rubric_of_our_own_is_read_part_by_part(folder: Path) -> None:
    imported = import_text(folder, RUBRIC)
    instrument = imported.instrument
    assert imported.unplaced == []
    assert (instrument.id, instrument.version, instrument.title) == (
        "garden-talk-rubric-v1.2",
        "v1.2",
        "Garden Talk Rubric",
    )
    assert instrument.about == "Rates what a gardener says\nto a beginner."
    assert instrument.guidance == ("One answer of the gardener.",)
    assert instrument.notes == (
        "**Scale**: 1-3, whole numbers.",
        "**Audience:** Volunteers.",
        "v1.1, 2020-01-01: First.",
        "v1.2, 2020-02-01: Rain rule.",
    )
    assert instrument.scale == Scores(kind="scores", lowest=1, highest=3)
    assert instrument.items == (
        Item(
            id="patience",
            title="Patience",
            definition="Does the gardener give the beginner time?",
            anchors={
                1: Anchor(label="Low", text="Hurries."),
                2: Anchor(label="Mid", text="Waits, but sighs | looks away."),
                3: Anchor(label="High", text="Waits gladly."),
            },
            boundaries=(
                Boundary(between=(1, 2), text="Score **1** if there is no pause at all."),
                Boundary(text="**Rain rule**: In rain, hurry is fine\nand not counted."),
                Boundary(text="A joke is not impatience."),
            ),
            examples=(
                Example(
                    answer=3,
                    turns=(Message(user="Which way up does it go?", assistant="Pointed end up. Take your time."),),
                ),
                Example(answer=1, kind="borderline", turns=(Message(user="And this one?", assistant="Up."),)),
            ),
        ),
        Item(
            id="overall",
            title="Overall Score",
            definition="All of it **together**.\nNot a mean.",
            anchors={1: Anchor(text="Poor."), 2: Anchor(text="Fair."), 3: Anchor(text="Fine.")},
            holistic=True,
        ),
    )


def test_the_prompt_is_that_of_the_built_in_instrument_and_the_user_is_told(folder: Path) -> None:
    imported = import_text(folder, RUBRIC)
    assert imported.instrument.prompt == load("empathy-v2").prompt
    assert "The document has no prompt; the prompt of empathy-v2 is used." in imported.remarks


class Written(NamedTuple):
    items: list[Item]
    labels: bool


wordings = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=12).filter(
    lambda text: not set(text) & set('*"“”`|\\#>-+')
)
sentences = st.lists(wordings, min_size=1, max_size=4).map(" ".join)


@st.composite
def rubrics(draw: st.DrawFn) -> Written:
    highest = draw(st.sampled_from([2, 3, 5, 7]))
    labels = draw(st.booleans())
    items: list[Item] = []
    for id in draw(st.lists(st.from_regex(r"[A-Za-z][a-z0-9_]{0,6}", fullmatch=True), min_size=1, unique=True)):
        scores = draw(st.sets(st.integers(1, highest), min_size=1))
        label = wordings if labels else st.none()
        pair = st.one_of(st.none(), st.integers(1, highest - 1).map(lambda low: (low, low + 1)))
        message = st.builds(Message, user=sentences, assistant=sentences)
        parts: dict[str, Any] = {
            "title": draw(sentences.filter(lambda title: not title.casefold().startswith("overall"))),
            "definition": draw(sentences),
            "anchors": {score: Anchor(label=draw(label), text=draw(sentences)) for score in sorted(scores)},
            "boundaries": tuple(draw(st.lists(st.builds(Boundary, between=pair, text=sentences), max_size=3))),
            "examples": tuple(
                Example(answer=draw(st.sampled_from(sorted(scores))), kind=kind, turns=tuple(turns))
                for kind in draw(st.lists(st.sampled_from(["clear", "borderline"]), max_size=2))
                for turns in [draw(st.lists(message, min_size=1, max_size=2))]
            ),
        }
        items.append(Item(id=id, **parts))
    return Written(items, labels)


def markdown(rubric: Written) -> str:
    lines = ["# Any Rubric v9"]
    for number, item in enumerate(rubric.items, start=1):
        lines += [
            "",
            f"## Dimension {number}: {item.title} (`{item.id}`)",
            "",
            f"**Definition**: {item.definition}",
            "",
        ]
        lines += (
            ["| Score | Label | Description |", "|-|-|-|"] if rubric.labels else ["| Score | Description |", "|-|-|"]
        )
        for score, anchor in item.anchors.items():
            lines.append(f"| {score} | {f'{anchor.label} | ' if rubric.labels else ''}{anchor.text} |")
        if item.boundaries:
            lines += ["", "### Boundary guidance"]
        for boundary in item.boundaries:
            lines.append(
                "- " + ("**{} vs {}**: ".format(*boundary.between) if boundary.between else "") + boundary.text
            )
        for example in item.examples:
            lines += ["", f"### Score {example.answer} example{' (boundary)' if example.kind == 'borderline' else ''}"]
            for turn in example.turns:
                lines += [f'> **User**: "{turn.user}"', ">", f'> **Response**: "{turn.assistant}"', ">"]
    return "\n".join(lines)


@pytest.mark.slow
@settings(deadline=None)
@given(rubric=rubrics())
def test_any_rubric_of_this_shape_comes_back_as_it_was(rubric: Written, folder: Path) -> None:
    imported = import_text(folder, markdown(rubric))
    assert list(imported.instrument.items) == rubric.items
    assert imported.unplaced == []
    scores = {score for item in rubric.items for score in item.anchors}
    assert imported.instrument.scale == Scores(kind="scores", lowest=min(scores), highest=max(scores))


def table(*rows: str, header: str = "| Score | Label | Description |") -> str:
    return "\n".join(["# R v1", "## Dimension 1: A (`a`)", header, "|-|-|-|", *rows])


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("| 2 | Mid |", "the row needs 3 cells with text"),
        ("| 2 |", "the row needs 3 cells with text"),
        ("| 2 | Mid | words | more |", "the row needs 3 cells with text"),
        ("| 2 | Mid | |", "the row needs 3 cells with text"),
        ("| two | Mid | words |", "'two' is not a whole number"),
        ("| 2-3 | Mid | words |", "'2-3' is not a whole number"),
        ("| 1 | Mid | words |", "score 1 has a description already"),
    ],
)
def test_a_malformed_row_is_reported_with_its_line_and_the_others_are_read(folder: Path, row: str, reason: str) -> None:
    imported = import_text(folder, table("| 1 | Low | first |", row, "| 3 | High | third |"))
    assert imported.unplaced == [(6, row, reason)]
    assert {score: anchor.text for score, anchor in imported.instrument.items[0].anchors.items()} == {
        1: "first",
        3: "third",
    }


@pytest.mark.parametrize("header", ["| Score | Colour | Description |", "| Score | Description | Description |"])
def test_a_table_with_other_columns_is_unplaced_as_a_whole(folder: Path, header: str) -> None:
    imported = import_text(folder, table("| 1 | x | first |", header=header))
    assert [(entry.line, entry.text.split("\n")) for entry in imported.unplaced] == [
        (3, [header, "|-|-|-|", "| 1 | x | first |"])
    ]
    assert imported.instrument.items[0].anchors == {}


def test_a_second_table_or_definition_of_an_item_is_unplaced(folder: Path) -> None:
    extra = "\n\n**Definition**: once more\n\n| Score | Description |\n|-|-|\n| 1 | b |\n"
    imported = import_text(
        folder,
        "# R v1\n## Dimension 1: A (`a`)\n\n**Definition**: d\n\n"
        + "| Score | Description |\n|-|-|\n| 1 | a |"
        + extra,
    )
    assert [(entry.line, entry.text) for entry in imported.unplaced] == [
        (10, "**Definition**: once more"),
        (12, "| Score | Description |\n|-|-|\n| 1 | b |"),
    ]
    assert imported.instrument.items[0].definition == "d"


@pytest.mark.parametrize(
    "quote", ["> **Response**: b", "> **User**: a", "> a\n> b", "> hm\n> **User**: a\n> **Response**: b", "words"]
)
def test_an_example_without_a_message_and_its_reply_is_unplaced_as_a_whole(folder: Path, quote: str) -> None:
    imported = import_text(folder, f"# R v1\n## Dimension 1: A (`a`)\n### Score 1 example\n{quote}")
    assert imported.instrument.items[0].examples == ()
    assert [entry.line for entry in imported.unplaced] == [3, 4]
    assert imported.unplaced[1].text == quote


def test_an_example_keeps_several_paragraphs_turns_and_bold_words(folder: Path) -> None:
    first = '> **User**: "one\n>\n> **Note**: two"\n>\n> **Assistant**: “three”'
    second = '> **User**: "a" or "b"\n> **Response**: c'
    imported = import_text(
        folder, f"# R v1\n## Dimension 1: A (`a`)\n### Score 4 example (edge case)\n{first}\n\n{second}"
    )
    assert imported.instrument.items[0].examples == (
        Example(
            answer=4,
            turns=(
                Message(user="one\n\n**Note**: two", assistant="three"),
                Message(user='"a" or "b"', assistant="c"),
            ),
            why="edge case",
        ),
    )
    assert imported.unplaced == []


def test_the_stated_scale_is_used(folder: Path) -> None:
    text = "# R v1\n> **Scale**: 1–7\n\n## Dimension 1: A (`a`)\n| Score | Description |\n|-|-|\n| 0 | z |\n| 7 | y |"
    imported = import_text(folder, text)
    assert imported.instrument.scale == Scores(kind="scores", lowest=1, highest=7)


def test_a_dimension_without_an_id_gets_one_from_its_title(folder: Path) -> None:
    imported = import_text(folder, "# R v1\n## Dimension 1: Warm Regard\n")
    assert imported.instrument.items[0].id == "warm_regard"
    assert "Line 2 gives 'Warm Regard' no id; warm_regard is used." in imported.remarks


@pytest.mark.parametrize("heading", ["## Dimension 1: A (`two words`)", "## Dimension 1: 温", "## A (`1st`)"])
def test_an_impossible_id_is_an_error_with_its_line(folder: Path, heading: str) -> None:
    with pytest.raises(InstrumentError, match=r"document\.md, line 2: .* cannot be the id of an item"):
        import_text(folder, f"# R v1\n{heading}\n")


def test_items_of_another_instrument_are_refused_for_a_rubric(folder: Path) -> None:
    with pytest.raises(InstrumentError, match="is a rubric and has its own items; leave out those of coaching-v1"):
        import_text(folder, RUBRIC, items_from=load("coaching-v1"))
