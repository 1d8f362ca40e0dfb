"""`attune agree` as a user types it: studies, tables of ratings, and figures that were published."""

import json
from pathlib import Path

import pytest
from click.testing import Result

from attunement.cli.analysis import agree
from attunement.errors import AttunementError
from attunement.ratings import RaterKind
from attunement.store import Study
from tests.commands import runner
from tests.reports.samples import COACHING, ERROR, POINTER, checked, conversation, fill, judged

TALKS = [conversation(f"c{number}") for number in range(12)]


@pytest.fixture
def run():
    return runner(agree)


def said(outcome: Result) -> str:
    return " ".join(outcome.stdout.split())


def study(path: Path, people: int = 2, **more: object) -> Path:
    """Twelve conversations, so many people and a judge, all of one mind but for CQ1."""
    given = []
    for number, about in enumerate(TALKS):
        answers = {"CQ1": "NO" if number % 2 else "YES", **more}
        for rater in [f"anna{person}" for person in range(people)] + ["j"]:
            given += judged(about, answers, rater=rater)  # type: ignore[arg-type]
    kinds = {f"anna{person}": RaterKind.PERSON for person in range(people)}
    return fill(path / "s.db", COACHING, TALKS, given, kinds)


def test_the_default_table_has_seven_columns_and_a_verdict(run, tmp_path: Path) -> None:
    outcome = run(study(tmp_path), "--only", "CQ1")
    assert outcome.exit_code == 0
    text = said(outcome)
    assert "12 conversations, 2 people, 1 judge: j." in text
    for word in ("Item", "People", "Judge", "Failures", "Verdict"):
        assert word in text
    assert "Krippendorff" not in text


def test_the_rule_check_is_nobody_to_agree_with(run, tmp_path: Path) -> None:
    given = [one for about in TALKS for one in (*judged(about, rater="anna"), *checked(about, POINTER))]
    place = fill(tmp_path / "s.db", COACHING, TALKS, given, {"anna": RaterKind.PERSON})
    text = said(run(place))
    assert "12 conversations, 1 person, 0 judges" in text
    assert "signals" not in text


def test_full_prints_the_trust_cards(run, tmp_path: Path) -> None:
    text = said(run(study(tmp_path), "--only", "CQ8", "--full"))
    assert "missed failures" in text
    assert "people found no failure. It would take conversations with failures." in text
    assert "evidence found" in text


def test_json_and_markdown_are_whole(run, tmp_path: Path) -> None:
    place = study(tmp_path)
    record = json.loads(run(place, "--json", "--by", "system").stdout)
    assert record["instrument"]["id"] == "coaching-v1"
    assert [part["part"] for part in record["parts"]] == ["bot"]
    assert run(place, "--markdown").stdout.startswith("## Agreement on coaching-v1")
    with pytest.raises(AttunementError, match="choose one of"):
        run(place, "--markdown", "--json")


def test_a_picture_is_written_beside(run, tmp_path: Path) -> None:
    picture, place = tmp_path / "card.svg", study(tmp_path)
    assert run(place, "--only", "CQ1", "--picture", picture).exit_code == 0
    assert picture.read_text(encoding="utf-8").startswith("<svg")
    with pytest.raises(AttunementError, match="exists already"):
        run(place, "--only", "CQ1", "--picture", picture)
    picture.write_text("old")
    assert run(place, "--only", "CQ1", "--picture", picture, "--force").exit_code == 0
    assert picture.read_text(encoding="utf-8").startswith("<svg")


@pytest.mark.parametrize("form", [[], ["--full"], ["--json"], ["--markdown"]])
def test_a_study_with_one_person_only_errors_or_no_ratings_gets_no_verdict(
    run, tmp_path: Path, form: list[str]
) -> None:
    (tmp_path / "one").mkdir()
    one = run(study(tmp_path / "one", people=1), *form)
    errors = fill(tmp_path / "e.db", COACHING, TALKS, [r for t in TALKS for r in judged(t, others=ERROR, reasoning="")])
    with Study(tmp_path / "n.db", create=True) as empty:
        empty.save_instrument(COACHING)
    for outcome in (one, run(errors, *form), run(tmp_path / "n.db", *form)):
        assert outcome.exit_code == 0
        assert "good enough" not in outcome.stdout
        assert "NaN" not in outcome.stdout
        assert " nan" not in outcome.stdout
    if form != ["--json"]:
        assert "nothing to compare: every question" in said(run(errors, *form))
        assert "Nobody has rated anything" in said(run(tmp_path / "n.db", *form))


