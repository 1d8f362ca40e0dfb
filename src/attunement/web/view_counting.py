"""Which figures do served pages show, and when were they made?

A scorecard is made when it is read, so to count a large study takes minutes. It is counted in the background, into a
scratch list that can be read while it grows, and is counted again when somebody asks for a page after the study has
changed; until then the earlier figures stand. The count steps aside while a page is made.
"""

from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from threading import Event, Lock, Thread
from time import monotonic
from typing import NamedTuple

from sqlalchemy import Connection, text

from attunement.errors import AttunementError
from attunement.instruments import Instrument
from attunement.reports.html.analyses import analysed
from attunement.reports.html.listing import Listing
from attunement.reports.html.page import Report, report, with_rates
from attunement.reports.html.text import Hiding
from attunement.study import Study
from attunement.study.scorecards import decided_by_people

_PATIENCE = 1.5
"""Seconds that a page waits for a count that has just begun: a small study is counted by then."""
_SMALL = 1_000
"""Conversations up to which a page waits; a count takes about a millisecond or two for each."""
_REST = 2.0
"""A study that keeps changing is counted again after so many times as long as the last count took."""
_STEP_ASIDE = 1.0
"""Seconds that a count waits for pages at a time, so that it goes on however many are asked for."""
_PARTING = 5.0
"""Seconds that are given to a count when the pages are closed; an analysis may take longer and is then left."""
_BROKEN = "The count broke off for a reason that is told where attune view was started."


class Count:
    """One count of a study, finished or not."""

    def __init__(self, total: int) -> None:
        self.listing = Listing(words=True)
        self.total = total
        """Conversations in the study when the count began."""
        self.report: Report | None = None
        """None until all is counted."""
        self.made = ""
        """When the count began: what came in later may not be in it."""
        self.problem = ""
        """Why it could not be finished."""
        self.ended = Event()
        self.begun = monotonic()
        self.readers = 0


class Standing(NamedTuple):
    """What there is to show now."""

    latest: Count
    """The last that was finished; before that, the one that is being made."""
    running: Count | None
    """The one that is being made."""
    stale: bool
    """Whether the study has changed since the latest began."""


class Counting:
    """Counts a study, in the background and again when it changes."""

    def __init__(self, study: Study, instrument: Instrument, hiding: Hiding) -> None:
        self._study, self._instrument, self._hiding = study, instrument, hiding
        self._lock, self._calm, self._stopped = Lock(), Event(), Event()
        self._calm.set()
        self._pages = 0
        self._held = ExitStack()
        self._changes = _changes(self._held.enter_context(study.reading()))
        self._counted_at: object = None
        self._stale = False
        self._again_from = 0.0
        self._finished: Count | None = None
        self._running: Count | None = None
        self._thread: Thread | None = None
        self.by_people = decided_by_people(study, instrument)
        """Whether people's answers decide, because there is no judge."""

    def close(self) -> None:
        """Stop counting and delete what was counted."""
        self._stopped.set()
        if self._thread:
            self._thread.join(_PARTING)
        for count in (self._finished, self._running):
            if count:
                count.listing.close()
        self._held.close()

    @contextmanager
    def standing(self) -> Generator[Standing]:
        """What there is to show; it stays as it is until the page is made."""
        running = self.refresh()
        if running and running.total <= _SMALL:
            running.ended.wait(max(0.0, running.begun + _PATIENCE - monotonic()))
        with self._lock:
            count = self._finished or self._running
            assert count is not None  # noqa: S101 - one was begun above
            shown = Standing(count, self._running, self._stale)
            read = [one for one in (self._finished, self._running) if one]
            for one in read:
                one.readers += 1
        try:
            with self.page():
                yield shown
        finally:
            with self._lock:
                for one in read:
                    one.readers -= 1
                    self._let_go(one)

    @contextmanager
    def page(self) -> Generator[None]:
        """While a page is made, the count steps aside."""
        self._add_pages(1)
        try:
            yield
        finally:
            self._add_pages(-1)

    def _add_pages(self, number: int) -> None:
        with self._lock:
            self._pages += number
            if self._pages:
                self._calm.clear()
            else:
                self._calm.set()

    def refresh(self) -> Count | None:
        """Begin a count where one is due; returns the one that is being made."""
        with self._lock:
            if self._running or self._stopped.is_set():
                return self._running
            at = self._changes()
            self._stale = self._finished is not None and at != self._counted_at
            failed = self._finished is not None and self._finished.problem
            if self._finished and (not (self._stale or failed) or monotonic() < self._again_from):
                return None
            self._counted_at = at
            self._running = Count(self._study.conversation_count())
            self._running.made = datetime.now(UTC).strftime("%d %B %Y at %H:%M:%S UTC").lstrip("0")
            self._thread = Thread(target=self._count, args=[self._running], name="counting", daemon=True)
            self._thread.start()
            return self._running

    def _count(self, count: Count) -> None:
        problem = _BROKEN
        try:
            self._make(count)
            problem = ""
        except _StoppedError:
            pass
        except AttunementError as error:
            problem = str(error)
        finally:
            count.problem = problem
            with self._lock:
                if not self._stopped.is_set():
                    self._put(count)
            count.ended.set()

    def _put(self, count: Count) -> None:
        """Show a count that has ended; figures that are there are not given up for one that failed."""
        before, self._finished, self._running = self._finished, count, None
        self._stale = False
        self._again_from = monotonic() + _REST * (monotonic() - count.begun)
        if before and before.report and count.problem:
            before.problem, self._finished, before = count.problem, before, count
        self._let_go(before)

    def _make(self, count: Count) -> None:
        self.by_people = decided_by_people(self._study, self._instrument)
        made = report(self._study, self._instrument, count.listing, self._hiding, pace=self._pace)
        found = analysed(self._study, self._instrument, self._hiding)
        top = made.top._replace(checked=found.checked or made.top.checked, sign_off=found.sign_off)
        made = made._replace(top=top, sections=found.sections, agreement=found.agreement)
        count.report = with_rates(made, found.rates)

    def _pace(self) -> None:
        if self._stopped.is_set():
            raise _StoppedError
        if not self._calm.is_set():
            self._calm.wait(_STEP_ASIDE)

    def _let_go(self, count: Count | None) -> None:
        """Delete a count that was replaced once nobody reads it any more; the lock is held."""
        if count and not count.readers and count not in (self._finished, self._running):
            count.listing.close()


class _StoppedError(Exception):
    """The pages are being closed."""


def _changes(connection: Connection) -> Callable[[], object]:
    """A function whose result is another one whenever something else has written to the database."""
    query = {
        "sqlite": "PRAGMA data_version",
        # What the server counts for its own housekeeping; it lags by up to a second.
        "postgresql": "SELECT sum(n_tup_ins + n_tup_upd + n_tup_del) FROM pg_stat_user_tables",
    }[connection.dialect.name]

    def changes() -> object:
        try:
            return connection.scalar(text(query))
        finally:
            connection.rollback()  # or it would look at the same moment for ever

    return changes
