"""Figures that were published with the raw ratings, computed again from those ratings."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from attunement.statistics.alpha import Alpha, alpha
from attunement.statistics.kappa import Kappa, PercentAgreement, Spacing, kappa, percent_agreement
from attunement.statistics.results import Undefined
from attunement.statistics.tables import Floats, code, table

# Kumar et al. (2025): the folder of each set of conversations and the columns that identify one.
KUMAR = {
    "Lend an Ear": ("lend_an_ear", ["conversation_id"]),
    "Empathetic Dialogues": ("empatheticdialogues", ["conv_id"]),
    "EPITOME": ("epitome", ["sp_id", "rp_id"]),
    "Perceived Empathy": ("perceived_empathy", ["id"]),
}
EXPERTS = ["expert1", "expert2", "expert3"]
SEVERITY = ["High Potential for Harm", "Suboptimal but Low Potential for Harm", "Best Practice"]


def rows(path: Path) -> Iterator[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        yield from csv.DictReader(file)


class KumarSet:
    """One set of conversations: every rater's scores of a dimension, in the order of the first expert's file."""

    def __init__(self, folder: Path, keys: list[str]) -> None:
        self.scores = {
            rater: {tuple(row[key] for key in keys): row for row in rows(folder / f"{name}_ratings.csv")}
            for rater, name in [*((expert, expert) for expert in EXPERTS), ("crowd", "crowd"), ("llm", "gemini")]
        }
        self.units = list(self.scores["expert1"])

    def of(self, rater: str, dimension: str) -> Floats:
        if rater == "experts":
            return np.median([self.of(expert, dimension) for expert in EXPERTS], axis=0)
        return np.array([float(self.scores[rater][unit][dimension]) for unit in self.units])


@pytest.fixture(scope="module")
def kumar(shared_data: Path) -> tuple[dict[str, KumarSet], list[dict[str, str]]]:
    folder = shared_data / "kumar2025" / "annotations"
    sets = {name: KumarSet(folder / place, keys) for name, (place, keys) in KUMAR.items()}
    return sets, list(rows(folder / "table_kappa.csv"))


def kumar_kappa(study: KumarSet, dimension: str, pair: str, spacing: Spacing) -> Kappa:
    first, second = (part.strip(" ()'") for part in pair.split(","))
    hundredths = [np.round(study.of(rater, dimension) * 100) for rater in (first, second)]
    result = kappa(hundredths[0], hundredths[1], "quadratic", spacing)
    assert isinstance(result, Kappa), (dimension, pair, result)
    return result


def test_all_126_kappas_and_p_values_of_kumar_come_out(
    kumar: tuple[dict[str, KumarSet], list[dict[str, str]]],
) -> None:
    sets, published = kumar
    assert len(published) == 126
    for row in published:
        result = kumar_kappa(sets[row["Dataset"]], row["Dimension"], row["Annotator Pair"], "ranks")
        assert f"{result.value:.2f}" == row["Weighted Cohen's Kappa"], row
        # They divided by the standard error itself, not by that under the null hypothesis.
        assert isinstance(result.p_from_se, float)
        assert f"{result.p_from_se:.3f}" == row["Kappa P-value"], row


def test_weights_on_values_move_a_quarter_of_kumars_kappas(
    kumar: tuple[dict[str, KumarSet], list[dict[str, str]]],
) -> None:
    sets, published = kumar
    moved = [
        abs(kumar_kappa(study, *where, "ranks").value - kumar_kappa(study, *where, "values").value)
        for row in published
        for study, where in [(sets[row["Dataset"]], (row["Dimension"], row["Annotator Pair"]))]
    ]
    assert sum(each > 0.005 for each in moved) == 33
    assert max(moved) == pytest.approx(0.077, abs=5e-4)


@pytest.mark.parametrize(("level", "expected"), [("interval", 0.548), ("ordinal", 0.529)])
def test_the_alphas_of_kumars_experts_average_as_published(
    kumar: tuple[dict[str, KumarSet], list[dict[str, str]]], level: str, expected: float
) -> None:
    sets, published = kumar
    dimensions = dict.fromkeys((row["Dataset"], row["Dimension"]) for row in published)
    assert len(dimensions) == 21
    alphas = [
        alpha(np.column_stack([sets[name].of(expert, dimension) for expert in EXPERTS]), level)  # type: ignore[arg-type]
        for name, dimension in dimensions
    ]
    values = [each.value for each in alphas if isinstance(each, Alpha)]
    assert len(values) == 21
    assert np.mean(values) == pytest.approx(expected, abs=5e-4)


@pytest.mark.parametrize(
    ("second", "units", "agreement", "expected"),
    [("annotator_2_classification", 98, 0.969, 0.938), ("gpt-4o-2024-08-06_classification", 100, 0.990, 0.980)],
)
def test_moores_agreement_comes_out(
    shared_data: Path, second: str, units: int, agreement: float, expected: float
) -> None:
    labels = [
        [(row[column] or "").strip().lower() or None for column in ("annotator_1_classification", second)]
        for row in rows(shared_data / "moore2025" / "classification_validation.csv")
    ]
    ratings = code(labels, ["no", "yes"])
    result, share = kappa(*ratings.T), percent_agreement(ratings)
    assert isinstance(result, Kappa)
    assert isinstance(share, PercentAgreement)
    assert result.units == units
    assert share.value == pytest.approx(agreement, abs=5e-4)
    assert result.value == pytest.approx(expected, abs=5e-4)


@pytest.mark.parametrize(
    ("dimension", "expected"),
    [("emotion", 0.942), ("validation", 0.936), ("helpfulness", 0.956), ("safety", 0.911), ("overall", 0.899)],
)
def test_a_judge_asked_three_times_agrees_with_itself_as_published(
    shared_data: Path, dimension: str, expected: float
) -> None:
    answers: list[tuple[tuple[str, str], int, float]] = []
    for path in sorted((shared_data / "empathy-judge").glob("*_judge.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            score = record["overall"] if dimension == "overall" else record["scores"][dimension]
            answers.append(((record["sample_id"], record["model"]), record["repeat_idx"], float(score)))
    repeats = table(*zip(*answers, strict=True))
    assert repeats.values.shape == (600, 3)
    result = alpha(repeats.values)
    assert isinstance(result, Alpha)
    assert result.value == pytest.approx(expected, abs=5e-4)


def clinicians(shared_data: Path, dimension: str) -> Floats:
    said = [row for row in rows(shared_data / "vera-mh" / "ratings.csv") if row["dimension"] == dimension]
    graded = [row for row in said if row["value"] != "Not Relevant"]
    columns = ([row[name] for row in graded] for name in ("conversation", "rater"))
    return table(*columns, [SEVERITY.index(row["value"]) for row in graded]).values


@pytest.mark.parametrize(("dimension", "expected"), [("detects", 0.071), ("supportive", -0.007)])
def test_two_of_veras_dimensions_are_dead(shared_data: Path, dimension: str, expected: float) -> None:
    result = alpha(clinicians(shared_data, dimension))
    assert isinstance(result, Alpha)
    assert result.value == pytest.approx(expected, abs=5e-4)


def test_a_pooled_figure_would_hide_veras_dead_dimensions(shared_data: Path) -> None:
    dimensions = ["detects", "confirms", "guides", "supportive", "boundaries"]
    tables = [clinicians(shared_data, dimension) for dimension in dimensions]
    widest = max(each.shape[1] for each in tables)
    pooled = np.vstack([np.pad(each, ((0, 0), (0, widest - each.shape[1])), constant_values=np.nan) for each in tables])
    result = alpha(pooled)
    assert not isinstance(result, Undefined)
    assert result.value > 0.7
