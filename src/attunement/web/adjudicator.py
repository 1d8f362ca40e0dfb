"""The adjudicator's pages: the items on which raters disagree, each rater's answer, and the decision.

They do not show names, the system or any judge, and no answer is preselected.
"""

from typing import Any

from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from attunement.annotation.adjudication import Decision, Dispute, all_disputes, decide, disputes, opinions
from attunement.annotation.tasks import GoneError, answers_of, unit_with_items
from attunement.errors import InputError
from attunement.instruments import Instrument, Value
from attunement.web.questions import marks, opinions_on, question
from attunement.web.site import Pages, Visit, sentence

_SHOWN = 100  # units on one page of the list


def dispute_list(visit: Visit) -> Response:
    found = all_disputes(visit.study, visit.project)
    waiting = [dispute for dispute in found if dispute.open]
    return visit.page(
        "disputes.html",
        waiting=len(waiting),
        disputes=Pages(visit, [*waiting, *(dispute for dispute in found if not dispute.open)], _SHOWN),
        decided=sum(len(dispute.decided) for dispute in found),
    )


def dispute_page(visit: Visit) -> Response:
    return _page(visit, _wanted(visit))


def save_decisions(visit: Visit) -> Response:
    """Save the decisions, and continue with the next unit that waits for one."""
    wanted = _wanted(visit)
    if visit.sent.get("version", "") != wanted.version:
        raise GoneError("another adjudicator has already decided about this unit: open it again to see the decision")
    given = {item: _given(visit, visit.project.instrument, item) for item in wanted.items}
    try:
        whole = {item: decision for item, decision in given.items() if decision is not None}
        decide(visit.study, visit.project, visit.member, wanted, whole)
    except InputError as error:
        return _page(visit, wanted, status=400, problem=sentence(error))
    following = next(iter(disputes(visit.study, visit.project)), None)
    name = f"?saved={wanted.unit.key}"
    if following is None:
        return RedirectResponse(visit.url("disputes") + name, 303)
    return RedirectResponse(visit.url("dispute", unit=str(following.unit.key)) + name, 303)


def _page(visit: Visit, wanted: Dispute, *, status: int = 200, problem: str | None = None) -> Response:
    instrument, words = visit.project.instrument, visit.words
    unit, items = unit_with_items(visit.study, visit.project, wanted.unit)
    said = [
        (str(words("adjudicate.rater", letter=letter)), answers) for letter, answers in opinions(visit.project, wanted)
    ]
    shown: list[tuple[Any, ...]] = []
    for number, item in enumerate(items, 1):  # the numbers that raters see
        if item in wanted.items:
            before = wanted.decided.get(item)
            value = visit.sent.get(f"answer:{item}", before and str(before.outcome.value))
            reason = visit.sent.get(f"reason:{item}", before.reason if before else "")
            opinions_here = opinions_on(words, instrument, item, said)
            shown.append((question(words, instrument, item, number), opinions_here, value, reason))
    return visit.page(
        "adjudicate.html",
        status=status,
        contested=shown,
        unit=unit,
        marks=marks(
            (str(number), answers[id]) for number, id in enumerate(items, 1) for _, answers in said if id in answers
        ),
        number=wanted.unit.key,
        dispute=wanted,
        problem=problem,
    )


def _given(visit: Visit, instrument: Instrument, item: str) -> Decision | None:
    """The decision in the form; None without a valid answer."""
    sent = str(visit.sent.get(f"answer:{item}", ""))
    values: dict[str, Value] = {str(value): value for value in answers_of(instrument, instrument.item(item))}
    return Decision(values[sent], str(visit.sent.get(f"reason:{item}", ""))) if sent in values else None


def _wanted(visit: Visit) -> Dispute:
    name: str = visit.request.path_params["unit"]
    for found in all_disputes(visit.study, visit.project):
        if str(found.unit.key) == name:
            return found
    raise HTTPException(404)


PAGES = [
    ("GET", "adjudicate", "disputes", dispute_list),
    ("GET", "adjudicate/{unit}", "dispute", dispute_page),
    ("POST", "adjudicate/{unit}", "settle", save_decisions),
]
