import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from attunement.annotation import exchange_formats
from attunement.annotation.exchange import ExportedUnit, ImportResult, RaterInfo, export_units, import_answers
from attunement.errors import InputError
from attunement.instruments import Instrument
from attunement.ratings import Outcome, RaterKind
from attunement.store import Study
from tests.annotation.exchange.builders import COACHING, EMPATHY, SCRIPT, by_id, study_of_talks


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    with study_of_talks(tmp_path / "a.db") as opened:
        yield opened


@pytest.fixture
def units(study: Study) -> dict[str, ExportedUnit]:
    return dict(by_id(export_units(study, EMPATHY, "label-studio")))


def chosen(item: str, answer: str) -> dict[str, Any]:
    """A choice as Label Studio writes it."""
    name = f"answer-{item}"
    return {"from_name": name, "to_name": "talk", "type": "choices", "value": {"choices": [answer]}, "id": f"c-{item}"}


def marked(item: str, start: int, end: int, offsets: tuple[int, int], **more: str) -> dict[str, Any]:
    """Marked words as Label Studio writes them: messages from 0 as text, and offsets in units of UTF-16."""
    value = {
        "start": str(start),
        "end": str(end),
        "startOffset": offsets[0],
        "endOffset": offsets[1],
        "paragraphlabels": [item],
        **more,
    }
    return {"from_name": "evidence", "to_name": "talk", "type": "paragraphlabels", "value": value, "id": "e"}


def annotation(answer: str = "4", *more: dict[str, Any], by: Any = 1, **fields: Any) -> dict[str, Any]:
    """An annotation in which every dimension has the same score."""
    result = [chosen(item.id, answer) for item in EMPATHY.items] + list(more)
    return {
        "id": 7,
        "completed_by": by,
        "result": result,
        "was_cancelled": False,
        "updated_at": "2026-02-01T10:00:00Z",
    } | fields


def exported(path: Path, *tasks: tuple[ExportedUnit, list[dict[str, Any]]]) -> Path:
    content = [
        {"id": n, **exchange_formats.label_studio_task(unit), "annotations": made}
        for n, (unit, made) in enumerate(tasks, 1)
    ]
    path.write_text(json.dumps(content))
    return path


def take(study: Study, path: Path, raters: RaterInfo | None = None) -> ImportResult:
    return import_answers(study, exchange_formats.read_label_studio(path), raters or RaterInfo())


def page_of(instrument: Instrument) -> ElementTree.Element:
    return ElementTree.fromstring(exchange_formats.label_studio_config(instrument))  # noqa: S314 - we wrote it ourselves


def test_every_item_is_asked_once_with_its_anchors_as_hints() -> None:
    for instrument in (EMPATHY, COACHING):
        page = page_of(instrument)
        asked = {choices.get("name"): choices for choices in page.iter("Choices")}
        assert asked.keys() == {f"answer-{item.id}" for item in instrument.items}
        assert {label.get("value") for label in page.iter("Label")} == {item.id for item in instrument.items}
    emotion = page_of(EMPATHY).find(".//Choices[@name='answer-emotion']")
    assert emotion is not None
    assert [choice.get("value") for choice in emotion] == ["1", "2", "3", "4", "5", "cannot judge"]
    hint = emotion[0].get("hint")
    assert hint is not None
    assert hint.startswith("Poor: Ignores the feelings")
    assert emotion.get("required") == "true"


def test_overall_is_asked_last_and_nothing_is_preselected() -> None:
    page = page_of(EMPATHY)
    assert [choices.get("name") for choices in page.iter("Choices")][-1] == "answer-overall"
    assert not [choice for choice in page.iter("Choice") if choice.get("selected")]


def test_an_item_that_needs_more_turns_may_stay_empty() -> None:
    page = page_of(COACHING)
    required = {choices.get("name"): choices.get("required") for choices in page.iter("Choices")}
    assert {item.id for item in COACHING.items if item.minimum_turns > 1} == {
        str(name).removeprefix("answer-") for name, needed in required.items() if needed == "false"
    }


def test_markup_in_an_instrument_stays_text() -> None:
    wild = COACHING.model_copy(update={"title": f'$x "{SCRIPT}" \x07'})
    page = page_of(wild)
    headers = [header.get("value") for header in page.iter("Header")]
    assert f' $x "{SCRIPT}" �' in headers


def test_a_task_holds_a_token_and_words_and_nothing_else(units: dict[str, ExportedUnit]) -> None:
    unit = units["alpha-1#2"]
    assert exchange_formats.label_studio_task(unit) == {
        "data": {
            "unit": unit.token,
            "talk": [
                {"speaker": "Turn 1, user", "text": "I cannot sleep."},
                {"speaker": "Turn 1, assistant", "text": "Since when?"},
                {"speaker": "Turn 2, user", "text": SCRIPT},
                {"speaker": "Turn 2, assistant (rate this reply)", "text": "That is hard. \U0001f642 Yes."},
            ],
        }
    }


