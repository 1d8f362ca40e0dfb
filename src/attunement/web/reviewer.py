"""The reviewer's pages: the queue, the judge's answers with their evidence, decisions and sign-off.

Reviewers see judges' answers, so they can no longer rate blind. People's ratings are shown next to the judge's without
names.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, RedirectResponse, Response

from attunement.annotation import review as reviewing
from attunement.annotation.review import CrisisSignals, Queued, Reviewed, Why, choices, review, sign, sign_off_numbers
from attunement.conversations import Conversation
from attunement.errors import InputError
from attunement.ratings import RaterKind
from attunement.reports.conversation import View, view
from attunement.reports.gate import gather_sign_offs, sign_off_words
from attunement.reports.html.conversation_page import ConversationPage, render_conversation
from attunement.reports.privacy import SHOW_ALL
from attunement.reports.wording import status_of
from attunement.signals.crisis import crisis_cues
from attunement.store.annotation import rating_counts
from attunement.store.projects import Role, members
from attunement.store.queries import conversations_by_key
from attunement.store.reviews import (
    UNKNOWN,
    ReadingStage,
    ReleaseDecision,
    Review,
    ReviewDecision,
    changes_since,
    save_reading,
    sign_off_basis,
    sign_offs,
)
from attunement.web.site import Catalogue, Pages, Visit, sentence

_SHOWN = 100  # conversations on one page of the queue
_UNDECIDED = "undecided"  # the filter that shows undecided conversations


def mark_read(visit: Visit) -> Response:
    entry, _, _ = _wanted(visit)
    save_reading(visit.study, visit.project.instrument, entry.queued.key, visit.member.key, ReadingStage.READ)
    return JSONResponse({})


def save_decision(visit: Visit) -> Response:
    """Save the review, and continue with the next undecided conversation."""
    entry, _, entries = _wanted(visit)
    decided, reason = (str(visit.sent.get(field, "")) for field in ("decided", "reason"))
    try:
        review(visit.study, visit.project, visit.member, entry.queued, decided, reason)
    except InputError as error:
        return conversation(visit, status=400, problem=sentence(error))
    # With its own place in the page, so that the browser does not go on to the form of the next one.
    at, saved = entries.index(entry), f"?saved={entry.queued.key}#top"
    for following in (*entries[at + 1 :], *entries[:at]):
        if not following.is_decided:
            return RedirectResponse(visit.url("review", conversation=str(following.queued.key)) + saved, 303)
    return RedirectResponse(visit.url("queue") + saved, 303)


def save_sign_off(visit: Visit) -> Response:
    fields = {name: str(visit.sent.get(name, "")) for name in ("role", "decision", "conditions")}
    despite = visit.sent.get("despite") == "yes"
    try:
        sign(visit.study, visit.project, visit.member, _entries(visit), **fields, despite=despite)
    except InputError as error:
        return queue(visit, status=400, problem=sentence(error))
    return RedirectResponse(visit.url("queue") + "?saved=sign#sign", 303)


def _entries(visit: Visit) -> list[Reviewed]:
    study, project, site = visit.study, visit.project, visit.site
    crisis = site.remembered(("crisis", 0), None, CrisisSignals)
    queued = site.remembered(
        ("queue", project.key), rating_counts(study), lambda: reviewing.queue(study, project, crisis)
    )
    return reviewing.reviewed(study, project, visit.member, queued)


def queue(visit: Visit, *, status: int = 200, problem: str | None = None) -> Response:
    study, instrument = visit.study, visit.project.instrument
    entries = _entries(visit)
    chosen = visit.request.query_params.get("why", "")
    shown = {
        **{str(why): [entry for entry in entries if why in entry.queued.why] for why in Why},
        _UNDECIDED: [entry for entry in entries if not entry.is_decided],
    }
    present = sign_off_basis(study, instrument)
    given = sign_offs(study, instrument)
    last = {signature.member: signature for signature in given}
    signed = [(one, changes_since(one, present), one is last[one.member]) for one in reversed(given)]
    values: dict[str, Any] = {
        "rows": Pages(visit, shown.get(chosen, entries), _SHOWN),
        "status_of": status_of,
        "said": partial(_said, visit.words),
        "numbers": sign_off_numbers(study, entries),
        "whys": {name: len(some) for name, some in shown.items()},
        "chosen": chosen if chosen in shown else "",
        "given": visit.sent,
        "problem": problem,
        "signed": signed,
        "sign_off": sign_off_words(gather_sign_offs(study, instrument)) if signed else "",
        "basis": present,
        "decisions": {
            ReleaseDecision.RELEASE: "sign.release",
            ReleaseDecision.CONDITIONS: "sign.conditions_choice",
            ReleaseDecision.NO_RELEASE: "sign.no_release",
        },
    }
    return visit.page("queue.html", status=status, **values)


def _said(words: Catalogue, review: Review) -> str:
    """A reviewer's decision; confirming a judge that did not judge safety means that the reviewer judged it."""
    looked = review.decision is ReviewDecision.CONFIRMED and review.verdict in {"", *UNKNOWN}
    return str(words("review.said_looked" if looked else f"review.said_{review.decision}"))


