"""Whatever one asks, every answer about a conversation rests on the same scorecard.

Five studies hold the same conversations, rated by people alone, by one judge, by a panel, by a mix of all kinds of
raters, and by the rule check alone. What decides is written down here by hand; the API, the commands, the pages, the
strata of samples and the plugin for pytest are each held against it.
"""

import json
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import pytest

from attunement import api, pytest_plugin
from attunement.annotation.review import CrisisSignals, queue, review, review_desk, reviewers
from attunement.annotation.sampling import candidates
from attunement.cli.analysis import compare
from attunement.cli.report import gate, report, show
from attunement.conversations import Conversation
from attunement.errors import InputError
from attunement.ratings import RaterKind, Rating
from attunement.reports.wording import BY_WORD, HELD_BACK, VERDICTS
from attunement.scoring import Scorecard, Verdict
from attunement.store import Study
from attunement.store.reviews import ReviewDecision
from attunement.web import viewer
from tests.commands import runner
from tests.reports.html.studies import ALARM, one, page, rated
from tests.reports.html.tree import Element, parse
from tests.reports.samples import COACHING, ERROR, POINTER, Answers, checked, fill
from tests.web.viewing import reader

TALKS = {
    name: one(name, system)
    for system, names in (
        ("Harbor", ("fine", "low", "held")),
        ("Lumen", ("harmful", "open", "missing", "half", "unread")),
    )
    for name in names
}
FOUND: dict[str, Answers] = {
    "fine": {},
    "low": {"MT1": "NO", "MT2": "NO", "MT3": "NO", "MT6": "NO", "CQ1": "NO"},
    "held": {"CQ9": "NA"},
    "harmful": {"CQ8": "NO"},
    "open": {"MT1": ERROR, "MT2": ERROR, "MT3": ERROR, "MT6": ERROR},
    "missing": {"CQ9": ERROR},
    "half": {},
}
"""What a rater who sees everything answers; nobody of those who decide has looked at `unread`."""
VERDICT_OF: dict[str, Verdict | None] = {
    "fine": Verdict.PASS,
    "low": Verdict.FAIL,
    "held": Verdict.PASS,
    "harmful": Verdict.UNSAFE,
    "open": Verdict.INCOMPLETE,
    "missing": Verdict.SAFETY_MISSING,
    "half": Verdict.PASS,
    "unread": None,
}


class World(NamedTuple):
    """A study, and what decides in it."""

    path: Path
    verdicts: Mapping[str, Verdict | None]
    deciders: Mapping[str, tuple[str, ...]]
    """By conversation: who decides about it."""

    @property
    def held(self) -> set[str]:
        """The conversations that pass only once a person has looked."""
        return {"held"} & {name for name, verdict in self.verdicts.items() if verdict}

    @property
    def everyone(self) -> set[str]:
        """All who decide about anything."""
        return {name for names in self.deciders.values() for name in names}

    def status(self, name: str) -> str:
        """The word of the pages."""
        verdict = self.verdicts[name]
        return HELD_BACK.word if name in self.held else STATUS_OF[verdict]


STATUS_OF = {
    Verdict.PASS: "pass",
    Verdict.FAIL: "fail",
    Verdict.UNSAFE: "unsafe",
    Verdict.INCOMPLETE: "incomplete",
    Verdict.SAFETY_MISSING: "safety not judged",
    None: "not judged",
}
REASON_OF = {
    Verdict.FAIL: "failed",
    Verdict.UNSAFE: "unsafe",
    Verdict.INCOMPLETE: "incomplete",
    Verdict.SAFETY_MISSING: "safety_not_judged",
    None: "not_judged",
}


def says(rater: str, *, blind: Iterable[str] = (), only: Iterable[str] = tuple(FOUND), **more: object) -> list[Rating]:
    """The answers of one rater about the conversations in `only`; to those in `blind` it says that all is well."""
    given = [
        rating
        for name in only
        for rating in rated(TALKS[name], {} if name in blind else FOUND[name], rater=rater, **more)
    ]
    held = TALKS["held"].identity
    return [one._replace(rules=(ALARM,)) if (one.conversation, one.item) == (held, "CQ9") else one for one in given]


def against_all(rater: str, talks: Iterable[Conversation], **more: object) -> list[Rating]:
    """Somebody who holds everything to be unsafe."""
    return [rating for about in talks for rating in rated(about, {"CQ8": "NO"}, rater=rater, **more)]


def two(first: str, second: str, **more: object) -> list[Rating]:
    """Two raters, of whom only the second sees the harm and only the first has got to `half`."""
    return [*says(first, blind=["harmful"], **more), *says(second, only=set(FOUND) - {"half"}, **more)]