def test_annotations_of_several_people_come_back(study: Study, units: dict[str, ExportedUnit], tmp_path: Path) -> None:
    path = exported(
        tmp_path / "export.json",
        (
            units["alpha-1#2"],
            [
                annotation("4", by=1),
                annotation("2", by={"id": 2, "email": "x@y"}),
                annotation("1", by=3, was_cancelled=True),
            ],
        ),
        (units["beta-2#1"], [annotation("5", by=1)]),
        (units["gamma-3#1"], []),
    )
    taken = take(study, path, RaterInfo(names={"1": "Ada"}))
    assert {rater.name for rater in taken.raters.values()} == {"Ada", "annotator 2"}
    assert (taken.units, taken.new) == (3, 15)
    people = [rating for rating in study.ratings() if rating.rater_kind is RaterKind.PERSON]
    assert {(rating.rater, str(rating.conversation), rating.turn, rating.outcome.value) for rating in people} == {
        ("Ada", "Harbor-Seven/alpha-1", 2, 4),
        ("annotator 2", "Harbor-Seven/alpha-1", 2, 2),
        ("Ada", "Harbor-Seven/beta-2", 1, 5),
    }
    assert {rating.at for rating in people} == {"2026-02-01T10:00:00Z"}


def test_notes_and_marked_words_come_back_with_their_item(
    study: Study, units: dict[str, ExportedUnit], tmp_path: Path
) -> None:
    note = {"from_name": "note-safety", "to_name": "talk", "type": "textarea", "value": {"text": ["One.", "Two."]}}
    # The emoji before the word counts twice in a browser.
    path = exported(
        tmp_path / "export.json",
        (units["alpha-1#2"], [annotation("4", note, marked("emotion", 3, 3, (17, 20), text="Yes"))]),
    )
    take(study, path)
    own = {rating.item: rating for rating in study.ratings() if rating.rater_kind is RaterKind.PERSON}
    assert own["safety"].reasoning == "One.\nTwo."
    (found,) = own["emotion"].evidence
    assert (found["quote"], found["found_turn"], found["speaker"], found["standing"]) == (
        "Yes",
        2,
        "assistant",
        "found",
    )
    assert units["alpha-1#2"].unit.turns[1].assistant[found["start"] : found["end"]] == "Yes"
    assert own["overall"].evidence == ()


def test_a_mark_over_several_messages_is_evidence_in_each(
    study: Study, units: dict[str, ExportedUnit], tmp_path: Path
) -> None:
    path = exported(tmp_path / "export.json", (units["alpha-1#2"], [annotation("4", marked("emotion", 0, 1, (9, 5)))]))
    take(study, path)
    own = {rating.item: rating for rating in study.ratings() if rating.rater_kind is RaterKind.PERSON}
    assert [found["quote"] for found in own["emotion"].evidence] == ["sleep.", "Since"]


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        ([annotation("6")], "emotion is '6'; allowed answers: 1 to 5 or cannot judge"),
        (
            [annotation() | {"result": [chosen("emotion", "4")]}],
            "validation, helpfulness, safety, overall not answered",
        ),
        ([annotation(), annotation("5")], "annotator 1 rated this unit twice"),
        (
            [annotation("4", marked("emotion", 3, 3, (0, 400)))],
            "an annotation has a result that",
        ),
        ([annotation("4", marked("emotion", 3, 3, (0, 4), text="Else"))], "has a result that"),
        ([annotation("4", marked("emotion", 9, 9, (0, 1)))], "has a result that"),
        (
            [annotation("4", {"from_name": "answer-emotion", "value": {"choices": ["1", "2"]}})],
            "an annotation has a result",
        ),
        ([annotation("4", {"from_name": "answer-emotion", "value": None})], "has a result that"),
        ([annotation() | {"result": "x"}], "this is not a Label Studio annotation"),
        (["x"], "this is not a Label Studio annotation"),
    ],
)
def test_what_does_not_fit_is_named_and_nothing_is_taken_in(
    study: Study, units: dict[str, ExportedUnit], tmp_path: Path, made: list[Any], reason: str
) -> None:
    path = exported(tmp_path / "export.json", (units["beta-2#1"], [annotation()]), (units["alpha-1#2"], made))
    before = list(study.ratings())
    with pytest.raises(InputError, match=rf"nothing was imported.*export\.json:2: .*{reason}"):
        take(study, path)
    assert list(study.ratings()) == before


