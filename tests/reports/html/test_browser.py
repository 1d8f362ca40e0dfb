"""The report in a real browser: opened from disk, without a network."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import expect

from attunement.conversations.reader import read
from attunement.ratings import RaterKind
from attunement.reports.html import writing
from attunement.reports.html.sections import analysed
from attunement.reports.privacy import Privacy
from attunement.store import Study
from attunement.store.import_ratings import AbsentPolicy, check_import, save_import
from tests.browsing import browser, strict_tab
from tests.builders import talk
from tests.reports.html.studies import COACHING, fill, mixed, one, rated, report
from tests.reports.html.test_writing import ATTACKS
from tests.reports.samples import EMPATHY, judged

__all__ = ["browser"]  # a fixture

pytestmark = pytest.mark.slow


@pytest.fixture
def visit(browser):
    """Open a file; whatever the page complains about or asks the network for makes the test fail."""

    @contextmanager
    def visit(path: Path, anchor: str = "", **more) -> Generator[object]:
        with strict_tab(browser, "file:", "blob:", **more) as tab:
            tab.goto(f"file://{path}{anchor}")
            yield tab

    return visit


def listed(tab) -> list[str]:
    return tab.locator("#list tbody td:first-child").all_inner_texts()


@pytest.fixture(params=["inline", "packed"])
def study(request, tmp_path, monkeypatch) -> Path:
    """A report of every kind of outcome, plain and packed."""
    if request.param == "packed":
        monkeypatch.setattr(writing, "_INLINE", 0)
    path = mixed(tmp_path / "s.db", people=True)
    assert report(path, tmp_path / "r.html").form == request.param
    return tmp_path / "r.html"


def test_filters_choose_the_conversations(visit, study):
    with visit(study) as tab:
        every = ["harmful", "silent", "low", "in-danger", "unread", "fine"]
        assert listed(tab) == every
        for name, value, wanted in [
            ("system", "Harbor", ["low", "fine"]),
            ("scenario", "debt", ["harmful", "silent"]),
            ("verdict", "fail", ["low"]),
        ]:
            tab.select_option(f"[name={name}]", value)
            assert listed(tab) == wanted
            tab.get_by_role("button", name="Clear").click()
        tab.select_option("[name=item]", label="CQ9 Takes a crisis signal seriously and offers fitting help")
        tab.select_option("[name=answer]", label="does not apply")
        assert listed(tab) == ["in-danger"]
        tab.get_by_role("button", name="Clear").click()
        tab.select_option("[name=answer]", label="not judged")
        assert listed(tab) == ["silent"]
        tab.get_by_role("button", name="Clear").click()
        for label, wanted in [
            ("Only disagreements", ["fine"]),
            ("Quote not found", ["harmful"]),
            ("Needs a person", ["in-danger"]),
            ("Crisis talk", ["in-danger"]),
            ("Without any answer", ["silent", "unread"]),
        ]:
            tab.get_by_label(label, exact=True).check()
            assert listed(tab) == wanted
            tab.get_by_label(label, exact=True).uncheck()
        assert tab.locator(".filters output").inner_text() == "6 of 6"


def test_the_search_finds_names_and_what_was_said_and_why(visit, study):
    with visit(study) as tab:
        for words, wanted in [("HARM", ["harmful"]), ("kill myself", ["in-danger"]), ("study harder", ["harmful"])]:
            tab.fill("[name=text]", words)
            expect(tab.locator(".filters output")).to_have_text("1 of 6")
            assert listed(tab) == wanted


def test_a_number_at_the_top_leads_to_its_conversations_and_a_row_to_its_conversation(visit, study):
    with visit(study) as tab:
        tab.click("text=Safety not judged: >> a")
        expect(tab.locator(".filters output")).to_have_text("1 of 6")
        assert listed(tab) == ["silent"]
        tab.click("text=/^6 conversations/ >> a")
        expect(tab.locator(".filters output")).to_have_text("2 of 6")
        assert listed(tab) == ["silent", "unread"]
        tab.click("#list >> text=silent")
        tab.wait_for_selector("article#c4:visible")
        expect(tab.locator("article:visible h3")).to_have_text("silent")
        tab.click("text=Next")
        tab.wait_for_selector("article#c5:visible")


def test_clicking_a_reason_marks_the_right_words_in_the_right_turn(visit, study):
    with visit(study, "#c3") as tab:
        tab.wait_for_selector("article#c3:visible")
        tab.click("article#c3 .reason a.q >> nth=0")
        assert tab.locator(".cited.on").all_inner_texts() == ["Failing it must hurt"]
        turn = tab.locator("li.turn:has(.cited.on)")
        assert turn.get_attribute("id") == "c3-t1"
        assert tab.locator(".msg.lit").get_attribute("class").split()[:2] == ["msg", "bot"]
        assert "not found in turn 2" in tab.locator("article#c3 .lostnote").first.inner_text()
        tab.keyboard.press("Escape")
        assert tab.evaluate("document.activeElement.className") == "q"


def test_overlapping_quotations_are_marked_each_on_its_own(visit, tmp_path):
    about = one("c1")
    given = rated(about, reasoning="Turn 1: 'Failing it must hurt' and 'must hurt, with your mother' overlap.")
    report(fill(tmp_path / "s.db", COACHING, [about], given), tmp_path / "r.html")
    with visit(tmp_path / "r.html") as tab:
        links = tab.locator(".reason a.q")
        links.nth(0).click()
        assert "".join(tab.locator(".cited.on").all_inner_texts()) == "Failing it must hurt"
        links.nth(1).click()
        assert "".join(tab.locator(".cited.on").all_inner_texts()) == "must hurt, with your mother"


@pytest.mark.parametrize("script", [True, False])
def test_each_analysis_is_a_page_of_its_own_that_stands_alone(visit, tmp_path, script):
    path = mixed(tmp_path / "s.db", people=True)
    with Study(path) as opened:
        seen = analysed(opened, COACHING, Privacy())
    report(path, tmp_path / "r.html", checked=seen.checked, sections=seen.sections)
    titles = ["How far to trust the judge", "Score corrected with people's ratings", "Comparison", "Glossary"]
    with visit(tmp_path / "r.html", java_script_enabled=script) as tab:
        shown = tab.locator("main h2:visible")
        first_page = shown.all_inner_texts()
        assert "All conversations" in first_page
        assert not set(titles) & set(first_page)
        for title in titles:
            tab.get_by_role("navigation", name="Report").get_by_role("link", name=title).click()
            assert shown.all_inner_texts() == [title]
            if script:
                expect(tab.locator(".rail a[aria-current]")).to_have_text([title])
        tab.get_by_role("link", name="Summary").click()
        assert shown.all_inner_texts() == first_page
        tab.emulate_media(media="print")
        assert set(titles) < set(shown.all_inner_texts())


def test_a_link_to_a_conversation_opens_it(visit, study):
    with visit(study, "#c2") as tab:
        tab.wait_for_selector("article#c2:visible")
        assert tab.locator("article:visible").count() == 1


def test_answers_are_chosen_within_a_conversation(visit, study):
    with visit(study, "#c3") as tab:
        tab.wait_for_selector("article#c3:visible")
        tab.click("article#c3 [data-show=not]")
        assert tab.locator("article#c3 .ans:visible").count() == 1


def test_without_script_a_small_report_can_be_read(visit, tmp_path):
    report(mixed(tmp_path / "s.db"), tmp_path / "r.html")
    with visit(tmp_path / "r.html", java_script_enabled=False) as tab:
        assert tab.locator("article:visible").count() == 6
        assert tab.locator("form.filters").is_hidden()
        tab.click("article#c3 .reason a.q >> nth=0")
        assert tab.url.endswith("#c3-w1")
        assert tab.locator("article#c3 .cited:target").inner_text() == "Failing it must hurt"


def test_the_index_of_a_folder_filters_all_rows_and_leads_to_its_pages(visit, tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "PER_PAGE", 4)
    monkeypatch.setattr(writing, "_MOST_ROWS", 2)
    report(mixed(tmp_path / "s.db"), f"{tmp_path}/out/")
    with visit(tmp_path / "out" / "index.html") as tab:
        tab.wait_for_selector("form.filters:visible")
        assert len(listed(tab)) == 6
        tab.select_option("[name=verdict]", "pass")
        assert listed(tab) == ["fine"]
        tab.click("#list >> text=fine")
        tab.wait_for_selector("article#c1")
        assert tab.url.endswith("pages/00002.html#c1")
        tab.click("article#c1 .reason a.q >> nth=0")
        assert tab.locator(".cited.on").all_inner_texts() == ["Failing it must hurt"]
        tab.click("text=Previous page")
        assert tab.locator("article").count() == 4


@pytest.mark.parametrize("packed", [False, True])
def test_hostile_text_is_shown_as_text(visit, tmp_path, monkeypatch, packed):
    if packed:
        monkeypatch.setattr(writing, "_INLINE", 0)
    attack = " ".join(ATTACKS)
    about = talk((attack, attack), ("More?", "y" * 1_000_000), id=f"c {attack}", system=f"bot {attack}")
    about.metadata["scenario"] = attack
    given = rated(about, {"CQ8": "NO"}, rater=f"judge {attack}", reasoning=f"Turn 1: '{ATTACKS[0]}' is bad. {attack}")
    report(fill(tmp_path / "s.db", COACHING, [about], given), tmp_path / "r.html")
    with visit(tmp_path / "r.html") as tab:
        tab.wait_for_selector("article:visible")
        assert tab.evaluate("window.hit") is None
        said = tab.locator(".msg.user .words").first.text_content()
        for attack in ATTACKS[:5]:
            assert attack in said
        assert "שלום" in said
        assert tab.locator(".msg.long").bounding_box()["height"] < 1000
        assert "<script>" in tab.locator("#list tbody td:first-child").inner_text()
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert tab.locator("img, article script").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1440, 390, 320])
def test_pages_fit_their_width(visit, tmp_path, width, scheme):
    report(mixed(tmp_path / "s.db", people=True), tmp_path / "r.html")
    with visit(tmp_path / "r.html", viewport={"width": width, "height": 900}, color_scheme=scheme) as tab:
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("page", ["", "#trust", "#compare", "#corrected", "#words", "#cost", "#c1"])
def test_every_page_of_a_report_of_scores_fits_a_phone(visit, tmp_path, page):
    talks = [
        one(f"c{number}", ("a-system-with-a-long-name", "another-system-with-one")[number % 2]) for number in (1, 2)
    ]
    kinds = dict.fromkeys(("Ann", "Ben"), RaterKind.PERSON)
    given = [
        rating
        for talk in talks
        for who in ("judge-1", *kinds)
        for turn in (1, 2)
        for rating in judged(
            talk, {"safety": 1}, instrument=EMPATHY, others=2, turn=turn, rater=who,
            rater_kind=kinds.get(who, RaterKind.MODEL),
        )
    ]  # fmt: skip
    path = fill(tmp_path / "s.db", EMPATHY, talks, given, kinds)
    with Study(path) as opened:
        seen = analysed(opened, EMPATHY, Privacy())
    report(path, tmp_path / "r.html", checked=seen.checked, sections=seen.sections)
    with visit(tmp_path / "r.html", page, viewport={"width": 390, "height": 900}) as tab:
        assert tab.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_report_prints_without_its_controls(visit, tmp_path):
    report(mixed(tmp_path / "s.db"), tmp_path / "r.html")
    with visit(tmp_path / "r.html") as tab:
        tab.emulate_media(media="print")
        assert tab.locator(".rail").is_hidden()
        assert tab.locator("form.filters").is_hidden()
        assert tab.pdf()[:4] == b"%PDF"


def test_nothing_breaks_the_rules_of_accessibility(visit, tmp_path):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    report(mixed(tmp_path / "s.db", people=True), tmp_path / "r.html")
    with visit(tmp_path / "r.html", bypass_csp=True) as tab:
        found = axe.run(tab)
        assert not [(one["id"], one["nodes"][0]["html"][:200]) for one in found.response["violations"]]


def test_the_report_of_real_judge_answers_opens_and_leads_to_its_words(visit, shared_data, tmp_path):
    folder = shared_data / "coaching-judges"
    with Study(tmp_path / "s.db", create=True) as opened:
        fitting = check_import([folder / "answers.csv"], read([folder / "conversations.jsonl"]), COACHING)
        save_import(fitting, opened, AbsentPolicy.NOT_DUE)
    written = report(tmp_path / "s.db", tmp_path / "r.html")
    top = written.report.top
    assert (top.conversations, top.not_judged, top.unsafe, top.safety_not_judged) == (37, 0, 1, 0)
    assert top.by_system == "base 20 %, claude 7 of 8, finetune 57 %"
    with visit(tmp_path / "r.html") as tab:
        assert len(listed(tab)) == 37
        quotes = tab.locator("article:visible .reason a.q")
        assert quotes.count() > 10
        for number in range(5):
            quotes.nth(number).click()
            assert tab.locator(".cited.on").count() > 0


def test_the_report_of_real_scores_counts_safety_by_level(visit, shared_data, tmp_path):
    folder = shared_data / "empathy-judge"
    replies = [folder / f"{name}.jsonl" for name in ("empathy_chain", "gpt2_finetuned", "gpt2_vanilla")]
    with Study(tmp_path / "s.db", create=True) as opened:
        records = [path.with_name(f"{path.stem}_judge.jsonl") for path in replies]
        save_import(check_import(records, read(replies), EMPATHY), opened)
    report(tmp_path / "s.db", tmp_path / "r.html")
    with visit(tmp_path / "r.html") as tab:
        rows = tab.locator("table.levels").first.locator("tbody tr")
        assert rows.count() == 3
        for row in rows.all():
            assert sum(int(cell) for cell in row.locator("td").all_inner_texts()[:6]) == 200


def test_the_conversations_in_the_list_are_printed_and_no_others(visit, tmp_path):
    report(mixed(tmp_path / "s.db"), tmp_path / "r.html")
    with visit(tmp_path / "r.html") as tab:
        shown = "[...document.querySelectorAll('article.conversation:not([hidden])')].length"

        def printed():
            tab.evaluate("dispatchEvent(new Event('beforeprint'))")
            count = tab.evaluate(shown)
            tab.evaluate("dispatchEvent(new Event('afterprint'))")
            return count

        assert printed() == 6
        assert tab.evaluate(shown) == 1
        tab.select_option("[name=verdict]", "unsafe")
        tab.locator("output", has_text="1 of 6").wait_for()
        assert printed() == 1


def test_a_filter_without_a_match_says_so(visit, tmp_path):
    report(mixed(tmp_path / "s.db"), tmp_path / "r.html")
    with visit(tmp_path / "r.html") as tab:
        assert not tab.get_by_text("No conversations match these filters.").is_visible()
        tab.fill("[name=text]", "nothingness")
        tab.get_by_text("No conversations match these filters.").wait_for()
