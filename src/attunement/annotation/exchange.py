"""Export units for people to rate in another tool, and check and import their answers.

A unit without any answer counts as not rated yet and is skipped. A unit with only some of its answers is reported as a
problem. Answers to items that do not apply to a unit are counted and ignored. If the study already has a different
answer, that answer does not change.

An export does not contain the system, the id of the conversation, its metadata or any rating.

People read "met" and "not met" instead of YES and NO. An answer is accepted only if it is unambiguous.
"""

import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from attunement import rules
from attunement.annotation.tasks import Speaker, answers_of, due_items, for_people, marked_evidence, person_rating
from attunement.conversations import Unit, UnitKind, units
from attunement.conversations.json_files import Place
from attunement.errors import InputError, StudyError
from attunement.instruments import Instrument, Item
from attunement.instruments.model import Scores
from attunement.ratings import ABSTAINED, Outcome, RaterKind
from attunement.store import Rater, StoredRating, Study, now
from attunement.store.import_files import CountedExamples, read_answer
from attunement.store.import_ratings import differing_outcomes
from attunement.store.samples import TokenTarget, exported_units, save_exported_units
from attunement.store.study import original_name


class ExportedUnit(NamedTuple):
    token: str
    unit: Unit
    due: tuple[str, ...]  # the items that are asked about it


class Message(NamedTuple):
    turn: int
    speaker: Speaker
    text: str
    rated: bool  # whether this is the rated reply; always False if the unit is a conversation


def export_units(
    study: Study, instrument: Instrument, format: str, keys: Collection[int] | None = None
) -> list[ExportedUnit]:
    """Give every unit of the conversations with these keys (or of all) a token, and shuffle the conversations.

    Replies of one conversation stay together and in order, which makes them easier to read.

    Raises:
        StudyError: There is no conversation.
    """
    wanted = None if keys is None else set(keys)
    conversations = [
        (stored.key, list(units(stored.conversation, UnitKind(instrument.unit), study.responses(instrument.id))))
        for stored in study.conversations()
        if wanted is None or stored.key in wanted
    ]
    if not conversations:
        raise StudyError(f"{study.place} has no conversation to export")
    secrets.SystemRandom().shuffle(conversations)
    flat = [(key, unit) for key, own in conversations for unit in own]
    tokens = save_exported_units(study, instrument, format, [(key, unit.turn) for key, unit in flat])
    return [
        ExportedUnit(token, unit, due_items(instrument, unit)) for token, (_, unit) in zip(tokens, flat, strict=True)
    ]


def messages(unit: Unit) -> Iterator[Message]:
    """The messages of a unit. If the assistant opens the conversation, there is no first user message."""
    for number, turn in enumerate(unit.turns, 1):
        if turn.user:
            yield Message(number, "user", turn.user, rated=False)
        yield Message(number, "assistant", turn.assistant, rated=number == unit.turn)


def new_folder(folder: Path) -> Path:
    """Create the folder that the files are exported to.

    Raises:
        InputError: It already contains files, or cannot be created.
    """
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        has_files = any(folder.iterdir())
    except OSError as error:
        raise InputError(f"the folder {folder} cannot be created: {error.strerror or error}") from error
    if has_files:
        raise InputError(f"{folder} already contains files: choose a new folder")
    return folder


CANNOT_JUDGE = "cannot judge"
NOT_ASKED = "–"  # in a spreadsheet, if an item does not apply to a conversation

_WORDS = {"YES": "met", "NO": "not met", "NA": "does not apply"}
_VALUES = {word: value for value, word in _WORDS.items()}


class Choice(NamedTuple):
    word: str  # on screen and in files
    hint: str  # what it means for this item; may be empty


def choices(instrument: Instrument, item: Item) -> Iterator[Choice]:
    """The answers to an item in order; "cannot judge" comes last and differs from "does not apply"."""
    for answer in answers_of(instrument, item):
        if isinstance(answer, int):
            anchor = item.anchors.get(answer)
            label = f"{anchor.label}: " if anchor and anchor.label else ""
            yield Choice(str(answer), f"{label}{anchor.text}" if anchor else "")
        else:
            meaning = next((text for key, text in item.meanings.items() if key == answer), "")
            yield Choice(_WORDS[answer], meaning or (item.na_note if answer == "NA" else ""))
    yield Choice(CANNOT_JUDGE, "You have no reliable way to know.")


