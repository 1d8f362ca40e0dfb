"""The coordinator's pages: progress, agreement, members, and changes.

Only the coordinator sees names. Charts and lists show raters as numbers, so they can be shared.

Horizontal lengths are percent of a chart's width. If there are too few data to draw, the row says why.
"""

import math
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from attunement.analysis.reliability import ReliabilityStatus
from attunement.analysis.summary import ItemAgreement
from attunement.annotation import dashboard
from attunement.annotation.access import issue, revoke
from attunement.annotation.adjudication import disputes
from attunement.annotation.dashboard import Dashboard, RaterRow, UnitRow, mark_seen, remarks, unit_detail
from attunement.annotation.projects import add_units, change, give_skipped, invite, reassign, set_state
from attunement.annotation.tasks import lacks_escalation
from attunement.annotation.training import release
from attunement.errors import InputError
from attunement.instruments import Instrument, Scores
from attunement.ratings import Outcome
from attunement.reports.numbers import format_interval, format_number
from attunement.reports.trust_card import RELIABILITY
from attunement.statistics.alpha import Alpha
from attunement.statistics.estimates import Mean
from attunement.statistics.results import Interval, Undefined
from attunement.statistics.tests import Difference
from attunement.store.annotation import notices
from attunement.store.audit_log import audit_events
from attunement.store.projects import Member, MemberState, ProjectState, Role, members
from attunement.store.rows import to_json
from attunement.web.rating import answer_words, mini_map, opinions_on, question, talk
from attunement.web.site import Catalogue, Visit, direction, sentence

MOST_UNITS = 100
_STATUS = {
    ReliabilityStatus.RELIABLE: "person",
    ReliabilityStatus.DISAGREE: "notmet",
    ReliabilityStatus.NOT_ENOUGH: "open",
    ReliabilityStatus.LITTLE_VARIATION: "open",
}
_MIDDLE = 50.0


class Dot(NamedTuple):
    """A row of a chart: the positions of its dot and interval, and the same as text."""

    label: str
    x: float | None
    low: float | None
    high: float | None
    words: str
    range: str
    status: str = ""
    """The class and the text of a chip, if there is one."""
    chip: str = ""
    note: str = ""


class Chart(NamedTuple):
    dots: list[Dot]
    ticks: list[tuple[float, str]]


class Counts(NamedTuple):
    """Numbers for the summary sentences."""

    done: int
    total: int
    full: int
    units: int
    day: int
    week: int
    days_left: int | None
    agree: int
    disagree: int
    items: int
    held: int
    lacking: int
    flagged: int


def counts(figures: Dashboard) -> Counts:
    standings = [rater.progress for rater in figures.raters]
    done = sum(each.submitted for each in standings)
    left = sum(each.open for each in standings)
    week = sum(rater.last_week for rater in figures.raters)
    found = [entry.people.status for entry in figures.agreement]
    return Counts(
        done=done,
        total=done + left + sum(each.skipped for each in standings),
        full=sum(unit.handed_in >= unit.wanted for unit in figures.units),
        units=len(figures.units),
        day=sum(rater.last_day for rater in figures.raters),
        week=week,
        days_left=math.ceil(7 * left / week) if week and left else None,
        agree=found.count(ReliabilityStatus.RELIABLE),
        disagree=found.count(ReliabilityStatus.DISAGREE),
        items=len(found),
        held=sum(rater.member.state == "held" for rater in figures.raters),
        lacking=sum(bool(unit.skipped) and unit.handed_in + unit.open < unit.wanted for unit in figures.units),
        flagged=sum(bool(unit.flagged) for unit in figures.units),
    )


def agreement_chart(agreement: Sequence[ItemAgreement]) -> Chart:
    """Alpha of each item, from 0 to 1; values below 0 are drawn at the edge with a note."""
    return Chart([_agreement(entry) for entry in agreement], [(100 * at, f"{at:g}") for at in (0, 0.25, 0.5, 0.75, 1)])


def severity_chart(words: Catalogue, raters: Sequence[RaterRow], instrument: Instrument) -> Chart:
    """How far each rater is from the others; the middle means no difference."""
    spoken = [rater for rater in raters if isinstance(rater.severity.mean, Mean)]
    ends = [_furthest(rater.severity.mean) for rater in spoken]
    least = 1.0 if isinstance(instrument.scale, Scores) else 0.5
    reach = max([least, *(math.ceil(2 * end) / 2 for end in ends)])
    # The position can end in .25 or .75, so it needs two decimals.
    digits = 1 if (2 * reach) % 2 == 0 else 2
    ticks = [(_MIDDLE + 50 * part, _signed(part * reach, digits)) for part in (-1, -0.5, 0, 0.5, 1)]
    return Chart([_severity(words, rater, reach) for rater in spoken], ticks)


def units_shown(units: Sequence[UnitRow]) -> tuple[Sequence[UnitRow], int]:
    return units[:MOST_UNITS], max(0, len(units) - MOST_UNITS)


