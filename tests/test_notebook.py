"""The commands as Python functions: the same records, data frames, and what a notebook shows."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import attunement as at
from attunement.cli import app
from attunement.conversations import Turn
from attunement.errors import InputError
from tests.builders import talk
from tests.store.samples import fill, talks

MESSAGES = [{"role": "user", "content": "I can't sleep."}, {"role": "assistant", "content": "That sounds hard."}]


def printed(*words: object) -> Any:
    done = CliRunner().invoke(app, [*map(str, words), "--json"])
    return json.loads(done.stdout)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    fill(tmp_path / "a.study.db", [*talks(3), talk(("Hello.", "Hi."), id="c9", system="other")]).close()
    return tmp_path / "a.study.db"


def test_everything_public_can_be_found() -> None:
    assert {"judge", "agree", "compare", "gate", "report", "estimate", "read", "open", "Study"} <= set(dir(at))
    assert all(getattr(at, name) is not None for name in dir(at))
    with pytest.raises(AttributeError):
        _ = at.nothing  # type: ignore[attr-defined]


@pytest.mark.parametrize("command", ["agree", "gate", "show"])
def test_a_function_returns_the_record_that_its_command_prints(place: Path, command: str) -> None:
    found = getattr(at, command)(place)
    assert json.loads(json.dumps(found.record)) == printed(command, place)
    assert found["instrument"]["id"] == "coaching-v1"


def test_a_comparison_and_a_decision_are_those_of_the_command(place: Path, tmp_path: Path) -> None:
    assert at.compare(place, "bot", "other").record == printed("compare", place, "bot", "other")
    judged = tmp_path / "b.db"
    at.judge(talks(2), judged, judge=_Always("YES"), items=["CQ8"])
    against = at.compare(judged, baseline=judged)
    assert against.record == printed("compare", judged, "--baseline", judged)
    assert against.exit_code == against["decision"]["exit_code"]
    with pytest.raises(InputError, match="--margin"):
        at.compare(place, margin=1)


def test_a_report_is_written_and_has_the_record_of_its_json(place: Path, tmp_path: Path) -> None:
    found = at.report(place, tmp_path / "r.html")
    assert (tmp_path / "r.html").stat().st_size > 10_000
    CliRunner().invoke(app, ["report", str(place), "--json", str(tmp_path / "r.json")])
    written = json.loads((tmp_path / "r.json").read_bytes())
    assert found["conversations"] == written["conversations"]
    hidden = at.report(place, redact=True, no_text=True)
    assert "I can't" not in json.dumps(hidden.record)


def test_text_and_html_show_what_the_terminal_shows(place: Path) -> None:
    found = at.gate(place)
    assert "gate" in repr(found).lower()
    assert max(len(line) for line in repr(found).splitlines()) <= 100
    html = found._repr_html_()
    assert "<" in html
    assert "gate" in html.lower()
    assert "\x1b" not in repr(found) + html


def test_a_study_opens_and_says_what_it_contains(place: Path) -> None:
    with at.open(place) as study:
        assert "4 conversations; instruments: coaching-v1" in repr(study)
        assert [str(one.conversation.identity) for one in study.scorecards()][:2] == ["bot/c0", "bot/c1"]
        assert at.gate(study).record == at.gate(place).record
        assert study.conversation_count() == 4  # still open


def test_ratings_are_a_flat_data_frame(place: Path) -> None:
    with at.open(place) as study:
        frame, cards = study.ratings_frame(), study.scorecards_frame()
    assert len(frame) == 72
    assert {"system", "conversation", "item", "value", "rater"} <= set(frame.columns)
    assert frame["value"].isin(["YES", "NO", "NA"]).all()
    assert str(frame["repeat"].dtype) == "Int64"
    assert cards["score"].notna().all()


def test_without_pandas_there_is_an_arrow_table_and_without_both_a_sentence(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    absent = {"pandas"}

    def without(name: str) -> Any:
        if name in absent:
            raise ImportError(name)
        return import_module(name)

    monkeypatch.setattr("attunement.store.export.import_module", without)
    with at.open(place) as study:
        assert study.ratings_frame().num_rows == 72
        absent.add("pyarrow")
        with pytest.raises(InputError, match=r"attunement\[notebook\]"):
            study.ratings_frame()


def test_does_not_apply_is_not_a_missing_value_for_pandas(tmp_path: Path) -> None:
    pandas = import_module("pandas")
    place = tmp_path / "a.db"
    at.judge([talk(("Hello.", "Hi."), id="c0", system="bot")], place, judge=_Always("NA"), items=["CQ9"])
    for name in ("r.csv", "r.jsonl"):
        assert CliRunner().invoke(app, ["export", str(place), str(tmp_path / name)]).exit_code == 0
    frame = pandas.read_csv(tmp_path / "r.csv")
    assert list(frame["value"]) == ["not_applicable"]
    assert json.loads((tmp_path / "r.jsonl").read_text())["value"] == "NA"
    with at.open(place) as study:
        assert list(study.ratings_frame()["value"]) == ["NA"]
        before = [rating.outcome for rating in study.ratings()]
    words = ["import", str(tmp_path / "b.db"), str(tmp_path / "r.csv"), "-i", "coaching-v1"]
    chats = tmp_path / "c.jsonl"
    chats.write_text('{"id": "c0", "system": "bot", "turns": [{"user": "Hello.", "assistant": "Hi."}]}\n')
    done = CliRunner().invoke(app, [*words, "-c", str(chats)])
    assert done.exit_code == 0, done.exception
    with at.open(tmp_path / "b.db") as study:
        assert [rating.outcome for rating in study.ratings()] == before


class _Always:
    """A judge that always gives the same answer."""

    def __init__(self, answer: str) -> None:
        self.name, self.settings, self.refused, self._answer = "always", {"version": 1}, {}, answer

    async def ask(self, request: Any) -> Any:
        from attunement.judges import Answer, Usage

        return Answer(f'{{"reasoning": "Turn 1.", "answer": "{self._answer}"}}', Usage(), latency=0.0)

    async def close(self) -> None:
        pass


@pytest.mark.parametrize(
    "given",
    [
        MESSAGES,
        [MESSAGES],
        ({"id": "c1", "system": "mine", "messages": MESSAGES},),
        talk(("a", "b"), id="c", system="s"),
    ],
    ids=["messages", "lists of messages", "records", "a conversation"],
)
def test_conversations_come_from_messages_records_and_objects(given: Any, tmp_path: Path) -> None:
    (read,) = at.read(given)
    assert read.turns in {(Turn("I can't sleep.", "That sounds hard."),), (Turn("a", "b"),)}
    result = at.judge(given, tmp_path / "a.db", judge="signals", items=["CQ9"])
    assert result.progress.conversations == 1
    assert "1 conversations" in repr(result)


def test_files_are_read_with_the_options_of_the_commands(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("q,r\nhello,hi\n")
    (read,) = at.read(path, system="mine", prompt_field="q", response_field="r")
    assert (read.system, read.turns) == ("mine", (Turn("hello", "hi"),))
    result = at.judge(path, judge="signals", items=["CQ9"], system="mine", prompt_field="q", response_field="r")
    assert result.place == str(tmp_path / "a.study.db")
    with pytest.raises(InputError, match="not a conversation"):
        list(at.read([{"role": "user", "content": "only one side"}]))


def test_an_estimate_has_questions_and_a_price(tmp_path: Path) -> None:
    talks = [talk(("Hello.", "Hi."), id="c1")]
    (found,) = at.estimate(talks, judge="openai:gpt-5.2", price_in=1, price_out=2, items=["CQ9"])
    assert (found.judge, found.estimate.questions) == ("openai:gpt-5.2", 1)
    assert found.cost is not None
    assert 0 < found.cost < 1
    (unknown,) = at.estimate(talks, judge="openai:unheard-of", items=["CQ9"])
    assert unknown.cost is None
