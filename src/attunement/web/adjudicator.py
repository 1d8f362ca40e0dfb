"""The adjudicator's pages: the items on which raters disagree, each rater's answer, and the decision.

They do not show names, the system or any judge, and no answer is preselected.
"""

from typing import Any, NamedTuple

from starlette.responses import RedirectResponse, Response

from attunement.annotation.adjudication import (
    Decision,
    Dispute,
    decide,
    decided_count,
    dispute_text,
    disputes,
    missing_in,
    opinions,
)
from attunement.annotation.tasks import GoneError, answers_of
from attunement.instruments import Instrument, Value
from attunement.web.rating import Opinion as Said
from attunement.web.rating import Question, mini_map, opinions_on, question, talk
from attunement.web.site import Visit, direction


class Contested(NamedTuple):
    """An item to decide, with the raters' answers and the content of the form."""

    question: Question
    said: list[Said]
    value: str
    reason: str


def dispute_list(visit: Visit) -> Response:
    instrument = visit.project.instrument
    found = [
        (dispute, [instrument.item(item).title for item in dispute.items])
        for dispute in disputes(visit.study, visit.project)
    ]
    return visit.page("disputes.html", disputes=found, decided=decided_count(visit.study, visit.project))


def dispute_page(visit: Visit) -> Response:
    return _page(visit, _wanted(visit))


def save_decisions(visit: Visit) -> Response:
    wanted = _wanted(visit)
    instrument = visit.project.instrument
    given = {item: _given(visit, instrument, item) for item in wanted.items}
    whole = {item: decision for item, decision in given.items() if decision is not None}
    if lacking := missing_in(instrument, wanted.items, whole):
        titles = ", ".join(instrument.item(item).title for item in lacking)
        return _page(visit, wanted, status=400, problem=visit.words("adjudicate.missing", items=titles))
    decide(visit.study, visit.project, visit.member, wanted, whole)
    return RedirectResponse(visit.url("disputes"), 303)


def _page(visit: Visit, wanted: Dispute, *, status: int = 200, problem: str | None = None) -> Response:
    instrument, unit = visit.project.instrument, dispute_text(visit.study, wanted)
    said = [
        (str(visit.words("adjudicate.rater", letter=opinion.letter)), opinion.answers)
        for opinion in opinions(visit.study, visit.project, wanted)
    ]
    shown = [
        Contested(
            question(visit.words, instrument, item, number, examples=False),
            opinions_on(visit.words, instrument, item, said),
            str(visit.sent.get(f"answer:{item}", "")),
            str(visit.sent.get(f"reason:{item}", "")),
        )
        for number, item in enumerate(wanted.items, 1)
    ]
    values: dict[str, Any] = {
        "contested": shown,
        "unit": wanted.unit,
        "talk": talk(unit),
        "map": mini_map(unit),
        "whole": unit.turn is None,
        "instrument": instrument,
        "direction": direction(instrument.language),
        "problem": problem,
    }
    return visit.page("adjudicate.html", status=status, **values)


def _given(visit: Visit, instrument: Instrument, item: str) -> Decision | None:
    """The decision in the form; None without a valid answer."""
    sent = str(visit.sent.get(f"answer:{item}", ""))
    values: dict[str, Value] = {str(value): value for value in answers_of(instrument, instrument.item(item))}
    return Decision(values[sent], str(visit.sent.get(f"reason:{item}", ""))) if sent in values else None


def _wanted(visit: Visit) -> Dispute:
    name: str = visit.request.path_params["unit"]
    for found in disputes(visit.study, visit.project):
        if str(found.unit.key) == name:
            return found
    # This also happens if another adjudicator decided while the page was open.
    raise GoneError("everything about this unit has already been decided")


PAGES = [
    ("GET", "adjudicate", "disputes", dispute_list),
    ("GET", "adjudicate/{unit}", "dispute", dispute_page),
    ("POST", "adjudicate/{unit}", "settle", save_decisions),
]
