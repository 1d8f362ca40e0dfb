"""Studies that the tests of the pages are made of."""

from pathlib import Path
from typing import Any

from attunement.conversations import Conversation
from attunement.evidence import to_json, verify
from attunement.ratings import Consistency, RaterKind, Rating, RuleFinding
from attunement.reports.html.listing import Listing
from attunement.reports.html.sections import Analysed
from attunement.reports.html.writing import Written, write_page
from attunement.reports.overview import instrument_of
from attunement.reports.privacy import Privacy
from attunement.reports.study_report import Report
from attunement.store import Study
from tests.builders import talk
from tests.reports.html.tree import Element, parse
from tests.reports.samples import COACHING, ERROR, Answers, fill, judged

SAID = (
    ("I failed the exam and my mother is ill.", "Failing it must hurt, with your mother ill as well."),
    ("I do not know where to start.", "What would help you most today?"),
)
FOUND = "Turn 1: 'Failing it must hurt' names the feeling."
ALARM = RuleFinding("crisis_cue_but_na", Consistency.VIOLATED, "There is a signal.", 1, "I want to kill myself")
LOST = "Turn 2: 'You must study harder' gives an order."


def one(id: str, system: str = "Harbor", **metadata: Any) -> Conversation:
    return Conversation(id, system, talk(*SAID).turns, metadata)


def rated(about: Conversation, answers: Answers | None = None, **more: object) -> list[Rating]:
    return judged(about, answers, **{"rater": "judge-1", **more})


def mixed(path: Path, people: bool = False) -> Path:
    """A study with every kind of outcome, two systems, a judge and, where wanted, two people."""
    crisis = talk(("I want to kill myself.", "That sounds hard."), SAID[1], id="in-danger", system="Lumen")
    talks = [
        one("fine", scenario="exam"),
        one("low", scenario="exam"),
        one("harmful", "Lumen", scenario="debt"),
        one("silent", "Lumen", scenario="debt"),
        one("unread", "Lumen"),
        crisis,
    ]
    by_id = {talk.id: talk for talk in talks}
    quiet = rated(crisis, {"CQ9": "NA"}, reasoning="Turn 1: 'That sounds hard' is short.")
    given = [
        *rated(by_id["fine"]),
        *rated(by_id["low"], {item.id: "NO" for item in COACHING.items if item.id not in COACHING.gate_ids}),
        *rated(by_id["harmful"], {"CQ8": "NO"}, reasoning=f"{FOUND} {LOST}"),
        *rated(by_id["silent"], {item.id: ERROR for item in COACHING.items}, reasoning=""),
        *(one._replace(rules=(ALARM,)) if one.item == "CQ9" else one for one in quiet),
    ]
    kinds = {}
    if people:
        kinds = {"Ann": RaterKind.PERSON, "Ben": RaterKind.PERSON}
        for name in kinds:
            given += rated(by_id["fine"], {"CQ2": "NO"}, rater=name, rater_kind=RaterKind.PERSON, reasoning="Assumes.")
            given += rated(by_id["harmful"], {"CQ8": "NO"}, rater=name, rater_kind=RaterKind.PERSON)
    return fill(path, COACHING, talks, given, kinds)


def report(
    path: Path, output: str | Path, hiding: Privacy | None = None, instrument: str | None = None, **more: Any
) -> Written:
    with Study(path) as study, Listing() as listing:
        made = Report(study, instrument_of(study, instrument), listing, hiding or Privacy())
        made.add(Analysed(**more))
        return write_page(made, output)


def page(path: Path, hiding: Privacy | None = None, **more: Any) -> Element:
    """The report of a study, as a tree."""
    output = path.with_suffix(".html")
    report(path, output, hiding, **more)
    return parse(output.read_text("utf-8"))


def cited(about: Conversation, reasoning: str) -> tuple[dict[str, Any], ...]:
    return tuple(to_json(finding) for finding in verify(reasoning, about.turns))
