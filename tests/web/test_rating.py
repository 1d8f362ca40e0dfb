"""What raters can do over HTTP, and what no page tells them."""

import asyncio
import json
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import select
from yarl import URL

from attunement.annotation.access import issue
from attunement.annotation.tasks import assignment_of, drafts_of
from attunement.conversations import Conversation, Origin, Turn
from attunement.store.annotation import notices
from attunement.store.projects import ProjectState, state_of
from attunement.store.schema import events, members
from attunement.web import site
from tests.annotation.projects import COACHING, EMPATHY, SYSTEM, Begun, begin_project, talks
from tests.web.visitors import Visitor, change, serving

ALL = [change(item, 3) for item in ("emotion", "validation", "helpfulness", "safety", "overall")]
SCRIPT = "<script>alert(1)</script>"


def test_a_rater_says_who_they_are_rates_a_unit_and_the_study_holds_it(begun: Begun, visitor: Visitor) -> None:
    page = visitor.arrive(begun, begun.rater())
    assert begun.rater().profile == {"profession": "nurse", "years": 7}
    assert visitor.send(page, "save", {"changes": ALL}).status == 200
    done = visitor.send(page, "submit", {})
    assert done.status == 200
    assert len(list(begun.study.ratings())) == 5
    assert visitor.get(page.path).path != page.path


def test_a_page_that_is_loaded_again_holds_what_was_set(begun: Begun, visitor: Visitor) -> None:
    page = visitor.arrive(begun, begun.rater())
    marked = {"turn": 1, "speaker": "user", "start": 2, "end": 6}
    sent = change("emotion", 4, comment="“quoted” & <b>", evidence=[marked])
    visitor.send(page, "save", {"changes": [sent], "flagged": True})
    found = re.search(r'id="state">(.*?)</script>', visitor.get(page.path).text)
    assert found
    state = json.loads(found[1])
    assert state["drafts"]["emotion"] == {
        "state": "value",
        "value": 4,
        "comment": "“quoted” & <b>",
        "evidence": [marked],
        "number": 1,
    }
    assert (state["flagged"], state["number"]) == (True, 1)


def test_submitting_too_early_says_what_is_missing(begun: Begun, visitor: Visitor) -> None:
    page = visitor.arrive(begun, begun.rater())
    visitor.send(page, "save", {"changes": [*ALL[:3], change("safety", 1)]})
    answer = visitor.send(page, "submit", {})
    assert answer.status == 422
    assert '{"item":"safety","what":"note"}' in answer.text
    assert '{"item":"overall","what":"answer"}' in answer.text


def test_a_unit_of_another_rater_is_not_found(begun: Begun, server: str) -> None:
    with Visitor(server) as one, Visitor(server) as other:
        page, own = one.arrive(begun, begun.rater(1)), other.arrive(begun, begun.rater(2))
        unit = page.path.rsplit("/", 1)[1]
        door = own.path.rsplit("/", 1)[0]
        assert other.get(f"{door}/{unit}").status == 404
        assert other.get(page.path).status == 401  # the cookie is not even sent to another door
        answer = other.post(f"{door}/{unit}/save", json={"changes": ALL}, headers={"x-form-secret": own.secret()})
        assert answer.status == 404
        cookies = {"attune": other.session.cookie_jar.filter_cookies(URL(other.server + own.path))["attune"].value}
        assert other.get(page.path, cookies=cookies).status == 404


def test_a_rater_does_not_get_to_the_coordinators_page(begun: Begun, visitor: Visitor) -> None:
    page = visitor.arrive(begun, begun.rater())
    assert visitor.get(page.path.rsplit("/unit", 1)[0] + "/coordinate").status == 404


