import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from attunement.annotation import exchange_formats
from attunement.annotation.exchange import (
    ExportedUnit,
    ImportResult,
    RaterInfo,
    export_units,
    import_answers,
    question_name,
)
from attunement.errors import InputError
from attunement.ratings import RaterKind
from attunement.store import Study
from tests.annotation.exchange.builders import COACHING, EMPATHY, SCRIPT, by_id, study_of_talks

ONE, TWO = "00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"

QUESTIONS = [question_name(number, item) for number, item in enumerate(EMPATHY.items, 1)]


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    with study_of_talks(tmp_path / "a.db") as opened:
        yield opened


@pytest.fixture
def units(study: Study) -> dict[str, ExportedUnit]:
    return dict(by_id(export_units(study, EMPATHY, "argilla")))


def responses(by: dict[str, str], **more: Any) -> dict[str, Any]:
    """The responses of people who gave every dimension the same score."""
    names = QUESTIONS
    return {name: [{"value": score, "user_id": user, **more} for user, score in by.items()] for name in names}


def exported(path: Path, *records: tuple[ExportedUnit, dict[str, Any]]) -> Path:
    path.write_text(
        json.dumps([exchange_formats.argilla_record(unit) | {"responses": given} for unit, given in records])
    )
    return path


def take(study: Study, path: Path, raters: RaterInfo | None = None) -> ImportResult:
    return import_answers(study, exchange_formats.read_argilla(path), raters or RaterInfo())


def test_a_record_holds_a_token_and_words_and_nothing_else(units: dict[str, ExportedUnit]) -> None:
    record = exchange_formats.argilla_record(units["alpha-1#2"])
    assert record["id"] == units["alpha-1#2"].token
    assert record["fields"] == {
        "talk": [
            {"role": "user 1", "content": "I cannot sleep."},
            {"role": "assistant 1", "content": "Since when?"},
            {"role": "user 2", "content": SCRIPT},
            {"role": "assistant 2 (rate)", "content": "That is hard. \U0001f642 Yes."},
        ]
    }
    assert not any(record[name] for name in ("metadata", "suggestions", "responses", "vectors"))


def test_the_transcript_is_shown_as_text() -> None:
    (field,) = exchange_formats.argilla_settings(EMPATHY)["fields"]
    assert field["settings"] == {"type": "chat", "use_markdown": False}


def test_the_folder_is_laid_out_as_argilla_reads_it_from_disk(units: dict[str, ExportedUnit], tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    exchange_formats.write_argilla(folder, EMPATHY, list(units.values()), raters=3)
    assert len(json.loads((folder / "records.json").read_text())) == 9
    assert json.loads((folder / ".argilla" / "settings.json").read_text()) == exchange_formats.argilla_settings(
        EMPATHY, raters=3
    )
    dataset = json.loads((folder / ".argilla" / "dataset.json").read_text())
    assert (dataset["name"], dataset["distribution"]["min_submitted"]) == ("empathy-v2", 3)


def test_responses_of_several_people_come_back(study: Study, units: dict[str, ExportedUnit], tmp_path: Path) -> None:
    path = exported(
        tmp_path / "records.json",
        (units["alpha-1#2"], responses({ONE: "4", TWO: "cannot judge"}) | {"note": [{"value": "Why", "user_id": ONE}]}),
        (units["beta-2#1"], {}),
    )
    taken = take(study, path, RaterInfo(names={ONE: "Ada"}))
    assert (taken.units, taken.new) == (2, 10)
    people = [rating for rating in study.ratings() if rating.rater_kind is RaterKind.PERSON]
    assert {(rating.rater, str(rating.outcome), rating.reasoning) for rating in people} == {
        ("Ada", "4", "Why"),
        (f"annotator {TWO}", "ABSTAINED", ""),
    }
    assert {rating.item for rating in people} == {item.id for item in EMPATHY.items}


def test_drafts_and_discarded_responses_are_no_answers(
    study: Study, units: dict[str, ExportedUnit], tmp_path: Path
) -> None:
    path = exported(tmp_path / "records.json", (units["alpha-1#2"], responses({ONE: "4"}, status="discarded")))
    assert take(study, path).units == 0


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (responses({ONE: "9"}), "emotion is '9'; allowed answers: 1 to 5"),
        (dict(list(responses({ONE: "4"}).items())[:2]), "helpfulness, safety, overall not answered"),
        ({"q01-emotion": ["x"]}, "the responses to 'q01-emotion' do not have Argilla's format"),
        ({"q01-emotion": 3}, "the responses to 'q01-emotion' do not have Argilla's format"),
        ({"q01-emotion": [{"value": {"x": 1}, "user_id": ONE}]}, "emotion is "),
    ],
)
def test_what_does_not_fit_is_named_and_nothing_is_taken_in(
    study: Study, units: dict[str, ExportedUnit], tmp_path: Path, given: dict[str, Any], reason: str
) -> None:
    path = exported(tmp_path / "records.json", (units["beta-2#1"], responses({ONE: "4"})), (units["alpha-1#2"], given))
    before = list(study.ratings())
    with pytest.raises(InputError, match=rf"nothing was imported.*records\.json:2: .*{reason}"):
        take(study, path)
    assert list(study.ratings()) == before


