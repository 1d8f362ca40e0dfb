"""The same ratings give the same result by every route: a study, its export, a data frame, a public table."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import attunement as at
from attunement.datasets import long_table
from attunement.datasets.catalogue import save_dataset
from attunement.ratings import ErrorKind, Outcome, RaterKind
from attunement.store import Study, export
from tests.analysis.test_summary import Filling

ITEM = "CQ8"
_COMPARED = ("agreement_ruling", "failure_ruling", "with_people", "detection", "bias", "outcomes", "sentence")


@pytest.fixture
def study(tmp_path: Path) -> Path:
    """Sixty conversations on a gate item: three people, and two judges with an error and an NA."""
    made, rng = Filling(tmp_path / "s.db", 60), np.random.default_rng(5)
    truth = rng.random(60) < 0.4
    for name in ("anna", "bob", "cem"):
        seen = truth ^ (rng.random(60) < 0.08)
        made.say(made.rater(name, RaterKind.PERSON), ["NO" if fails else "YES" for fails in seen], ITEM)
    for name, wrong in (("j", 0.1), ("k", 0.3)):
        seen = truth ^ (rng.random(60) < wrong)
        answers: list[object] = ["NO" if fails else "YES" for fails in seen]
        answers[3], answers[4] = Outcome.failed(ErrorKind.TIMEOUT), "NA"
        made.say(made.rater(name, RaterKind.MODEL), answers, ITEM)
    made.study.close()
    return tmp_path / "s.db"


def compared(output: Any) -> dict[str, Any]:
    entry = next(entry for entry in output["items"] if entry["item"]["id"] == ITEM)
    judges: dict[str, Any] = {judge["judge"]: {name: judge[name] for name in _COMPARED} for judge in entry["judges"]}
    for judge in judges.values():  # what is counted in replies needs their text
        judge["with_people"] = {**judge["with_people"], "baselines": None, "best_baseline": None}
        judge["detection"] = {**judge["detection"], "rivals": judge["detection"]["rivals"][:1]}
    return {"people": entry["people"], "judges": judges}


def test_every_route_gives_the_same_verdict_digit_for_digit(study: Path, tmp_path: Path) -> None:
    table = tmp_path / "ratings.csv"
    with Study(study) as opened:
        export.write(export.ratings(opened), table, "csv")
        rows = list(export.ratings(opened).records)
    expected = compared(at.agree(study, only=[ITEM]))
    assert expected["judges"].keys() == {"j", "k", "panel: any fails", "panel: majority"}
    assert compared(at.agree(ratings=table, fails=["no"])) == expected
    assert compared(at.agree(ratings=rows, fails=[f"{ITEM}=no"])) == expected
    with Study(tmp_path / "bench.db", create=True) as opened:
        save_dataset(long_table.read(table), opened)
    assert compared(at.agree(tmp_path / "bench.db", fails=["no"])) == expected


def test_one_person_of_two_files_is_one_person(tmp_path: Path) -> None:
    """Imported from two files, anna has two entries among the raters of the study and is one person."""
    filled = Filling(tmp_path / "s.db", 40)
    answers: list[object] = ["YES" if number % 3 else "NO" for number in range(40)]
    halves = [answer if number < 20 else None for number, answer in enumerate(answers)]
    others = [answer if number >= 20 else None for number, answer in enumerate(answers)]
    filled.say(filled.rater("anna", RaterKind.PERSON, imported_from="a.csv"), halves, ITEM)
    filled.say(filled.rater("anna", RaterKind.PERSON, imported_from="b.csv"), others, ITEM)
    filled.say(filled.rater("bob", RaterKind.PERSON), answers, ITEM)
    output = at.agree(filled.study, only=[ITEM])
    assert output["people"] == ["anna", "bob"]
    assert output["items"][0]["people"]["units"] == 40
    assert "anna occurs in several imports or projects and counts as one person." in output["notes"]


def test_a_judge_run_with_other_settings_is_another_judge(tmp_path: Path) -> None:
    filled = Filling(tmp_path / "s.db", 12)
    for layout, answer in (("criterion", "YES"), ("transcript", "NO")):
        filled.say(filled.rater("j", RaterKind.MODEL, layout=layout), [answer] * 12, ITEM)
    output = at.agree(filled.study, only=[ITEM])
    assert output["judges"] == ["j", "j @461a8c"]