def test_two_raters_who_save_at_once_both_find_everything_saved(begun: Begun, server: str) -> None:
    members = [begun.rater(1), begun.rater(2)]
    with Visitor(server) as one, Visitor(server) as other:
        pages = [one.arrive(begun, members[0]), other.arrive(begun, members[1])]

        async def save_all(visitor: Visitor, path: str, secret: str) -> list[int]:
            headers = {"x-form-secret": secret}
            sent = [
                visitor.ask("POST", f"{path}/save", json={"changes": [{**entry, "number": number}]}, headers=headers)
                for number in range(1, 11)
                for entry in ALL
            ]
            return [answer.status for answer in await asyncio.gather(*sent)]

        with ThreadPoolExecutor(2) as both:
            saved = [
                both.submit(visitor.run, save_all(visitor, page.path, page.secret()))
                for visitor, page in zip((one, other), pages, strict=True)
            ]
        assert {status for statuses in saved for status in statuses.result()} == {200}
    for member, page in zip(members, pages, strict=True):
        assignment = assignment_of(begun.study, member, page.path.rsplit("/", 1)[1])
        assert assignment is not None
        drafts = drafts_of(begun.study, assignment)
        assert {(draft.number, draft.outcome and draft.outcome.value) for draft in drafts.values()} == {(10, 3)}


@pytest.mark.parametrize("instrument", [EMPATHY, COACHING], ids=["empathy", "coaching"])
def test_script_in_a_transcript_a_comment_or_a_name_is_shown_as_text(tmp_path: Path, instrument: object) -> None:
    talk = Conversation("c", SYSTEM, (Turn(SCRIPT, f"{SCRIPT}</script>{{{{ 7*7 }}}}"),), origin=Origin.UNKNOWN)
    begun = begin_project(tmp_path / "b.study.db", [talk], instrument=instrument, raters=1, escalation=SCRIPT)  # type: ignore[arg-type]
    with begun.study.writing() as connection:
        connection.execute(members.update().values(name=SCRIPT).where(members.c.role == "rater"))
    with serving(begun.study) as server, Visitor(server) as visitor:
        page = visitor.arrive(begun, begun.rater())
        item = re.findall(r'data-item="([\w.-]+)"', page.text)[0]
        value = 3 if instrument is EMPATHY else "YES"
        visitor.send(page, "save", {"changes": [change(item, value, comment=SCRIPT)]})
        visitor.send(page, "urgent", {"id": "notice-123", "text": SCRIPT})
        again = visitor.get(page.path).text
        assert "alert(1)" in again
        assert "{{ 7*7 }}" in again
        with Visitor(server) as boss:
            coordinator = boss.get(coordinators_link(begun)).text
        assert "alert(1)" in coordinator
        for text in (page.text, again, coordinator):
            assert SCRIPT not in text


def coordinators_link(begun: Begun) -> str:
    return f"/enter/{issue(begun.study, begun.project, begun.coordinator())}"


def test_an_urgent_notice_reaches_the_coordinators_page_at_once(tmp_path: Path) -> None:
    begun = begin_project(tmp_path / "b.study.db", talks(3, origin=Origin.REAL), escalation="Ring 12.")
    with serving(begun.study) as server, Visitor(server) as rater, Visitor(server) as boss:
        page = rater.arrive(begun, begun.rater())
        assert "Ring 12." in page.text
        sent = rater.send(page, "urgent", {"id": "notice-123", "text": "She says goodbye."})
        assert sent.status == 200
        home = boss.get(coordinators_link(begun))
        listed = boss.get(f"{home.path}/notices")
        assert "She says goodbye." in listed.text
        assert notices(begun.study, begun.project)[0].at[:16].replace("T", " ") in listed.text
        boss.post(f"{home.path}/seen", data={"secret": home.secret(), "notice": "notice-123"})
        assert notices(begun.study, begun.project)[0].seen is not None


def test_the_urgent_button_stands_only_where_somebody_may_be_real(begun: Begun, visitor: Visitor) -> None:
    page = visitor.arrive(begun, begun.rater())
    assert 'data-open="urgent"' not in page.text


