"""Send a request in the moment it is made, not a turn of the loop later.

aiohttp writes each body in a task of its own. From Python 3.12 on it lets that task begin at once, and nearly always
nothing is left to do then. Older versions cannot begin a task at once: to wait for its turn and to hear of its end
takes about a fifteenth of the time of a run whose judge answers at once. Here they learn it, for this kind of task.
"""

import asyncio
import sys
from collections.abc import Coroutine, Generator
from contextvars import Context
from typing import Any, TypeAlias

from aiohttp import ClientRequest

_Work: TypeAlias = Coroutine[Any, Any, Any] | Generator[Any, None, Any]

_WRITING = ClientRequest.write_bytes.__code__


def send_at_once(loop: asyncio.AbstractEventLoop) -> None:
    """Let requests in `loop`, which must be ours alone, be written when they are made."""
    if sys.version_info < (3, 12):
        loop.set_task_factory(_begin)


def _begin(loop: asyncio.AbstractEventLoop, work: _Work, context: Context | None = None) -> "asyncio.Future[Any]":
    """A task as every other, unless `work` is a request: then what is left of it after its first step."""
    if getattr(work, "cr_code", None) is not _WRITING:
        return asyncio.Task(work, loop=loop, context=context)
    try:
        awaited = work.send(None)
    except StopIteration:
        done = loop.create_future()
        done.set_result(None)
        return done
    return asyncio.Task(_go_on(work, awaited), loop=loop)


def _go_on(work: _Work, awaited: Any) -> Generator[Any, Any, None]:
    """The rest of `work`, which has begun and waits for `awaited`."""
    while True:
        try:
            try:
                heard = yield awaited
            except BaseException as error:
                awaited = work.throw(error)
            else:
                awaited = work.send(heard)
        except StopIteration:
            return