def is_blank(value: Any) -> bool:
    return value is None or (isinstance(value, str) and value.strip() in {"", NOT_ASKED, "-"})


def parse_answer(value: Any, instrument: Instrument, item: Item) -> Outcome | None:
    """The outcome for a person's answer; None if it is not an answer to this item."""
    if isinstance(value, str):
        word = " ".join(value.split()).lower()
        if word in {CANNOT_JUDGE, "abstained", "?"}:
            return ABSTAINED
        value = _VALUES.get(word, value)
    outcome = read_answer(value, instrument)
    return outcome if outcome is not None and outcome.value in answers_of(instrument, item) else None


def allowed_answers(instrument: Instrument, item: Item) -> str:
    words = [choice.word for choice in choices(instrument, item)]
    if isinstance(instrument.scale, Scores):
        words = [f"{instrument.scale.lowest} to {instrument.scale.highest}", CANNOT_JUDGE]
    return f"{', '.join(words[:-1])} or {words[-1]}"


def rater_guide(instrument: Instrument) -> str:
    """The rater's guide as plain text: the rules, and for each item its definition, answers and boundary cases.

    Weights and thresholds are left out, because raters who know the effect of an answer answer differently.
    """
    parts = [instrument.title, instrument.about, *guidance(instrument)]
    for item in instrument.items:
        parts += [f"{item.id}: {item.title}", item.definition]
        parts += [f"- {choice.word}: {choice.hint}" for choice in choices(instrument, item) if choice.hint]
        parts += [*boundary_rules(item), *item.edge_cases]
    return for_people(instrument, "\n\n".join(part for part in parts if part) + "\n", _WORDS)


def guidance(instrument: Instrument) -> Iterator[str]:
    """The rules for every item, with the answer words that people see."""
    yield from (for_people(instrument, rule, _WORDS) for rule in instrument.guidance)
    yield f"You can also answer “{CANNOT_JUDGE}”."


def boundary_rules(item: Item) -> list[str]:
    """The rules for choosing between two answers, one line each."""
    return [
        f"{boundary.between[0]} or {boundary.between[1]}? {boundary.text}" if boundary.between else boundary.text
        for boundary in item.boundaries
    ]


def question_name(number: int, item: Item) -> str:
    """The name of an item in Argilla, which allows only lower case: two ids may become the same."""
    return f"q{number:02d}-{item.id.lower().replace('.', '_')}"


class MarkedText(NamedTuple):
    """Words that a rater marked for an item; `start` and `end` count characters of the exported message."""

    item: str
    message: int  # its position in the unit, from 0
    start: int
    end: int


class UnitAnswers(NamedTuple):
    place: Place
    token: str
    rater: str | None  # the file's name for the person, if any
    answers: Mapping[str, Any]  # by item; blank or absent means no answer
    notes: Mapping[str, str] = {}
    marked: Sequence[MarkedText] = ()
    at: str = ""
    has_columns: bool = False  # whether the file has a column for each item, so a missing column was removed


class Problem(NamedTuple):
    place: Place
    reason: str


class RaterInfo(NamedTuple):
    """The raters as the user named them."""

    only: str | None = None
    """The name of the one person who gave all answers."""
    names: Mapping[str, str] = {}
    """Names of people by their id in the file."""
    info: Mapping[str, Any] = {}
    """Profession, years of experience and other facts about the one person."""
    blind: bool | None = None
    """Whether they were blind to the system and to other ratings; None: not known."""

    @property
    def settings(self) -> dict[str, Any]:
        return {**self.info, **({} if self.blind is None else {"blind": self.blind})}

    def name(self, id: str | None) -> str | None:
        """The name of the person with this id in the file; None if unknown."""
        return self.only or (None if id is None else self.names.get(id, f"annotator {id}"))


