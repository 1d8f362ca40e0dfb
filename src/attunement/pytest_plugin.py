"""A pytest plugin: a chatbot's test suite asks a judge whether a conversation passes.

    from attunement.pytest_plugin import assert_passes

    @pytest.mark.attunement(judge="openai:gpt-5.2")
    def test_the_bot_takes_a_crisis_seriously():
        assert_passes(talk_to_my_bot("I want to disappear."), instrument="coaching-v1")

A test passes only if the conversation passes the gate: it fails if the conversation failed, is unsafe, or was not
judged. Nothing is sent unless a judge is set: in the call, in the marker, in the environment (`ATTUNEMENT_JUDGE`) or in
pytest's settings (`attunement_judge`), in this order. `instrument` and `study` are set in the same way.
"""

import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from attunement.conversations import Conversation, Identity
    from attunement.instruments import Instrument
    from attunement.judges import Judge
    from attunement.store import Study

_SETTINGS = {
    "judge": "the judge for assert_passes, such as openai:gpt-5.2; separate several by commas",
    "instrument": "the instrument for assert_passes (default: coaching-v1)",
    "study": "a file where assert_passes saves answers, so that no question is asked twice",
}
_INSTRUMENT = "coaching-v1"
_MARK_DIGITS = 8

_running: ContextVar[pytest.Item | None] = ContextVar("attunement_running", default=None)
_folder = pytest.StashKey[TemporaryDirectory[str]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    for name, meaning in _SETTINGS.items():
        parser.addini(f"attunement_{name}", meaning, default="")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "attunement(judge=..., instrument=..., study=...): asks a judge about conversations; choose these tests with "
        "-m attunement, leave them out with -m 'not attunement'.",
    )


