"""From three raters to a release, in a real browser: agreement, adjudication, review, sign-off, and the gate."""

import re
from pathlib import Path

import pytest
import typer
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect
from typer.testing import CliRunner

from attunement.annotation.access import issue
from attunement.cli.analysis import agree
from attunement.cli.report import gate
from attunement.ratings import Round
from attunement.store.projects import Member
from attunement.store.reviews import read_in_full
from tests.annotation.judged_projects import UNSAFE, adjudicator, judge_all, lively_talks, rated_project, reviewer
from tests.annotation.projects import Begun
from tests.browsing import browser, page
from tests.web.visitors import serving

__all__ = ["browser", "page"]  # fixtures

pytestmark = pytest.mark.slow

COUNT = 12


@pytest.fixture
def begun(tmp_path: Path) -> Begun:
    return rated_project(tmp_path / "a.study.db", COUNT)


def come_in(page: Page, begun: Begun, server: str, member: Member) -> None:
    page.goto(f"{server}/enter/{issue(begun.study, begun.project, member)}")


def run(command, *arguments: object) -> tuple[int, str]:
    app = typer.Typer()
    app.command()(command)
    outcome = CliRunner().invoke(app, [str(argument) for argument in arguments])
    return outcome.exit_code, " ".join(outcome.stdout.split())


def ask_gate(begun: Begun, *options: str) -> tuple[int, str]:
    return run(gate, begun.study.place, "--instrument", "empathy-v2", *options)


def follow(page: Page, link: Locator) -> None:
    """Click on what leads to another page, and wait until that is there: before it, the old page still answers."""
    with page.expect_navigation():
        link.click()


def adjudicate(page: Page, begun: Begun, server: str) -> None:
    come_in(page, begun, server, adjudicator(begun))
    follow(page, page.get_by_role("link", name="Unit").first)
    page.get_by_role("radio", name="4 Good").check(force=True)
    page.get_by_role("textbox", name="Why").fill("The reply names the strain, if not the cause.")
    page.reload()
    expect(page.get_by_role("radio", name="4 Good")).to_be_checked()
    expect(page.get_by_role("textbox", name="Why")).to_have_value("The reply names the strain, if not the cause.")
    follow(page, page.get_by_role("button", name="Save the decisions"))
    expect(page.get_by_role("textbox", name="Why")).to_have_value("")  # the next unit
    follow(page, page.get_by_role("link", name="All units"))
    page.get_by_text("1 answer is decided").wait_for()
    follow(page, page.get_by_role("link", name="Unit").last)
    page.get_by_text("You can change the decision").wait_for()
    expect(page.get_by_role("radio", name="4 Good")).to_be_checked()


def clear_the_unsafe_one(page: Page) -> None:
    follow(page, page.get_by_role("link", name=UNSAFE, exact=True))
    page.locator("a.q").last.click()
    expect(page.locator(".cited.on")).to_have_text("Being shouted at hurts")
    page.locator(".end-mark").scroll_into_view_if_needed()
    page.locator("#was-read").wait_for()
    page.get_by_label("Overrule: it is not unsafe").check()
    page.get_by_role("textbox", name="Why").fill("The plan it offers is about work, nothing else.")
    follow(page, page.get_by_role("button", name="Save the decision"))
    follow(page, page.get_by_role("link", name="All conversations"))


def sign(page: Page, decision: str, conditions: str = "") -> None:
    page.get_by_label("Your role").fill("clinical lead")
    page.get_by_label(decision, exact=True).check()
    page.get_by_label("Conditions", exact=True).fill(conditions)
    follow(page, page.get_by_role("button", name="Sign"))
    page.get_by_text("Signed by Dr. Ada Reviewer (clinical lead)").wait_for()


def test_from_three_raters_to_a_release(begun: Begun, page: Page) -> None:
    assert ask_gate(begun)[0] == 1
    assert ask_gate(begun, "--with-reviews")[0] == 1
    with serving(begun.study) as server:
        come_in(page, begun, server, begun.coordinator())
        page.get_by_text("cannot tell yet").first.wait_for()
        page.get_by_text("2 units on which raters disagree are waiting, and there is no adjudicator yet").wait_for()
        adjudicate(page, begun, server)

        ada = reviewer(begun)
        come_in(page, begun, server, ada)
        clear_the_unsafe_one(page)
        page.get_by_text(re.compile(f"You have read \\d+ of {COUNT} to the end.")).wait_for()
        assert begun.study.find(UNSAFE)[0].key in read_in_full(begun.study, [ada.key])[ada.key]
        code, said = ask_gate(begun, "--with-reviews")
        assert code == 3
        assert "Nobody has signed off" in said
        assert "Flagged: 1 conversation" not in said
        assert "Unsafe by judge, cleared by Dr. Ada Reviewer: The plan it offers is about work, nothing else." in said

        sign(page, "Do not release")
        assert ask_gate(begun, "--with-reviews")[0] == 1
        sign(page, "Release with conditions", "only for adults")
        code, said = ask_gate(begun, "--with-reviews")
        assert code == 0
        assert "release with conditions: only for adults" in said
        assert ask_gate(begun)[0] == 1  # without reviews the judge's verdict stands as it was

        judge_all(begun.study, lively_talks(COUNT), name="judge-two")
        code, said = ask_gate(begun, "--with-reviews")
        assert code == 1  # the new judge's finding was never reviewed
        assert "lapsed: the judge changed (judge-two)" in said
    assert sum(rating.round is Round.ADJUDICATION for rating in begun.study.ratings()) == 1
    code, said = run(agree, begun.study.place, "--instrument", "empathy-v2")
    assert code == 0
    assert "3 people" in said


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_pages_are_fit_for_everybody_and_for_a_phone(begun: Begun, page: Page, tmp_path: Path, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
    with serving(begun.study) as server:
        come_in(page, begun, server, begun.coordinator())
        examine(page, tmp_path / f"coordinator-{scheme}")
        follow(page, page.get_by_role("link", name="harbour/").first)
        examine(page, tmp_path / f"unit-{scheme}")
        come_in(page, begun, server, adjudicator(begun))
        examine(page, tmp_path / f"disputes-{scheme}")
        follow(page, page.get_by_role("link", name="Unit").first)
        examine(page, tmp_path / f"adjudicate-{scheme}")
        come_in(page, begun, server, reviewer(begun))
        clear_the_unsafe_one(page)
        sign(page, "Release")
        examine(page, tmp_path / f"queue-{scheme}")
        follow(page, page.get_by_role("link", name=UNSAFE, exact=True))
        examine(page, tmp_path / f"review-{scheme}")


def examine(page: Page, file: Path) -> None:
    """No accessibility rule is broken at any width, nothing scrolls sideways; a picture is left to look at."""
    for width in (1440, 390, 320):
        page.set_viewport_size({"width": width, "height": 900})
        found = Axe().run(page)
        broken = [
            (entry["id"], node["html"][:200]) for entry in found.response["violations"] for node in entry["nodes"]
        ]
        assert broken == [], f"{page.url} at {width}: {broken}"
        assert page.evaluate("document.documentElement.scrollWidth") <= width, (page.url, width)
        page.screenshot(path=file.with_name(f"{file.name}-{width}.png"), full_page=True)
    page.set_viewport_size({"width": 1440, "height": 1000})
