import asyncio

from attunement.engine.rate_limiter import START, RateLimiter
from attunement.judges.base import Answer, Failure, Usage
from attunement.ratings import ErrorKind

ANSWER = Answer("{}", Usage(), 0.1)
FAULT = Failure(ErrorKind.SERVER, "HTTP 500", transient=True)


def too_many(retry_after=None):
    return Failure(ErrorKind.RATE_LIMITED, "HTTP 429", retry_after, transient=True)


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


def test_too_many_requests_halve_it_once_for_questions_that_were_together():
    async def scene() -> int:
        limiter = RateLimiter(100)
        for _ in range(10):
            limiter.record(too_many())
        return limiter.limit

    assert run(scene()) == START // 2


def test_single_faults_of_a_server_change_nothing_but_a_row_of_them_does():
    limiter = RateLimiter(100)
    limiter.record(FAULT)
    limiter.record(FAULT)
    assert limiter.limit == START
    limiter.record(FAULT)
    assert START // 2 < limiter.limit < START


def test_it_never_falls_to_nothing():
    limiter = RateLimiter(1)
    for _ in range(30):
        limiter.record(FAULT)
    assert limiter.limit == 1


def test_a_wish_to_wait_holds_back_every_question():
    async def scene() -> float:
        limiter = RateLimiter(10)
        limiter.record(too_many(0.2))
        loop = asyncio.get_running_loop()
        started = loop.time()
        await asyncio.gather(*(limiter.acquire(1) for _ in range(3)))
        return loop.time() - started

    assert run(scene()) >= 0.19


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
