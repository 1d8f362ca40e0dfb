"""The served pages in a real browser, with and without a script."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest
from playwright.sync_api import Browser, Page, expect

from attunement.reports.privacy import SHOW_ALL
from attunement.web import viewer
from tests.browsing import browser, strict_tab
from tests.builders import talk
from tests.reports.html.studies import COACHING, fill, mixed, rated
from tests.reports.html.test_writing import ATTACKS
from tests.web.viewing import TOKEN, viewing

__all__ = ["browser"]  # a fixture

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(viewer, "_PATIENCE", 60.0)


@contextmanager
def visit(browser: Browser, path: Path, **more: Any) -> Generator[Page]:
    """Come in with the link; a complaint of the page, or a request to elsewhere, makes the test fail."""
    with viewing(path, SHOW_ALL) as server, strict_tab(browser, server, **more) as tab:
        tab.goto(f"{server}/enter/{TOKEN}")
        yield tab


def lists(tab: Page, *names: str) -> None:
    """Wait until the list holds these and no others: a click does not wait for the page it leads to."""
    expect(tab.locator("#list tbody td:first-child")).to_have_text(list(names))


@pytest.mark.parametrize("script", [True, False])
def test_a_count_leads_to_its_conversations_and_on_to_the_words(browser: Browser, tmp_path: Path, script: bool) -> None:
    path = mixed(tmp_path / "s.db", people=True)
    with visit(browser, path, java_script_enabled=script) as tab:
        # A page that was still counting may load itself again and undo a click, so the link is followed by its address.
        address = tab.locator(".facts .unsafe a").first.get_attribute("href")
        assert address
        tab.goto(urljoin(tab.url, address))
        lists(tab, "harmful")
        tab.get_by_role("link", name="harmful").click()
        link = tab.locator("a.q", has_text="Failing it must hurt").first
        link.click()
        marked = tab.locator(".cited.on" if script else ".cited:target")
        expect(marked.first).to_have_text("Failing it must hurt")
        tab.get_by_role("link", name="Back to the list").click()
        lists(tab, "harmful")
        with tab.expect_navigation():
            tab.get_by_role("link", name="Clear").click()
        tab.select_option("[name=system]", "Harbor")
        tab.fill("[name=text]", "mother")
        tab.get_by_role("button", name="Apply").click()
        lists(tab, "low", "fine")
        expect(tab.locator("[name=text]")).to_have_value("mother")


def test_hostile_text_does_nothing_but_stand_there(browser: Browser, tmp_path: Path) -> None:
    talks, given = [], []
    for number, attack in enumerate(ATTACKS):
        last = attack if number else "x" * 1_000_000
        about = talk((attack, f"Yes. {attack}"), (attack, last), id=f"c{number} {attack}", system=f"bot {attack}")
        about.metadata["scenario"] = attack
        given += rated(about, {"CQ8": "NO"}, rater=f"judge {attack}", reasoning=f"Turn 1: '{attack}' is {attack}.")
        talks.append(about)
    with visit(browser, fill(tmp_path / "s.db", COACHING, talks, given)) as tab:
        home = tab.url
        for path in ("", "conversations", "compare", "words", *(f"conversation/{key}" for key in range(1, 8))):
            tab.goto(home + path)
            assert tab.evaluate("window.hit") is None
            assert tab.locator("img").count() == 0
        tab.goto(f"{home}conversation/1")
        expect(tab.locator(".pane.tr")).to_contain_text("<script>window.hit = 1</script>")


@pytest.mark.parametrize("width", [390, 320])
def test_no_page_scrolls_sideways_on_a_phone(browser: Browser, tmp_path: Path, width: int) -> None:
    path = mixed(tmp_path / "s.db", people=True)
    with visit(browser, path, viewport={"width": width, "height": 800}) as tab:
        home = tab.url
        for page in ("", "conversations", "conversation/3", "trust", "compare", "words"):
            tab.goto(home + page)
            assert tab.evaluate("document.documentElement.scrollWidth") <= width, page
