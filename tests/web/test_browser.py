"""The pages in a real browser: by keyboard alone, without a network for a while, and for everybody."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

from attunement.conversations import Conversation, Origin, Turn
from attunement.people.access import issue
from attunement.people.standing import notices
from attunement.people.submitting import warn
from attunement.ratings import Round
from tests.people.projects import OPENED, SYSTEM, Begun, begin_project
from tests.web.visitors import serving

pytestmark = pytest.mark.slow

CHROMIUM = Path("/usr/bin/chromium")
REPLY = "Nobody rests well with that on their mind. What would help you tonight, 😀 or otherwise?"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if not CHROMIUM.exists():
        pytest.skip("Chromium is not installed (Debian: chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def begun(tmp_path: Path) -> Iterator[Begun]:
    turns = (Turn("I lost my job.", "I am sorry. How are you?"), Turn("I cannot sleep.\r\nAt all.", REPLY))
    talk = [Conversation(f"c{number}", SYSTEM, turns, origin=Origin.UNKNOWN) for number in range(5)]  # ten replies
    yield begin_project(tmp_path / "a.study.db", talk, raters=2, calibration=4, repeats=0, escalation="Ring 12.")
    while OPENED:
        OPENED.pop().close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page on which anything that goes wrong in its script fails the test."""
    context = browser.new_context(viewport={"width": 1440, "height": 1000})
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda line: problems.append(line.text) if "Content Security Policy" in line.text else None)
    yield page
    context.close()
    assert problems == []


def link(begun: Begun, server: str, number: int = 1) -> str:
    return f"{server}/enter/{issue(begun.study, begun.project, begun.rater(number))}"


def arrive(page: Page, address: str) -> None:
    """Come in and begin, by keyboard."""
    page.goto(address)
    page.keyboard.press("Tab")
    while page.evaluate("document.activeElement.id") != "profession":
        page.keyboard.press("Tab")
    page.keyboard.type("psychologist")
    page.keyboard.press("Enter")
    page.wait_for_url("**/welcome")
    page.keyboard.press("Enter")
    page.wait_for_url("**/unit/*")


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
        page.keyboard.press("Control+Enter")
        page.wait_for_url("**/answer")
        page.keyboard.press("Enter")
        page.wait_for_url(lambda url: "answer" not in url)
        if page.url.endswith("/practice"):
            page.keyboard.press("Enter")
            page.wait_for_url("**/unit/*")


def rate(page: Page, keys: str = "43434") -> None:
    for at, key in enumerate(keys):
        if at:
            page.keyboard.press("ArrowDown")
        page.keyboard.press(key)


def submit(page: Page) -> None:
    before = page.url
    page.keyboard.press("Control+Enter")
    page.wait_for_url(lambda url: url != before)


def test_a_rater_does_practice_and_ten_units_by_keyboard_through_a_lost_network(
    begun: Begun, page: Page, tmp_path: Path
) -> None:
    with serving(begun.study) as server:
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
        page.get_by_text("All saved").wait_for()
        bar = page.locator(".bar-top").bounding_box()
        page.context.set_offline(True)
        page.keyboard.press("ArrowDown")
        page.keyboard.press("u")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("c")
        page.keyboard.type("Written without a network.")
        page.keyboard.press("Escape")
        page.keyboard.press("2")
        page.get_by_text("not saved yet").wait_for()
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
        page.get_by_text("All saved").wait_for()
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
    ratings = list(begun.study.ratings())
    assert Counter(rating.round for rating in ratings) == {Round.MAIN: 50}
    assert sum(str(rating.outcome) == "ABSTAINED" for rating in ratings) == 1
    assert [rating.reasoning for rating in ratings if rating.reasoning] == ["Written without a network."]
    assert [rating.evidence[0]["quote"] for rating in ratings if rating.evidence] == ["I lost my"]


def test_submit_says_what_is_missing_and_goes_there(begun: Begun, page: Page) -> None:
    with serving(begun.study) as server:
        arrive(page, link(begun, server))
        practise(page, begun)
        rate(page, "4441")
        page.keyboard.press("Control+Enter")
        page.get_by_text("Still open: A good reply, taken as a whole").wait_for()
        page.keyboard.press("3")
        page.keyboard.press("Control+Enter")
        page.get_by_text("Please say why: Keeps the person safe").wait_for()
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
        page.get_by_role("button", name="Keep as evidence").click()
        assert page.locator(".msg mark").count() == 1
        marked = page.locator(".msg mark").text_content()
        page.get_by_text("All saved").wait_for()
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
        page.get_by_role("button", name="Tell the coordinator now").click()
        page.get_by_text("could NOT be reached").wait_for()
        assert page.get_by_text("Ring 12.").is_visible()
        page.context.set_offline(False)
        page.get_by_text("The coordinator was told").wait_for()
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
        page.get_by_text("All saved").wait_for()
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
