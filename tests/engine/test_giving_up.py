"""A judge that cannot be used ends the run with one line, and not every question with an ERROR."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from attunement import api
from attunement.errors import JudgeError
from attunement.judges.base import Answer, Failure, Request, Usage
from attunement.ratings import ErrorKind
from tests.engine.runs import COACHING, SMALL, chats, judge, kept
from tests.fake_judge import Behaviour, FakeJudge


def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attunement.engine.retry._FIRST_WAIT", 0.01)


LM_STUDIO = '{"error": "Unexpected endpoint or method. (POST /chat/completions). Returning 200 anyway"}'


@pytest.mark.parametrize(
    "respond",
    [
        lambda _: web.Response(text=LM_STUDIO, content_type="application/json"),
        lambda _: web.Response(text="{}", content_type="application/json"),
        lambda _: web.Response(text="it works"),
        lambda _: web.Response(status=204),
        lambda _: web.Response(status=501, text="Unsupported method"),
        lambda _: web.Response(status=502, text="Bad gateway"),
    ],
)
def test_an_address_that_never_answers_stops_the_run(
    place: Path, monkeypatch: pytest.MonkeyPatch, respond: Callable[[Any], web.Response]
) -> None:
    hurried(monkeypatch)
    with FakeJudge(Behaviour(respond=respond)) as fake:
        result = judge(fake, chats(100), place, max_connections=20)
        assert fake.requests <= 2 * 20 * 5  # of 1,700 questions, each of which would be asked five times
    assert result.ending.given_up
    assert result.ending.given_up.endswith("nothing was ever answered there, so the address may be wrong")
    assert len(kept(place)) <= 2


def test_a_server_that_has_answered_before_is_not_given_up(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hurried(monkeypatch)
    with FakeJudge() as fake:
        fake.behaviour = Behaviour(faults={"server_error": 0.6})
        result = judge(fake, chats(6), place)
    assert result.ending.given_up is None
    assert result.progress.errors[ErrorKind.SERVER] > 3


def test_a_few_questions_that_fail_are_errors_of_their_own(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hurried(monkeypatch)
    with FakeJudge(Behaviour(faults={"server_error": 1.0})) as fake:
        result = judge(fake, chats(1), place, items=["CQ8", "CQ1"])
    assert result.ending.given_up is None
    assert result.progress.errors == {ErrorKind.SERVER: 2}


def test_a_wait_of_hours_stops_the_run_and_the_next_one_goes_on(place: Path) -> None:
    with FakeJudge(Behaviour(faults={"rate_limit": 1.0}, retry_after="86400")) as fake:
        result = judge(fake, chats(60), place)
        assert fake.requests <= 100
    assert result.ending.given_up
    assert kept(place) == []
    with FakeJudge() as fake:
        assert judge(fake, chats(1), place, items=SMALL).progress.answered == len(SMALL)


@dataclass
class Broken:
    """A judge of somebody's own that breaks off in the middle."""

    error: BaseException
    name: str = "own"
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    refused: Mapping[str, str] = field(default_factory=dict[str, str])
    asked: int = 0

    async def ask(self, request: Request) -> Answer | Failure:
        self.asked += 1
        if self.asked > 2:
            raise self.error
        return Answer('{"reasoning": "Turn 1", "answer": "YES"}', Usage(9, 9), 0.1)

    async def close(self) -> None:
        pass


@pytest.mark.parametrize("error", [ValueError("no such thing"), TimeoutError(), asyncio.CancelledError()])
def test_a_judge_that_breaks_off_is_named_and_what_was_answered_is_kept(place: Path, error: BaseException) -> None:
    with pytest.raises(JudgeError, match=rf"^own broke off with {type(error).__name__}: "):
        api.judge(chats(3), place, judges=Broken(error), instrument=COACHING, max_connections=1)
    assert len(kept(place)) == 2


def test_judges_behind_one_address_share_its_limits(place: Path) -> None:
    with FakeJudge(Behaviour(latency=0.02)) as fake:
        result = judge(fake, chats(3), place, judges=["openai:one", "openai:other"], max_connections=3)
        assert fake.peak == 3
    assert not result.progress.errors
