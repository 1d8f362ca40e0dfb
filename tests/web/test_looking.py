"""From a figure on the coordinator's page to the words behind it."""

import re
from pathlib import Path

import pytest

from attunement.annotation.access import issue
from attunement.annotation.adjudication import Decision, decide, disputes
from attunement.annotation.dashboard import load_dashboard
from attunement.annotation.projects import GoldUnit, create, give_skipped
from attunement.annotation.submission import flag, skip, warn
from attunement.statistics.estimates import Mean
from attunement.statistics.results import Interval
from attunement.store.projects import Member, Settings, UnitKey
from attunement.web import coordinator
from attunement.web.site import Site, marked
from tests.annotation.judged_projects import APART, JUDGE, adjudicator, lively_talks, rated_project
from tests.annotation.projects import EMPATHY, Begun, begin_project
from tests.web.visitors import Answer, Visitor, serving


def come_in(visitor: Visitor, begun: Begun, member: Member) -> Answer:
    return visitor.get(f"/enter/{issue(begun.study, begun.project, member)}")


def link_of(page: Answer, name: str) -> str:
    """Where the name of a unit leads."""
    found = re.search(rf'href="([^"]+)"[^>]*>{re.escape(name)}', page.text)
    assert found, name
    return found[1]


def test_a_unit_leads_to_its_words_what_each_rater_said_and_what_was_decided(tmp_path: Path) -> None:
    begun = rated_project(tmp_path / "a.study.db", 6)
    grace = adjudicator(begun)
    (dispute,) = (each for each in disputes(begun.study, begun.project) if each.unit.turn == 1)
    given = {item: Decision(2, "The feeling is named <i>late</i>.") for item in dispute.items}
    decide(begun.study, begun.project, grace, dispute, given)
    with serving(begun.study) as server, Visitor(server) as boss:
        page = come_in(boss, begun, begun.coordinator())
        unit = boss.get(link_of(page, f"harbour/{APART} #1"))
        assert unit.status == 200
        assert "Week 5 at work wears me out." in unit.text
        first = unit.text.split("</ul>")[0]
        assert [f"Rater {number}</span>" in first for number in (1, 2, 3)] == [True] * 3
        assert "<b>1 Poor</b>" in unit.text
        assert "<b>5 Excellent</b>" in unit.text
        assert "Adjudicated: 2 Below average" in unit.text
        assert "named &lt;i&gt;late&lt;/i&gt;" in unit.text
        assert JUDGE not in unit.text
        for wrong in ("99999", "x", "9" * 40, "-1"):
            assert boss.get(f"{page.path}/unit/{wrong}").status == 404
        with Visitor(server) as other:
            assert come_in(other, begun, begun.rater(1)).status == 200
            assert other.get(f"{page.path}/unit/{dispute.unit.key}").status in {401, 404}


def test_an_urgent_notice_a_skip_and_a_flag_lead_to_their_unit(tmp_path: Path) -> None:
    begun = begin_project(tmp_path / "a.study.db", lively_talks(2))
    member = begun.arrive(1)
    task = begun.next_task(1)
    assert task is not None
    name = f"harbour/{task.unit.conversation.id} #{task.unit.turn}"
    assignment = task.assignment
    warn(begun.study, begun.project, member, assignment, public="notice-12345", text="She says tonight.")
    flag(begun.study, begun.project, member, assignment, flagged=True)
    skip(begun.study, begun.project, member, assignment, reason="distress", text="too near")
    with serving(begun.study) as server, Visitor(server) as boss:
        page = come_in(boss, begun, begun.coordinator())
        unit = boss.get(link_of(page, name))
        assert task.unit.turns[0].user in unit.text
        assert "too near" in unit.text
        assert "It is distressing for me" in unit.text
        assert "flagged</b>, Rater 1" in unit.text
        assert "Nobody has submitted an answer yet." in unit.text
        urgent = boss.get(f"{page.path}/notices")
        assert link_of(urgent, name) == link_of(page, name)


def test_units_with_a_known_answer_show_it_beside_what_raters_said(tmp_path: Path) -> None:
    begun = begin_project(tmp_path / "a.study.db", lively_talks(3))
    gold = GoldUnit(UnitKey(begun.study.find("c0")[0].key, 1), {"safety": 1})
    units = [UnitKey(begun.study.find("c1")[0].key, 1)]
    settings = Settings(per_unit=1, calibration=0, attention=1, repeats=0)
    project = create(begun.study, EMPATHY, units, ["Zoe"], settings, gold=[gold])
    checked = Begun(begun.study, project)
    checked.arrive()
    while task := checked.next_task():
        checked.hand_in(task)
    with serving(begun.study) as server, Visitor(server) as boss:
        page = come_in(boss, checked, checked.coordinator())
        known = page.text.split('id="known"')[1].split("</table>")[0]
        assert re.findall(r"(\d) of (\d)", known)[0] == ("0", "1")
        unit = boss.get(link_of(page, "harbour/c0 #1"))
        assert "Known answer: 1 Poor" in unit.text
        example = re.search(r'href="([^"]+)">example ', known)
        assert example
        assert "Known answer" in boss.get(example[1]).text