@pytest.mark.parametrize(
    ("text", "reason"), [("{}", "is not a list of Argilla's records"), ("[3]", "this is not an Argilla record")]
)
def test_another_file_holds_no_records(study: Study, tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(text)
    with pytest.raises(InputError, match=reason):
        take(study, path)


@pytest.mark.slow
def test_records_equal_what_argillas_own_client_writes(
    study: Study, in_partners: Callable[[str, Any], Any], tmp_path: Path
) -> None:
    """Ours are equal to what `Record` makes of the same content, and its responses are read back."""
    program = """
from argilla import Record, Response
answer = {"equal": [], "answered": []}
for record in given["records"]:
    answer["equal"].append(Record(id=record["id"], fields=record["fields"], metadata={}).to_dict() == record)
    answer["equal"].append(Record.from_dict(record).to_dict() == record)
    made = [Response(name, value, user_id=given["user"]) for name, value in given["responses"].items()]
    answer["answered"].append(Record(id=record["id"], fields=record["fields"], responses=made).to_dict())
"""
    records = [exchange_formats.argilla_record(entry) for entry in export_units(study, EMPATHY, "argilla")]
    answers = dict(zip(QUESTIONS, ["1", "2", "3", "4", "5"], strict=True))
    answer = in_partners(program, {"records": records, "responses": answers, "user": ONE})
    assert answer["equal"] == [True] * 18
    path = tmp_path / "records.json"
    path.write_text(json.dumps(answer["answered"]))
    assert take(study, path, RaterInfo("Ada")).new == 45
    own = {(rating.item, rating.outcome.value) for rating in study.ratings() if rating.rater == "Ada"}
    assert own == set(zip((item.id for item in EMPATHY.items), range(1, 6), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("instrument", [EMPATHY, COACHING], ids=lambda instrument: instrument.id)
def test_settings_fit_argillas_data_models(in_partners: Callable[[str, Any], Any], instrument: Any) -> None:
    """To build `argilla.Settings` needs a server, so its parts are checked against the data models by hand.

    The models take them and lose nothing; names and lengths are held against what the server is known to accept.
    """
    program = """
from argilla._models import DatasetModel, FieldModel, QuestionModel
from argilla._models._settings._task_distribution import TaskDistributionModel
def kept(model, part):
    dumped = model(**part).model_dump()
    return all(dumped[name] == value for name, value in part.items() if name != "settings") and all(
        dumped["settings"][name] == value for name, value in part.get("settings", {}).items()
    )
answer = {
    "questions": [kept(QuestionModel, part) for part in given["questions"]],
    "fields": [kept(FieldModel, part) for part in given["fields"]],
    "distribution": TaskDistributionModel(**given["distribution"]).model_dump() == given["distribution"],
    "dataset": DatasetModel(**{name: given[name] for name in ("name", "guidelines", "distribution")}).name,
    "refused": [],
}
for wrong in (
    {**given["questions"][0], "settings": {"type": "label_selection", "options": [{"value": "1"}] * 2}},
    {**given["questions"][0], "settings": {"type": "nothing"}},
):
    try:
        QuestionModel(**wrong)
    except ValueError:
        answer["refused"].append(True)
"""
    made = exchange_formats.argilla_settings(instrument)
    answer = in_partners(program, {**made, "name": instrument.id})
    assert all(answer["questions"])
    assert len(answer["questions"]) == len(instrument.items) + 1
    assert answer["fields"] == [True]
    assert answer["distribution"]
    assert answer["dataset"] == instrument.id
    assert answer["refused"] == [True, True]
    names = [question["name"] for question in made["questions"]]
    assert len(set(names)) == len(names)
    assert all(name == name.lower() and name.replace("-", "").replace("_", "").isalnum() for name in names)
    for question in made["questions"]:
        assert len(question["title"]) <= 500
        assert len(question["description"] or "") <= 1000
        assert all(len(option["text"]) <= 500 for option in question["settings"].get("options", ()))
    assert len(made["guidelines"]) <= 10_000
