"""Tasks are taken in order, no more than there is room for, and nobody waits in vain."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, cast

from attunement.engine.planner import Task
from attunement.engine.worker_pool import Tray


def tasks(*numbers: int) -> list[Task]:
    return [Task(number, cast(Any, None), 0) for number in numbers]


def test_tasks_are_taken_in_their_order_while_there_is_room() -> None:
    tray = Tray(2)
    assert tray.take() is None
    assert not tray.full
    tray.put(tasks(1, 2, 3))
    assert [tray.take(), tray.take()] == tasks(1, 2)
    assert tray.full
    assert tray.take() is None
    tray.settle()
    assert not tray.full
    assert [tray.take()] == tasks(3)
    assert not tray.full  # there is no room, and nothing that needs it


async def _take_all(tray: Tray, taken: list[Task], *, settle: bool) -> None:
    while not tray.closed:
        task = tray.take()
        if task is None:
            await tray.wait()
            continue
        taken.append(task)
        if settle:
            tray.settle()


async def _turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def _work(tray: Tray, taken: list[Task], workers: int, *, settle: bool = True) -> Sequence[asyncio.Task[None]]:
    return [asyncio.create_task(_take_all(tray, taken, settle=settle)) for _ in range(workers)]


def test_who_waits_is_told_of_tasks_and_of_room_and_sent_home() -> None:
    async def run() -> None:
        tray, taken = Tray(3), list[Task]()
        workers = _work(tray, taken, 5, settle=False)
        await _turns()
        tray.put(tasks(1, 2, 3, 4, 5))
        await _turns()
        assert taken == tasks(1, 2, 3)
        tray.settle()
        tray.settle()
        await _turns()
        assert taken == tasks(1, 2, 3, 4, 5)
        tray.close()
        await asyncio.wait_for(asyncio.gather(*workers), 3)
        await asyncio.wait_for(tray.wait(), 3)  # nobody is kept who comes later

    asyncio.run(run())


def test_a_worker_that_is_gone_takes_nobodys_turn() -> None:
    async def run() -> None:
        tray, taken = Tray(9), list[Task]()
        gone, stays = _work(tray, taken, 2)
        await _turns()
        gone.cancel()
        with suppress(asyncio.CancelledError):
            await gone
        tray.put(tasks(1))
        await _turns()
        assert taken == tasks(1)
        tray.close()
        await asyncio.wait_for(stays, 3)

    asyncio.run(run())


def test_one_that_gave_up_its_place_comes_before_those_not_yet_taken() -> None:
    async def run() -> None:
        tray = Tray(1)
        tray.put(tasks(1, 2))
        assert tray.take()
        tray.settle()  # the first rests
        assert tray.take()
        tray.put(tasks(3))
        back = asyncio.create_task(tray.resume())
        await _turns()
        assert not back.done()
        assert tray.full
        tray.settle()  # the second is done
        assert tray.take() is None
        await asyncio.wait_for(back, 3)
        tray.settle()
        assert tray.take()
        tray.settle()
        await asyncio.wait_for(tray.resume(), 3)  # there is room at once
        assert tray.room == 0

    asyncio.run(run())


def test_a_place_is_lost_with_nobody_who_wanted_it_back() -> None:
    """Gone before it is given a place, or after."""

    async def run() -> None:
        tray = Tray(1)
        tray.put(tasks(1))
        assert tray.take()
        before, after = (asyncio.create_task(tray.resume()) for _ in range(2))
        await _turns()
        before.cancel()
        await _turns()
        tray.settle()
        after.cancel()
        await _turns()
        assert tray.room == 1

    asyncio.run(run())
