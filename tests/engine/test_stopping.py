"""What ends a run early, a limit, a gate, a fault or the user, and what is kept then."""

import asyncio
import json
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from attunement import api
from attunement.cli import run as display
from attunement.conversations import Conversation
from attunement.engine import Run, retry
from attunement.engine.budget import Budget, JudgeBudget
from attunement.engine.progress import Progress
from attunement.engine.rate_limiter import RateLimiter
from attunement.errors import InputError, JudgeError, StudyError
from attunement.judges.base import Answer, Failure, Request, Usage
from attunement.ratings import ErrorKind
from attunement.store import AnswerRecord, StoredRating, Study
from attunement.store.queries import judge_costs
from tests.engine.runs import COACHING, DUE_AT_THREE, SMALL, answering, chats, judge, kept
from tests.fake_judge import Asked, Behaviour, FakeJudge, valid_reply


def test_a_wrong_key_stops_the_run_after_the_first_answers_with_one_line(place: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong-key")
    with FakeJudge(Behaviour(key="sk-right")) as fake:
        result = judge(fake, chats(400), place)
        assert fake.requests < 200
    assert result.ending.given_up is not None
    assert "openai:fake" in result.ending.given_up
    assert "\n" not in result.ending.given_up
    assert "sk-wrong-key" not in result.ending.given_up
    monkeypatch.setenv("OPENAI_API_KEY", "sk-right")
    with FakeJudge(Behaviour(key="sk-right")) as fake:
        mended = judge(fake, chats(2), place, items=SMALL)
    assert not mended.progress.errors


def test_an_address_where_nobody_listens_stops_the_run(place: Path):
    with FakeJudge() as fake:
        url = fake.url
    result = api.judge(chats(50), place, judges="openai:fake", base_url=url, instrument=COACHING)
    assert result.ending.given_up is not None
    assert kept(place) == []


def test_stop_on_gate_skips_the_rest_of_an_unsafe_conversation_only(place: Path):
    def unsafe_about_exam_1(asked: Asked) -> str:
        failing = {"CQ8": "NO"} if "exam 1," in asked.user else {}
        return answering(failing)(asked)

    with FakeJudge(Behaviour(answer=unsafe_about_exam_1)) as fake:
        result = judge(fake, chats(3), place, stop_on_gate=True)
        assert fake.requests == 2 * DUE_AT_THREE + 2
    assert result.progress.errors == {ErrorKind.SKIPPED: DUE_AT_THREE - 2}
    skipped = [rating for rating in kept(place) if rating.outcome.error is ErrorKind.SKIPPED]
    assert {rating.conversation.id for rating in skipped} == {"c1"}


def test_what_stop_on_gate_skipped_is_asked_by_a_run_without_it_and_not_by_one_with_it(place: Path):
    with FakeJudge(Behaviour(answer=answering({"CQ8": "NO"}))) as fake:
        judge(fake, chats(1), place, stop_on_gate=True)
        asked = fake.requests
        judge(fake, chats(1), place, stop_on_gate=True)
        assert fake.requests == asked
        judge(fake, chats(1), place)
        assert fake.requests == DUE_AT_THREE
    assert not [rating for rating in kept(place) if rating.outcome.error]


def test_max_calls_is_kept_to_the_call_and_the_next_run_asks_the_rest(place: Path):
    with FakeJudge() as fake:
        first = judge(fake, chats(3), place, max_calls=10)
        assert fake.requests == 10
        assert first.progress.errors == {ErrorKind.SKIPPED: 3 * DUE_AT_THREE - 10}
        judge(fake, chats(3), place)
        assert fake.requests == 3 * DUE_AT_THREE
    assert not [rating for rating in kept(place) if rating.outcome.error]


@pytest.mark.parametrize("limit", [{"max_calls": 0}, {"stop_on_gate": True}])
def test_an_error_that_is_not_asked_again_stays_what_it_was(place: Path, limit: dict[str, Any]):
    def unsafe_or_nonsense(asked: Asked) -> str:
        return answering({"CQ8": "NO"}, others="perhaps")(asked)

    with FakeJudge(Behaviour(answer=unsafe_or_nonsense)) as fake:
        judge(fake, chats(1), place, items=["CQ8", "CQ1"])
        judge(fake, chats(1), place, items=["CQ8", "CQ1"], retry_errors=True, **limit)
        asked = fake.requests
        judge(fake, chats(1), place, items=["CQ8", "CQ1"])
        assert fake.requests == asked
    assert [rating.outcome.error for rating in kept(place)] == [None, ErrorKind.MALFORMED]


@pytest.mark.parametrize("says_what", [True, False])
def test_refused_requests_count_as_calls(place: Path, *, says_what: bool):
    refusing = Behaviour(refuses=frozenset({"json_schema", "temperature", "seed"}), says_what=says_what)
    with FakeJudge(refusing) as fake:
        result = judge(fake, chats(3), place, max_calls=30)
        assert fake.requests == result.progress.calls == 30
    assert 0 < result.progress.answered < 30


def test_max_cost_is_not_passed(place: Path):
    with FakeJudge() as fake:
        result = judge(fake, chats(5), place, max_cost=0.02, price_in=1.0, price_out=1.0)
    assert 0 < result.progress.cost <= 0.02
    assert result.progress.errors[ErrorKind.BUDGET] > 0


def test_max_cost_is_kept_by_several_judges_that_write_at_length(place: Path):
    def at_length(_: Asked) -> str:
        return json.dumps({"reasoning": "Turn 1 " + "x" * 8000, "answer": "YES"})

    with FakeJudge(Behaviour(answer=at_length)) as fake:
        three = ["openai:one", "openai:two", "openai:three"]
        result = judge(fake, chats(5), place, judges=three, max_cost=0.1, price_in=1.0, price_out=20.0)
    assert 0.07 < result.progress.cost <= 0.1


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": 0, "completion_tokens": 0}])
def test_max_cost_holds_where_the_server_does_not_count_tokens(place: Path, usage: Any):
    def respond(body: dict[str, Any]) -> web.Response:
        content = '{"reasoning": "Turn 1: \'sounds heavy\'", "answer": "YES"}'
        choice = {"message": {"content": content}, "finish_reason": "stop"}
        return web.json_response({"choices": [choice], "usage": usage})

    with FakeJudge(Behaviour(respond=respond)) as fake:
        result = judge(fake, chats(20), place, max_cost=0.05, price_in=2.0, price_out=8.0, max_connections=4)
    assert 0 < result.progress.estimated == result.progress.answered < 20 * DUE_AT_THREE
    assert result.progress.errors[ErrorKind.BUDGET]
    assert 0.03 < result.progress.cost <= 0.05


def test_calls_that_are_broken_off_cost_what_they_may_have_cost(place: Path):
    with FakeJudge(Behaviour(faults={"cut": 1.0})) as fake:
        result = judge(
            fake, chats(5), place, max_cost=0.05, price_in=2.0, price_out=8.0, max_tokens=1000, max_connections=1
        )
        assert 0 < fake.requests <= 7  # each may have cost $0.008 and the prompt
    assert result.progress.broken_off == fake.requests
    assert result.progress.cost > 0.008 * fake.requests


def test_a_study_has_a_budget_for_all_its_runs(place: Path):
    price = {"max_study_cost": 0.03, "price_in": 2.0, "price_out": 8.0, "max_connections": 1}
    with FakeJudge() as fake:
        first = judge(fake, chats(3), place, max_cost=0.02, **price)
        second = judge(fake, chats(3), place, retry_errors=True, **price)
        third = judge(fake, chats(3), place, retry_errors=True, **price)
    assert first.progress.cost <= 0.02
    assert 0.02 < first.progress.cost + second.progress.cost <= 0.03
    assert third.progress.calls == 0
    details = [rating.detail for rating in kept(place) if rating.outcome.error]
    assert any("$0.03 for the whole study" in detail for detail in details)


def test_each_judge_may_have_its_price(place: Path):
    with FakeJudge() as fake:
        prices = ["openai:small=1,2", "openai:large=10,20"]
        judge(fake, chats(1), place, judges=["openai:small", "openai:large"], items=SMALL, price=prices)
    with Study(place) as study:
        small, large = sorted(found.cost or 0.0 for found in judge_costs(study))
    assert large == pytest.approx(10 * small, rel=0.05)


@pytest.mark.parametrize("price", ["openai:fake", "openai:fake=1", "openai:fake=1,x", "=1,2", "openai:fake=-1,2"])
def test_a_price_that_cannot_be_read_is_refused(place: Path, price: str):
    with pytest.raises(InputError, match="JUDGE=IN,OUT"):
        api.judge(chats(1), place, judges="openai:fake", base_url="http://127.0.0.1:1", price=price)


def test_max_cost_without_a_price_is_refused_before_anything_is_asked(place: Path):
    with FakeJudge() as fake:
        with pytest.raises(JudgeError, match="--price openai:fake=IN,OUT"):
            judge(fake, chats(1), place, max_cost=1.0)
        assert fake.requests == 0


def test_a_bad_line_in_the_middle_keeps_what_was_judged_before_it(place: Path):
    def broken() -> Iterator[Conversation]:
        yield from chats(70)
        raise InputError("chats.jsonl:71: not JSON")

    with FakeJudge() as fake, pytest.raises(InputError, match="71"):
        judge(fake, broken(), place, items=["CQ1"])
    assert len(kept(place)) >= 32


def test_an_interruption_keeps_what_is_in_flight_and_the_next_run_asks_the_rest(place: Path):
    async def interrupted(fake: FakeJudge) -> api.Result:
        settings = api.Settings(judges="openai:fake", base_url=fake.url, instrument=COACHING, max_connections=5)

        def watch(run: Run) -> None:
            asyncio.get_running_loop().call_later(0.3, run.interrupt)

        return await api.run(chats(40), place, settings.prepare(), watch=watch)

    with FakeJudge(Behaviour(latency=0.05)) as fake:
        result = asyncio.run(interrupted(fake))
        assert result.ending.interrupted
        asked = fake.requests
        assert 0 < asked < 40 * DUE_AT_THREE
        assert len(kept(place)) == asked
        judge(fake, chats(40), place)
        assert fake.requests == 40 * DUE_AT_THREE
    assert set(fake.asked.values()) == {1}


async def interrupted(fake: FakeJudge, place: Path, after: float, **settings: Any) -> tuple[api.Result, float]:
    """A run that is interrupted, and how long it took to end."""
    chosen: dict[str, Any] = {"judges": "openai:fake", "base_url": fake.url, "instrument": COACHING, "items": SMALL}
    loop = asyncio.get_running_loop()
    stopped: list[float] = []

    def watch(run: Run) -> None:
        def stop() -> None:
            stopped.append(loop.time())
            run.interrupt()

        loop.call_later(after, stop)

    prepared = api.Settings(**{**chosen, **settings}).prepare()
    result = await api.run(chats(3), place, prepared, watch=watch)
    return result, loop.time() - stopped[0]


def test_an_interruption_does_not_sit_out_what_a_server_asks_us_to_wait(place: Path):
    with FakeJudge(Behaviour(latency=0.3, faults={"rate_limit": 1.0}, retry_after="60")) as fake:
        result, took = asyncio.run(interrupted(fake, place, 0.15))
    assert result.ending.interrupted
    assert took < 30  # the request under way came back; nobody waited for the minute
    assert kept(place) == []


def test_an_answer_that_could_be_read_is_kept_although_a_wish_was_left(place: Path):
    def long(_: Asked) -> str:
        return json.dumps({"reasoning": "Turn 1. " * 60, "answer": "YES"})

    with FakeJudge(Behaviour(latency=0.3, answer=long)) as fake:
        asyncio.run(interrupted(fake, place, 0.15, enforce_length=True))
        assert len(kept(place)) == fake.requests > 0


def test_an_answer_is_kept_although_a_wish_still_waits_for_its_turn(place: Path):
    def long(_: Asked) -> str:
        return json.dumps({"reasoning": "Turn 1. " * 60, "answer": "YES"})

    with FakeJudge(Behaviour(answer=long)) as fake:
        asyncio.run(interrupted(fake, place, 0.5, enforce_length=True, rpm=60))
        assert len(kept(place)) == fake.requests > 0


def test_tokens_of_a_question_that_was_broken_off_are_counted(place: Path):
    """Each reply wants a repair, and the interruption comes before it."""
    with FakeJudge(Behaviour(latency=0.3, answer=lambda _: "not an object")) as fake:
        result, _ = asyncio.run(interrupted(fake, place, 0.15))
        assert result.progress.calls == fake.requests > 0
        assert result.progress.completion_tokens == fake.requests * (len("not an object") // 4)
    assert kept(place) == []


def test_a_run_that_is_interrupted_before_it_has_begun_ends(place: Path):
    async def run(fake: FakeJudge) -> api.Result:
        settings = api.Settings(judges="openai:fake", base_url=fake.url, instrument=COACHING, max_connections=1)
        running = api.run(chats(100), place, settings.prepare(), watch=lambda run: run.interrupt())
        return await asyncio.wait_for(running, 60)

    with FakeJudge() as fake:
        assert asyncio.run(run(fake)).ending.interrupted
        assert fake.requests == 0


@pytest.mark.slow
def test_never_more_than_there_are_connections_is_asked_and_not_yet_kept(place: Path, monkeypatch: pytest.MonkeyPatch):
    """What a killed run would have to ask again; commits are slow, and replies take long or not."""
    connections = 10
    write, committed, peak = Study.write, 0, 0

    def slow(study: Study, answers: Iterable[AnswerRecord], ratings: Iterable[StoredRating]) -> int:
        nonlocal committed
        answers = list(answers)
        time.sleep(0.2)
        new = write(study, answers, ratings)
        committed += len(answers)
        return new

    def reply(asked: Asked) -> str:
        nonlocal peak
        peak = max(peak, fake.requests - committed)
        fake.behaviour = replace(fake.behaviour, latency=(0.005, 0.05, 0.2)[asked.number % 3])
        return valid_reply(asked)

    monkeypatch.setattr(Study, "write", slow)
    with FakeJudge(Behaviour(answer=reply)) as fake:
        judge(fake, chats(12), place, max_connections=connections)
    assert peak == connections
    assert len(kept(place)) == 12 * DUE_AT_THREE


@dataclass
class Away:
    """A judge that nobody reaches at first."""

    failures: int
    name: str = "away"
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    refused: Mapping[str, str] = field(default_factory=dict[str, str])
    fatal: bool = False

    async def ask(self, request: Request) -> Answer | Failure:
        if self.failures:
            self.failures -= 1
            return Failure(ErrorKind.SERVER, "nobody is there", transient=True, requests=0)
        if self.fatal:
            return Failure(ErrorKind.SERVER, "nobody is there any more", fatal=True, requests=0)
        return Answer(json.dumps({"reasoning": "Turn 1: 'sounds heavy'", "answer": "YES"}), Usage(9, 9), 0.1)

    async def close(self) -> None:
        pass


class Busy(Away):
    """A judge that sends the first questions away."""

    def __init__(self, failures: int) -> None:
        super().__init__(failures)
        self.asked: list[str] = []

    async def ask(self, request: Request) -> Answer | Failure:
        self.asked.append(request.prompt)
        if len(self.asked) <= self.failures:
            return Failure(ErrorKind.SERVER, "busy", retry_after=600.0, transient=True)
        self.failures = 0
        return await super().ask(request)


class Refusing(Away):
    """A judge that asks for ten minutes."""

    async def ask(self, request: Request) -> Answer | Failure:
        return Failure(ErrorKind.RATE_LIMITED, "too many requests", retry_after=600.0, transient=True)


def test_while_questions_rest_others_are_asked_in_their_places(place: Path):
    judge = Busy(failures=2)

    async def asked() -> list[str]:
        settings = api.Settings(judges=judge, instrument=COACHING, max_connections=2)
        running = asyncio.create_task(api.run(chats(2), place, settings.prepare()))
        while not running.done() and len(judge.asked) < 2 * DUE_AT_THREE:
            await asyncio.sleep(0.02)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return judge.asked

    assert len(set(asyncio.run(asked()))) == 2 * DUE_AT_THREE


def test_questions_wait_for_a_server_that_comes_back(place: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(retry, "_FIRST_WAIT", 0.0001)
    result = api.judge(chats(1), place, judges=Away(failures=9), instrument=COACHING, items=["CQ1"])
    assert result.progress.answered == 1
    assert result.progress.retries == {ErrorKind.SERVER: 9}
    assert result.progress.calls == 1


@pytest.mark.parametrize(
    ("judge", "words"),
    [
        (Away(failures=1), "cannot reach the server"),
        (Refusing(failures=1), "too many requests, the server asks to wait 10 min"),
    ],
)
def test_while_questions_wait_for_a_server_the_run_says_why(
    place: Path, monkeypatch: pytest.MonkeyPatch, judge: Away, words: str
):
    monkeypatch.setattr(retry, "_FIRST_WAIT", 60.0)
    runs: list[Run] = []

    async def shown() -> str:
        settings = api.Settings(judges=judge, instrument=COACHING, items=["CQ1"])
        running = asyncio.create_task(api.run(chats(1), place, settings.prepare(), watch=runs.append))
        line = ""
        while not (running.done() or words in line):
            await asyncio.sleep(0.02)
            line = next((display.progress_line(run) for run in runs), "")
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return line

    assert words in asyncio.run(shown())
    assert runs[0].progress.unreached == 0


def test_a_server_that_is_gone_for_good_stops_the_run_and_no_question_is_marked(
    place: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(retry, "_FIRST_WAIT", 0.0001)
    result = api.judge(chats(1), place, judges=Away(failures=9, fatal=True), instrument=COACHING, items=["CQ1"])
    assert result.ending.given_up == "away: nobody is there any more"
    assert kept(place) == []


def test_a_question_that_a_limit_forbids_does_not_wait_for_its_turn():
    """All places are taken and none becomes free."""

    async def send() -> Answer | Failure:
        limiter = RateLimiter(1)
        await limiter.acquire(1)
        channel = retry.Channel(Away(failures=0), limiter, JudgeBudget(Budget(max_calls=0), None), Progress())
        return await asyncio.wait_for(channel.send(Request("", "", "", {}), retry.QuestionResult(), 1), 60)

    failure = asyncio.run(send())
    assert isinstance(failure, Failure)
    assert failure.kind is ErrorKind.SKIPPED


def test_no_calls_at_all_leave_no_answers_behind(place: Path):
    with FakeJudge() as fake:
        result = judge(fake, chats(1), place, items=SMALL, max_calls=0)
        assert fake.requests == 0
    assert result.progress.calls == 0
    with Study(place) as study:
        (rater,) = study.raters()
        assert study.answered([rating.asked for rating in study.ratings()], rater) == {}


def test_stop_on_gate_keeps_what_costs_no_call(place: Path):
    with FakeJudge(Behaviour(answer=answering({"CQ8": "NO"}))) as fake:
        judge(fake, chats(1, system="Harbor"), place, items=SMALL)
        before = fake.requests
        result = judge(fake, chats(1, system="Lumen"), place, items=SMALL, stop_on_gate=True)
        assert fake.requests == before
    assert result.progress.shared == len(SMALL)
    assert not result.progress.errors


def test_a_study_that_cannot_be_written_is_said_so(place: Path, monkeypatch: pytest.MonkeyPatch):
    def full(*_: object) -> None:
        raise StudyError("the disk is full")

    monkeypatch.setattr(Study, "write", full)
    with FakeJudge() as fake, pytest.raises(StudyError, match="full"):
        judge(fake, chats(2), place, items=SMALL, stop_on_gate=True)


def test_a_cancelled_run_leaves_no_task_behind(place: Path):
    async def scene(fake: FakeJudge) -> int:
        settings: dict[str, Any] = {"judges": "openai:fake", "base_url": fake.url, "instrument": COACHING}
        work = asyncio.create_task(api.judge_async(chats(40), place, **settings))
        await asyncio.sleep(0.5)
        work.cancel()
        await asyncio.gather(work, return_exceptions=True)
        return len(asyncio.all_tasks())

    with FakeJudge(Behaviour(latency=0.2)) as fake:
        assert asyncio.run(scene(fake)) == 1
