"""The coordinator's pages: progress, agreement, members, and changes.

Only the coordinator sees names. Charts and lists show raters as numbers, so they can be shared.
"""

import math
import re
from collections.abc import Callable, Sequence

from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from attunement.annotation import dashboard
from attunement.annotation.access import issue, revoke
from attunement.annotation.adjudication import disputes
from attunement.annotation.dashboard import RaterRow, mark_seen, rater_numbers, remarks
from attunement.annotation.projects import add_units, change, give_skipped, invite, reassign, set_state
from attunement.annotation.tasks import lacks_escalation, unit_with_items
from attunement.annotation.training import release
from attunement.errors import InputError
from attunement.instruments import Instrument, Scores
from attunement.ratings import Outcome, Round
from attunement.reports.trust_card import RELIABILITY
from attunement.statistics.estimates import Mean
from attunement.statistics.results import Interval
from attunement.store.annotation import decisions_in, notices, submissions, unit_names
from attunement.store.audit_log import audit_events
from attunement.store.projects import Member, MemberState, ProjectState, Role, members, units_in
from attunement.store.rows import to_json
from attunement.web.questions import answer_words, marks, opinions_on, question
from attunement.web.site import Visit, sentence

_SHOWN = 100  # units on the page; those with the largest disagreement come first
_REMARKS = 200  # maximum number of remarks on the page; older ones are in the log
_LONGEST = 20_000
_MOST_UNITS = 100_000
_NUMBER = re.compile(r"[0-9]{1,15}")
_NEW_ROUND = "attune annotate STUDY --instrument FILE --new-round"
_INVITED = (Role.RATER, Role.ADJUDICATOR, Role.REVIEWER)


def coordinate(visit: Visit) -> Response:
    return _page(visit)


def unit_page(visit: Visit) -> Response:
    """A unit with everything that raters and adjudicators entered about it."""
    study, project, words = visit.study, visit.project, visit.words
    name: str = visit.request.path_params["unit"]
    key = int(name) if _NUMBER.fullmatch(name) else 0
    with study.reading() as connection:
        unit = next((unit for unit in units_in(connection, project) if unit.key == key), None)
        decisions = decisions_in(connection, project)
    if unit is None:
        raise HTTPException(404)
    instrument, number = project.instrument, rater_numbers(study, project)
    text, items = unit_with_items(study, project, unit)
    given = [entry for entry in submissions(study, project, list(Round)) if entry.unit.key == key]
    given.sort(key=lambda entry: (number[entry.member], entry.round is Round.REPEAT))
    names = {True: "coordinate.rater_again", False: "coordinate.rater_number"}
    said = [
        (str(words(names[entry.round is Round.REPEAT], number=number[entry.member])), entry.answers) for entry in given
    ]
    settled = {
        entry.item: entry for entry in decisions if (entry.conversation, entry.turn) == (unit.conversation, unit.turn)
    }

    def answer(item: str, outcome: Outcome) -> str:
        return answer_words(words, instrument, item, outcome)[0]

    answers = [
        (
            question(words, instrument, item, place),
            opinions_on(words, instrument, item, said),
            answer(item, Outcome.of(unit.answers[item])) if item in unit.answers else "",
            (answer(item, settled[item].outcome), settled[item].reason) if item in settled else None,
        )
        for place, item in enumerate(items, 1)
    ]
    found = marks(
        (str(place), entry.answers[id]) for place, id in enumerate(items, 1) for entry in given if id in entry.answers
    )
    own = [remark for remark in remarks(study, project) if remark.key == key and remark.kind != "comment"]
    name = unit_names(study, project)[key]
    return visit.page("look.html", name=name, answers=answers, remarks=own, unit=text, marks=found)


def urgent_list(visit: Visit) -> Response:
    """Only the urgent notices, which the page polls."""
    return visit.page("notices.html", notices=notices(visit.study, visit.project))


def mark_notice_seen(visit: Visit) -> Response:
    mark_seen(visit.study, visit.project, visit.sent.get("notice", ""), visit.member)
    return _back(visit)


def save_escalation(visit: Visit) -> Response:
    text = str(visit.sent.get("escalation", "")).strip()
    if not text or len(text) > _LONGEST:
        raise InputError("enter in a few lines what a rater should do if a person may be in danger")
    change(visit.study, visit.project, visit.member, escalation=text)
    return _back(visit)


def pause_or_resume(visit: Visit) -> Response:
    state = ProjectState.PAUSED if visit.project.state is ProjectState.OPEN else ProjectState.OPEN
    set_state(visit.study, visit.project, state, visit.member)
    return _back(visit)


def new_link(visit: Visit) -> Response:
    """Create a new link for a member and show it once; the old ones stop working."""
    member = _other(visit)
    revoke(visit.study, visit.project, member, by=visit.member)
    return _with_link(visit, member)


def close_links(visit: Visit) -> Response:
    revoke(visit.study, visit.project, _other(visit), by=visit.member)
    return _back(visit)


def release_rater(visit: Visit) -> Response:
    rater = _other(visit)
    if rater.state is MemberState.HELD:
        release(visit.study, visit.project, rater, visit.member)
    return _back(visit)


