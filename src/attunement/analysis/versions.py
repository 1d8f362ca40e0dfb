"""Were two sets of answers made in the same way: the same instrument, prompts and judges?

Scores of different judges, or of one judge that read other prompts, cannot be held against each other: the difference
could be the judge's. A prompt is checked by its hash: it is made again from the instrument and the conversation, and
one that cannot be made again is not known to be the same.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from attunement.analysis.measures import RatedStudy
from attunement.conversations import Responses, Unit
from attunement.errors import StudyError
from attunement.instruments import Instrument
from attunement.prompts import Ask, Layout, Questionnaire
from attunement.ratings import RaterKind
from attunement.store import Rater, StoredConversation, Study
from attunement.store.queries import answering_models, prompts_in_use
from attunement.store.study import original_name

UNKNOWN = "prompts that this version of Attunement does not make"
_PAGE = 200


class JudgeVersion(NamedTuple):
    """A judge, how it was set, and how it was asked."""

    name: str
    settings: dict[str, Any]
    refused: dict[str, str]
    models: tuple[str, ...]  # the models that answered, as the server named them
    prompts: tuple[str, ...]  # the kinds of prompts it read; empty for a person
    repeats: int  # how often it was asked the same: several answers are put together as those of a panel


class Versions(NamedTuple):
    """Everything that two sets of answers must have in common to be compared."""

    instrument: str
    version: str
    hash: str
    responses: str
    judges: tuple[JudgeVersion, ...]


def check_versions(here: tuple[Study, RatedStudy], there: tuple[Study, RatedStudy]) -> None:
    """Refuse to compare studies that were judged in different ways.

    Raises:
        StudyError: Something differs; the sentence names it.
    """
    found = version_difference(*(versions(study, rated.instrument, rated.by) for study, rated in (here, there)))
    if found:
        raise StudyError(f"this cannot be compared with {there[0].place}: {found}")


def versions(study: Study, instrument: Instrument, raters: Collection[tuple[str, int]]) -> Versions:
    """How what these raters, each with a number of a repeat, answered about this instrument came about."""
    repeats = Counter(name for name, _ in set(raters))
    judges = [_judge(study, instrument, rater, repeats[rater.name]) for rater in study.raters() if repeats[rater.name]]
    return Versions(
        instrument=instrument.id,
        version=instrument.version,
        hash=instrument.hash,
        responses=study.responses(instrument.id).value,
        judges=tuple(sorted(judges, key=lambda judge: (judge.name, str(judge.settings)))),
    )


def version_difference(here: Versions, there: Versions) -> str | None:
    """What differs between two versions, as the end of a sentence; None where nothing does."""
    if (here.instrument, here.version) != (there.instrument, there.version):
        return f"the instrument is {here.instrument} {here.version} here and {there.instrument} {there.version} there"
    if here.hash != there.hash:
        return f"the instrument {here.instrument} {here.version} has other words, weights or limits there"
    if here.responses != there.responses:
        return f"{_RESPONSES[here.responses]} here and {_RESPONSES[there.responses]} there"
    names = [[judge.name for judge in side.judges] for side in (here, there)]
    if names[0] != names[1]:
        return f"the judges are {_listed(names[0])} here and {_listed(names[1])} there"
    pairs = zip(here.judges, there.judges, strict=True)
    return next((found for one, other in pairs if (found := _differing_judge(one, other))), None)


_RESPONSES = {Responses.ALL.value: "all replies were judged", Responses.LAST.value: "only last replies were judged"}


def _differing_judge(one: JudgeVersion, other: JudgeVersion) -> str | None:
    for setting in dict.fromkeys([*one.settings, *other.settings]):
        here, there = one.settings.get(setting), other.settings.get(setting)
        if here != there:
            what = "the layout of the prompts" if setting == "layout" else f"its {setting}"
            return f"{one.name} has different settings: {what} is {here} here and {there} there"
    if one.repeats != other.repeats:
        return f"{one.name} was asked {_times(one.repeats)} here and {_times(other.repeats)} there"
    if one.refused != other.refused:
        return f"the server of {one.name} accepted other settings ({_listed([*one.refused, *other.refused])})"
    if one.models != other.models:
        return f"{one.name} answered as {_listed(one.models)} here and as {_listed(other.models)} there"
    if one.prompts != other.prompts:
        return f"{one.name} read other prompts: {_listed(one.prompts)} here, {_listed(other.prompts)} there"
    if UNKNOWN in one.prompts:
        return f"{one.name} read {UNKNOWN}, so nothing shows that they were the same; judge again to compare"
    return None


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(names)) or "nobody"


def _judge(study: Study, instrument: Instrument, rater: Rater, repeats: int) -> JudgeVersion:
    is_model = rater.kind is RaterKind.MODEL
    return JudgeVersion(
        name=original_name(rater.name, rater.kind, rater.settings),
        settings=rater.settings,
        refused=rater.refused,
        models=tuple(answering_models(study, rater)),
        prompts=tuple(sorted(_prompts(study, instrument, rater))) if is_model else (),
        repeats=repeats,
    )


def _prompts(study: Study, instrument: Instrument, rater: Rater) -> set[str]:
    """The kinds of prompts behind the answers that count."""
    known = _KnownPrompts(instrument, Layout(rater.settings.get("layout", Layout.CRITERION_FIRST)))
    found: set[str] = set()
    for page in _pages(study):
        by_key = {stored.key: stored for stored in page}
        for use, items in prompts_in_use(study, instrument, rater, list(by_key)).items():
            unit = Unit(by_key[use.conversation].conversation, use.turn or None)
            found.add(known.kind(unit, tuple(items), use.prompt))
    return found


def _pages(study: Study) -> Iterator[list[StoredConversation]]:
    stored = study.conversations()
    while page := list(islice(stored, _PAGE)):
        yield page


class _KnownPrompts:
    """The prompts that this version makes, to be recognised by their hashes."""

    def __init__(self, instrument: Instrument, layout: Layout) -> None:
        self._instrument, self._layout = instrument, layout
        self._made: dict[tuple[tuple[str, ...], Ask], Questionnaire] = {}

    def kind(self, unit: Unit, items: tuple[str, ...], prompt: str) -> str:
        """What kind of prompt this is: one item, all of them, or some."""
        turns = len(unit.turns)
        due = {item.id for item in self._instrument.items if item.minimum_turns <= turns}
        if len(items) == 1 and self._is(unit, items, Ask.SEPARATELY, prompt):
            return "one item at a time"
        if self._is(unit, items, Ask.TOGETHER, prompt):
            return "all items at once" if set(items) == due else f"these items at once: {', '.join(sorted(items))}"
        return UNKNOWN

    def _is(self, unit: Unit, items: tuple[str, ...], ask: Ask, prompt: str) -> bool:
        if (items, ask) not in self._made:
            self._made[items, ask] = Questionnaire(self._instrument, layout=self._layout, items=items, ask=ask)
        return any(question.hash == prompt for question in self._made[items, ask].questions(unit))
