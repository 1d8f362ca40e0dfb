"""Fifty people who rate at once: whatever was confirmed is there, once, and nobody ever sees an error."""

import asyncio
from collections import Counter

import pytest
from sqlalchemy import select

from attunement.annotation.access import issue
from attunement.store import Study
from attunement.store.projects import AssignmentState, Role, members
from attunement.store.schema import assignments, drafts, events
from tests.annotation.projects import EMPATHY, OPENED, begin_project, talks
from tests.postgres import postgres, study_place
from tests.web.simulated_raters import SimulatedRater, served, work_together

__all__ = ["postgres", "study_place"]

RATERS, UNITS = 50, 3
ITEMS = [item.id for item in EMPATHY.items]


@pytest.mark.slow
def test_fifty_raters_at_once_find_every_save_kept_once_and_meet_no_error(study_place: str) -> None:
    begun = begin_project(study_place, talks(RATERS * UNITS // 3), raters=RATERS, repeats=0)
    raters = members(begun.study, begun.project, Role.RATER)
    tokens = [issue(begun.study, begun.project, member) for member in raters]
    OPENED.remove(begun.study)
    begun.study.close()

    with served(study_place, EMPATHY.id) as server:
        raters = [SimulatedRater(server.address, token, ITEMS, seed=seed) for seed, token in enumerate(tokens)]
        asyncio.run(work_together(raters, UNITS))

    asked = [entry for rater in raters for entry in rater.asked]
    assert [entry for entry in asked if entry.status >= 400] == []
    confirmed = {unit: values for rater in raters for unit, values in rater.saved.items()}
    assert len(confirmed) == RATERS * UNITS
    with Study(study_place) as study:
        assert _kept(study) == confirmed
        assert _events(study, "set") == Counter(dict.fromkeys(confirmed, len(ITEMS)))
        assert _events(study, "submitted") == Counter(dict.fromkeys(confirmed, 1))
        ratings = list(study.ratings())
    once = {(rating.conversation, rating.turn, rating.item, rating.rater) for rating in ratings}
    assert len(ratings) == len(once) == RATERS * UNITS * len(ITEMS)
    assert Counter(rating.outcome.value for rating in ratings) == Counter(
        value for values in confirmed.values() for value in values.values()
    )


def _kept(study: Study) -> dict[str, dict[str, int]]:
    """By unit that was handed in, and by item: the value that is kept."""
    query = select(assignments.c.public, drafts.c.item, drafts.c.value).where(
        assignments.c.key == drafts.c.assignment, assignments.c.state == AssignmentState.SUBMITTED
    )
    found: dict[str, dict[str, int]] = {}
    with study.reading() as connection:
        for unit, item, value in connection.execute(query):
            found.setdefault(unit, {})[item] = int(value)
    return found


def _events(study: Study, kind: str) -> Counter[str]:
    """How often something was done with each unit."""
    query = select(assignments.c.public).where(assignments.c.key == events.c.assignment, events.c.kind == kind)
    with study.reading() as connection:
        return Counter(connection.scalars(query))