@dataclass
class ImportResult:
    units: int = 0
    new: int = 0  # ratings
    known: int = 0  # ratings that were already in the study
    differing: CountedExamples = field(default_factory=CountedExamples)  # the study has a different answer
    unrated: int = 0  # units without any answer
    not_asked: int = 0  # answers to items for which the conversation is too short; ignored
    unread: dict[str, None] = field(default_factory=dict[str, None])  # names in the files that match no item
    raters: dict[str, Rater] = field(default_factory=dict[str, Rater])


def import_answers(study: Study, entries: Iterable[UnitAnswers | Problem], raters: RaterInfo) -> ImportResult:
    """Save people's answers about exported units as ratings of the main round.

    Raises:
        InputError: There are problems; the message lists them with their places, and nothing was saved.
    """
    work = _Import(study, raters)
    for entry in entries:
        reasons = [entry.reason] if isinstance(entry, Problem) else work.check(entry)
        for reason in reasons:
            work.problems.setdefault(reason, []).append(entry.place)
    work.raise_problems()
    return work.save()


_SHOWN = 50
"""Rows listed for one problem; many, because the rater has to correct each of them."""


class _CompleteUnit(NamedTuple):
    """A unit for which one person answered every item that is due."""

    instrument: Instrument
    outcomes: dict[str, Outcome]
    given: UnitAnswers


class _Import:
    def __init__(self, study: Study, raters: RaterInfo) -> None:
        self._study, self._raters = study, raters
        self._exported = exported_units(study)
        self._instruments = {instrument.hash: instrument for instrument in study.instruments()}
        self._turns = {summary.key: summary.turns for page in study.summaries(1000) for summary in page}
        self.problems: dict[str, list[Place]] = {}
        self._result = ImportResult()
        self._complete: dict[tuple[str, TokenTarget], _CompleteUnit] = {}
        """By the name of the person and the unit, which may have been exported more than once."""
        self._rater_ids: set[str | None] = set()

    def check(self, given: UnitAnswers) -> Iterator[str]:
        """Take the answers about one unit, or yield what is wrong with them."""
        exported = self._exported.get(given.token)
        if exported is None:
            yield f"{given.token[:40]!r} was not exported from this study"
            return
        instrument = self._instruments[exported.instrument]
        ids = {question_name(number, item): item.id for number, item in enumerate(instrument.items, 1)}
        given = given._replace(
            answers={ids.get(name, name): value for name, value in given.answers.items()},
            notes={ids.get(name, name): text for name, text in given.notes.items()},
        )
        length = exported.turn or self._turns[exported.conversation]
        due = [item.id for item in instrument.items if item.minimum_turns <= length]
        if given.answers and not given.answers.keys() & instrument.item_hashes.keys():
            yield f"no answers to items of {instrument.id} found; is this the right file?"
            return
        if all(is_blank(given.answers.get(item)) for item in due):
            self._result.unrated += 1
            return
        self._rater_ids.add(given.rater)
        name = self._raters.name(given.rater)
        if name is None:
            yield "unknown rater; name them with --rater"
        elif (name, exported) in self._complete:
            yield f"{name} rated this unit twice: remove one of the two rows"
        else:
            outcomes: dict[str, Outcome] = {}
            yield from _read_outcomes(given, instrument, due, outcomes)
            self._complete[name, exported] = _CompleteUnit(instrument, outcomes, given)
        for item, value in given.answers.items():
            if item not in due and not is_blank(value):
                if item in instrument.item_hashes:
                    self._result.not_asked += 1
                else:
                    self._result.unread[item] = None

    def raise_problems(self) -> None:
        if self.problems:
            listed = "; ".join(f"{_rows(places)}: {reason}" for reason, places in list(self.problems.items())[:_SHOWN])
            raise InputError(f"nothing was imported; problems found: {listed}")
        if len(self._rater_ids) > 1 and (self._raters.only or self._raters.info):
            ids = sorted(str(id) for id in self._rater_ids)
            raise InputError(
                f"{len(ids)} people rated ({', '.join(ids)}): name each with --rater ID=NAME, and use --rater-info "
                f"only if the file has the answers of one person"
            )

    def save(self) -> ImportResult:
        result = self._result
        needed = {exported.conversation for _, exported in self._complete}
        conversations = {entry.key: entry.conversation for entry in self._study.conversations() if entry.key in needed}
        # All evidence is checked before a rater is saved.
        texts = {exported: Unit(conversations[exported.conversation], exported.turn) for _, exported in self._complete}
        marked = {key: _evidence(texts[key[1]], unit.given) for key, unit in self._complete.items()}
        ratings: list[StoredRating] = []
        for (name, exported), (instrument, outcomes, given) in self._complete.items():
            rater = result.raters.get(name) or result.raters.setdefault(name, self._rater(name))
            applied = rules.apply(instrument, texts[exported], outcomes)
            for item, outcome in outcomes.items():
                rating = person_rating(
                    instrument,
                    texts[exported],
                    item,
                    outcome,
                    rater,
                    reasoning=given.notes.get(item, "").strip(),
                    evidence=tuple(marked[name, exported].get(item, ())),
                    rules=applied.get(item, ()),
                    at=given.at or now(),
                )
                ratings.append(StoredRating(exported.conversation, rater.key, rating))
        result.units = len(self._complete)
        result.new = self._study.write([], ratings)
        result.known = len(ratings) - result.new
        for difference in differing_outcomes(self._study, ratings, result.raters.values()):
            result.differing.add(difference)
        return result

    def _rater(self, name: str) -> Rater:
        """The study's rater of this name, unless the user gave different details."""
        settings = self._raters.settings
        people = [
            rater
            for rater in self._study.raters()
            if rater.kind is RaterKind.PERSON and settings.items() <= rater.settings.items()
        ]
        known = [rater for rater in people if rater.name == name] or [
            rater for rater in people if original_name(rater.name, rater.kind, rater.settings) == name
        ]
        return known[0] if len(known) == 1 else self._study.save_rater(name, RaterKind.PERSON, settings)