def _agreement(entry: ItemAgreement) -> Dot:
    found = entry.people
    chip, status = RELIABILITY[found.status].words, _STATUS[found.status]
    interval = found.interval
    if not isinstance(found.alpha, Alpha) or isinstance(interval, Undefined):
        return Dot(entry.item.title, None, None, None, "–", "", status, chip, found.rule)
    x, low, high = (_within(100 * value) for value in (found.alpha.value, interval.low, interval.high))
    return Dot(
        entry.item.title,
        x,
        low,
        high,
        format_number(found.alpha.value),
        format_interval(interval),
        status,
        chip,
        found.rule,
    )


def _severity(words: Catalogue, rater: RaterRow, reach: float) -> Dot:
    found, drift = rater.severity
    label = str(words("coordinate.rater_number", number=rater.number))
    # A mean without an interval would look too certain, so it is not shown.
    interval = found if isinstance(found, Undefined) else found.interval
    if isinstance(found, Undefined) or isinstance(interval, Undefined):
        return Dot(label, None, None, None, "–", "", "open", str(words("coordinate.too_few")), str(interval))
    x, low, high = (_place(value, reach) for value in (found.value, interval.low, interval.high))
    return Dot(label, x, low, high, _signed(found.value, 2), format_interval(interval), note=_drift(words, drift))


def _drift(words: Catalogue, drift: Difference | Undefined) -> str:
    if isinstance(drift, Undefined) or isinstance(drift.interval, Undefined):
        return str(words("coordinate.drift_unknown"))
    return str(words("coordinate.drift", value=_signed(drift.value, 2), range=format_interval(drift.interval)))


def _furthest(found: Mean | Undefined) -> float:
    if isinstance(found, Undefined):
        return 0.0
    ends = (found.interval.low, found.interval.high) if isinstance(found.interval, Interval) else (found.value,)
    return max(abs(end) for end in ends)


def _place(value: float, reach: float) -> float:
    return _within(_MIDDLE + 50 * value / reach)


def _within(place: float) -> float:
    return min(100.0, max(0.0, place))


def _signed(value: float, digits: int = 1) -> str:
    text = format_number(value, digits)
    return f"+{text}" if float(f"{value:.{digits}f}") > 0 else text


_LONGEST = 20_000
_MOST_UNITS = 100_000
_REMARKS = 200
"""Maximum number of remarks on the page; older ones are in the log."""
_NUMBER = re.compile(r"[0-9]{1,15}")
_NEW_ROUND = "attune annotate STUDY --instrument FILE --new-round"
_INVITED = (Role.RATER, Role.ADJUDICATOR, Role.REVIEWER)


def coordinate(visit: Visit) -> Response:
    return _page(visit)


def unit_page(visit: Visit) -> Response:
    name: str = visit.request.path_params["unit"]
    found = unit_detail(visit.study, visit.project, int(name)) if _NUMBER.fullmatch(name) else None
    if found is None:
        raise HTTPException(404)
    words, instrument = visit.words, visit.project.instrument
    voices = [
        (str(words("coordinate.rater_again" if voice.again else "coordinate.rater_number", number=voice.number)), voice)
        for voice in found.raters
    ]

    def answer(item: str, outcome: Outcome) -> str:
        return answer_words(words, instrument, instrument.item(item), outcome)[0]

    answers = [
        (
            question(words, instrument, item, number, examples=False),
            opinions_on(words, instrument, item, [(who, voice.answers) for who, voice in voices]),
            answer(item, Outcome.of(found.known[item])) if item in found.known else "",
            (answer(item, found.settled[item].outcome), found.settled[item].reason) if item in found.settled else None,
        )
        for number, item in enumerate(found.items, 1)
    ]
    return visit.page(
        "look.html",
        unit=found,
        answers=answers,
        talk=talk(found.words),
        map=mini_map(found.words),
        whole=found.words.turn is None,
        instrument=instrument,
        direction=direction(instrument.language),
    )


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
    """Create a new link for a member, revoke the old ones, and show it once."""
    member = _other(visit)
    revoke(visit.study, visit.project, member, by=visit.member)
    return _with_link(visit, member)


def close_links(visit: Visit) -> Response:
    """Revoke all links of a member."""
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
    """Give skipped units to other raters."""
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
    said = remarks(study, project)
    units, more_units = units_shown(found.units)
    shown: dict[str, Any] = {
        "raters": found.raters,
        "counts": counts(found),
        "agreement": agreement_chart(found.agreement),
        "severity": severity_chart(visit.words, found.raters, project.instrument),
        "units": units,
        "known": found.known,
        "more_units": more_units,
        "remarks": said[:_REMARKS],
        "more_remarks": max(0, len(said) - _REMARKS),
        "others": [member for member in others if member.state is not MemberState.LEFT],
        "adjudicators": any(member.role is Role.ADJUDICATOR for member in others),
        "disputes": len(disputes(study, project)),
        "roles": _INVITED,
        "command": _NEW_ROUND,
    }
    return visit.page(
        "coordinate.html",
        status=400 if problem else 200,
        project=project,
        notices=notices(study, project),
        closed=lacks_escalation(study, project),
        link=link,
        of=of,
        told=told,
        problem=problem,
        **shown,
    )


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
