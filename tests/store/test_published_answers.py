"""Published figures come out of the published answers of judges."""

import csv
from collections import Counter
from pathlib import Path

from attunement.conversations.reader import ReadOptions, read
from attunement.instruments import Instrument, NaPolicy
from attunement.ratings import (
    State,
)
from attunement.scoring import Scorecard, Verdict
from attunement.store import Study, scored_conversations
from attunement.store.import_ratings import AbsentPolicy, ImportResult, check_import, save_import
from tests.store.samples import COACHING, EMPATHY


def na_passes() -> Instrument:
    """The coaching instrument as somebody copies it to a file of their own, with `na: pass`."""
    scoring = {**COACHING.scoring.model_dump(), "na": NaPolicy.PASS}
    return Instrument.model_validate({**COACHING.model_dump(), "scoring": scoring})


def coaching(folder: Path, study: Study, absent: AbsentPolicy) -> ImportResult:
    conversations = read([folder / "conversations.jsonl"], ReadOptions(system="coach"))
    return save_import(check_import([folder / "answers.csv"], conversations, COACHING), study, absent)


def cards(study: Study, instrument: Instrument) -> dict[str, Scorecard]:
    return {card.conversation.id: card for case in scored_conversations(study, instrument) for card in case.cards.all}


def test_the_published_scores_come_out_of_the_published_answers(shared_data: Path, study: Study) -> None:
    folder = shared_data / "coaching-judges"
    report = coaching(folder, study, AbsentPolicy.NOT_DUE)
    assert (report.new, report.checked.errors, report.conversations) == (653, 2, 37)
    ours = cards(study, na_passes())
    with (folder / "scores.csv").open(encoding="utf-8") as file:
        published = list(csv.DictReader(file))
    assert len(published) == 29
    assert {entry["conversation"]: float(entry["score"]) for entry in published} == {
        entry["conversation"]: round(ours[entry["conversation"]].score or 0, 3) for entry in published
    }
    for name, count, mean, passing in (("finetune", 14, 0.831, 57.1), ("base", 15, 0.701, 20.0)):
        those = [card for id, card in ours.items() if id.startswith(name)]
        assert len(those) == count
        # The published means are of rounded scores, and the published rates know no rules of an instrument.
        assert round(sum(round(card.score or 0, 3) for card in those) / count, 3) == mean
        assert round(100 * sum(card.verdict is Verdict.PASS for card in those) / count, 1) == passing


def test_an_absent_answer_is_an_error_unless_it_is_said_not_to_be_due(shared_data: Path, study: Study) -> None:
    report = coaching(shared_data / "coaching-judges", study, AbsentPolicy.ERROR)
    assert report.absent == {"CP7": 8, "CP6": 1, "MT4": 1, "MT5": 1, "MT7": 1}
    assert report.absent_in.count == 8
    assert report.absent_in.named[0].endswith("base_seed9000_run1 by unnamed-llm: CP6, CP7, MT4, MT5, MT7")
    assert round(cards(study, na_passes())["base_seed9000_run1"].score or 0, 2) == 0.71
    assert round(cards(study, COACHING)["base_seed9000_run1"].score or 0, 2) == 0.65


def test_every_imported_answer_has_its_evidence_looked_up(shared_data: Path, study: Study) -> None:
    coaching(shared_data / "coaching-judges", study, AbsentPolicy.ERROR)
    made = list(study.ratings())
    assert Counter(rating.rater for rating in made) == {"unnamed-llm": 517, "claude": 136}
    for rating in made:
        assert bool(rating.evidence) is (rating.outcome.state is not State.ERROR)
    standings = Counter(finding["standing"] for rating in made for finding in rating.evidence)
    assert standings["found"] > standings["not_found"] > 0


def test_score_records_are_keyed_on_sample_and_system(shared_data: Path, study: Study) -> None:
    folder = shared_data / "empathy-judge"
    replies = [folder / f"{name}.jsonl" for name in ("empathy_chain", "gpt2_finetuned", "gpt2_vanilla")]
    records = [path.with_name(f"{path.stem}_judge.jsonl") for path in replies]
    report = save_import(check_import(records, read(replies), EMPATHY), study)
    assert report.conversations == study.conversation_count() == 600
    assert report.new == 1800 * 5
    assert not report.absent
    made = list(study.ratings())
    assert len({(rating.conversation, rating.repeat) for rating in made}) == 1800
    assert len({rating.conversation.id for rating in made}) == 200
    assert Counter(rating.repeat for rating in made) == dict.fromkeys(range(3), 3000)
    assert [rater.name for rater in study.raters()] == ["deepseek-chat"]
