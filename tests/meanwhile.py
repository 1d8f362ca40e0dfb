"""What people do between two commands of a page: rate, fill in sheets, review and sign."""

import csv
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

from attunement.annotation.exchange import question_name
from attunement.annotation.review import CrisisSignals, queue, review, review_desk, reviewed, reviewers, sign
from attunement.annotation.tasks import answers_of
from attunement.instruments import Instrument, Value, load
from attunement.store import Study, chosen_instrument
from attunement.store.projects import Role, latest_project, members
from attunement.store.reviews import ReviewDecision
from tests.annotation.projects import Begun

COACHING = load("coaching-v1")
_WORDS = ("met", "not met", "cannot judge")


def people_rate(desk: Path, place: str, instrument: str) -> None:
    """Every rater of the newest project answers everything they were given."""
    with Study(desk / place) as study:
        project = latest_project(study, instrument)
        assert project is not None
        begun = Begun(study, project)
        for number in range(1, len(members(study, project, Role.RATER)) + 1):
            assert begun.work(number, _answers(project.instrument, number))


def _answers(instrument: Instrument, seed: int) -> Callable[[str], Value]:
    chance = Random(seed)
    return lambda item: chance.choice(answers_of(instrument, instrument.item(item)))


def fill(desk: Path, sheet: str, copy: str, seed: str) -> None:
    """A rater fills a copy of a sheet: every cell that is empty gets an answer."""
    chance = Random(seed)
    with (desk / sheet).open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    for row in rows:
        row |= {name: chance.choice(_WORDS) for name, cell in row.items() if not cell and name != "note"}
    with (desk / copy).open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def label(desk: Path, tasks: str, export: str) -> None:
    """Two people rate every task in Label Studio, which then exports it."""
    content = json.loads((desk / tasks).read_text("utf-8"))
    for task in content:
        task["annotations"] = [
            {
                "id": by,
                "completed_by": by,
                "was_cancelled": False,
                "updated_at": "2026-02-01T10:00:00Z",
                "result": [_choice(item.id) for item in COACHING.items],
            }
            for by in (1, 2)
        ]
    (desk / export).write_text(json.dumps(content), "utf-8")


def _choice(item: str) -> dict[str, Any]:
    value = {"choices": ["met"]}
    return {"from_name": f"answer-{item}", "to_name": "talk", "type": "choices", "value": value, "id": item}


def respond(desk: Path, records: str, export: str, user: str) -> None:
    """Somebody answers every record in Argilla, whose client then writes them."""
    content = json.loads((desk / records).read_text("utf-8"))
    for record in content:
        given = [{"value": "met", "user_id": user}]
        names = [question_name(number, item) for number, item in enumerate(COACHING.items, 1)]
        record["responses"] = dict.fromkeys(names, given)
    (desk / export).write_text(json.dumps(content), "utf-8")


def review_and_sign(desk: Path, place: str, instrument: str, decision: str) -> None:
    """A reviewer reads what is queued, clears every alarm with a reason, and signs."""
    with Study(desk / place) as study:
        project = review_desk(study, chosen_instrument(study, instrument))
        (member,) = reviewers(study, project, ["Dr Ada Berg"])
        waiting = queue(study, project, CrisisSignals())
        for entry in waiting:
            decided = ReviewDecision.CLEARED if entry.is_alarming else ReviewDecision.CONFIRMED
            review(study, project, member, entry, decided, "Read in full: the judge misread the turn.")
        read = reviewed(study, project, member, queue(study, project, CrisisSignals()))
        sign(study, project, member, read, role="clinical lead", decision=decision, conditions="")


ACTS: Mapping[str, Callable[..., None]] = {
    "people-rate": people_rate,
    "fill": fill,
    "label": label,
    "respond": respond,
    "review-and-sign": review_and_sign,
}
"""By the name that a page calls them."""
