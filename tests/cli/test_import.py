import csv
import json
from collections.abc import Sequence
from pathlib import Path

import typer
from typer.testing import CliRunner, Result

from attunement.cli.data import export, import_
from attunement.instruments import load
from attunement.ratings import NOT_DUE, RaterKind
from attunement.reports.methods import methods_markdown
from attunement.store import StoredRating, Study
from attunement.store.study_facts import study_facts
from tests.builders import rating
from tests.store.samples import COACHING, fill, talks

app = typer.Typer()
app.command()(export)
app.command("import")(import_)

ITEMS = [item.id for item in COACHING.items if item.minimum_turns == 1]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def chats(path: Path, count: int) -> Path:
    records = [
        {"id": entry.id, "turns": [turn._asdict() for turn in entry.turns], "system": entry.system}
        for entry in talks(count)
    ]
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return path


def answers(path: Path, rows: Sequence[Sequence[str]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["conversation", "judge", "criterion", "answer"])
        writer.writerows(rows)
    return path


def test_answers_made_elsewhere_become_a_study_and_what_is_absent_is_said(tmp_path: Path) -> None:
    rows = [("c0", "claude", item, "YES") for item in ITEMS if item not in {"CQ1", "CQ8"}]
    rows += [("c0", "claude", "CQ1", "perhaps"), ("c1", "claude", "CQ2", "ERROR")]
    done = run(
        "import",
        tmp_path / "a.db",
        answers(tmp_path / "answers.csv", rows),
        *("--conversations", chats(tmp_path / "chats.jsonl", 3)),
        *("--instrument", "coaching-v1"),
    )
    assert done.exit_code == 0, done.exception
    said = done.stdout.splitlines()
    count = len(rows)
    assert said[0] == f"Read {count} answers about 2 conversations by claude: {count} saved in {tmp_path / 'a.db'}."
    assert said[1] == "ERROR in the file: 1."
    assert said[2] == f"Saved as ERROR (malformed): 1. answers.csv:{count}: 'perhaps' is not an answer on the scale."
    assert said[3].startswith("Not in the file: 13 answers that the instrument asks for (CQ8 2, ")
    assert "bot/c0 by claude: CQ8" in said[4]
    assert (
        said[5] == "A missing answer counts as ERROR. If these were not asked on purpose, import with --absent not-due."
    )
    assert said[6] == "Without any answer: 1 conversation. bot/c2."


def test_absent_answers_can_be_said_not_to_be_due(tmp_path: Path) -> None:
    done = run(
        "import",
        tmp_path / "a.db",
        answers(tmp_path / "answers.csv", [("c0", "Ada", "CQ2", "YES")]),
        *("--conversations", chats(tmp_path / "chats.jsonl", 1)),
        *(
            "--instrument",
            "coaching-v1",
            "--absent",
            "not-due",
            "--person",
            "Ada",
            "--system",
            "another",
        ),
    )
    assert "Saved as not due (--absent): 10." in done.stdout
    assert "Still missing: 2 answers to safety items, to which --absent not-due does not apply." in done.stdout
    with Study(tmp_path / "a.db") as study:
        assert [rating.outcome for rating in study.ratings()].count(NOT_DUE) == 10
        assert study.raters()[0].kind is RaterKind.PERSON


def test_a_file_that_does_not_fit_leaves_no_study_behind(tmp_path: Path) -> None:
    refused = run(
        "import",
        tmp_path / "a.db",
        answers(tmp_path / "answers.csv", [("c0", "claude", "CQ1", "YES"), ("c7", "claude", "CQ1", "YES")]),
        *("--conversations", chats(tmp_path / "chats.jsonl", 1)),
        *("--instrument", "coaching-v1"),
    )
    assert "nothing was imported" in str(refused.exception)
    assert "answers.csv:3: there is no conversation 'c7'" in str(refused.exception)
    assert not (tmp_path / "a.db").exists()


def test_an_export_comes_back_into_an_empty_study(tmp_path: Path) -> None:
    with fill(tmp_path / "a.db") as study:
        before = list(study.ratings())
    for name in ("r.jsonl", "r.csv", "r.parquet"):
        run("export", tmp_path / "a.db", tmp_path / name)
        place = tmp_path / f"{name}.db"
        done = run(
            "import",
            place,
            tmp_path / name,
            *("--conversations", chats(tmp_path / "chats.jsonl", 3)),
            *("--instrument", "coaching-v1"),
        )
        assert done.stdout == f"Read 54 answers about 3 conversations by j: 54 saved in {place}.\n"
        with Study(place) as study:
            assert list(study.ratings()) == before


def test_an_export_with_a_reworded_criterion_comes_back_when_both_versions_are_named(tmp_path: Path) -> None:
    reworded = tmp_path / "reworded.yaml"
    changed = COACHING.model_dump(mode="json", exclude_none=True)
    changed["items"][1]["definition"] = "Other words."
    reworded.write_text(json.dumps(changed))  # JSON is YAML, too
    newer = load(reworded)
    assert newer.item_hashes["CQ2"] != COACHING.item_hashes["CQ2"]
    with fill(tmp_path / "a.db", talks(1)) as study:
        study.save_instrument(newer)
        (key,) = study.save_conversations(talks(1))
        made = rating(newer, "CQ2", "NO", conversation=talks(1)[0].identity, asked="p")
        study.write([], [StoredRating(key, study.raters()[0].key, made)])
        before = list(study.ratings())
    about = ("-c", chats(tmp_path / "chats.jsonl", 1), "-i", "coaching-v1")
    for name in ("r.jsonl", "r.csv", "r.parquet"):
        run("export", tmp_path / "a.db", tmp_path / name)
        place = tmp_path / f"{name}.db"
        refused = run("import", place, tmp_path / name, *about)
        assert "'CQ2' was asked in a wording that no instrument here has" in str(refused.exception)
        done = run("import", place, tmp_path / name, *about, "-i", reworded)
        assert done.exit_code == 0, done.exception
        with Study(place) as study:
            assert list(study.ratings()) == before
            assert {entry.hash for entry in study.instruments()} == {COACHING.hash, newer.hash}


def test_answers_made_elsewhere_are_read_with_the_first_instrument(tmp_path: Path) -> None:
    given = answers(tmp_path / "answers.csv", [("c0", "claude", "CQ2", "YES")])
    about = ("-c", chats(tmp_path / "chats.jsonl", 1), "-i", "coaching-v1", "-i", "empathy-v2")
    done = run("import", tmp_path / "a.db", given, *about)
    assert done.exit_code == 0, done.exception
    with Study(tmp_path / "a.db") as study:
        assert study.instruments() == [COACHING]


def test_a_second_import_says_what_was_there_and_what_differs(tmp_path: Path) -> None:
    chats(tmp_path / "chats.jsonl", 1)
    first = ("import", tmp_path / "a.db", tmp_path / "answers.csv", "-c", tmp_path / "chats.jsonl", "-i", "coaching-v1")
    rows = [("c0", "claude", item, "YES") for item in ITEMS]
    answers(tmp_path / "answers.csv", rows)
    assert run(*first).exit_code == 0
    answers(tmp_path / "answers.csv", [*rows[:-1], (*rows[-1][:3], "NO")])
    said = run("import", tmp_path / "a.db", tmp_path / "answers.csv").stdout
    assert f"Already in the study: {len(ITEMS)}." in said
    differing = f"{ITEMS[-1]} of bot/c0 by claude is YES there and NO here."
    assert f"Different in the study: 1; they were not changed: {differing}" in said


def test_whether_imported_people_were_blind_is_kept_with_them_and_said_in_the_methods(tmp_path: Path) -> None:
    place = tmp_path / "a.db"
    given = answers(tmp_path / "answers.csv", [("c0", "Ada", "CQ2", "YES"), ("c0", "judge", "CQ2", "YES")])
    about = ["--conversations", chats(tmp_path / "chats.jsonl", 1), "--instrument", "coaching-v1"]
    refused = run("import", place, given, *about, "--blind")
    assert refused.exit_code != 0
    assert not place.exists()
    done = run("import", place, given, *about, "--person", "Ada", "--blind")
    assert done.exit_code == 0, done.output
    with Study(place) as study:
        known = {rater.name: rater.settings.get("blind") for rater in study.raters()}
        assert known == {"Ada": True, "judge": None}
        facts = study_facts(study, load("coaching-v1"))
    said = methods_markdown(facts, None, "a.db")
    assert "- [x] 8. " in said
    assert "- [x] 9. " in said
    assert "1 rater who rated elsewhere is recorded as blind to the system" in said
    assert "not recorded as blind" not in said
