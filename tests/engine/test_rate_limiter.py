import asyncio

import pytest

from attunement.engine.rate_limiter import START, RateLimiter
from attunement.judges.base import Answer, Failure, ServerLimits, Usage
from attunement.ratings import ErrorKind
from tests.engine.servers import Erratic, FixedMinutes, Limited, LimitedTokens, Queueing, ask_for

ANSWER = Answer("{}", Usage(), 0.1)
FAULT = Failure(ErrorKind.SERVER, "HTTP 500", transient=True)


def run(coroutine):
    return asyncio.run(coroutine)


def test_never_more_than_the_ceiling_is_in_flight():
    async def scene() -> int:
        limiter, peak = RateLimiter(3), 0

        async def ask() -> None:
            nonlocal peak
            await limiter.acquire(1)
            peak = max(peak, limiter.in_flight)
            await asyncio.sleep(0)
            limiter.release()
            limiter.record(ANSWER)

        await asyncio.gather(*(ask() for _ in range(50)))
        assert limiter.in_flight == 0
        return peak

    assert run(scene()) == 3


def test_it_grows_while_questions_wait_and_not_beyond_the_ceiling():
    async def scene() -> list[int]:
        limiter, sizes = RateLimiter(100), [START]

        async def ask() -> None:
            await limiter.acquire(1)
            await asyncio.sleep(0.01)
            limiter.release()
            limiter.record(ANSWER)
            sizes.append(limiter.limit)

        await asyncio.gather(*(ask() for _ in range(400)))
        return sizes

    sizes = run(scene())
    assert sizes[START] == 2 * START  # doubled after one round
    assert max(sizes) == 100


def test_it_does_not_grow_while_part_of_it_is_idle():
    async def scene() -> int:
        limiter = RateLimiter(100)
        for _ in range(500):
            await limiter.acquire(1)
            limiter.release()
            limiter.record(ANSWER)
        return limiter.limit

    assert run(scene()) == START


def test_single_faults_of_a_server_change_nothing_but_a_row_of_them_does():
    async def scene() -> list[int]:
        limiter, limits = RateLimiter(100), list[int]()
        for _ in range(3):
            limiter.record(FAULT)
            limits.append(limiter.limit)
        return limits

    first, second, third = run(scene())
    assert (first, second) == (START, START)
    assert START // 2 < third < START


def test_it_never_falls_to_nothing():
    async def scene() -> int:
        limiter = RateLimiter(1)
        for _ in range(30):
            limiter.record(FAULT)
        return limiter.limit

    assert run(scene()) == 1


# What a minute of refusals does, in virtual time. The goals are those of `benchmarks/bench_rate_limits.py`.


def test_refusals_at_random_cost_no_more_than_the_refused_calls():
    outcome = ask_for(120, Erratic(share=0.05, retry_after=1.0))
    assert outcome.rate(10, 120) > 0.85 * 100
    assert not outcome.errors


def test_a_limit_on_requests_is_used_without_many_refusals():
    outcome = ask_for(180, Limited(rate=lambda _: 50.0))
    assert outcome.rate(10, 180) > 0.9 * 50
    assert outcome.wasted < 0.1


def test_a_limit_on_tokens_is_used_without_many_refusals():
    outcome = ask_for(180, LimitedTokens(rate=lambda _: 1e6 / 60, burst=1e6))
    tokens = (300 + 1000 + 4000) / 3 + 50
    assert outcome.answered > 0.9 * (1e6 + 180 * 1e6 / 60) / tokens
    assert outcome.wasted < 0.12


@pytest.mark.parametrize(("announced", "server"), [
    (ServerLimits(3000, None), Limited(rate=lambda _: 50.0)),
    (ServerLimits(None, 1_000_000), LimitedTokens(rate=lambda _: 1e6 / 60, burst=1e6 / 60)),
])  # fmt: skip
def test_announced_limits_set_the_pace_at_once(announced: ServerLimits, server: Limited):
    server.announces = announced
    outcome = ask_for(180, server)
    best = 50 if announced.requests else 1e6 / 60 / ((300 + 1000 + 4000) / 3 + 50)
    assert outcome.answered > 0.95 * 180 * best
    assert outcome.wasted < 0.02


def test_a_used_up_minute_is_waited_for():
    outcome = ask_for(180, FixedMinutes())
    assert outcome.answered > 0.9 * 3 * 3000
    assert outcome.wasted < 0.1


def test_a_server_that_queues_gets_fewer_questions_at_once():
    outcome = ask_for(180, Queueing(), connections=400)
    assert outcome.rate(10, 180) > 0.9 * 32
    assert outcome.slowest < 8.0  # 400 at once would take 12 seconds


def test_a_limit_that_halves_for_a_minute_is_followed_down_and_up():
    outcome = ask_for(180, Limited(rate=lambda now: 25.0 if 60 <= now < 120 else 50.0))
    assert outcome.rate(65, 120) > 0.9 * 25
    assert outcome.rate(140, 180) > 0.9 * 50
    assert outcome.wasted < 0.15


def test_a_question_that_is_refused_for_ten_minutes_is_asked_in_the_end():
    outcome = ask_for(900, Erratic(share=0.999, retry_after=1.0), connections=4)
    assert not outcome.errors
    quiet = ask_for(800, Limited(rate=lambda now: 0.0 if now < 600 else 10.0, burst=1.0), connections=4)
    assert not quiet.errors
    assert quiet.answered > 100


def test_a_server_that_refuses_everything_ends_the_run():
    outcome = ask_for(3000, Erratic(share=1.0), connections=4)
    assert outcome.errors
    assert all(error.fatal for error in outcome.errors)


def test_requests_a_minute_space_the_questions_out():
    async def scene() -> float:
        limiter = RateLimiter(10, rpm=60 / 0.05)
        loop = asyncio.get_running_loop()
        started = loop.time()
        await asyncio.gather(*(limiter.acquire(1) for _ in range(4)))
        return loop.time() - started

    assert run(scene()) >= 0.14  # three gaps of 0.05 s


def test_tokens_a_minute_make_a_long_prompt_wait_longer():
    async def scene() -> float:
        limiter = RateLimiter(10, tpm=60_000)
        loop = asyncio.get_running_loop()
        started = loop.time()
        await limiter.acquire(200)
        await limiter.acquire(1)
        return loop.time() - started

    assert run(scene()) >= 0.19


def test_a_cancelled_wait_leaves_its_place_to_others():
    async def scene() -> int:
        limiter = RateLimiter(1)
        await limiter.acquire(1)
        waiting = asyncio.create_task(limiter.acquire(1))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        limiter.release()
        await asyncio.wait_for(limiter.acquire(1), 1)
        return limiter.in_flight

    assert run(scene()) == 1