def test_raters_wait_until_the_coordinator_has_entered_what_to_do_in_danger(tmp_path: Path) -> None:
    begun = begin_project(tmp_path / "b.study.db", talks(3, origin=Origin.UNKNOWN))
    begun.arrive()
    with serving(begun.study) as server, Visitor(server) as visitor, Visitor(server) as boss:
        home = boss.get(coordinators_link(begun))
        link = f"/enter/{issue(begun.study, begun.project, begun.rater())}"
        assert "Not open yet" in visitor.get(link).text
        assert boss.post(f"{home.path}/escalation", data={"secret": home.secret(), "escalation": ""}).status == 400
        boss.post(f"{home.path}/escalation", data={"secret": home.secret(), "escalation": "Ring 12."})
        assert "/unit/" in visitor.get(link).path


def test_the_coordinator_pauses_lets_go_on_and_gives_new_links(begun: Begun, server: str) -> None:
    with Visitor(server) as boss, Visitor(server) as rater:
        page = rater.arrive(begun, begun.rater())
        home = boss.get(coordinators_link(begun))
        boss.post(f"{home.path}/state", data={"secret": home.secret()})
        assert state_of(begun.study, begun.project).state is ProjectState.PAUSED
        made = boss.post(f"{home.path}/link", data={"secret": home.secret(), "rater": begun.rater().public})
        link = re.search(r"<code>http://[^/]+(/enter/[\w-]+)</code>", made.text)
        assert link
        assert rater.get(page.path).status == 401
        assert "/unit/" in rater.get(link[1]).path


def test_every_page_says_that_nobody_is_monitored(begun: Begun, visitor: Visitor) -> None:
    page = visitor.arrive(begun, begun.rater())
    door = page.path.rsplit("/unit", 1)[0]
    for path in (
        page.path,
        f"{door}/you",
        f"{door}/welcome",
        f"{door}/guide",
        f"{door}/support",
        f"{door}/break",
        "/",
        "/no",
    ):
        assert "analyses recorded conversations and does not monitor anyone" in visitor.get(path).text


def test_support_shows_the_lines_of_a_country(begun: Begun, visitor: Visitor) -> None:
    page = visitor.arrive(begun, begun.rater())
    support = visitor.get(page.path.rsplit("/unit", 1)[0] + "/support?country=GB").text
    assert "116123" in support


def test_after_a_practice_example_the_answer_and_why_are_shown(tmp_path: Path) -> None:
    begun = begin_project(tmp_path / "b.study.db", calibration=1)
    with serving(begun.study) as server, Visitor(server) as visitor:
        page = visitor.arrive(begun, begun.rater())
        item = re.findall(r'data-item="(\w+)"', page.text)[0]
        example = EMPATHY.item(item).examples
        assert visitor.get(f"{page.path}/answer").path != f"{page.path}/answer"
        visitor.send(page, "save", {"changes": [change(item, 1, comment="why not")]})
        assert "/answer" in visitor.send(page, "submit", {}).text
        told = visitor.get(f"{page.path}/answer").text
        assert any(entry.why.split("'")[0] in told for entry in example)
        assert "practice" in told


def test_a_rubric_from_right_to_left_is_shown_from_right_to_left_and_our_own_words_are_not(tmp_path: Path) -> None:
    hebrew = type(EMPATHY).model_validate({**EMPATHY.canonical(), "id": "other", "language": "he"})
    begun = begin_project(tmp_path / "b.study.db", instrument=hebrew)
    with serving(begun.study) as server, Visitor(server) as visitor:
        page = visitor.arrive(begun, begun.rater())
        assert 'aria-labelledby="q-safety-h" lang="he" dir="rtl"' in page.text
        assert 'data-abstain lang="en" dir="ltr"' in page.text
        assert '<html lang="en" dir="ltr">' in page.text


def test_the_pages_speak_another_language_that_comes_as_a_file(tmp_path: Path) -> None:
    english = (Path(site.__file__).parent / "words" / "en.yaml").read_text("utf-8")
    hebrew = english.replace("cannot_judge: Cannot judge", "cannot_judge: לא ניתן לשפוט")
    (tmp_path / "he.yaml").write_text(hebrew, "utf-8")
    begun = begin_project(tmp_path / "b.study.db", language=str(tmp_path / "he.yaml"))
    with serving(begun.study) as server, Visitor(server) as visitor:
        page = visitor.arrive(begun, begun.rater())
        assert '<html lang="he" dir="rtl">' in page.text
        assert "לא ניתן לשפוט" in page.text


