import re
from pathlib import Path
from typing import NamedTuple

import pytest
from typer.testing import CliRunner

from attunement.analysis.summary import study_agreement
from attunement.annotation.sampling import draw_sample
from attunement.cli import app
from attunement.conversations import Origin
from attunement.ratings import RaterKind
from attunement.reports.methods import methods_markdown
from attunement.store import Study
from attunement.store.samples import save_exported_units
from attunement.store.study_facts import study_facts
from tests.annotation.conftest import close_studies
from tests.annotation.projects import begin_project, talks
from tests.builders import talk
from tests.fake_judge import FakeJudge
from tests.reports.html.studies import mixed, one, rated
from tests.reports.made import asked
from tests.reports.samples import COACHING, EMPATHY, fill

__all__ = ["close_studies"]


def text_of(study: Study, instrument=COACHING) -> str:
    facts = study_facts(study, instrument)
    agreement = study_agreement(study, instrument) if facts.of(RaterKind.PERSON) else None
    return methods_markdown(facts, agreement, "s.db")


def section(study: Study, instrument=COACHING) -> dict[str, str]:
    """The methods section by its titles, each with what the study cannot know."""
    text = re.sub(r"\*\*Not recorded in the study, please add: (.*?)\.\*\*", r"UNKNOWN \1", text_of(study, instrument))
    return dict(re.findall(r"(?m)^\*\*([^*]+)\.\*\* (.*)$", text))


class Point(NamedTuple):
    known: str
    needed: str


def points(study: Study, instrument=COACHING) -> dict[int, Point]:
    """The checklist; what is ticked needs nothing."""
    found = re.findall(r"(?m)^- \[(.)\] (\d+)\. (.*)$", text_of(study, instrument))
    made: dict[int, Point] = {}
    for mark, number, said in found:
        known, _, needed = said.partition("**Still needed: ")
        assert bool(needed) == (mark == " ")
        made[int(number)] = Point(known, needed)
    return made


def test_a_judge_is_named_with_its_model_settings_dates_and_prompts(tmp_path):
    with FakeJudge() as fake:
        path = asked(tmp_path / "s.db", fake, [talk(("I failed.", "That is hard."))])
    with Study(path) as study:
        said = section(study)
    assert re.match(r"openai:m \(its server: \S+\) rated 1 conversation on \d{4}-\d\d-\d\d \(", said["Judges"])
    assert "temperature 0.0" in said["Judges"]
    assert "layout criterion-first" in said["Judges"]
    assert "It read 13 different prompts" in said["Judges"]
    assert f"version {COACHING.version}, fingerprint {COACHING.hash[:12]}" in said["Instrument"]
    assert "No person rated." in said["Raters"]


def test_work_in_the_pages_is_known_training_and_blinding_included(tmp_path):
    begun = begin_project(tmp_path / "s.db", talks(12), calibration=2, repeats=0.25, per_unit=3)
    for number in (1, 2, 3):
        begun.work(number)
    said = section(begun.study, EMPATHY)
    assert "3 people gave" in said["Raters"]
    assert "12 conversations were rated by two or more." in said["Raters"]
    assert "Professions they stated: nurse 3." in said["Raters"]
    assert "every rater first answered 2 worked examples" in said["Training"]
    assert "3 of the 3 raters who finished them passed." in said["Training"]
    assert "do not say which system wrote a reply" in said["Blinding and independence"]
    assert "UNKNOWN" not in said["Blinding and independence"] + said["Training"]
    assert "others were made" in said["Exclusions"]
    assert "a second look" in said["Exclusions"]
    assert "ordinal alpha" in said["Analysis"]
    assert "effective number of units" in said["Analysis"]
    assert "Their origin: written 12." in said["Conversations"]
    filled = points(begun.study, EMPATHY)
    assert "planned 3 raters for each of 12 units, with 25 % of them repeated" in filled[6].known
    assert not filled[8].needed
    assert not filled[12].needed


