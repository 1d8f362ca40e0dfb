"""The pages of `attune view`, asked for over HTTP."""

import re
from collections.abc import Callable
from html import unescape
from pathlib import Path
from threading import Event
from time import monotonic, sleep

import pytest

from attunement.annotation import projects
from attunement.annotation.access import issue
from attunement.conversations.redaction import Redactor
from attunement.errors import InputError
from attunement.ratings import RaterKind
from attunement.reports.html.sections import analysed
from attunement.reports.privacy import Privacy
from attunement.signals.measured import in_a_line
from attunement.store import StoredRating, Study
from attunement.store.projects import Settings, UnitKey, members
from attunement.store.reviews import ReviewDecision, save_review
from attunement.store.scorecards import scored_conversations
from attunement.web import viewer
from attunement.web.site import CONTENT_POLICY
from tests.annotation.projects import begin_project
from tests.builders import talk
from tests.postgres import postgres, study_place  # noqa: F401
from tests.reports.html.studies import COACHING, fill, mixed, one, rated
from tests.reports.html.test_writing import ATTACKS
from tests.reports.html.tree import parse
from tests.reports.samples import NOT_ENGLISH, POINTER, checked
from tests.web.viewing import TOKEN, Visitor, reader, viewing

CQ8 = [item.id for item in COACHING.items].index("CQ8")
EVERY = ["harmful", "silent", "low", "in-danger", "unread", "fine"]