def pytest_unconfigure(config: pytest.Config) -> None:
    if folder := config.stash.get(_folder, None):
        folder.cleanup()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Remember the running test, so that `assert_passes` can read its marker."""
    token = _running.set(item)
    try:
        yield
    finally:
        _running.reset(token)


def assert_passes(
    conversation: "Conversation | Sequence[Mapping[str, Any]] | str | Path",
    instrument: "str | Path | Instrument | None" = None,
    judge: "str | Judge | Sequence[str | Judge] | None" = None,
    *,
    system: str = "chatbot",
    study: str | Path | None = None,
    **settings: Any,
) -> None:
    """Fail the test unless the conversation passes.

    Args:
        conversation: A conversation, a list of messages with `role` and `content`, or a file; of a file every
            conversation must pass.
        instrument: The instrument; by default from the marker, the environment or pytest's settings, or coaching-v1.
        judge: The judge. If none is set anywhere, the test fails and nothing is sent.
        system: The name of the chatbot, for conversations without one.
        study: Where answers are saved; by default they last as long as the session. All judges in it decide together.
        **settings: Further fields of `attunement.api.Settings`, such as `base_url` or `repeats`.

    Raises:
        AssertionError: A conversation does not pass, or was not judged; the text says why.
        AttunementError: There is no judge, or something cannot be read.
    """
    __tracebackhide__ = True
    from attunement.errors import AttunementError

    try:
        failed = _failures(conversation, instrument, judge, system=system, study=study, settings=settings)
    except AttunementError as error:
        raise error.with_traceback(None) from None  # the message says what to do; a traceback adds nothing
    if failed:
        raise AssertionError("\n\n".join(failed))


def _failures(
    conversation: "Conversation | Sequence[Mapping[str, Any]] | str | Path",
    instrument: "str | Path | Instrument | None",
    judge: "str | Judge | Sequence[str | Judge] | None",
    *,
    system: str,
    study: str | Path | None,
    settings: dict[str, Any],
) -> list[str]:
    """Judge, and explain what does not pass."""
    from attunement import api
    from attunement.errors import JudgeError

    judges = _judges(judge)
    if not judges:
        raise JudgeError(
            "no judge is set, so nothing was asked: give judge= to assert_passes or to the marker, or set "
            "ATTUNEMENT_JUDGE, or attunement_judge in pytest's settings"
        )
    chosen = instrument or _setting("instrument") or _INSTRUMENT
    conversations = _read(conversation, system)
    with _place(study or _setting("study"), judges, settings) as place:
        result = api.judge(conversations, place, judges=judges, instrument=chosen, **settings)
        if result.progress.already_failed:  # questions that got no answer in an earlier run are asked again
            again: dict[str, Any] = {**settings, "retry_errors": True}
            result = api.judge(conversations, place, judges=judges, instrument=chosen, **again)
        failed = list(_complaints(place, result.instrument, conversations))
    if result.ending.given_up:
        failed.insert(0, f"The judge could not be asked: {result.ending.given_up}")
    return failed


def _judges(given: "str | Judge | Sequence[str | Judge] | None") -> "list[str | Judge]":
    if isinstance(given, Sequence) and not isinstance(given, str):
        return list(given)
    if given is not None and not isinstance(given, str):
        return [given]
    names = given or str(_setting("judge") or "")
    return [name.strip() for name in names.split(",") if name.strip()]


def _setting(name: str) -> Any:
    from attunement.errors import InputError

    item = _running.get()
    marker = item.get_closest_marker("attunement") if item else None
    if marker and (unknown := [*map(str, marker.args), *(marker.kwargs.keys() - _SETTINGS.keys())]):
        raise InputError(
            f"the marker attunement takes {', '.join(_SETTINGS)}, each by its name, and not {', '.join(unknown)}"
        )
    marked = marker.kwargs.get(name) if marker else None
    return marked or os.environ.get(f"ATTUNEMENT_{name.upper()}") or (item and item.config.getini(f"attunement_{name}"))


def _read(conversation: "Conversation | Sequence[Mapping[str, Any]] | str | Path", system: str) -> "list[Conversation]":
    """The conversations, each with part of its hash in the id.

    A bot answers differently each time, and a study accepts only one text per id.
    """
    from attunement import api
    from attunement.errors import InputError

    found: list[Conversation] = []
    for one in api.read(conversation, system=system):
        mark = one.fingerprint()
        found.append(one if mark.startswith(one.id) else replace(one, id=f"{one.id} @{mark[:_MARK_DIGITS]}"))
    if not found:
        raise InputError(f"{conversation} contains no conversation to test")
    return found


@contextmanager
def _place(
    study: str | Path | None, judges: "Sequence[str | Judge]", settings: Mapping[str, Any]
) -> Generator[str | Path]:
    """The given study, or one for these judges that lasts as long as the session."""
    if study:
        yield study
        return
    item = _running.get()
    if item is None:
        with TemporaryDirectory(prefix="attunement-") as folder:
            yield Path(folder) / "tests.store.db"
        return
    stash = item.config.stash
    if _folder not in stash:
        stash[_folder] = TemporaryDirectory(prefix="attunement-")
    asked = [one if isinstance(one, str) else (one.name, dict(one.settings)) for one in judges]
    mark = sha256(repr([asked, sorted(settings.items())]).encode()).hexdigest()
    yield Path(stash[_folder].name) / f"{mark}.study.db"


def _complaints(place: str | Path, instrument: "Instrument", conversations: "Sequence[Conversation]") -> Generator[str]:
    from attunement.store import Study

    with Study(place) as study:
        for one in conversations:
            if complaint := _complaint(study, instrument, one.identity):
                yield complaint


def _complaint(study: "Study", instrument: "Instrument", identity: "Identity") -> str | None:
    """Why a conversation does not pass; None if it passes."""
    from attunement.reports.conversation import issues, view
    from attunement.reports.gate import exit_code_alone
    from attunement.reports.machine import issue_text
    from attunement.reports.rule_check import pointer_words
    from attunement.reports.wording import score_with_range, verdict_phrase
    from attunement.signals.measured import in_a_line as measured

    kept = study.by_identity([identity]).get(identity)
    shown = view(study, instrument, kept) if kept else None
    card = shown.cards.deciding if shown else None
    if exit_code_alone(instrument, identity, card) == 0:
        return None
    head = f"{identity} does not pass {instrument.id} {instrument.version}"
    if shown is None or card is None:
        found = [pointer_words(spoken.finding) for spoken in shown.cards.pointers] if shown else []
        points = "".join(f"\nThe rule check points to {words}" for words in found)
        points += f"\n{measured()}" if found else ""
        return f"{head}: not judged (the rule check gives no verdicts).{points}"
    verdict = f"{head} according to {', '.join(card.members)}.\nVerdict: {verdict_phrase(card).words}"
    if card.score is not None:
        verdict += f". Score: {score_with_range(card, instrument.scoring.threshold)}"
    if instrument.scoring.threshold is not None:
        verdict += f", pass mark {instrument.scoring.threshold:g}"
    return "\n\n".join([f"{verdict}.", *map(issue_text, issues(shown, card))])
