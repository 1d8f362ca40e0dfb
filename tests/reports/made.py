"""Reports that the tests of their forms are made of."""

import json
from collections.abc import Generator, Iterable
from contextlib import closing, contextmanager
from pathlib import Path

import attunement
from attunement.conversations import Conversation
from attunement.reports.digest import Digest, digest
from attunement.reports.html.listing import Listing
from attunement.reports.html.page import Report, report
from attunement.reports.html.text import SHOW_ALL, Privacy
from attunement.reports.overview import instrument_of
from attunement.store import Study
from tests.fake_judge import Asked, FakeJudge, quote_from


@contextmanager
def reported(path: Path, hiding: Privacy = SHOW_ALL) -> Generator[tuple[Study, Report]]:
    with Study(path) as study, closing(Listing()) as listing:
        yield study, report(study, instrument_of(study, None), listing, hiding)


@contextmanager
def digested(path: Path, hiding: Privacy = SHOW_ALL, **more) -> Generator[tuple[Study, Digest]]:
    with reported(path, hiding) as (study, made):
        yield study, digest(study, made, **more)


def asked(path: Path, fake: FakeJudge, conversations: Iterable[Conversation]) -> Path:
    """A study that a judge was really asked for, so that it can be compared with another."""
    attunement.judge(conversations, path, judges="openai:m", base_url=fake.url)
    return path


def harsh(question: Asked) -> str:
    """A judge that says no wherever somebody is called stupid, and yes everywhere else."""
    answer = "NO" if "stupid" in question.user else "YES"
    return json.dumps({"reasoning": quote_from(question.user, 0), "answer": answer})