def raters(name: str) -> tuple[list[Rating], dict[str, RaterKind], tuple[str, ...]]:
    """The ratings of one of the studies, what their raters are, and who decides."""
    people = {"ann": RaterKind.PERSON, "bob": RaterKind.PERSON}
    match name:
        case "people":
            return two("ann", "bob", rater_kind=RaterKind.PERSON), people, ("ann", "bob")
        case "judge":
            return says("solo"), {}, ("solo",)
        case "panel":
            return two("kind", "strict"), {}, ("kind", "strict")
        case "mix":
            # People are of another mind everywhere, as are a simulation and an earlier version of the rule check.
            given = [
                *against_all("ann", TALKS.values(), rater_kind=RaterKind.PERSON),
                *says("solo"),
                *says("bob", blind=["harmful"], rater_kind=RaterKind.PERSON),
                *against_all("puppet", TALKS.values(), rater_kind=RaterKind.SIMULATION),
                *against_all("signals @0ld", TALKS.values()),
                *(rating for about in TALKS.values() for rating in checked(about, POINTER)),
            ]
            return given, {**people, "puppet": RaterKind.SIMULATION}, ("solo",)
        case _:
            return [rating for about in TALKS.values() for rating in checked(about, POINTER)], {}, ()


@pytest.fixture(scope="module", params=["people", "judge", "panel", "mix", "rule check"])
def world(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> World:
    given, kinds, deciding = raters(request.param)
    path = fill(tmp_path_factory.mktemp("one") / "s.db", COACHING, TALKS.values(), given, kinds)
    verdicts = VERDICT_OF if deciding else dict.fromkeys(TALKS)
    deciders = {name: () if verdicts[name] is None else deciding[:1] if name == "half" else deciding for name in TALKS}
    return World(path, verdicts, deciders)


def same(world: World, card: Scorecard | None, name: str) -> None:
    assert (card and card.verdict) == world.verdicts[name], name
    assert (card.members if card else ()) == world.deciders[name], name
    assert bool(card and card.needs_person) == (name in world.held), name


def test_the_api(world: World) -> None:
    found = {judged.conversation.identity.id: judged for judged in api.scorecards(world.path)}
    assert set(found) == set(TALKS)
    for name, judged in found.items():
        same(world, judged.deciding, name)


def test_show_lists_it(world: World) -> None:
    record = json.loads(runner(show)(world.path, "--rater", "panel", "--json").stdout)
    found = {card["id"]: card for sheet in record["raters"] for card in sheet["scorecards"]}
    assert {name: card["verdict"] for name, card in found.items()} == {
        name: verdict for name, verdict in world.verdicts.items() if verdict
    }
    # A panel of which one member is missing counts as what the others say.
    assert {name: bool(card["needs_person"]) for name, card in found.items()} == {
        name: name in world.held for name in found
    }
    members = {name for sheet in record["raters"] for name in sheet["members"]}
    assert members == world.everyone


@pytest.mark.parametrize("name", TALKS)
def test_show_of_one_conversation(world: World, name: str) -> None:
    record = json.loads(runner(show)(world.path, name, "--json").stdout)
    deciding = [card for card in record["scorecards"] if card["rater"] in world.deciders[name]]
    assert bool(record["panel"]) == (len(world.deciders[name]) > 1)
    shown = record["panel"] or next(iter(deciding), None)
    assert (shown and shown["verdict"]) == world.verdicts[name]
    assert "signals" not in {card["rater"].split(" ")[0] for card in record["scorecards"]}


def test_the_gate(world: World) -> None:
    outcome = runner(gate)(world.path, "--json")
    record = json.loads(outcome.stdout)
    found = {kind: set[str]() for kind in {*REASON_OF.values(), "needs_person"}}
    for reason in record["reasons"]:
        if reason["kind"] in found:
            found[reason["kind"]] |= {entry["id"] for entry in reason["conversations"]}
    for verdict, kind in REASON_OF.items():
        assert found[kind] == {name for name, wanted in world.verdicts.items() if wanted is verdict}, kind
    assert found["needs_person"] == world.held
    assert outcome.exit_code == (1 if Verdict.UNSAFE in world.verdicts.values() else 3)
    counts = Counter(verdict.value for verdict in world.verdicts.values() if verdict)
    assert record["counts"]["verdicts"] == counts
    assert record["counts"]["passed"] == counts["PASS"] - len(world.held)


def test_the_report_as_json_and_for_a_build_server(world: World) -> None:
    target, junit = world.path.with_suffix(".json"), world.path.with_suffix(".xml")
    assert runner(report)(world.path, "--json", target, "--junit", junit, "--force").exit_code == 0
    record = json.loads(target.read_text())
    for entry in record["conversations"]:
        name = entry["id"]
        assert entry["verdict"] == world.verdicts[name], name
        assert tuple(entry["judged_by"]) == world.deciders[name], name
        assert entry["passed"] == (world.status(name) == "pass"), name
        assert entry["gate"] == _alone(world, name), name
    assert set(record["summary"]["judged_by"]) == world.everyone
    assert record["summary"]["judged_by_people"] == (world.everyone == {"ann", "bob"})
    assert record["gate"]["exit_code"] == (1 if world.everyone else 3)
    cases = ElementTree.parse(junit).getroot().iter("testcase")  # noqa: S314 - we wrote it
    assert {case.get("name"): case[0].tag if len(case) else "good" for case in cases} == {
        name: {0: "good", 1: "failure", 3: "error"}[_alone(world, name)] for name in TALKS
    }


def _alone(world: World, name: str) -> int:
    """What the gate says about one conversation."""
    return {"pass": 0, "unsafe": 1, "fail": 1}.get(world.status(name), 3)


def listed(tree: Element) -> dict[str, str]:
    """The status of each conversation in a list on a page."""
    rows = [[cell.text for cell in row.find(tag="td")] for row in tree.find(tag="tr")]
    return {cells[0]: cells[3] for cells in rows if len(cells) > 3 and cells[3] in BY_WORD}


def test_the_report_as_a_page(world: World) -> None:
    found = page(world.path)
    assert listed(found.one(id="list")) == {name: world.status(name) for name in TALKS}
    for number, name in enumerate(TALKS, start=1):
        assert found.one(id=f"c{number}").one(kind="conv-head").find(kind="st")[0].text == world.status(name), name


def test_the_viewers_list_and_its_pages(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(viewer, "_PATIENCE", 60.0)
    with reader(world.path) as somebody:
        assert listed(parse(somebody.get("/view/conversations").text)) == {name: world.status(name) for name in TALKS}
        for number, name in enumerate(TALKS, start=1):
            shown = parse(somebody.get(f"/view/conversation/{number}").text)
            assert shown.find(kind="conv-head")[0].find(kind="st")[0].text == world.status(name), name


def test_compare(world: World) -> None:
    record = json.loads(runner(compare)(world.path, "Harbor", "Lumen", "--json").stdout)
    assert set(record["judges"]) == world.everyone
    for side, system in (("first", "Harbor"), ("second", "Lumen")):
        # What not all judges have rated is not compared; people rate different conversations.
        own = {
            name: verdict if "ann" in world.everyone or set(world.deciders[name]) == world.everyone else None
            for name, verdict in world.verdicts.items()
            if TALKS[name].system == system
        }
        found = record[side]
        assert found["verdicts"] == Counter(verdict.value for verdict in own.values() if verdict)
        for field, wanted in (
            ("not_judged", {name for name, verdict in own.items() if verdict is None}),
            ("unsafe", {name for name, verdict in own.items() if verdict is Verdict.UNSAFE}),
            ("safety_not_judged", {name for name, verdict in own.items() if verdict is Verdict.SAFETY_MISSING}),
            ("needs_person", world.held & set(own)),
        ):
            assert {entry["id"] for entry in found[field]} == wanted, field


def test_the_strata_of_a_sample(world: World) -> None:
    with Study(world.path) as study:
        strata = {entry.identity.id: entry.stratum for entry in candidates(study, COACHING, ["verdict"])}
        if not world.everyone - {"ann", "bob"}:
            # Samples are drawn for people, so what people said makes no stratum; nor does the rule check.
            assert set(strata.values()) == {"verdict=not judged"}
            with pytest.raises(InputError, match="no judge has rated anything yet"):
                candidates(study, COACHING, all_flagged=True)
            return
        assert strata == {
            name: f"verdict={verdict.value if verdict else 'not judged'}" for name, verdict in world.verdicts.items()
        }
        found = {entry.identity.id: entry for entry in candidates(study, COACHING, all_flagged=True)}
    assert {name for name, entry in found.items() if entry.certain} == {"harmful", *world.held}
    assert {name for name, entry in found.items() if entry.stratum == "not judged"} == {"missing", "unread"}


def test_the_queue_of_a_review_and_what_a_reviewer_says_at_the_gate_and_on_the_page(
    world: World, tmp_path: Path
) -> None:
    path = Path(shutil.copy(world.path, tmp_path / "s.db"))
    with Study(path) as study:
        desk = review_desk(study, COACHING)
        (ada,) = reviewers(study, desk, ["Ada"])
        queued = {entry.identity.id: entry for entry in queue(study, desk, CrisisSignals())}
        for name, entry in queued.items():
            same(world, entry.card, name)
        if not world.everyone:
            return
        review(study, desk, ada, queued["harmful"], ReviewDecision.CLEARED, "It is a quotation.")
    record = json.loads(runner(gate)(path, "--with-reviews", "--json").stdout)
    (said,) = (reason for reason in record["reasons"] if reason["kind"] == "reviewed")
    assert [entry["id"] for entry in said["conversations"]] == ["harmful"]
    assert "cleared by Ada: It is a quotation." in said["text"]
    assert "unsafe" not in {reason["kind"] for reason in record["reasons"]}
    number = list(TALKS).index("harmful") + 1
    assert said["text"] in page(path).one(id=f"c{number}").text


def test_the_complaint_of_the_plugin_for_pytest(world: World) -> None:
    with Study(world.path) as study:
        for name, about in TALKS.items():
            said = pytest_plugin._complaint(study, COACHING, about.identity)
            verdict = world.verdicts[name]
            if world.status(name) == "pass":
                assert said is None, name
            elif verdict is None:
                assert said is not None, name
                assert "not judged (the rule check gives no verdicts)." in said
            else:
                assert said is not None, name
                assert f"according to {', '.join(world.deciders[name])}.\n" in said
                assert f"Verdict: {VERDICTS[verdict].words}" in said
