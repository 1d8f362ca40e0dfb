"""The whole picture of a study: who is chosen, parts, repeats, levels, evidence and samples."""

from pathlib import Path

import numpy as np
import pytest

from attunement.analysis.judge_result import Details
from attunement.analysis.ratings_table import collect_ratings
from attunement.analysis.reliability import Retest
from attunement.analysis.summary import (
    NA,
    NO_ANSWER,
    AgreementOptions,
    analyse_agreement,
    chosen,
    ratings_of_sample,
    study_agreement,
)
from attunement.analysis.verdicts import Verdict
from attunement.errors import InputError
from attunement.ratings import ErrorKind, Outcome, RaterKind, Round
from attunement.statistics.kappa import PairwiseKappa
from attunement.statistics.results import Undefined
from attunement.store import Rater, StoredRating, Study
from attunement.store.samples import SampledConversation, save_sample
from tests.analysis.trust_samples import gathered, noisy, three_people
from tests.builders import rating, talk
from tests.store.samples import COACHING

ITEM = "CQ1"


class Filling:
    """A study in the making: people and judges answer one criterion about numbered conversations."""

    def __init__(self, path: Path, count: int) -> None:
        self.study = Study(path, create=True)
        self.study.save_instrument(COACHING)
        self.talks = [
            talk((f"I feel {n}.", "Why? " * (n % 7 + 1)), id=f"c{n}", system=f"bot{n % 3}") for n in range(count)
        ]
        self.keys = self.study.save_conversations(self.talks)

    def rater(self, name: str, kind: RaterKind, **settings: object) -> Rater:
        return self.study.save_rater(name, kind, settings)

    def say(self, rater: Rater, answers: list[object], item: str = ITEM, **more: object) -> None:
        rows = [
            StoredRating(
                key,
                rater.key,
                rating(COACHING, item, answer, conversation=about.identity, rater=rater.name, **more),  # type: ignore[arg-type]
            )
            for key, about, answer in zip(self.keys, self.talks, answers, strict=True)
            if answer is not None
        ]
        self.study.write([], rows)


@pytest.fixture
def filled(tmp_path: Path) -> Filling:
    """Forty conversations; two clinicians and a nurse who see nearly the same, and a judge."""
    made = Filling(tmp_path / "s.db", 40)
    truth: list[object] = ["YES" if n % 3 else "NO" for n in range(40)]
    for name, job in [("anna", "clinician"), ("bob", "clinician"), ("cem", "nurse")]:
        made.say(made.rater(name, RaterKind.PERSON, profession=job), truth)
    flipped = [("NO" if answer == "YES" else "YES") if n < 3 else answer for n, answer in enumerate(truth)]
    made.say(made.rater("j", RaterKind.MODEL), flipped)
    return made


def test_people_are_chosen_by_name_or_by_what_is_known_of_them(filled: Filling) -> None:
    ratings = collect_ratings(filled.study, COACHING)
    assert chosen(ratings, ["Clinician"], []) == (("anna", "bob"), ("j",))
    assert chosen(ratings, ["cem"], ["j"]) == (("cem",), ("j",))
    assert chosen(ratings, [], []) == (("anna", "bob", "cem"), ("j",))
    with pytest.raises(InputError, match="nobody fits"):
        chosen(ratings, ["priest"], [])
    with pytest.raises(InputError, match="no judge 'anna'"):
        chosen(ratings, [], ["anna"])


def test_only_the_chosen_people_count(filled: Filling) -> None:
    found = study_agreement(filled.study, COACHING, AgreementOptions(people=("nurse",), items=(ITEM,)))
    (entry,) = found.items
    assert entry.people.people == 1
    assert entry.judges[0].ruling.verdict is Verdict.OPEN


def test_simulated_raters_are_no_people(filled: Filling) -> None:
    filled.say(filled.rater("puppet", RaterKind.SIMULATION), ["NO"] * 40)
    found = study_agreement(filled.study, COACHING)
    assert found.people == ("anna", "bob", "cem")
    assert found.judges == ("j",)
    assert found.left_out == {"by simulated raters, who are not people": 40}


def test_answers_errors_and_na_are_counted(filled: Filling) -> None:
    odd: list[object] = ["NA"] * 4 + [Outcome.failed(ErrorKind.TIMEOUT)] * 2 + ["YES"] * 34
    filled.say(filled.rater("dora", RaterKind.PERSON), odd)
    filled.say(filled.rater("k", RaterKind.MODEL), odd)
    (entry,) = study_agreement(filled.study, COACHING, AgreementOptions(items=(ITEM,), full=True)).items
    assert (entry.answers[NA], entry.answers[NO_ANSWER]) == (4, 2)
    card = next(card for card in entry.judges if card.judge == "k")
    assert card.outcomes == (40, 34, 4, 0, 2)
    assert card.details is not None
    assert card.details.applicability is not None


def test_parts_have_their_own_figures_and_numbers(filled: Filling) -> None:
    found = study_agreement(filled.study, COACHING, AgreementOptions(by="system", items=(ITEM,)))
    assert [(part.part, part.conversations) for part in found.parts] == [("bot0", 14), ("bot1", 13), ("bot2", 13)]
    assert sum(part.items[0].units for part in found.parts) == found.items[0].units
    with pytest.raises(InputError, match="no conversation has 'tongue'"):
        study_agreement(filled.study, COACHING, AgreementOptions(by="tongue"))


