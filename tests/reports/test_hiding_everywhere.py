"""Nothing that points to a person stands in any form of a redacted report, wherever in the study it was."""

import json
from collections.abc import Callable
from pathlib import Path

from attunement.annotation import projects
from attunement.annotation.review import sign
from attunement.conversations import Conversation
from attunement.ratings import Consistency, RaterKind, Rating, RuleFinding
from attunement.store import Study
from attunement.store import scored_conversations as entries
from attunement.store.projects import Settings, UnitKey, members
from attunement.store.reviews import ReviewDecision, save_review
from tests.builders import talk
from tests.reports.html.test_command import run
from tests.reports.samples import COACHING, ERROR, fill, judged

__all__ = ["run"]

SECRETS = {
    "email": "otto@example.com",
    "phone": "(555) 123-4567",
    "link": "https://otto.example/private",
    "card": "4111 1111 1111 1111",
    "ssn": "219-09-9999",
    "name": "Ottoline",
}
FORMS = ("markdown", "junit", "json", "latex", "inspect")


def planted(path: Path, secret: str) -> Path:
    """A study that holds the secret wherever anybody can write something."""
    said = [(f"I am {secret}.", f"Hello {secret}, that must hurt."), (f"Write to {secret}.", f"To {secret}? No.")]
    talks = [
        Conversation(f"{secret} {number}", f"{secret} bot{number % 2}", talk(*said).turns, {"scenario": secret})
        for number in range(4)
    ]
    reasons = f"Turn 1: 'Hello {secret}, that must hurt' is kind. Turn 2: 'I told {secret} so' is not. See {secret}."
    rule = RuleFinding("crisis_cue_but_na", Consistency.VIOLATED, f"There is {secret}.", 1, f"I am {secret}")
    given: list[Rating] = []
    kinds = {f"judge {secret}": RaterKind.MODEL, f"a {secret}": RaterKind.PERSON, f"b {secret}": RaterKind.PERSON}
    for rater, kind in kinds.items():
        for one, answers in zip(talks, ({"CQ8": "NO"}, {"CQ1": "NO"}, {"CQ9": ERROR}, {"CQ9": "NA"}), strict=True):
            ratings = judged(one, answers, reasoning=reasons, rater=rater, rater_kind=kind)
            given += [each._replace(rules=(rule,), detail=f"No answer about {secret}.") for each in ratings]
    fill(path, COACHING, talks, given, kinds)
    with Study(path) as study:
        entry = next(iter(entries(study, COACHING)))
        unit = UnitKey(entry.conversation.key, None)
        project = projects.create(study, COACHING, [unit], [secret], Settings(per_unit=1))
        member = members(study, project)[0]
        card, key = entry.deciding, entry.conversation.key
        said = {"name": secret, "reason": f"Mild, says {secret}."}
        save_review(study, COACHING, key, card, ReviewDecision.CLEARED, member=member.key, **said)
        wanted = {"decision": "release with conditions", "conditions": f"Ask {secret}."}
        sign(study, project, member, [], role=f"of {secret}", **wanted)
    return path


def written(run: Callable[..., object], path: Path, out: Path, *options: object) -> dict[str, str]:
    """Everything that a report can be, by the name of its file."""
    out.mkdir()
    forms = [part for form in FORMS for part in (f"--{form}", out / form)]
    run(path, *forms, "-o", out / "page.html", *options)
    run(path, "-o", f"{out}/pages/", "--charts", out / "charts", *options)
    files = [file for file in out.rglob("*") if file.is_file() and file.suffix != ".png"]
    return {str(file.relative_to(out)): file.read_text("utf-8") for file in files}


def test_redacted_no_form_shows_what_points_to_a_person(run, tmp_path: Path):
    secret = " / ".join(SECRETS.values())
    path = planted(tmp_path / "of Ottoline.db", secret)
    (tmp_path / "names.txt").write_text("Ottoline\n")
    found = written(run, path, tmp_path / "out", "--redact", "--names", tmp_path / "names.txt")
    # Inspect finds a sample by its id, so that one stays as it is.
    samples = [json.loads(line) for line in found["inspect"].splitlines()]
    assert [sample.pop("id") for sample in samples] == [f"{secret} {number}" for number in range(4)]
    found["inspect"] = json.dumps(samples)
    shown = {(name, kind) for name, text in found.items() for kind, one in SECRETS.items() if one in text}
    assert not shown
    assert "[email] / [phone] / [link] / [card] / [ssn] / [name] 3" in found["junit"]


def test_without_text_no_form_shows_what_anybody_said(run, tmp_path: Path):
    path = planted(tmp_path / "s.db", "Zebra")
    found = written(run, path, tmp_path / "out", "--no-text")
    said = ("that must hurt", "Write to", "is kind", "I told", "No answer about", "Mild, says")
    shown = {(name, words) for name, text in found.items() for words in said if words in text}
    assert not shown
    assert "CQ8" in found["junit"]