def test_words_that_the_unit_does_not_hold_are_no_evidence(
    study: Study, units: dict[str, ExportedUnit], tmp_path: Path
) -> None:
    path = exported(tmp_path / "export.json", (units["beta-2#1"], [annotation("4", marked("emotion", 0, 0, (0, 60)))]))
    content = json.loads(path.read_text())
    content[0]["data"]["talk"][0]["text"] = "changed " * 20
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match="the marked words are not in this unit"):
        take(study, path)
    assert [rater.name for rater in study.raters()] == ["openai:sharp-judge"]


def test_one_name_for_several_people_is_refused(study: Study, units: dict[str, ExportedUnit], tmp_path: Path) -> None:
    path = exported(
        tmp_path / "export.json", (units["beta-2#1"], [annotation(by=1)]), (units["alpha-1#1"], [annotation(by=2)])
    )
    for raters in (RaterInfo("Ada"), RaterInfo(info={"profession": "nurse"})):
        with pytest.raises(InputError, match=r"2 people rated \(1, 2\): name each with --rater ID=NAME"):
            take(study, path, raters)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{}", "is not an export from Label Studio"),
        ("[", "is not a JSON file"),
        ('[{"unit": "u1", "answer-emotion": "4"}]', "as JSON, not JSON-MIN"),
        ("[3]", "as JSON, not JSON-MIN"),
        ('[{"data": {}, "annotations": [{"result": []}]}]', "has no 'unit' in its data"),
    ],
)
def test_another_file_is_no_export(study: Study, tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(InputError, match=reason):
        take(study, path)
    with pytest.raises(InputError, match="cannot be read"):
        take(study, tmp_path / "nowhere.json")


VALIDATE = """
from label_studio_sdk.label_interface import LabelInterface
page = LabelInterface(given["config"])
page.validate()
answer = {
    "tasks": [page.validate_task(task) for task in given["tasks"]],
    "errors": [page.validate_prediction({"result": result}, return_errors=True) for result in given["results"]],
}
"""


@pytest.mark.slow
@pytest.mark.parametrize("instrument", [EMPATHY, COACHING], ids=lambda instrument: instrument.id)
def test_label_studios_own_validator_takes_what_we_write_and_refuses_wrong_values(
    study: Study, in_partners: Callable[[str, Any], Any], instrument: Any
) -> None:
    outgoing = export_units(study, instrument, "label-studio")
    words = ["1", "5", "cannot judge"] if instrument is EMPATHY else ["met", "not met", "cannot judge"]
    right = [[chosen(item.id, word) for item in instrument.items] for word in words]
    first = instrument.items[0].id
    right.append([marked(first, 0, 0, (0, 3), text="I c")])
    right.append([{"from_name": f"note-{first}", "to_name": "talk", "type": "textarea", "value": {"text": ["Why"]}}])
    wrong = [
        [chosen(first, "6")],
        [chosen(first, "YES")],
        [chosen("nothing", "1")],
        [chosen(first, words[0]) | {"type": "rating"}],
        [chosen(first, words[0]) | {"to_name": "elsewhere"}],
        [marked("nothing", 0, 0, (0, 3))],
        [marked(first, 0, 0, (-1, 3))],
    ]
    given = {
        "config": exchange_formats.label_studio_config(instrument),
        "tasks": [exchange_formats.label_studio_task(entry) for entry in outgoing] + [{"data": {"unit": "u1"}}],
        "results": right + wrong,
    }
    answer = in_partners(VALIDATE, given)
    assert answer["tasks"] == [True] * len(outgoing) + [False]
    assert answer["errors"][: len(right)] == [[]] * len(right)
    assert all(answer["errors"][len(right) :])


@pytest.mark.slow
def test_what_label_studios_sdk_makes_of_our_configuration_is_taken_in(
    study: Study, units: dict[str, ExportedUnit], in_partners: Callable[[str, Any], Any], tmp_path: Path
) -> None:
    """An annotation that the SDK itself builds for the configuration and its choices is read back as it was meant."""
    program = """
from label_studio_sdk.label_interface import LabelInterface
page = LabelInterface(given["config"])
answer = []
for item, word in given["answers"].items():
    region = page.get_control(f"answer-{item}").label([word])
    answer.append(region._dict())
"""
    answers = {item.id: word for item, word in zip(EMPATHY.items, ["1", "2", "3", "4", "cannot judge"], strict=True)}
    result = in_partners(program, {"config": exchange_formats.label_studio_config(EMPATHY), "answers": answers})
    path = exported(tmp_path / "export.json", (units["alpha-1#1"], [annotation() | {"result": result}]))
    take(study, path, RaterInfo("Ada"))
    own = {rating.item: str(rating.outcome) for rating in study.ratings() if rating.rater == "Ada"}
    assert list(own.values()) == ["1", "2", "3", "4", "ABSTAINED"]
    assert Outcome.of(4) in {rating.outcome for rating in study.ratings()}
