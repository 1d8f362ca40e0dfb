"""A judge by its name."""

from importlib.metadata import EntryPoint

import pytest

from attunement.errors import JudgeError
from attunement.judges import JudgeOptions, make_judge, registry


class Oracle:
    """A judge of another package."""

    def __init__(self, model: str, options: JudgeOptions) -> None:
        self.name = f"oracle:{model}"
        self.settings = {"seed": options.seed}


def added(monkeypatch: pytest.MonkeyPatch, **judges: str) -> None:
    points = [EntryPoint(name, value, registry.GROUP) for name, value in judges.items()]
    monkeypatch.setattr(registry, "entry_points", lambda group: points if group == registry.GROUP else [])


def test_other_packages_add_judges(monkeypatch: pytest.MonkeyPatch) -> None:
    added(monkeypatch, oracle=f"{__name__}:Oracle")
    judge = make_judge("oracle:of:delphi", JudgeOptions(seed=4))
    assert (judge.name, judge.settings) == ("oracle:of:delphi", {"seed": 4})
    assert make_judge("oracle").name == "oracle:"


def test_a_judge_of_another_package_that_cannot_be_loaded_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    added(monkeypatch, broken="no_such_package:judge")
    with pytest.raises(JudgeError, match="the judge 'broken' of no_such_package:judge cannot be loaded"):
        make_judge("broken:m")


def test_an_unknown_name_lists_the_known_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    added(monkeypatch, oracle="somewhere:oracle")
    with pytest.raises(JudgeError) as caught:
        make_judge("opnai:gpt-5.2")
    assert str(caught.value) == (
        "there is no judge 'opnai:gpt-5.2'; known are signals, openai:MODEL, anthropic:MODEL, local:FILE.gguf, "
        "replay:FILE.jsonl, oracle"
    )


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("gpt-5.2", "openai:gpt-5.2"),
        ("claude-sonnet-4-5", "anthropic:claude-sonnet-4-5"),
        ("models/x.gguf", "local:models/x.gguf"),
    ],
)
def test_a_model_without_its_kind_is_understood_enough_for_a_proposal(name: str, meant: str) -> None:
    with pytest.raises(JudgeError, match=f"did you mean {meant}"):
        make_judge(name)


@pytest.mark.parametrize("name", ["openai", "openai:", "local:"])
def test_a_kind_without_a_model_asks_for_one(name: str) -> None:
    with pytest.raises(JudgeError, match="does not say which model"):
        make_judge(name)


@pytest.mark.parametrize("name", ["", ":", ":m"])
def test_an_empty_name_is_no_judge(name: str) -> None:
    with pytest.raises(JudgeError, match="there is no judge"):
        make_judge(name)