@pytest.fixture
def study(tmp_path: Path) -> Path:
    return mixed(tmp_path / "chats.study.db", people=True)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may take longer to count; the tests are not about that."""
    monkeypatch.setattr(viewer, "_PATIENCE", 60.0)
    monkeypatch.setattr(viewer, "_REST", 0.0)


def listed(somebody: Visitor, query: str = "") -> list[str]:
    page = somebody.get(f"/view/conversations{query}")
    assert page.status == 200, page.text
    return [unescape(name) for name in re.findall(r"<tr><td><a [^>]*><bdi>([^<]*)", page.text)]


def key_of(path: Path, name: str) -> int:
    with Study(path) as study:
        return study.find(name)[0].key


def texts(page: str) -> str:
    return parse(page).text


def test_only_who_has_the_link_gets_in(study: Path) -> None:
    with viewing(study) as server, Visitor(server) as stranger:
        for path in ("/view/", "/view/conversations", "/view/conversation/1", "/view/trust", "/view/words"):
            refused = stranger.get(path)
            assert refused.status == 401
            assert "chats" not in refused.text
        assert stranger.get("/enter/wrong").status == 401
        assert stranger.get(f"/enter/{TOKEN}").status == 200
        assert [stranger.get(f"/enter/wrong{number}").status for number in range(10)] == [401] * 9 + [429]


def test_links_of_raters_open_nothing_here(tmp_path: Path) -> None:
    begun = begin_project(tmp_path / "a.study.db")
    with viewing(tmp_path / "a.study.db") as server, Visitor(server) as rater:
        assert rater.get(f"/enter/{issue(begun.study, begun.project, begun.rater())}").status == 401


def test_every_answer_carries_the_headers_and_nothing_can_be_sent(study: Path) -> None:
    with reader(study) as somebody:
        for path in ("/view/", "/view/conversations", "/report.js", "/look/attunement.css", "/view/nothing"):
            page = somebody.get(path)
            assert page.headers["content-security-policy"] == CONTENT_POLICY
            assert page.headers["cache-control"] == ("no-cache" if "." in path else "no-store")
        assert somebody.post("/view/conversations").status == 405
        before = Path(study).read_bytes()
        somebody.get("/view/")
        assert Path(study).read_bytes() == before


def test_the_summary_is_that_of_the_report_and_its_counts_lead_to_the_list(study: Path) -> None:
    with reader(study) as somebody:
        page = somebody.get("/view/")
        said = texts(page.text)
        order = [
            "6 conversations. Without any answer:",
            "Unsafe according to the judge: 1",
            "2 people",
            "According to judge-1",
        ]
        assert [said.index(part) for part in order] == sorted(said.index(part) for part in order)
        assert re.search(r"Counted on \d+ \w+ \d{4} at \d\d:\d\d:\d\d UTC\.", said)
        tree = parse(page.text)
        links = {link.attributes["href"] for link in tree.find(tag="a") if "conversations?" in link.attributes["href"]}
        assert "/view/conversations?verdict=unsafe" in links
        for link in links:
            assert listed(somebody, link.removeprefix("/view/conversations")), link


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("", EVERY),
        ("?system=Harbor", ["low", "fine"]),
        ("?scenario=debt", ["harmful", "silent"]),
        ("?verdict=fail", ["low"]),
        ("?verdict=not+judged", ["unread"]),
        ("?verdict=safety+not+judged", ["silent"]),
        ("?verdict=pass%2C+needs+a+person", ["in-danger"]),
        ("?flag=crisis+talk", ["in-danger"]),
        ("?flag=needs+a+person", ["in-danger"]),
        ("?flag=no+answer", ["silent", "unread"]),
        ("?flag=quote+not+found", ["harmful"]),
        ("?flag=people+differ%7Cjudges+differ", ["fine"]),
        (f"?item={CQ8}&answer=2", ["harmful"]),
        ("?answer=16", ["silent"]),
        ("?text=KILL", ["in-danger"]),
        ("?text=study+harder", ["harmful"]),
        ("?text=lumen+exam", ["harmful", "silent", "unread"]),
        ("?text=nothingness", []),
        ("?item=99&answer=x&page=0&flag=%25", EVERY),
        ("?page=2", []),
        ("?item=" + "9" * 500, EVERY),
        ("?text=%00%27%22+%2A", []),
    ],
)
def test_filters_and_search_are_answered_without_a_script(study: Path, query: str, wanted: list[str]) -> None:
    with reader(study) as somebody:
        assert listed(somebody, query) == wanted


def test_pointers_of_the_rule_check_are_shown_lead_to_their_conversations_and_judge_nothing(tmp_path: Path) -> None:
    crisis = talk(("I want to kill myself.", "That sounds hard."), id="crisis", system="Harbor")
    talks = [crisis, one("foreign"), one("quiet")]
    given = [*checked(crisis, POINTER), *checked(talks[1], NOT_ENGLISH), *checked(talks[2])]
    path = fill(tmp_path / "s.db", COACHING, talks, given)
    with reader(path) as somebody:
        page = somebody.get("/view/").text
        assert "Nobody has judged safety." in texts(page)
        assert "turn 1: “I want to kill myself.” – The person speaks of suicide" in texts(page)
        assert in_a_line() in texts(page)
        found = {
            tuple(listed(somebody, link.attributes["href"].removeprefix("/view/conversations")))
            for link in parse(page).one(kind="lines").find(tag="a")
            if "conversations?" in link.attributes["href"]
        }
        assert found == {("crisis", "foreign", "quiet"), ("crisis",), ("foreign",)}
        assert listed(somebody, "?verdict=not+judged") == ["crisis", "foreign", "quiet"]
        shown = texts(somebody.get(f"/view/conversation/{key_of(path, 'crisis')}").text)
        assert "turn 1: “I want to kill myself.” – The person speaks of suicide" in shown
        assert "not judged" in shown


def test_what_is_filtered_by_stays_in_the_form_and_leads_through_the_conversations(study: Path) -> None:
    with reader(study) as somebody:
        page = somebody.get("/view/conversations?system=Lumen&text=e")
        form = parse(page.text)
        assert [option.text for option in form.find(tag="option", selected="")] == ["Lumen"]
        names = listed(somebody, "?system=Lumen&text=e")
        link = re.search(r'<tr><td><a href="([^"]+)"', page.text)
        assert link
        for number, name in enumerate(names):
            one = somebody.get(unescape(link[1]))
            assert f"<bdi>{name}</bdi></a></h1>" in one.text
            link = re.search(r'href="([^"]+)" rel="next"', one.text)
            assert (link is None) == (number == len(names) - 1)
            link = link or re.search(r'href="([^"]+)" rel="prev"', one.text)
            assert link
        back = re.search(r'href="([^"]+)">Back to the list', one.text)
        assert back
        assert listed(somebody, unescape(back[1]).removeprefix("/view/conversations")) == names


def test_a_long_list_comes_in_pages(tmp_path: Path) -> None:
    talks = [one(f"c{number:03}") for number in range(120)]
    path = fill(tmp_path / "s.db", COACHING, talks, rated(talks[0]))
    with reader(path) as somebody:
        found = [name for number in (1, 2, 3) for name in listed(somebody, f"?page={number}")]
        assert sorted(found) == [talk.id for talk in talks]
        page = somebody.get("/view/conversations?page=2").text
        assert "Page 2 of 3" in page
        assert "120 of 120" in page


def test_a_conversation_shows_everybodys_answers_and_what_reviewers_said(study: Path) -> None:
    key = key_of(study, "harmful")
    member = _member(study)
    with Study(study) as opened:
        card = next(entry.deciding for entry in scored_conversations(opened, COACHING) if entry.conversation.key == key)
        save_review(
            opened, COACHING, key, card, ReviewDecision.CLEARED, member=member, name="Ada", reason="<i>It is mild</i>"
        )
    with reader(study) as somebody:
        said = texts(somebody.get(f"/view/conversation/{key}").text)
        assert "Unsafe by judge, cleared by Ada: <i>It is mild</i>." in said
        assert "not found in turn 2" in said
        assert "People: not met, 2 of 2" in said
        assert somebody.get("/view/conversation/4711").status == 404
        assert somebody.get(f"/view/conversation/{10**30}").status == 404


def _member(path: Path) -> int:
    """Somebody of a project, who may review."""
    with Study(path) as study:
        unit = UnitKey(study.find("fine")[0].key, None)
        project = projects.create(study, COACHING, [unit], ["Ada"], Settings(per_unit=1))
        return members(study, project)[0].key


def test_each_analysis_has_a_page_or_says_what_it_needs(study: Path, tmp_path: Path) -> None:
    with reader(study) as somebody:
        assert "2 people" in texts(somebody.get("/view/trust").text)
        assert "Lumen" in texts(somebody.get("/view/compare").text)
        assert "attune plan" in texts(somebody.get("/view/corrected").text)
        assert somebody.get("/view/nothing").status == 404
        assert "Missed failures" in texts(somebody.get("/view/words").text)


def test_new_ratings_appear_after_a_reload(study_place: str) -> None:  # noqa: F811 - the fixture
    path = mixed(study_place)  # type: ignore[arg-type]
    unread = one("unread", "Lumen")
    with reader(path) as somebody:
        assert listed(somebody, "?verdict=unsafe") == ["harmful"]
        with Study(study_place) as other:
            rater = next(rater for rater in other.raters() if rater.kind is RaterKind.MODEL)
            key = other.find("unread")[0].key
            other.write([], [StoredRating(key, rater.key, rating) for rating in rated(unread, {"CQ9": "NO"})])
        # PostgreSQL tells others with a delay of up to a second that something was written.
        wait_until(lambda: set(listed(somebody, "?verdict=unsafe")) == {"harmful", "unread"})
        assert "Unsafe according to the judge: 2" in texts(somebody.get("/view/").text)


def test_a_study_that_keeps_changing_is_not_counted_all_the_time(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with reader(study) as somebody:
        assert len(listed(somebody)) == 6
        monkeypatch.setattr(viewer, "monotonic", lambda: 0.0)
        with Study(study) as other:
            other.delete(other.find("fine")[0].key)
        assert len(listed(somebody)) == 6
        assert "The study has changed since" in texts(somebody.get("/view/").text)
        monkeypatch.setattr(viewer, "monotonic", monotonic)
        assert len(listed(somebody)) == 5


def test_what_was_forgotten_is_gone_after_a_reload(study: Path) -> None:
    with reader(study) as somebody:
        key = key_of(study, "fine")
        with Study(study) as other:
            other.delete(key)
        assert somebody.get(f"/view/conversation/{key}").status == 404
        assert "fine" not in listed(somebody)


def test_while_a_study_is_counted_the_pages_say_how_far_it_is(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = Event()
    monkeypatch.setattr(viewer, "_PATIENCE", 0.0)
    monkeypatch.setattr(viewer, "analysed", lambda *given: go_on.wait(60) and analysed(*given))
    with reader(study) as somebody:
        try:
            for path in ("/view/", "/view/conversations", "/view/trust"):
                page = somebody.get(path)
                assert re.search("Counting: [0-6] of 6 conversations", texts(page.text))
                assert 'http-equiv="refresh"' in page.text
            shown = somebody.get(f"/view/conversation/{key_of(study, 'fine')}")
            assert "Failing it must hurt" in shown.text
        finally:
            go_on.set()
        wait_until(lambda: "Counted on" in somebody.get("/view/").text)
        assert 'http-equiv="refresh"' not in somebody.get("/view/").text
        assert listed(somebody) == EVERY


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = monotonic() + 60
    while not holds():
        assert monotonic() < deadline
        sleep(0.05)


def test_why_a_count_broke_off_is_said_and_earlier_figures_stay(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with reader(study) as somebody:
        assert "6 conversations" in texts(somebody.get("/view/").text)

        def full(*_: object) -> None:
            raise InputError("the list cannot be kept: the disk is full")

        monkeypatch.setattr(viewer, "analysed", full)
        with Study(study) as other:
            other.delete(other.find("fine")[0].key)
        said = texts(somebody.get("/view/").text)
        assert "the disk is full" in said
        assert "6 conversations" in said
        monkeypatch.setattr(viewer, "analysed", analysed)
        said = texts(somebody.get("/view/").text)
        assert "the disk is full" not in said
        assert "5 conversations" in said


@pytest.mark.parametrize("attack", ATTACKS)
def test_hostile_text_is_text_on_every_page(tmp_path: Path, attack: str) -> None:
    about = talk((attack, f"Yes. {attack}"), (attack, attack), id=f"c1 {attack}", system=f"bot {attack}")
    about.metadata["scenario"] = attack
    given = rated(about, {"CQ8": "NO"}, rater=f"judge {attack}", reasoning=f"Turn 1: '{attack}' is {attack}.")
    path = fill(tmp_path / "s.db", COACHING, [about, one("c2")], [*given, *rated(one("c2"))])
    with reader(path) as somebody:
        pages = ["/view/", "/view/conversations", "/view/compare", f"/view/conversation/{key_of(path, 'c2')}"]
        sought = somebody.get("/view/conversations", params={"text": attack.replace("\ud800", ""), "system": "<b>"})
        first = somebody.get("/view/conversations").text
        pages += re.findall(r'<tr><td><a href="([^"]+)"', first)
        found = [parse(somebody.get(unescape(path)).text) for path in pages] + [parse(sought.text)]
        for page in found:
            assert [script.attributes["src"] for script in page.find(tag="script")] == ["/report.js"]
            assert not page.find(tag="img")
            assert not [name for one in page.all() for name in one.attributes if name.startswith("on")]
            assert "36084049" not in page.text


def test_what_must_not_be_shown_is_on_no_page_and_cannot_be_searched_for(tmp_path: Path) -> None:
    about = talk(("Write to ada@example.org", "I will."), id="c1", system="Harbor")
    path = fill(
        tmp_path / "s.db", COACHING, [about], rated(about, reasoning="Turn 1: 'Write to ada@example.org' asks.")
    )
    with reader(path, Privacy(Redactor([]).redact_text)) as somebody:
        page = somebody.get("/view/conversation/1").text
        assert "[email]" in page
        assert "ada@" not in page + somebody.get("/view/").text
        assert listed(somebody, "?text=ada") == []
        assert listed(somebody, "?text=write") == ["c1"]
    with reader(path, Privacy(texts=False)) as somebody:
        assert "Write to" not in somebody.get("/view/conversation/1").text + somebody.get("/view/").text
        assert listed(somebody, "?text=write") == []


def test_the_pages_work_below_a_path_behind_a_proxy(study: Path) -> None:
    with viewing(study, address="https://example.org/seen") as server, Visitor(server) as somebody:
        answer = somebody.get(f"/seen/enter/{TOKEN}", allow_redirects=False)
        assert answer.headers["location"] == "/seen/view/"
        cookie = answer.headers["set-cookie"]
        assert "Path=/seen/view/" in cookie
        assert "Secure" in cookie
        assert "HttpOnly" in cookie
        page = somebody.get("/seen/view/conversations", headers={"cookie": cookie.partition(";")[0]}).text
        paths = re.findall(r'(?:href|src|action)="(/[^"]*)"', page)
        assert paths
        assert all(path.startswith("/seen/") for path in paths)