def test_an_empty_study_is_one_sentence(run, tmp_path: Path) -> None:
    Study(tmp_path / "s.db", create=True).close()
    with pytest.raises(AttunementError, match="no instrument yet"):
        run(tmp_path / "s.db")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "give a study, or a table"),
        (["s.db", "--ratings", "r.csv"], "give a study, or a table"),
        (["--ratings", "r.csv", "--unit", "id"], "--rater"),
        (["--ratings", "r.csv", "--rater", "who", "--value", "score"], "needs --unit"),
        (["--ratings", "r.csv", "--rater", "who", "--instrument", "x"], "--instrument needs a study"),
        (["--ratings", "none.csv", "--rater", "who"], "none.csv"),
    ],
)
def test_wrong_use_is_one_sentence(run, arguments: list[str], sentence: str) -> None:
    with pytest.raises(AttunementError, match=sentence):
        run(*arguments)


def test_wrong_names_in_a_study_are_one_sentence(run, tmp_path: Path) -> None:
    place = study(tmp_path)
    for options, sentence in [
        (["--judge", "x"], "no judge 'x'"),
        (["--people", "x"], "nobody fits"),
        (["--only", "XX"], "no item 'XX'"),
        (["--by", "x"], "no conversation has 'x'"),
        (["--unit", "x"], "need --ratings"),
        (["--picture", "x.gif"], "svg or"),
    ]:
        with pytest.raises(AttunementError, match=sentence):
            run(place, *options)


SEVERITY = "High Potential for Harm,Suboptimal but Low Potential for Harm,Best Practice"


def test_veras_two_dead_dimensions_are_not_hidden(run, shared_data: Path) -> None:
    columns = ["--unit", "conversation", "--rater", "rater", "--item", "dimension", "--value", "value"]
    path = shared_data / "vera-mh" / "ratings.csv"
    outcome = run("--ratings", path, *columns, "--scale", SEVERITY, "--na", "Not Relevant", "--json")
    record = json.loads(outcome.stdout)
    people = {entry["item"]["id"]: entry["people"] for entry in record["items"]}
    assert people["detects"]["alpha"]["value"] == pytest.approx(0.071, abs=5e-4)
    assert people["supportive"]["alpha"]["value"] == pytest.approx(-0.007, abs=5e-4)
    assert people["guides"]["status"] == "at least moderate agreement"
    assert not {people[name]["status"] for name in ("detects", "supportive")} & {"at least moderate agreement"}
    text = said(run("--ratings", path, *columns, "--scale", SEVERITY, "--na", "Not Relevant"))
    assert "on detects, supportive: agreement beyond chance says nothing there" in text


def test_moores_wide_table_gives_the_published_kappas(run, shared_data: Path) -> None:
    path = shared_data / "moore2025" / "classification_validation.csv"
    people = ["--rater", "annotator_1_classification", "--rater", "annotator_2_classification"]
    (entry,) = json.loads(run("--ratings", path, *people, "--json").stdout)["items"]
    assert entry["people"]["single"]["value"] == pytest.approx(0.938, abs=5e-4)
    gpt = ["--rater", "annotator_1_classification", "--judge", "gpt-4o-2024-08-06_classification"]
    (entry,) = json.loads(run("--ratings", path, *gpt, "--json").stdout)["items"]
    assert entry["judges"][0]["with_people"]["agreement"]["value"] == pytest.approx(0.980, abs=5e-4)
    assert "were read as the same answer" in said(run("--ratings", path, *people))


def test_the_empathy_judge_agrees_with_itself_as_published(run, shared_data: Path, tmp_path: Path) -> None:
    lines = [
        {"unit": f"{row['sample_id']} {row['model']}", "repeat": row["repeat_idx"], "item": item, "score": score}
        for path in sorted((shared_data / "empathy-judge").glob("*_judge.jsonl"))
        for row in map(json.loads, path.read_text(encoding="utf-8").splitlines())
        for item, score in {**row["scores"], "overall": row["overall"]}.items()
    ]
    table = tmp_path / "r.jsonl"
    table.write_text("\n".join(json.dumps({**line, "who": "deepseek"}) for line in lines), encoding="utf-8")
    columns = ["--unit", "unit", "--rater", "who", "--item", "item", "--value", "score", "--repeat", "repeat"]
    text = said(run("--ratings", table, *columns, "--judge", "deepseek", "--scale", "1-5"))
    assert "No person has rated anything here" in text
    for figure in ("0.942", "0.936", "0.956", "0.911", "0.899"):
        assert figure in text