def test_a_rater_takes_the_last_unit_back_and_hands_it_in_anew(begun: Begun, visitor: Visitor) -> None:
    first = visitor.arrive(begun, begun.rater())
    door = first.path.rsplit("/unit", 1)[0]
    assert "Change the last unit" not in first.text
    visitor.send(first, "save", {"changes": ALL})
    visitor.send(first, "submit", {})
    second = visitor.get(f"{door}/")
    assert f'action="{first.path}/again"' in second.text
    assert visitor.post(f"{first.path}/again", data={"secret": "x"}).status == 403
    again = visitor.post(f"{first.path}/again", data={"secret": second.secret()})
    assert again.path == first.path
    assert visitor.post(f"{second.path}/again", data={"secret": second.secret()}).status == 409
    visitor.send(again, "save", {"changes": [change("emotion", 5, number=2)]})
    visitor.send(again, "submit", {"seen": {entry["item"]: 2 for entry in ALL}})
    assert [rating.outcome.value for rating in begun.study.ratings() if rating.item == "emotion"] == [5]
    assert visitor.get(f"{door}/").path == second.path


def test_whoever_is_done_can_still_change_the_last_unit(tmp_path: Path) -> None:
    begun = begin_project(tmp_path / "b.study.db", talks(1), raters=1)
    with serving(begun.study) as server, Visitor(server) as visitor:
        page = visitor.arrive(begun, begun.rater())
        visitor.send(page, "save", {"changes": ALL})
        visitor.send(page, "submit", {})
        done = visitor.get(page.path.rsplit("/unit", 1)[0] + "/")
        assert "You have finished" in done.text
        assert visitor.post(f"{page.path}/again", data={"secret": done.secret()}).path == page.path


def test_a_window_that_is_behind_another_is_told_and_hands_in_nothing_unseen(begun: Begun, visitor: Visitor) -> None:
    page = visitor.arrive(begun, begun.rater())
    visitor.send(page, "save", {"changes": [{**entry, "number": 7} for entry in ALL]})
    late = visitor.send(page, "save", {"changes": [change("emotion", 1, number=1)]})
    assert (late.status, json.loads(late.text)) == (200, {"number": 7})
    seen = {entry["item"]: 7 for entry in ALL}
    refused = visitor.send(page, "submit", {"seen": {**seen, "safety": 6}})
    assert (refused.status, "another window" in refused.text) == (409, True)
    assert not list(begun.study.ratings())
    assert visitor.send(page, "submit", {"seen": seen}).status == 200


@pytest.mark.parametrize(
    ("what", "content"),
    [
        ("save", {"changes": [change("emotion", 9)]}),
        ("save", {"changes": [change("nothing", 3)]}),
        ("save", {"changes": "x"}),
        ("save", {"more": 1}),
        ("skip", {"reason": "no reason of ours"}),
        ("urgent", {"id": "<script>", "text": ""}),
        ("save", [1]),
    ],
)
def test_what_does_not_fit_is_refused_and_changes_nothing(
    begun: Begun, visitor: Visitor, what: str, content: object
) -> None:
    page = visitor.arrive(begun, begun.rater())
    assert visitor.send(page, what, content).status == 400
    assignment = assignment_of(begun.study, begun.rater(), page.path.rsplit("/", 1)[1])
    assert assignment is not None
    assert drafts_of(begun.study, assignment) == {}
    assert assignment.state == "open"


@pytest.mark.parametrize("wanted", [True, False])
def test_a_warning_before_a_unit_is_off_unless_wanted_and_its_use_is_kept(tmp_path: Path, wanted: bool) -> None:
    talk = Conversation("c", SYSTEM, (Turn("I want to kill myself.", "Tell me."),), origin=Origin.WRITTEN)
    begun = begin_project(tmp_path / "b.study.db", [talk], raters=1, unit_warnings=wanted)
    with serving(begun.study) as server, Visitor(server) as visitor:
        page = visitor.arrive(begun, begun.rater())
    assert ("This transcript may touch on danger" in page.text) is wanted
    with begun.study.reading() as connection:
        (opened,) = connection.scalars(select(events.c.content).where(events.c.kind == "opened"))
    assert json.loads(opened) == {"warned": wanted}


