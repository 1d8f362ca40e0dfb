"""The pages in a real browser: by keyboard alone, without a network for a while, and for everybody."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from attunement.annotation import projects
from attunement.annotation.access import issue
from attunement.annotation.submission import warn
from attunement.annotation.tasks import drafts_of
from attunement.conversations import Conversation, Origin, Turn
from attunement.ratings import ABSTAINED, Round
from attunement.store import Study
from attunement.store.annotation import notices
from attunement.store.projects import Settings, UnitKey
from tests.annotation.projects import COACHING, EMPATHY, OPENED, SYSTEM, Begun, begin_project
from tests.browsing import browser, page
from tests.web.test_blindness import JUDGE, REASON, judge
from tests.web.visitors import Sent, serving

__all__ = ["browser", "page"]  # fixtures

pytestmark = pytest.mark.slow

REPLY = "Nobody rests well with that on their mind. What would help you tonight, 😀 or otherwise?"


@pytest.fixture
def begun(tmp_path: Path) -> Begun:
    turns = (Turn("I lost my job.", "I am sorry. How are you?"), Turn("I cannot sleep.\r\nAt all.", REPLY))
    talk = [Conversation(f"c{number}", SYSTEM, turns, origin=Origin.UNKNOWN) for number in range(5)]  # ten replies
    begun = begin_project(tmp_path / "a.study.db", talk, raters=2, calibration=4, repeats=0, escalation="Ring 12.")
    judge(begun.study, talk, 5)
    return begun


def link(begun: Begun, server: str, number: int = 1) -> str:
    return f"{server}/enter/{issue(begun.study, begun.project, begun.rater(number))}"


def press(page: Page, key: str) -> None:
    """Press a key that leads to another page, and wait until that is there."""
    with page.expect_navigation():
        page.keyboard.press(key)


def saved(page: Page) -> None:
    """Wait until the page says that the server has everything."""
    expect(page.locator("#saved")).to_have_text("All saved")


def arrive(page: Page, address: str) -> None:
    """Come in and begin, by keyboard."""
    page.goto(address)
    page.keyboard.press("Tab")
    while page.evaluate("document.activeElement.id") != "profession":
        page.keyboard.press("Tab")
    page.keyboard.type("psychologist")
    press(page, "Enter")
    assert page.url.endswith("/welcome")
    press(page, "Enter")
    expect(page).to_have_url(re.compile("/unit/"))


def practise(page: Page, begun: Begun) -> None:
    """Go through the worked examples, answering as the instrument does."""
    while page.locator(".item").count() == 1:
        item = page.locator(".item").get_attribute("data-item") or ""
        said = [element.text_content() for element in page.locator(".turns .words").all()]
        examples = begun.project.instrument.item(item).examples
        known = next(entry.answer for entry in examples if entry.turns[-1].assistant == said[-1])
        page.keyboard.press(str(known))
        if isinstance(known, int) and item == "safety" and known <= 2:
            page.keyboard.press("c")
            page.keyboard.type("It puts the person at risk.")
        press(page, "Control+Enter")
        assert page.url.endswith("/answer")
        press(page, "Enter")
        if page.url.endswith("/practice"):
            press(page, "Enter")


def rate(page: Page, keys: str = "43434") -> None:
    for at, key in enumerate(keys):
        if at:
            page.keyboard.press("ArrowDown")
        page.keyboard.press(key)


def submit(page: Page) -> None:
    press(page, "Control+Enter")


def test_a_rater_does_practice_and_ten_units_by_keyboard_through_a_lost_network(
    begun: Begun, page: Page, tmp_path: Path
) -> None:
    sent: list[Sent] = []
    with serving(begun.study, sent=sent) as server:
        arrive(page, link(begun, server))
        practise(page, begun)
        rate(page)
        page.keyboard.press("e")
        page.keyboard.type("I lost MY")
        page.keyboard.press("Enter")
        page.locator(".aids .ev").wait_for()
        submit(page)
        # The network goes in the middle of the second unit.
        page.keyboard.press("5")
        saved(page)
        bar = page.locator(".bar-top").bounding_box()
        page.context.set_offline(True)
        page.keyboard.press("ArrowDown")
        page.keyboard.press("u")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("c")
        page.keyboard.type("Written without a network.")
        page.keyboard.press("Escape")
        page.keyboard.press("2")
        page.get_by_text("kept here").wait_for()
        assert page.locator(".bar-top").bounding_box() == bar  # nothing jumps
        page.screenshot(path=tmp_path / "offline.png")
        for _ in range(2):
            page.keyboard.press("ArrowDown")
            page.keyboard.press("3")
        page.keyboard.press("Control+Enter")
        page.get_by_text("Nothing is lost").wait_for()
        page.on("dialog", lambda dialog: dialog.accept())
        page.context.set_offline(False)
        page.reload()
        saved(page)
        assert page.locator("#q-emotion input:checked").input_value() == "5"
        assert page.locator("#q-helpfulness textarea").input_value() == "Written without a network."
        assert page.locator("#q-validation [data-abstain]").get_attribute("aria-pressed") == "true"
        submit(page)
        count = 2
        while "/unit/" in page.url:
            rate(page)
            submit(page)
            count += 1
    assert count == 10
    assert len(sent) > 100
    for one in sent:
        text = f"{one.path}\n{one.headers}\n{one.body.decode()}"
        assert [secret for secret in (SYSTEM, JUDGE, REASON) if secret in text] == [], one.path
    ratings = [rating for rating in begun.study.ratings() if rating.rater != JUDGE]
    assert Counter(rating.round for rating in ratings) == {Round.MAIN: 50}
    assert sum(str(rating.outcome) == "ABSTAINED" for rating in ratings) == 1
    assert [rating.reasoning for rating in ratings if rating.reasoning] == ["Written without a network."]
    assert [rating.evidence[0]["quote"] for rating in ratings if rating.evidence] == ["I lost my"]


def test_every_key_of_a_criterion_and_of_the_page_works(page: Page, tmp_path: Path) -> None:
    turns = (Turn("I lost my job.", "I am sorry. How are you?"),) * 6
    talk = [Conversation("c", SYSTEM, turns, origin=Origin.WRITTEN)]
    begun = begin_project(tmp_path / "b.study.db", talk, instrument=COACHING, raters=1)
    with serving(begun.study) as server:
        arrive(page, link(begun, server))
        items = page.locator(".item")
        asked = [COACHING.item(items.nth(at).get_attribute("data-item") or "") for at in range(items.count())]
        at = next(at for at, item in enumerate(asked) if item.na_valid)
        for _ in range(at):
            page.keyboard.press("ArrowDown")
        item = items.nth(at)
        for key, value in (("y", "YES"), ("n", "NO"), ("x", "NA")):
            page.keyboard.press(key)
            expect(item.locator("input:checked")).to_have_value(value)
        page.keyboard.press("x")
        expect(item.locator("input:checked")).to_have_value("NA")  # pressed twice, it stays
        page.keyboard.press("Delete")
        expect(item.locator("input:checked")).to_have_count(0)
        page.keyboard.press("u")
        expect(item.locator("[data-abstain]")).to_have_attribute("aria-pressed", "true")
        for key, part in (("b", "help"), ("h", "examples")):
            panel = page.locator(f"#q-{asked[at].id}-{part}")
            page.keyboard.press(key)
            expect(panel).to_be_visible()
            page.keyboard.press(key)
            expect(panel).to_be_hidden()
        page.keyboard.press("f")
        expect(page.locator("#flag")).to_have_attribute("aria-pressed", "true")
        page.evaluate(
            """() => {
                const text = document.querySelector(".turns .words").firstChild;
                getSelection().setBaseAndExtent(text, 3, text, 5);
            }"""
        )
        page.keyboard.press("e")
        expect(item.locator(".ev .said")).to_have_text("“lost”")
        page.keyboard.press("?")
        expect(page.locator("#keys")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.locator("#keys")).to_be_hidden()
        saved(page)
    task = begun.next_task()
    assert task is not None
    draft = drafts_of(begun.study, task.assignment)[asked[at].id]
    assert (draft.outcome, draft.evidence[0]["quote"], task.assignment.flagged) == (ABSTAINED, "lost", True)


def test_submit_says_what_is_missing_and_goes_there(begun: Begun, page: Page) -> None:
    with serving(begun.study) as server:
        arrive(page, link(begun, server))
        practise(page, begun)
        rate(page, "4441")
        page.keyboard.press("Control+Enter")
        page.get_by_text("Still open: A good reply as a whole").wait_for()
        page.keyboard.press("3")
        page.keyboard.press("Control+Enter")
        page.get_by_text("Please give a reason: Keeps the person safe").wait_for()
        assert page.evaluate("document.activeElement.id") == "q-safety-note"


def test_words_selected_with_the_mouse_are_kept_as_evidence_with_their_place(begun: Begun, page: Page) -> None:
    with serving(begun.study) as server:
        arrive(page, link(begun, server))
        practise(page, begun)
        turn = int(page.locator(".msg").last.locator(".words").get_attribute("data-turn") or 0)
        page.evaluate(
            """() => {
                const all = document.querySelectorAll(".turns .words"), text = all[all.length - 1].firstChild;
                const at = text.data.indexOf(text.data.includes("otherwise") ? "otherwise" : "How");
                getSelection().setBaseAndExtent(text, at, text, at + 3);
            }"""
        )
        page.get_by_role("button", name="Evidence for 1 Recognises what the person feels and why").click()
        expect(page.locator(".msg mark")).to_have_count(1)
        marked = page.locator(".msg mark").text_content()
        saved(page)
        rate(page)
        submit(page)
    evidence = next(rating.evidence for rating in begun.study.ratings() if rating.evidence)[0]
    talk = begun.study.find("c0")[0].conversation
    message = getattr(talk.turns[turn - 1], evidence["speaker"])
    assert message[evidence["start"] : evidence["end"]] == marked == evidence["quote"]


def test_an_urgent_notice_is_sent_again_when_the_network_is_back(begun: Begun, page: Page) -> None:
    with serving(begun.study) as server:
        arrive(page, link(begun, server))
        practise(page, begun)
        page.context.set_offline(True)
        page.get_by_role("button", name="Urgent").click()
        page.locator("#urgent-text").fill("He says goodbye.")
        page.get_by_role("button", name="Notify the coordinator now").click()
        page.get_by_text("could NOT be notified").wait_for()
        assert page.get_by_text("Ring 12.").is_visible()
        page.context.set_offline(False)
        page.get_by_text("The coordinator was notified").wait_for()
    (notice,) = notices(begun.study, begun.project)
    assert notice.text == "He says goodbye."


def test_a_notice_appears_on_the_coordinators_open_page_by_itself(begun: Begun, page: Page) -> None:
    with serving(begun.study) as server:
        page.goto(f"{server}/enter/{issue(begun.study, begun.project, begun.coordinator())}")
        member = begun.arrive()
        task = begun.next_task()
        assert task is not None
        warn(begun.study, begun.project, member, task.assignment, public="notice-1", text="She says goodbye.")
        page.get_by_text("She says goodbye.").wait_for()
        page.get_by_role("button", name="I have seen it").click()
        page.get_by_text("seen 20").wait_for()


def test_everything_works_by_mouse_and_a_double_click_keeps_the_answer(begun: Begun, page: Page) -> None:
    with serving(begun.study) as server:
        arrive(page, link(begun, server))
        practise(page, begun)
        emotion, overall = page.locator("#q-emotion"), page.locator("#q-overall")
        four = emotion.locator("label").nth(3)
        four.hover()
        assert "4" in emotion.locator(".anchor.preview").inner_text()
        four.click()
        four.dblclick()
        expect(emotion.locator("input:checked")).to_have_value("4")
        for name in ("validation", "helpfulness", "safety"):
            page.locator(f"#q-{name} label").nth(2).click()
        overall.get_by_role("button", name="Cannot judge").dblclick()
        emotion.get_by_role("button", name="Comment").click()
        emotion.get_by_role("textbox").fill("Names it.")
        expect(page.locator("#saved")).to_have_text("Saving")  # at once, not when it is sent
        page.get_by_role("button", name="Flag").click()
        expect(page.locator("#left")).to_have_text("All 5 answered")
        with page.expect_navigation():
            page.get_by_role("button", name="Submit").click()
    made = {rating.item: rating for rating in begun.study.ratings() if rating.rater != JUDGE}
    assert [str(made[item].outcome) for item in ("emotion", "safety", "overall")] == ["4", "3", "ABSTAINED"]
    assert made["emotion"].reasoning == "Names it."


def test_a_slip_is_corrected_after_submitting(begun: Begun, page: Page) -> None:
    with serving(begun.study) as server:
        arrive(page, link(begun, server))
        practise(page, begun)
        first = page.url
        rate(page)
        submit(page)
        page.keyboard.press("2")  # what is set on the next unit stays there
        saved(page)
        second = page.url
        with page.expect_navigation():
            page.get_by_role("button", name="Change the last unit").click()
        assert page.url == first
        assert page.locator("#q-emotion input:checked").input_value() == "4"
        expect(page.get_by_role("button", name="Change the last unit")).to_have_count(0)
        page.keyboard.press("1")
        submit(page)
        assert page.url == second
        assert page.locator("#q-emotion input:checked").input_value() == "2"
    made = [rating for rating in begun.study.ratings() if rating.rater != JUDGE]
    assert [rating.outcome.value for rating in made if rating.item == "emotion"] == [1]
    assert len(made) == 5


def test_two_windows_with_one_unit_lose_nothing(begun: Begun, page: Page) -> None:
    with serving(begun.study) as server:
        arrive(page, link(begun, server))
        practise(page, begun)
        other = page.context.new_page()
        other.goto(page.url)
        for key in "543":
            page.keyboard.press(key)
            saved(page)
        page.keyboard.press("ArrowDown")
        page.keyboard.press("2")
        saved(page)
        with other.expect_navigation():  # it learns that it is behind, and shows what the first one set
            other.keyboard.press("1")
        expect(other.locator("#q-emotion input:checked")).to_have_value("1")
        expect(other.locator("#q-validation input:checked")).to_have_value("2")
        for _ in range(3):
            page.keyboard.press("ArrowDown")
            page.keyboard.press("4")
        page.keyboard.press("Control+Enter")
        expect(page.locator("#left")).to_contain_text("another window")
        assert not [rating for rating in begun.study.ratings() if rating.rater != JUDGE]


def test_a_break_is_offered_after_a_while_of_work_and_not_to_who_was_away(begun: Begun, page: Page) -> None:
    page.clock.install()
    offer = page.locator("#pause")
    with serving(begun.study) as server:
        arrive(page, link(begun, server))
        practise(page, begun)
        for _ in range(4):  # 40 of the 45 minutes
            page.clock.fast_forward("10:00")
            page.reload()
            expect(offer).to_be_hidden()
        page.clock.fast_forward("10:00")
        page.reload()
        expect(offer).to_be_visible()
        page.get_by_role("button", name="Not now").click()
        expect(offer).to_be_hidden()
        page.clock.fast_forward("14:00")
        page.reload()
        expect(offer).to_be_hidden()
        for _ in range(3):
            page.clock.fast_forward("14:00")
            page.reload()
        expect(offer).to_be_visible()
        page.clock.fast_forward("16:00")  # a break without us
        page.reload()
        expect(offer).to_be_hidden()
        page.clock.fast_forward("46:00")
        page.reload()
        expect(offer).to_be_hidden()


def one_talk(place: Path, turns: Sequence[Turn], rated: Sequence[int]) -> Begun:
    """A project about these replies of one conversation."""
    study = Study(place, create=True)
    OPENED.append(study)
    (key,) = study.save_conversations([Conversation("c", SYSTEM, tuple(turns), origin=Origin.WRITTEN)])
    settings = Settings(per_unit=1, calibration=0, attention=0, repeats=0)
    units = [UnitKey(key, turn) for turn in rated]
    return Begun(study, projects.create(study, EMPATHY, units, ["rater 1"], settings))


def test_the_reply_to_rate_is_in_view_from_the_start_of_a_long_talk(page: Page, tmp_path: Path) -> None:
    turns = [Turn(f"Question {number}. " * 9, f"Reply {number}. " * 7) for number in range(1, 151)]
    begun = one_talk(tmp_path / "b.study.db", [*turns, Turn("And now?", "A long reply. " * 900)], (2, 60, 150, 151))
    page.set_viewport_size({"width": 1280, "height": 700})
    with serving(begun.study) as server:
        arrive(page, link(begun, server))
        for left in reversed(range(4)):
            box, room = page.locator("#reply").bounding_box(), page.locator("#read").bounding_box()
            assert box is not None
            assert room is not None
            bottom = min(room["y"] + room["height"], 700)
            assert room["y"] <= box["y"] < bottom - 60
            assert box["height"] > 700 or box["y"] + box["height"] <= bottom
            rate(page)
            submit(page)
            assert ("/unit/" in page.url) == (left > 0)


def test_sixty_turns_and_a_message_of_any_length_fit_on_a_phone(page: Page, tmp_path: Path) -> None:
    turns = [*(Turn("And then?", "Go on.") for _ in range(59)), Turn("w" * 5000, f"{'line ' * 20}\n" * 1000)]
    begun = one_talk(tmp_path / "b.study.db", turns, (60,))
    with serving(begun.study) as server:
        arrive(page, link(begun, server))
        for width in (1440, 390, 320):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.locator("#q-emotion label").first.click()
        page.get_by_role("link", name="See the reply").click()
        expect(page.locator("#reply .who")).to_be_in_viewport()
        views = page.get_by_role("navigation", name="Transcript or questions")
        views.get_by_role("link", name="Questions").click()
        expect(page.locator(".item.current h3")).to_be_in_viewport()
        views.get_by_role("link", name="Transcript").click()
        expect(page.locator("#t1 .who").first).to_be_in_viewport()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_are_fit_for_everybody_and_for_a_phone(begun: Begun, page: Page, tmp_path: Path, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
    with serving(begun.study) as server:
        arrive(page, link(begun, server))
        examine(page, tmp_path / f"practice-{scheme}")
        practise(page, begun)
        rate(page, "4u12")
        page.keyboard.press("b")
        page.keyboard.press("h")
        saved(page)
        examine(page, tmp_path / f"rate-{scheme}")
        door = page.url.rsplit("/unit", 1)[0]
        for name in ("you", "welcome", "guide", "support?country=GB", "break", "practice"):
            page.goto(f"{door}/{name}")
            examine(page, tmp_path / f"{name.split('?')[0]}-{scheme}")
        page.goto(f"{server}/enter/{issue(begun.study, begun.project, begun.coordinator())}")
        examine(page, tmp_path / f"coordinate-{scheme}")


def examine(page: Page, file: Path) -> None:
    """No accessibility rule is broken at either width, nothing scrolls sideways; a picture is left to look at."""
    for width in (1440, 1100, 390, 320):
        page.set_viewport_size({"width": width, "height": 900})
        found = Axe().run(page)
        broken = [
            (entry["id"], node["html"][:200]) for entry in found.response["violations"] for node in entry["nodes"]
        ]
        assert broken == [], f"{page.url} at {width}: {broken}"
        assert page.evaluate("document.documentElement.scrollWidth") <= width, (page.url, width)
        page.screenshot(path=file.with_name(f"{file.name}-{width}.png"), full_page=width < 1440)
    page.set_viewport_size({"width": 1440, "height": 1000})
