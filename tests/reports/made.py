"""Reports that the tests of their forms are made of."""

import json
from collections.abc import Generator, Iterable
from contextlib import closing, contextmanager
from pathlib import Path

import attunement
from attunement.conversations import Conversation
from attunement.reports.forms import Forms, write_forms
from attunement.reports.html.listing import Listing
from attunement.reports.overview import instrument_of
from attunement.reports.privacy import SHOW_ALL, Privacy
from attunement.reports.study_report import Report
from attunement.store import Study
from tests.fake_judge import Asked, FakeJudge, quote_from


@contextmanager
def reported(path: Path, hiding: Privacy = SHOW_ALL) -> Generator[Report]:
    with Study(path) as study, closing(Listing()) as listing:
        yield Report(study, instrument_of(study, None), listing, hiding)


def written(path: Path, form: str, hiding: Privacy = SHOW_ALL, *, analyse: bool = False, **more: object) -> str:
    """The text of one form of the report."""
    target = path.with_name(f"{path.name}.{form}")
    with Study(path) as study:
        forms = Forms(**{form: str(target)}, **more)
        list(write_forms(study, instrument_of(study, None), forms, hiding, analyse=analyse))
    return target.read_text("utf-8")


def asked(path: Path, fake: FakeJudge, conversations: Iterable[Conversation]) -> Path:
    """A study that a judge was really asked for, so that it can be compared with another."""
    attunement.judge(conversations, path, judges="openai:m", base_url=fake.url)
    return path


def harsh(question: Asked) -> str:
    """A judge that says no wherever somebody is called stupid, and yes everywhere else."""
    answer = "NO" if "stupid" in question.user else "YES"
    return json.dumps({"reasoning": quote_from(question.user, 0), "answer": answer})