def test_skipping_needs_a_reason_and_leads_on(begun: Begun, visitor: Visitor) -> None:
    page = visitor.arrive(begun, begun.rater())
    answer = visitor.send(page, "skip", {"reason": "distress", "text": ""})
    assert answer.status == 200
    assert visitor.get(page.path).path != page.path


def test_a_profile_without_a_profession_or_with_odd_years_is_asked_again(begun: Begun, visitor: Visitor) -> None:
    page = visitor.get(f"/enter/{issue(begun.study, begun.project, begun.rater())}")
    for given in (
        {"profession": " "},
        {"profession": "nurse", "years": "many"},
        {"profession": "nurse", "years": "99"},
    ):
        answer = visitor.post(page.path, data={"secret": page.secret(), **given})
        assert answer.status == 400
        assert begun.rater().profile is None


def test_the_instructions_use_the_words_on_the_buttons(tmp_path: Path) -> None:
    talk = Conversation("c", SYSTEM, (Turn("Hello.", "Hi."),) * 6, origin=Origin.WRITTEN)
    begun = begin_project(tmp_path / "b.study.db", [talk], instrument=COACHING, raters=1)
    with serving(begun.study) as server, Visitor(server) as visitor:
        page = visitor.arrive(begun, begun.rater())
        door = page.path.rsplit("/unit", 1)[0]
        for text in (page.text, visitor.get(f"{door}/guide").text, visitor.get(f"{door}/welcome").text):
            assert not re.search(r">[^<]*\b(YES|NO|NA)\b", text.split("<form")[0] + text.split("</form>")[-1])
            assert "“Met”" in text


def test_the_introduction_says_the_pass_mark_and_the_projects_own_note(tmp_path: Path) -> None:
    begun = begin_project(
        tmp_path / "b.study.db", calibration=5, content_note="These are chats about grief <b>only</b>."
    )
    with serving(begun.study) as server, Visitor(server) as visitor:
        page = visitor.arrive(begun, begun.rater())
        welcome = visitor.get(page.path.rsplit("/unit", 1)[0] + "/welcome").text
    assert "4 of 5 answers must match" in welcome
    assert "examples twice" in welcome
    assert "chats about grief &lt;b&gt;only" in welcome
    assert "it can touch on" not in welcome


def test_services_are_visible_at_once_for_the_project_or_the_browsers_country(begun: Begun, visitor: Visitor) -> None:
    page = visitor.arrive(begun, begun.rater())
    door = page.path.rsplit("/unit", 1)[0]
    assert "TelefonSeelsorge" in visitor.get(f"{door}/support", headers={"accept-language": "de-DE,de;q=0.9"}).text
    unknown = visitor.get(f"{door}/support", headers={"accept-language": "eo"}).text
    assert "Choose a country" in unknown
    assert "findahelpline.com" in unknown


def test_whoever_skips_everything_is_not_told_to_have_rated_it(begun: Begun, visitor: Visitor) -> None:
    page = visitor.arrive(begun, begun.rater())
    for _ in range(4):
        visitor.send(page, "skip", {"reason": "distress"})
        page = visitor.get(page.path.rsplit("/unit", 1)[0] + "/")
    assert "you rated 0 units and skipped 4" in page.text


def test_text_that_would_be_turned_around_is_shown_as_it_is_stored(tmp_path: Path) -> None:
    talk = Conversation("c", SYSTEM, (Turn("Pay \u202e001\u202c \u2066now\u2069.", "Why?"),), origin=Origin.WRITTEN)
    begun = begin_project(tmp_path / "b.study.db", [talk], raters=1)
    with serving(begun.study) as server, Visitor(server) as visitor:
        page = visitor.arrive(begun, begun.rater())
    assert "Pay �001� �now�." in page.text
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", page.text)
