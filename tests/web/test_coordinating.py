"""What coordinators, adjudicators and reviewers can do over HTTP, and what nobody else can."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from attunement.annotation.access import issue, member_with
from attunement.annotation.adjudication import disputes
from attunement.annotation.submission import skip
from attunement.ratings import RaterKind, Round
from attunement.store import StoredRating
from attunement.store.projects import Member, MemberState, Role, members
from attunement.store.reviews import ReviewDecision, reviews, sign_offs
from tests.annotation.judged_projects import JUDGE, UNSAFE, adjudicator, rated_project, reviewer
from tests.annotation.projects import EMPATHY, SYSTEM, Begun, begin_project, talks
from tests.reports.samples import judged
from tests.web.visitors import Answer, Visitor, serving

SCRIPT = "<script>alert(1)</script>"


@pytest.fixture
def rated(tmp_path: Path) -> Begun:
    """A study in which three people and a judge have rated everything."""
    return rated_project(tmp_path / "rated.study.db", 10)


@pytest.fixture
def guest(rated: Begun) -> Iterator[Visitor]:
    with serving(rated.study) as server, Visitor(server) as somebody:
        yield somebody


def enter(visitor: Visitor, begun: Begun, member: Member) -> Answer:
    return visitor.get(f"/enter/{issue(begun.study, begun.project, member)}")


def send(visitor: Visitor, page: Answer, path: str, **fields: str) -> Answer:
    """Send a form of the page."""
    return visitor.post(path, data={"secret": page.secret(), **fields})


def conversation_key(begun: Begun, id: str) -> int:
    return begun.study.find(id)[0].key


def test_the_coordinator_sees_agreement_numbers_and_units(rated: Begun, guest: Visitor) -> None:
    page = enter(guest, rated, rated.coordinator())
    assert page.status == 200
    assert "Do the raters agree?" in page.text
    assert "Rater 3" in page.text
    assert "harbour/c5 #1" in page.text
    assert "waiting, and there is no adjudicator yet" in page.text


def test_a_link_opens_the_pages_of_its_role_only(rated: Begun, guest: Visitor) -> None:
    boss, grace, ada = rated.coordinator(), adjudicator(rated), reviewer(rated)
    dispute = str(disputes(rated.study, rated.project)[0].unit.key)
    own = [
        (boss, ["coordinate", "coordinate/trail"]),
        (grace, ["adjudicate", f"adjudicate/{dispute}"]),
        (ada, ["review", f"review/{conversation_key(rated, UNSAFE)}"]),
        (rated.rater(), ["you"]),
    ]
    for member, _ in own:
        enter(guest, rated, member)
        for owner, paths in own:
            for path in paths:
                expected = 200 if owner is member else 404
                assert guest.get(f"/at/{member.public}/{path}").status == expected, (member.role, path)
    door = f"/at/{rated.rater().public}"
    secret = {"x-form-secret": guest.get(f"{door}/you").secret()}
    for name in ("coordinate/link", "coordinate/invite", "coordinate/state", "sign", f"adjudicate/{dispute}"):
        assert guest.post(f"{door}/{name}", data={}, headers=secret).status == 404


@pytest.mark.parametrize(
    "path", ["coordinate/invite", "coordinate/extend", "coordinate/reassign", "coordinate/skipped"]
)
def test_a_forged_form_changes_nothing(rated: Begun, guest: Visitor, path: str) -> None:
    page = enter(guest, rated, rated.coordinator())
    door = page.path.rsplit("/", 1)[0]
    sent = {"name": "Mallory", "role": "rater", "count": "1", "rater": rated.rater().public, "secret": "0" * 64}
    before = members(rated.study, rated.project)
    assert guest.post(f"{door}/{path}", data=sent).status == 403
    assert members(rated.study, rated.project) == before


def test_the_coordinator_invites_somebody_whose_link_is_shown_once(rated: Begun, guest: Visitor) -> None:
    page = enter(guest, rated, rated.coordinator())
    door = page.path
    shown = send(guest, page, f"{door}/invite", name=f"Grace {SCRIPT}", role="adjudicator")
    assert shown.status == 200
    token = re.search(r"/enter/([\w-]+)</code>", shown.text)
    assert token is not None
    member = member_with(rated.study, token[1])
    assert member is not None
    assert member.role is Role.ADJUDICATOR
    assert SCRIPT not in shown.text
    assert token[1] not in guest.get(door).text
    assert send(guest, page, f"{door}/invite", name="X", role="coordinator").status == 400
    assert send(guest, page, f"{door}/invite", name="", role="rater").status == 400


def test_the_round_changes_while_it_runs(tmp_path: Path) -> None:
    begun = begin_project(tmp_path / "a.study.db", raters=4, per_unit=2)
    begun.study.save_conversations(talks(8))
    member = begun.arrive(1)
    task = begun.next_task(1)
    assert task is not None
    skip(begun.study, begun.project, member, task.assignment, reason="distress", text=SCRIPT)
    with serving(begun.study) as server, Visitor(server) as boss:
        page = enter(boss, begun, begun.coordinator())
        door = page.path
        assert SCRIPT not in page.text
        assert "&lt;script&gt;" in page.text
        assert "1 unit was assigned to another rater" in send(boss, page, f"{door}/skipped").text
        assert "3 units were added" in send(boss, page, f"{door}/extend", count="3").text
        assert send(boss, page, f"{door}/extend", count="3000").status == 400
        assert send(boss, page, f"{door}/extend", count="many").status == 400
        moved = send(boss, page, f"{door}/reassign", rater=begun.rater(2).public, leaving="yes")
        assert "units moved from rater 2 to others" in moved.text
        assert begun.rater(2).state is MemberState.LEFT
        assert send(boss, page, f"{door}/invite", name="Chidi", role="rater").status == 200
        assert begun.rater(5).name == "Chidi"
        trail = [json.loads(line) for line in boss.get(f"{door}/trail").text.splitlines()]
    kinds = [entry["kind"] for entry in trail]
    assert {"created", "skipped", "extended", "withdrawn", "left", "joined"} <= set(kinds)
    left = next(entry for entry in trail if entry["kind"] == "left")
    assert (left["who"], left["content"], left["instrument_hash"]) == (
        "coordinator",
        {"rater": "rater 2"},
        EMPATHY.hash,
    )


def test_an_adjudicator_sees_no_names_no_system_and_no_judge(rated: Begun, guest: Visitor) -> None:
    listing = enter(guest, rated, adjudicator(rated))
    unit = disputes(rated.study, rated.project)[0].unit.key
    page = guest.get(f"{listing.path}/{unit}")
    for text in (listing.text, page.text):
        for hidden in ("rater 1", "rater 2", "rater 3", "harbour", JUDGE, SYSTEM):
            assert hidden not in text
    assert "Rater A" in page.text
    assert " checked" not in page.text


def test_an_adjudicator_decides_with_a_reason_or_is_told_what_is_missing(rated: Begun, guest: Visitor) -> None:
    listing = enter(guest, rated, adjudicator(rated))
    unit = disputes(rated.study, rated.project)[0].unit.key
    path = f"{listing.path}/{unit}"
    page = guest.get(path)
    lacking = send(guest, page, path, **{"answer:emotion": "4", "reason:emotion": " "})
    assert lacking.status == 400
    assert "needs an answer and a reason" in lacking.text
    assert re.search(r'value="4" checked', lacking.text)
    assert send(guest, page, path, **{"answer:emotion": "9", "reason:emotion": "x"}).status == 400
    done = send(guest, page, path, **{"answer:emotion": "4", "reason:emotion": SCRIPT})
    assert done.path.startswith(listing.path)
    assert "This unit is decided." in guest.get(path).text
    assert send(guest, page, path, **{"answer:emotion": "4", "reason:emotion": "late"}).status == 409
    (kept,) = [rating for rating in rated.study.ratings() if rating.round is Round.ADJUDICATION]
    assert (kept.outcome.value, kept.reasoning) == (4, SCRIPT)


def test_a_reviewer_reads_clears_and_signs(rated: Begun, guest: Visitor) -> None:
    ada = reviewer(rated)
    listing = enter(guest, rated, ada)
    assert "You have read <b>0</b> of 10" in listing.text
    path = f"{listing.path}/{conversation_key(rated, UNSAFE)}"
    page = guest.get(path)
    assert "Being shouted at hurts" in page.text
    assert 'class="cited"' in page.text
    for name in ("rater 1", "rater 2", "rater 3"):
        assert name not in page.text
    assert "Rater 1" in page.text
    secret = {"x-form-secret": page.secret()}
    assert guest.post(f"{path}/read", json={}, headers=secret).status == 200
    assert guest.post(f"{path}/read", json={}).status == 403
    assert "You have read <b>1</b> of 10" in guest.get(listing.path).text

    assert send(guest, page, path, decided="cleared", reason="").status == 400
    following = send(guest, page, path, decided="cleared", reason=SCRIPT)
    assert following.path != path
    again = guest.get(path)
    assert SCRIPT not in again.text
    assert "Dr. Ada Reviewer" in again.text
    (said,) = reviews(rated.study, EMPATHY)[conversation_key(rated, UNSAFE)]
    assert (said.decision, said.reason) == (ReviewDecision.CLEARED, SCRIPT)

    door = listing.path.rsplit("/", 1)[0]
    fields = {"name": f"Eve {SCRIPT}", "role": f"clinical lead {SCRIPT}", "decision": "release", "conditions": ""}
    assert send(guest, listing, f"{door}/sign", **{**fields, "role": ""}).status == 400
    signed = send(guest, listing, f"{door}/sign", **fields)
    assert SCRIPT not in signed.text
    assert "clinical lead" in signed.text
    (given,) = sign_offs(rated.study, EMPATHY)
    assert given.name == ada.name  # the link's name, whatever the form says
    assert (given.numbers["read"], given.numbers["decided"]) == (1, 1)


def test_a_conversation_outside_the_queue_is_not_found(rated: Begun, guest: Visitor) -> None:
    listing = enter(guest, rated, reviewer(rated))
    assert guest.get(f"{listing.path}/99999").status == 404
    assert guest.get(f"{listing.path}/x").status == 404


def test_a_closed_link_of_a_reviewer_opens_nothing(rated: Begun, guest: Visitor) -> None:
    ada = reviewer(rated)
    listing = enter(guest, rated, ada)
    with Visitor(guest.server) as boss:
        page = enter(boss, rated, rated.coordinator())
        send(boss, page, f"{page.path}/close", rater=ada.public)
    assert guest.get(listing.path).status == 401


def test_hostile_words_of_a_judge_are_shown_as_text(tmp_path: Path) -> None:
    begun = rated_project(tmp_path / "a.study.db", 4)
    kept = begun.study.find(UNSAFE)[0]
    rater = begun.study.save_rater(f"evil {SCRIPT}", RaterKind.MODEL, {})
    made = judged(
        kept.conversation, {}, instrument=EMPATHY, others=1, turn=1, rater=rater.name, reasoning=f"Turn 1: {SCRIPT}"
    )
    begun.study.write([], [StoredRating(kept.key, rater.key, rating) for rating in made])
    with serving(begun.study) as server, Visitor(server) as guest:
        listing = enter(guest, begun, reviewer(begun))
        page = guest.get(f"{listing.path}/{kept.key}")
    for text in (listing.text, page.text):
        assert SCRIPT not in text
    assert "&lt;script&gt;" in page.text