def test_a_sample_is_described_with_its_strata_and_seed(tmp_path):
    with Study(tmp_path / "s.db", create=True) as study:
        study.save_conversations([one(f"{system}{number}", system) for system in ("A", "B") for number in range(10)])
        assert "how the conversations that people rated were chosen" in section(study)["Sampling"]
        draw_sample(study, COACHING, 8, by=["system"], seed=7, name="spring")
        said = section(study)["Sampling"]
    assert "8 conversations for people were drawn at random from 20, stratified by system (sample spring" in said
    assert "seed 7" in said
    assert "4 of them were for tuning judges and 4 for the figures" in said


def test_ratings_that_were_made_elsewhere_are_said_to_be_unknown(tmp_path):
    path = mixed(tmp_path / "s.db", people=True)
    with Study(path) as study:
        save_exported_units(study, COACHING, "xlsx", [(1, None), (2, None)])
        said, filled = section(study), points(study)
    assert "2 units were exported as xlsx" in said["Blinding and independence"]
    assert "2 raters who rated elsewhere are not recorded as blind or not." in said["Blinding and independence"]
    assert "UNKNOWN whether 2 raters who rated elsewhere were blind" in said["Blinding and independence"]
    assert "UNKNOWN how 2 raters who rated elsewhere were trained" in said["Training"]
    assert "18 no answer" in said["Exclusions"]
    assert filled[8].needed
    assert filled[9].needed
    assert re.search(r"CQ2 1\.00[;.].* No interval for CQ2, CQ8: too few conversations\.", filled[13].known)


def test_the_checklist_has_fifteen_points_and_leaves_open_what_only_authors_know(tmp_path):
    with Study(fill(tmp_path / "s.db", COACHING, [one("a")], rated(one("a")))) as study:
        found = points(study)
    assert list(found) == list(range(1, 16))
    assert {number for number, point in found.items() if point.needed} >= {1, 3, 4, 5, 6, 7, 13, 14, 15}
    assert all(point.known or point.needed for point in found.values())


def test_nobody_is_named_and_simulations_are_no_people(tmp_path):
    about = one("a")
    ratings = [*rated(about, rater="Ann Smith", rater_kind=RaterKind.PERSON), *rated(about, rater="Robot")]
    kinds = {"Ann Smith": RaterKind.PERSON, "Robot": RaterKind.SIMULATION}
    with Study(fill(tmp_path / "s.db", COACHING, [about], ratings, kinds)) as study:
        facts = study_facts(study, COACHING)
        text = methods_markdown(facts, None, "s.db")
    assert "Ann" not in text
    assert "1 person gave" in text
    assert "1 simulated rater took part and never counts as a person." in text


def test_an_empty_study_says_that_it_knows_nothing(tmp_path):
    with Study(fill(tmp_path / "s.db", COACHING, [], [])) as study:
        said = section(study)
    assert "0 conversations" in said["Conversations"]
    assert said["Judges"] == "No judge was asked."


def test_hostile_names_are_text(tmp_path):
    about = one("a", "<script>*x*</script>")
    path = fill(tmp_path / "s.db", COACHING, [about], rated(about, rater="[j](http://x)"))
    text = CliRunner().invoke(app, ["methods", str(path)]).stdout
    assert "<script>" not in text
    assert "&lt;script>" in text
    assert r"\[j\](http&#58;//x)" in text


def test_the_command_writes_a_file_and_not_over_one(tmp_path: Path):
    path, output = mixed(tmp_path / "s.db"), tmp_path / "methods.md"
    assert CliRunner().invoke(app, ["methods", str(path), "-o", str(output)]).exit_code == 0
    assert output.read_text().startswith("## Methods of s.db\n")
    assert "exists already" in str(CliRunner().invoke(app, ["methods", str(path), "-o", str(output)]).exception)


@pytest.mark.parametrize("origin", [Origin.REAL, Origin.SIMULATED])
def test_origins_are_told(tmp_path, origin):
    begun = begin_project(tmp_path / "s.db", talks(2, origin=origin), raters=1)
    assert f"Their origin: {origin} 2." in section(begun.study, EMPATHY)["Conversations"]