def invite_member(visit: Visit) -> Response:
    """Invite a rater, an adjudicator or a reviewer, and show their link once."""
    role = str(visit.sent.get("role", ""))
    if role not in _INVITED:
        raise InputError("choose a role")
    name = str(visit.sent.get("name", ""))
    return _with_link(visit, invite(visit.study, visit.project, Role(role), name, by=visit.member))


def reassign_units(visit: Visit) -> Response:
    """Give a rater's open units to others; a rater who leaves loses access."""
    rater = _other(visit)
    leaving = visit.sent.get("leaving") == "yes"
    count = reassign(visit.study, visit.project, rater, leaving=leaving, by=visit.member)
    return _page(visit, told=visit.words("coordinate.moved", count=count, rater=rater.name))


def extend_sample(visit: Visit) -> Response:
    given = str(visit.sent.get("count", "")).strip()
    if not given.isdecimal() or not 1 <= int(given) <= _MOST_UNITS:
        raise InputError("enter the number of units to add")
    count = add_units(visit.study, visit.project, int(given), by=visit.member)
    return _page(visit, told=visit.words("coordinate.added", count=count))


def reassign_skipped(visit: Visit) -> Response:
    count = give_skipped(visit.study, visit.project, by=visit.member)
    return _page(visit, told=visit.words("coordinate.given", count=count))


def download_log(visit: Visit) -> Response:
    lines = [to_json(entry) for entry in audit_events(visit.study, visit.project.key).records]
    name = f"{visit.project.name}-{visit.project.number}-trail.jsonl"
    safe = "".join(sign if sign.isascii() and (sign.isalnum() or sign in "-._") else "_" for sign in name)
    headers = {"content-disposition": f'attachment; filename="{safe}"'}
    text = "".join(f"{line.strip()}\n" for line in lines)
    return Response(text.encode("utf-8", "replace"), media_type="application/x-ndjson", headers=headers)


def _with_problem_shown(page: Callable[[Visit], Response]) -> Callable[[Visit], Response]:
    def tried(visit: Visit) -> Response:
        try:
            return page(visit)
        except InputError as error:
            return _page(visit, problem=sentence(error))

    return tried


def _with_link(visit: Visit, member: Member) -> Response:
    token = issue(visit.study, visit.project, member, by=visit.member)
    return _page(visit, link=f"{visit.site.address}/enter/{token}", of=member.name)


def _page(
    visit: Visit,
    *,
    link: str | None = None,
    of: str | None = None,
    told: str | None = None,
    problem: str | None = None,
) -> Response:
    study, project = visit.study, visit.project
    stamp = dashboard.stamp(study, project)
    found = visit.site.remembered(("figures", project.key), stamp, lambda: dashboard.load_dashboard(study, project))
    others = [member for member in members(study, project) if member.role not in {Role.RATER, Role.COORDINATOR}]
    return visit.page(
        "coordinate.html",
        status=400 if problem else 200,
        figures=found,
        reliability=RELIABILITY,
        reach=severity_reach(project.instrument, found.raters),
        shown=_SHOWN,
        remarks=remarks(study, project),
        remarks_shown=_REMARKS,
        others=[member for member in others if member.state is not MemberState.LEFT],
        adjudicators=any(member.role is Role.ADJUDICATOR for member in others),
        disputes=len(disputes(study, project)),
        roles=_INVITED,
        command=_NEW_ROUND,
        notices=notices(study, project),
        closed=lacks_escalation(study, project),
        link=link,
        of=of,
        told=told,
        problem=problem,
    )


def severity_reach(instrument: Instrument, raters: Sequence[RaterRow]) -> float:
    """How far the axis of the severity chart reaches on either side, in steps of a half."""
    means = [rater.severity for rater in raters if isinstance(rater.severity, Mean)]
    ends = [abs(end) for mean in means if isinstance(mean.interval, Interval) for end in mean.interval[:2]]
    return max([1.0 if isinstance(instrument.scale, Scores) else 0.5, *(math.ceil(2 * end) / 2 for end in ends)])


def _other(visit: Visit) -> Member:
    """The member that a form refers to, who cannot be a coordinator."""
    wanted = visit.sent.get("rater")
    for member in members(visit.study, visit.project):
        if member.public == wanted and member.role is not Role.COORDINATOR:
            return member
    raise HTTPException(404)


def _back(visit: Visit) -> Response:
    return RedirectResponse(visit.url("coordinate"), 303)


PAGES = [
    ("GET", "coordinate", "coordinate", coordinate),
    ("GET", "coordinate/unit/{unit}", "look", unit_page),
    ("GET", "coordinate/notices", "notices", urgent_list),
    ("GET", "coordinate/trail", "trail", download_log),
    ("POST", "coordinate/seen", "see", mark_notice_seen),
    ("POST", "coordinate/escalation", "escalate", _with_problem_shown(save_escalation)),
    ("POST", "coordinate/state", "switch", pause_or_resume),
    ("POST", "coordinate/link", "new_link", new_link),
    ("POST", "coordinate/close", "close_links", close_links),
    ("POST", "coordinate/release", "let_go_on", release_rater),
    ("POST", "coordinate/invite", "add_somebody", _with_problem_shown(invite_member)),
    ("POST", "coordinate/reassign", "hand_over", _with_problem_shown(reassign_units)),
    ("POST", "coordinate/extend", "add_more", _with_problem_shown(extend_sample)),
    ("POST", "coordinate/skipped", "give_again", _with_problem_shown(reassign_skipped)),
]
