"""What the reviewer's pages say: why a conversation is there, what can be said about it, and what is missing."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from attunement.annotation.access import issue
from attunement.annotation.review import CrisisSignals, queue, review, review_desk, reviewers
from attunement.reports.gate import review_words
from attunement.store import Study
from attunement.store.projects import Member
from attunement.store.reviews import ReviewDecision, review_status, reviews, sign_offs
from tests.annotation.judged_projects import CRISIS, UNSAFE, judge_all, lively_talks
from tests.annotation.projects import EMPATHY, Begun
from tests.web.visitors import Answer, Visitor, serving


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Begun]:
    """A study of which a judge has seen all but the last conversation, and which nobody rates."""
    with Study(tmp_path / "a.study.db", create=True) as study:
        study.save_instrument(EMPATHY)
        talks = lively_talks(9)
        judge_all(study, talks[:-1])
        study.save_conversations(talks)
        yield Begun(study, review_desk(study, EMPATHY))


@pytest.fixture
def ada(desk: Begun) -> Member:
    return reviewers(desk.study, desk.project, ["Ada"])[0]


@pytest.fixture
def visitor(desk: Begun) -> Iterator[Visitor]:
    with serving(desk.study) as server, Visitor(server) as somebody:
        yield somebody


def come_in(visitor: Visitor, desk: Begun, member: Member) -> Answer:
    return visitor.get(f"/enter/{issue(desk.study, desk.project, member)}")


def opened(visitor: Visitor, listing: Answer, desk: Begun, id: str) -> Answer:
    return visitor.get(f"{listing.path}/{desk.study.find(id)[0].key}")


def test_a_conversation_says_why_it_is_there_and_what_shows_it(desk: Begun, ada: Member, visitor: Visitor) -> None:
    listing = come_in(visitor, desk, ada)
    unsafe = opened(visitor, listing, desk, UNSAFE).text
    assert (
        '<dt>unsafe or flagged</dt><dd><p dir="auto">Keeps the person safe and stays within its limits (turn 2)'
        in unsafe
    )
    crisis = opened(visitor, listing, desk, CRISIS).text
    assert re.search(r"<dt>crisis talk</dt><dd><p[^>]*>“[^”]*kill myself[^”]*” \(turn 1\)", crisis)
    assert "Drawn at random from the other conversations" in opened(visitor, listing, desk, "c1").text


def test_every_number_of_the_queue_leads_to_its_conversations(desk: Begun, ada: Member, visitor: Visitor) -> None:
    listing = come_in(visitor, desk, ada)
    for why, number in re.findall(r'\?why=(\w+)#list"><b>(\d+)</b>', listing.text):
        rows = re.findall(r'href="[^"]*/review/\d+"', visitor.get(listing.path, params={"why": why}).text)
        assert len(rows) == int(number), why
    everything = len(re.findall(r"/review/\d+", listing.text))
    assert len(re.findall(r"/review/\d+", visitor.get(listing.path, params={"why": "undecided"}).text)) == everything
    assert len(re.findall(r"/review/\d+", visitor.get(listing.path, params={"why": "<x>"}).text)) == everything


def test_who_reads_what_no_judge_has_seen_confirms_nobody(desk: Begun, ada: Member, visitor: Visitor) -> None:
    listing = come_in(visitor, desk, ada)
    assert "Confirm: nothing unsafe" in opened(visitor, listing, desk, "c1").text
    unseen = opened(visitor, listing, desk, "c8")
    assert "I have read it, nothing is unsafe" in unseen.text
    assert "Confirm" not in unseen.text
    visitor.post(unseen.path, data={"secret": unseen.secret(), "decided": "confirmed"})
    assert "found nothing unsafe" in visitor.get(listing.path).text
    (entry,) = (each for each in queue(desk.study, desk.project, CrisisSignals()) if each.identity.id == "c8")
    said = review_status(EMPATHY, entry.card, reviews(desk.study, EMPATHY)[entry.key])
    assert review_words(entry.card, said) == "Not judged, read and not marked unsafe by Ada."


def test_what_was_typed_stays_where_a_signature_lacks_something(desk: Begun, ada: Member, visitor: Visitor) -> None:
    listing = come_in(visitor, desk, ada)
    place = listing.path.replace("/review", "/sign")
    given = {"role": "lead <b>", "decision": "release", "conditions": "Only with a banner."}
    answer = visitor.post(place, data={"secret": listing.secret(), **given})
    assert answer.status == 400
    assert "Enter conditions if, and only if" in answer.text
    assert 'value="lead &lt;b&gt;"' in answer.text
    assert "Only with a banner.</textarea>" in answer.text
    assert 'value="release" required checked' in answer.text
    assert sign_offs(desk.study, EMPATHY) == []


def test_two_reviewers_see_each_others_words(desk: Begun, ada: Member, visitor: Visitor) -> None:
    (ben,) = reviewers(desk.study, desk.project, ["Ben"])
    entry = queue(desk.study, desk.project, CrisisSignals())[0]
    review(desk.study, desk.project, ben, entry, ReviewDecision.CLEARED, "It is a quotation.")
    listing = come_in(visitor, desk, ada)
    assert 'cleared it</span> <bdi class="quiet small">Ben' in listing.text
    assert "It is a quotation." in opened(visitor, listing, desk, entry.identity.id).text


def test_of_one_persons_signatures_only_the_last_is_said_to_hold(desk: Begun, ada: Member, visitor: Visitor) -> None:
    listing = come_in(visitor, desk, ada)
    for decision in ("do not release", "release"):
        fields = {"role": "lead", "decision": decision, "conditions": "", "despite": "yes"}
        place = listing.path.replace("/review", "/sign")
        page = visitor.post(place, data={"secret": listing.secret(), **fields})
    given = re.findall(r"lead, [-\d]+: ([\w ]+)</bdi> <span class=\"st \w+\">([\w ]+)<", page.text)
    assert given == [("release", "valid"), ("do not release", "replaced by a later one")]
