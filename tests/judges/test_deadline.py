"""A request that takes too long ends, and nothing else does."""

import asyncio
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

import pytest

from attunement.engine import run_in_loop
from attunement.judges.client import Deadline

InLoop = Callable[[Any], Any]


@pytest.fixture(params=[asyncio.run, run_in_loop])
def in_loop(request: pytest.FixtureRequest) -> InLoop:
    """Runs a coroutine in the loop of the standard library, and in the one that runs take place in."""
    return cast(InLoop, request.param)


def test_what_takes_too_long_ends_and_what_does_not_goes_on(in_loop: InLoop) -> None:
    async def request(deadline: Deadline, seconds: float) -> str:
        try:
            with deadline:
                await asyncio.sleep(seconds)
        except TimeoutError:
            return "late"
        await asyncio.sleep(0.05)  # a task that was late is as good as any other
        return "done"

    async def run() -> list[str]:
        deadline = Deadline(0.2)
        first = asyncio.gather(*(request(deadline, seconds) for seconds in (0.0, 5.0, 0.05, 5.0)))
        await asyncio.sleep(0.1)
        second = asyncio.gather(*(request(deadline, seconds) for seconds in (0.15, 5.0)))
        return [*await first, *await second]

    assert in_loop(asyncio.wait_for(run(), 3)) == ["done", "late", "done", "late", "done", "late"]


def test_one_after_the_other_each_has_its_own_time(in_loop: InLoop) -> None:
    async def run() -> None:
        deadline = Deadline(0.2)
        for _ in range(4):
            with deadline:
                await asyncio.sleep(0.1)

    in_loop(run())


def test_a_task_that_is_cancelled_is_not_late(in_loop: InLoop) -> None:
    async def run() -> None:
        deadline = Deadline(0.2)

        async def request() -> None:
            with deadline:
                await asyncio.sleep(5)

        task = asyncio.create_task(request())
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    in_loop(run())


def test_a_task_that_is_cancelled_when_it_is_late_stays_cancelled(in_loop: InLoop) -> None:
    async def run() -> None:
        deadline = Deadline(0.05)

        async def request() -> None:
            with deadline:
                try:
                    await asyncio.sleep(5)
                finally:
                    await asyncio.sleep(0.1)

        task = asyncio.create_task(request())
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()

    in_loop(run())


def test_an_error_of_the_request_is_its_own(in_loop: InLoop) -> None:
    async def run() -> None:
        deadline = Deadline(0.05)
        with pytest.raises(ValueError, match="broken"), deadline:
            raise ValueError("broken")
        await asyncio.sleep(0.1)  # and nobody is cancelled for it afterwards

    in_loop(run())


@pytest.mark.parametrize("busy_with", ["a timer", "a socket"])
def test_a_reply_that_came_while_the_loop_was_busy_is_in_time(busy_with: str, in_loop: InLoop) -> None:
    async def run() -> str:
        deadline, loop = Deadline(0.1), asyncio.get_running_loop()
        ours, theirs = socket.socketpair()
        other, another = socket.socketpair()
        ours.setblocking(False)

        def be_busy() -> None:
            loop.remove_reader(other)
            theirs.send(b"reply")
            time.sleep(0.1)

        with ours, theirs, other, another:
            if busy_with == "a socket":
                loop.add_reader(other, be_busy)
                loop.call_later(0.05, another.send, b"now")
            else:
                loop.call_later(0.05, be_busy)
            with deadline:
                return (await loop.sock_recv(ours, 9)).decode()

    assert in_loop(run()) == "reply"


def test_what_is_under_way_when_it_is_closed_still_ends(in_loop: InLoop) -> None:
    async def run() -> None:
        deadline = Deadline(0.1)

        async def request() -> None:
            with deadline:
                await asyncio.sleep(5)

        task = asyncio.create_task(request())
        await asyncio.sleep(0.05)
        deadline.close()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(task, 3)

    in_loop(run())


def test_a_task_that_was_cancelled_long_before_can_be_late(in_loop: InLoop) -> None:
    async def request(deadline: Deadline) -> None:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(5)
        with deadline:
            await asyncio.sleep(5)

    async def run() -> None:
        task = asyncio.create_task(request(Deadline(0.05)))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(TimeoutError):
            await task

    in_loop(run())