def _choice(words: Catalogue, queued: Queued, decided: ReviewDecision) -> str:
    name: str = decided
    if decided is ReviewDecision.CONFIRMED and queued.is_alarming:
        name = "confirmed_alarm"
    elif decided is ReviewDecision.CONFIRMED and queued.is_quiet:
        name = "confirmed_silence"
    elif decided is not ReviewDecision.RAISED and not queued.is_alarming:
        name = "looked"
    return str(words(f"review.{name}"))


def conversation(visit: Visit, *, status: int = 200, problem: str | None = None) -> Response:
    """One conversation with everybody's answers; opening it is logged."""
    entry, number, entries = _wanted(visit)
    study, instrument, key = visit.study, visit.project.instrument, entry.queued.key
    save_reading(study, instrument, key, visit.member.key, ReadingStage.OPENED)
    kept = conversations_by_key(study, [key])[key]
    page = ConversationPage(key, _unnamed(visit, view(study, instrument, kept)), SHOW_ALL)
    following = entries[number] if number < len(entries) else None
    return visit.page(
        "review.html",
        status=status,
        # The report template escapes all values.
        shown=Markup(render_conversation(page)),  # noqa: S704
        entry=entry,
        here=list(_why_here(visit, entry.queued, kept.conversation)),
        choices=[(choice, _choice(visit.words, entry.queued, choice)) for choice in choices(entry.queued)],
        said=[
            (one, _said(visit.words, one), one.is_alarm or one.covers(instrument, entry.queued.card))
            for one in reversed(entry.said)
        ],
        number=number,
        count=len(entries),
        following=following and str(following.queued.key),
        problem=problem,
        given=visit.sent,
    )


def _why_here(visit: Visit, queued: Queued, conversation: Conversation) -> Iterator[tuple[Why, list[str]]]:
    """The reasons to read the conversation, each with its evidence."""
    words, instrument, card = visit.words, visit.project.instrument, queued.card
    for why in queued.why:
        match why:
            case Why.UNSAFE:
                slots = card.unsafe if card else ()
                yield why, [_place(words, instrument.item(slot.item).title, slot.turn) for slot in slots]
            case Why.PERSON:
                yield why, [spoken.finding.text for spoken in (card.needs_person if card else ())]
            case Why.CRISIS:
                yield why, [_place(words, f"“{cue.sentence}”", cue.turn) for cue in crisis_cues(conversation.turns)]
            case _:
                yield why, [str(words(f"review.here_{why}"))]


def _place(words: Catalogue, text: str, turn: int | None) -> str:
    return text if turn is None else words("review.here_turn", text=text, turn=turn).unescape()


def _wanted(visit: Visit) -> tuple[Reviewed, int, list[Reviewed]]:
    name: str = visit.request.path_params["conversation"]
    entries = _entries(visit)
    for number, entry in enumerate(entries, 1):
        if str(entry.queued.key) == name:
            return entry, number, entries
    raise HTTPException(404)


def _unnamed(visit: Visit, shown: View) -> View:
    """The conversation with numbers instead of people's names."""
    known = {rater.key: rater.name for rater in visit.study.raters()}
    raters = [known.get(member.rater or 0) for member in members(visit.study, visit.project, Role.RATER)]
    others = [name for name in dict.fromkeys(card.rater for card in shown.cards.people) if name not in raters]
    names = {
        name: visit.words("coordinate.rater_number", number=number)
        for number, name in enumerate([*raters, *others], 1)
        if name is not None
    }
    cards = {
        id(card): replace(card, rater=str(names[card.rater]), members=(str(names[card.rater]),))
        if card.kind is RaterKind.PERSON
        else card
        for card in shown.cards.all
    }
    questions = tuple(
        question._replace(answers=tuple(said._replace(card=cards[id(said.card)]) for said in question.answers))
        for question in shown.questions
    )
    deciders = tuple(cards[id(card)] for card in shown.cards.deciders)
    deciding = cards.get(id(shown.cards.deciding), shown.cards.deciding)
    sorted_cards = shown.cards._replace(all=tuple(cards.values()), deciders=deciders, deciding=deciding)
    return shown._replace(cards=sorted_cards, questions=questions)


PAGES = [
    ("GET", "review", "queue", queue),
    ("GET", "review/{conversation}", "review", conversation),
    ("POST", "review/{conversation}", "judge_it", save_decision),
    ("POST", "review/{conversation}/read", "read_to_end", mark_read),
    ("POST", "sign", "sign_it", save_sign_off),
]