def test_who_was_asked_twice_is_shown_twice(tmp_path: Path) -> None:
    begun = begin_project(tmp_path / "a.study.db", lively_talks(4), raters=1, per_unit=1, repeats=0.5, gap=1)
    begun.work(1)
    with serving(begun.study) as server, Visitor(server) as boss:
        page = come_in(boss, begun, begun.coordinator())
        units = [boss.get(f"{page.path}/unit/{key}").text.split("</ul>")[0] for key in range(1, 9)]
    assert sum("Rater 1</span>" in unit for unit in units) == 8
    assert sum("Rater 1, the second time</span>" in unit for unit in units) == 4


def test_what_cannot_be_done_is_said_on_the_coordinators_own_page(tmp_path: Path) -> None:
    begun = begin_project(tmp_path / "a.study.db")
    with serving(begun.study) as server, Visitor(server) as boss:
        page = come_in(boss, begun, begun.coordinator())
        for path, fields, words in (
            ("invite", {"name": "", "role": "rater"}, "A name is empty"),
            ("invite", {"name": "rater 1", "role": "rater"}, "This project already has a member named"),
            ("invite", {"name": "Eve", "role": "coordinator"}, "Choose a role."),
            ("extend", {"count": "many"}, "Enter the number of units to add."),
            ("extend", {"count": "7"}, "7 more units were requested, but the study has only 0 more"),
            ("escalation", {"escalation": " "}, "Enter in a few lines"),
            ("reassign", {"rater": begun.rater(1).public}, "Nobody can take over 4 of 4 units"),
        ):
            answer = boss.post(f"{page.path}/{path}", data={"secret": page.secret(), **fields})
            assert answer.status == 400, path
            assert re.search(rf'role="alert">[^<]*{words}', answer.text), path
            assert 'id="raters"' in answer.text


def test_two_adjudicators_at_one_unit_hear_that_it_is_decided(tmp_path: Path) -> None:
    begun = rated_project(tmp_path / "a.study.db", 6)
    grace, ann = adjudicator(begun), adjudicator(begun, "Ann")
    with serving(begun.study) as server, Visitor(server) as late:
        listing = come_in(late, begun, ann)
        dispute = disputes(begun.study, begun.project)[0]
        page = late.get(f"{listing.path}/{dispute.unit.key}")
        decide(begun.study, begun.project, grace, dispute, {item: Decision(3, "so") for item in dispute.items})
        answer = late.post(page.path, data={"secret": page.secret()})
        assert answer.status == 409
        assert "has already decided" in answer.text
        assert f'href="{listing.path}"' in answer.text


def test_a_skipped_unit_needs_the_coordinator_until_somebody_else_has_it(tmp_path: Path) -> None:
    begun = begin_project(tmp_path / "a.study.db", lively_talks(2), per_unit=2)
    member = begun.arrive(1)
    task = begun.next_task(1)
    assert task is not None
    assert sum(unit.lacking for unit in load_dashboard(begun.study, begun.project).units) == 0
    skip(begun.study, begun.project, member, task.assignment, reason="known", text="")
    assert sum(unit.lacking for unit in load_dashboard(begun.study, begun.project).units) == 1
    assert give_skipped(begun.study, begun.project) == 1
    assert sum(unit.lacking for unit in load_dashboard(begun.study, begun.project).units) == 0


@pytest.mark.parametrize("reach", [1.0, 1.5, 2.0])
def test_the_severity_chart_has_room_for_every_interval(tmp_path: Path, reach: float) -> None:
    begun = begin_project(tmp_path / "a.study.db", lively_talks(2))
    site = Site(begun.study, "http://127.0.0.1")
    found = load_dashboard(begun.study, begun.project)
    far = Mean(0.1, 0.1, 0.1, Interval(0.2 - reach, reach, 0.95, "t", 0.1), 24, 12)
    raters = tuple(rater._replace(severity=far) for rater in found.raters)
    assert coordinator.severity_reach(EMPATHY, raters) == reach
    board = site.templates.get_template("board.html").module
    drawn = board.dot("Rater 1", far.value, far.interval, -reach, reach, True, caller=lambda: "")
    assert 'x2="100.0%"' in drawn
    assert "+0.10" in drawn
    axis = board.axis([-reach, -reach / 2, 0, reach / 2, reach], True)
    assert [float(words.replace("−", "-")) for words in re.findall(r">([^<]+)</text>", axis)] == [
        pytest.approx(part * reach, abs=0.01) for part in (-1, -0.5, 0, 0.5, 1)
    ]


def test_words_that_raters_marked_are_marked_in_the_transcript() -> None:
    assert marked("I <am> sad", [(2, 6, "1"), (2, 10, "3")]) == (
        'I <mark data-n="1">&lt;am&gt;</mark><mark data-n="3"> sad</mark>'
    )
    assert marked("a & b", []) == "a &amp; b"
