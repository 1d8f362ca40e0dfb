"""A real browser for tests, and tabs on which whatever goes wrong makes the test fail."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from shutil import which
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

expect.set_options(timeout=30_000)  # on a busy machine a page takes a while


@contextmanager
def chromium() -> Generator[Browser]:
    """Chromium without a window. While it is open, its thread can run no event loop of another."""
    found = which("chromium")
    if found is None:
        pytest.skip("Chromium is not installed (Debian: chromium)")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One browser for all tests of a file."""
    with chromium() as opened:
        yield opened


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page for somebody who may lose the network: a script that breaks, or that is refused, fails the test."""
    context = browser.new_context(viewport={"width": 1440, "height": 1000})
    page = context.new_page()
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda line: problems.append(line.text) if "Content Security Policy" in line.text else None)
    yield page
    context.close()
    assert problems == []


@contextmanager
def strict_tab(browser: Browser, *places: str, **more: Any) -> Generator[Page]:
    """A tab where any complaint of a page fails the test, and any request for something that is not below `places`."""
    context = browser.new_context(**more)
    tab = context.new_page()
    wrong: list[str] = []
    tab.on("console", lambda message: wrong.append(f"console: {message.text}"))
    tab.on("pageerror", lambda error: wrong.append(f"error: {error}"))
    tab.on("request", lambda sent: None if sent.url.startswith((*places, "data:")) else wrong.append(sent.url))
    yield tab
    assert not wrong
    context.close()
