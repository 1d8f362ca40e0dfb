"""The adjudicator's pages: the items on which raters disagree, each rater's answer, and the decision.

They do not show names, the system or any judge, and no answer is preselected.
"""

from starlette.responses import RedirectResponse, Response

from attunement.annotation.adjudication import Decision, Dispute, all_disputes, decide, disputes, opinions
from attunement.annotation.tasks import GoneError, answers_of, unit_with_items
from attunement.errors import InputError
from attunement.instruments import Instrument, Value
from attunement.web.questions import opinions_on, question
from attunement.web.site import Visit, sentence


def dispute_list(visit: Visit) -> Response:
    found = all_disputes(visit.study, visit.project)
    return visit.page(
        "disputes.html",
        disputes=[dispute for dispute in found if dispute.open],
        decided=sum(len(dispute.decided) for dispute in found),
    )


def dispute_page(visit: Visit) -> Response:
    return _page(visit, _wanted(visit))


def save_decisions(visit: Visit) -> Response:
    wanted = _wanted(visit)
    given = {item: _given(visit, visit.project.instrument, item) for item in wanted.open}
    try:
        whole = {item: decision for item, decision in given.items() if decision is not None}
        decide(visit.study, visit.project, visit.member, wanted, whole)
    except InputError as error:
        return _page(visit, wanted, status=400, problem=sentence(error))
    return RedirectResponse(visit.url("disputes"), 303)


def _page(visit: Visit, wanted: Dispute, *, status: int = 200, problem: str | None = None) -> Response:
    instrument, words = visit.project.instrument, visit.words
    unit, items = unit_with_items(visit.study, visit.project, wanted.unit)
    said = [
        (str(words("adjudicate.rater", letter=letter)), answers) for letter, answers in opinions(visit.project, wanted)
    ]
    shown = [
        (question(words, instrument, item, number), opinions_on(words, instrument, item, said))
        for number, item in enumerate(items, 1)  # the numbers that raters see
        if item in wanted.open
    ]
    return visit.page(
        "adjudicate.html", status=status, contested=shown, unit=unit, number=wanted.unit.key, problem=problem
    )


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
