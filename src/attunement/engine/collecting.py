"""Let Python look for cyclic garbage more rarely while a run is under way.

Judging makes many small objects and next to no cycles; looking through them after every 700, as Python does by
default, takes a seventh of the time. Memory stays flat, because almost everything is freed by its count.
"""

import gc
from collections.abc import Generator
from contextlib import contextmanager

_RARELY = (20_000, 20, 50)


@contextmanager
def rarely_collecting() -> Generator[None]:
    """For the time of the context. A program that collects more rarely still, or never, is left as it is."""
    before = gc.get_threshold()
    if 0 < before[0] < _RARELY[0]:
        gc.set_threshold(*_RARELY)
    try:
        yield
    finally:
        gc.set_threshold(*before)