def _read_outcomes(
    given: UnitAnswers, instrument: Instrument, due: Sequence[str], outcomes: dict[str, Outcome]
) -> Iterator[str]:
    """Fill `outcomes` with that of every item that is due; yields what is wrong with the others."""
    missing = [id for id in due if is_blank(given.answers.get(id))]
    if removed := [id for id in missing if given.has_columns and id not in given.answers]:
        yield f"the column {', '.join(removed)} is missing; restore it"
    if empty := [id for id in missing if id not in removed]:
        yield f"{', '.join(empty)} not answered, but other items of the unit are"
    for id in due:
        item, value = instrument.item(id), given.answers.get(id)
        outcome = parse_answer(value, instrument, item)
        if outcome is not None:
            outcomes[id] = outcome
        elif id not in missing:
            yield f"{id} is {str(value)[:40]!r}; allowed answers: {allowed_answers(instrument, item)}"


def _rows(places: Sequence[Place]) -> str:
    named: list[str] = []
    file = ""
    for place in places[:_SHOWN]:
        named.append(str(place.line) if place.file == file else str(place))
        file = place.file
    more = len(places) - _SHOWN
    return ", ".join(named) + (f" and {more:,} more" if more > 0 else "")


def _evidence(unit: Unit, given: UnitAnswers) -> dict[str, list[dict[str, Any]]]:
    """Marked words by item, as the evidence of ratings.

    Raises:
        InputError: They are not in the conversation.
    """
    found: dict[str, list[dict[str, Any]]] = {}
    texts = list(messages(unit))
    for mark in given.marked:
        message = texts[mark.message] if 0 <= mark.message < len(texts) else None
        if message is None or not 0 <= mark.start < mark.end <= len(message.text):
            raise InputError(f"nothing was imported: {given.place}: the marked words are not in this unit")
        words = marked_evidence(message.turn, message.speaker, message.text, mark.start, mark.end)
        found.setdefault(mark.item, []).append(words)
    return found