def details(filled: Filling) -> Details:
    (entry,) = study_agreement(filled.study, COACHING, AgreementOptions(items=(ITEM,), full=True)).items
    made = entry.judges[0].details
    assert made is not None
    return made


def test_a_full_card_tells_whether_length_matters(filled: Filling) -> None:
    made = details(filled)
    assert isinstance(made.with_length, tuple)
    assert made.retest == Undefined("nothing was rated twice")


def test_repeats_of_judges_and_of_people_are_compared_with_themselves(filled: Filling) -> None:
    judge = filled.rater("j", RaterKind.MODEL)
    filled.say(judge, ["YES"] * 40, repeat=1)
    anna = filled.rater("anna", RaterKind.PERSON, profession="clinician")
    filled.say(anna, ["YES"] * 10 + [None] * 30, round=Round.REPEAT)
    (entry,) = study_agreement(filled.study, COACHING, AgreementOptions(items=(ITEM,), full=True)).items
    assert entry.judge_retests["j"].units == 40
    assert entry.details is not None
    assert isinstance(entry.details.retest, Retest)
    assert (entry.details.retest.units, entry.details.retest.same) == (10, 6)
    assert entry.people.people == 3


def test_quotations_are_counted_by_judge_and_item(filled: Filling) -> None:
    judge = filled.rater("quoting", RaterKind.MODEL)
    found = {"standing": "found", "turns": [1]}
    lost = {"standing": "not_found", "turns": []}
    filled.say(judge, ["YES"] * 40, evidence=(found, found, lost, {"standing": "unquoted", "turns": [1]}))
    (entry,) = study_agreement(
        filled.study, COACHING, AgreementOptions(items=(ITEM,), judges=("quoting",), full=True)
    ).items
    made = entry.judges[0].details
    assert made is not None
    assert made.citations == (80, 120)


def test_system_means_may_agree_where_units_do_not() -> None:
    rng = np.random.default_rng(0)
    systems = np.arange(400) % 4
    people = np.clip(np.round(systems[:, None] + 1.5 + rng.normal(0, 1.5, (400, 2))), 1, 5)
    judge = np.clip(np.round(systems + 1.5 + rng.normal(0, 1.5, 400)), 1, 5)
    (entry,) = analyse_agreement(gathered(people, {"j": judge})).items
    levels = entry.judges[0].levels
    assert (levels.unit.number, levels.system.number) == (400, 4)
    assert levels.system.icc.value > 0.9 > 0.6 > levels.unit.icc.value  # type: ignore[union-attr]


def test_few_systems_have_no_system_level() -> None:
    truth, people = three_people(2, 0.1)
    (entry,) = analyse_agreement(gathered(people, {"j": truth})).items
    assert entry.judges[0].levels.system.number == 2
    assert entry.judges[0].levels.system.spearman == Undefined("fewer than 3 systems")


def test_judges_are_compared_with_each_other() -> None:
    truth, people = three_people(50, 0.5)
    (entry,) = analyse_agreement(
        gathered(people, {"j": truth, "k": truth, "l": noisy(truth, 2, np.random.default_rng(1))}), full=True
    ).items
    figures = {(pair.first, pair.second): pair.agreement for pair in entry.judge_pairs}
    assert set(figures) == {("j", "k"), ("j", "l"), ("k", "l")}
    assert figures["j", "k"] == PairwiseKappa(pytest.approx(1.0), 50)


def drawn(
    filled: Filling, probability: float, split: str | None, start: int, stop: int
) -> dict[int, SampledConversation]:
    return {key: SampledConversation("all", probability, split) for key in filled.keys[start:stop]}  # type: ignore[arg-type]


def test_cards_rest_on_the_certify_part_and_say_how_often_a_judge_was_run_on_it(filled: Filling) -> None:
    units = drawn(filled, 0.5, "develop", 0, 15) | drawn(filled, 0.5, "certify", 15, 35)
    save_sample(filled.study, name=None, instrument=COACHING.id, seed=0, design={}, units=units)
    found = study_agreement(filled.study, COACHING, AgreementOptions(items=(ITEM,)))
    assert found.items[0].conversations == 20
    assert (
        "20 of the 40 conversations that people rated count here: the test part of the sample 'sample-1'"
        in found.notes[0]
    )
    assert any("j was run on it in 1 version" in note for note in found.notes)


def test_a_sample_without_parts_gives_the_weights(filled: Filling) -> None:
    units = drawn(filled, 1.0, None, 0, 10) | drawn(filled, 0.1, None, 10, 30)
    save_sample(filled.study, name=None, instrument=COACHING.id, seed=0, design={}, units=units)
    rests = ratings_of_sample(filled.study, COACHING.id, collect_ratings(filled.study, COACHING))
    assert rests.weights is not None
    assert np.unique(rests.weights[~np.isnan(rests.weights)]).tolist() == pytest.approx([1, 10])
    assert len(np.unique(rests.table.unit)) == 30
    assert any("weighted" in note for note in rests.notes)


def test_a_sample_that_nobody_rated_does_not_hide_other_ratings(filled: Filling) -> None:
    more = [talk(("x", "y"), id=f"new{n}") for n in range(5)]
    keys = filled.study.save_conversations(more)
    units = {key: SampledConversation("all", 1.0, None) for key in keys}
    save_sample(filled.study, name=None, instrument=COACHING.id, seed=0, design={}, units=units)
    found = study_agreement(filled.study, COACHING, AgreementOptions(items=(ITEM,)))
    assert found.items[0].conversations == 40
    assert "rated nothing" in found.notes[0]
