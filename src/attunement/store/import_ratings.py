"""Import answers and ratings from files: everything is checked first, then everything is saved.

Two kinds of files are read: ratings that Attunement exported, which come back as they were, and answers that were
given elsewhere, whose evidence is checked and to which the instrument's rules are applied.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import TypeVar

from attunement import evidence, rules
from attunement.conversations import Conversation, Identity, Unit
from attunement.conversations.json_files import BadRecord, Place
from attunement.errors import InputError
from attunement.instruments import Instrument
from attunement.judges.reply_parser import ParsedAnswer, marks_of
from attunement.prompts import Questionnaire
from attunement.ratings import MISSING, NOT_DUE, ErrorKind, Outcome, RaterKind, Rating, Round
from attunement.scoring import Case, Slot, due
from attunement.store.import_files import (
    CardKey,
    CountedExamples,
    ExportedRating,
    ImportedAnswer,
    ImportOptions,
    Problems,
    RaterKey,
    RowReader,
)
from attunement.store.rows import Rater, StoredConversation, StoredRating, from_json, to_json
from attunement.store.scorecards import chosen_instrument
from attunement.store.study import Study, original_name
from attunement.store.tables import read_rows

__all__ = ["AbsentPolicy", "CheckedImport", "ImportOptions", "ImportResult", "check_import", "save_import"]

T = TypeVar("T")

_BATCH = 200  # conversations that are checked, and ratings that are made and saved, at a time


@dataclass
class CheckedImport:
    """Files that fit: what `save_import` needs to know of them, and what is to be reported about them."""

    files: Sequence[Path]
    conversations: Iterable[Conversation]
    reader: RowReader
    answered: dict[CardKey, set[Slot]] = field(default_factory=dict[CardKey, set[Slot]])  # elsewhere, not exported
    answers: int = 0  # in the files, whatever became of them
    blank: int = 0  # left empty: they count as absent
    errors: int = 0  # ERROR in the file
    off_scale: CountedExamples = field(default_factory=CountedExamples)  # saved as ERROR (malformed)
    rated: set[Identity] = field(default_factory=set[Identity])  # conversations about which there is an answer

    def entries(self) -> Iterator[ImportedAnswer | ExportedRating]:
        """The answers and ratings in the files, once more."""
        for path in self.files:
            for row in read_rows(path):
                yield from self.reader.read(row)


def check_import(
    files: Sequence[Path],
    conversations: Iterable[Conversation] = (),
    instrument: Instrument | None = None,
    options: ImportOptions | None = None,
    *,
    study: Study | None = None,
) -> CheckedImport:
    """Check everything in `files` that `save_import` would save.

    Args:
        files: Tables of answers, or exported ratings.
        conversations: What the answers are about, besides what is in the study. It is read more than once.
        instrument: What was asked; None takes the only one in the study.
        options: How the files are to be understood.
        study: The study that they are for, if it exists. Nothing in it is changed.

    Raises:
        InputError: A file cannot be read, or something in it does not fit. The message names lines.
        StudyError: The study has different text for a conversation, or several instruments.
    """
    options = options or ImportOptions()
    known = study.instruments() if study else []
    if instrument is not None:
        known.append(instrument)
    elif study and known:
        instrument = chosen_instrument(study)
    else:
        raise InputError("name what was asked with --instrument: an id such as coaching-v1, or a .yaml file")
    turns: dict[Identity, int] = {}
    if study:
        turns = {summary.identity: summary.turns for page in study.summaries(_BATCH) for summary in page}
    for batch in _batches(conversations):
        if study:
            study.keys(batch)  # refuses different text under a known name
        turns.update((conversation.identity, len(conversation.turns)) for conversation in batch)
    if not turns:
        raise InputError("give the conversations that the answers are about with --conversations FILE")
    origin = ", ".join(sorted({path.name for path in files}))
    reader = RowReader(instrument, [*known, *options.versions], turns, options, origin)
    checked = CheckedImport(files, conversations, reader)
    problems, raters = Problems(), set[str]()
    for path in files:
        for row in read_rows(path):
            try:
                raters.update(_count(checked, row.place, entry) for entry in reader.read(row))
            except BadRecord as bad:
                problems.add(row.place, bad.reason)
    if problems:
        raise InputError(f"nothing was imported, because not everything fits: {problems}")
    if not checked.answers:
        raise InputError(f"{', '.join(map(str, files))}: there is no answer in it")
    if checked.off_scale.count and checked.off_scale.count == checked.answers - checked.blank:
        raise InputError(
            f"nothing was imported, because no answer is on the scale of {instrument.id}: "
            f"{checked.off_scale.named[0]}; is it the right column? Name it with --answer-column"
        )
    if strangers := options.people - raters:
        raise InputError(f"--person names {', '.join(sorted(strangers))}, who gave none of these answers")
    return checked


def _count(checked: CheckedImport, place: Place, entry: ImportedAnswer | ExportedRating) -> str:
    """Count the entry, and return its rater's name."""
    checked.answers += 1
    if isinstance(entry, ExportedRating):
        checked.rated.add(entry.rating.conversation)
        checked.errors += entry.rating.outcome.error is not None
        return entry.rating.rater
    card, outcome = entry.card, entry.outcome
    checked.rated.add(card.identity)
    answered, slot = checked.answered.setdefault(card, set()), Slot(entry.turn, entry.item)
    if outcome is None:
        checked.blank += 1
        return card.rater.name
    if slot in answered:
        raise BadRecord(
            f"{entry.item} of {card.identity} by {card.rater.name} occurs twice; number repeated answers in a column "
            "'repeat'"
        )
    answered.add(slot)
    if outcome.error is ErrorKind.MALFORMED:
        checked.off_scale.add(f"{place}: {entry.detail}")
    elif outcome.error:
        checked.errors += 1
    return card.rater.name


def _batches(values: Iterable[T]) -> Iterator[list[T]]:
    source = iter(values)
    while batch := list(islice(source, _BATCH)):
        yield batch


class AbsentPolicy(StrEnum):
    """What it means that an answer is not in the file."""

    ERROR = "error"
    """It is missing, which counts as an ERROR."""
    NOT_DUE = "not-due"
    """It was right not to ask. This does not excuse a safety item."""


_ABSENT = {
    AbsentPolicy.ERROR: (MISSING, "no answer in the imported file"),
    AbsentPolicy.NOT_DUE: (NOT_DUE, "no answer in the imported file, which is said to be right"),
}


@dataclass
class ImportResult:
    """What an import did."""

    checked: CheckedImport
    conversations: int = 0  # given with the answers
    raters: dict[RaterKey, Rater] = field(default_factory=dict[RaterKey, Rater])
    new: int = 0  # ratings that are new, or took the place of an ERROR
    known: int = 0  # ratings that were in the study already
    differing: CountedExamples = field(default_factory=CountedExamples)  # of those, with another outcome in the study
    absent: Counter[str] = field(default_factory=Counter[str])  # answers that are not in the file, by item
    absent_in: CountedExamples = field(default_factory=CountedExamples)  # the conversations that lack them
    absent_safety: int = 0  # of the absent ones, those about safety items, which stay missing
    unanswered: CountedExamples = field(default_factory=CountedExamples)  # given conversations without any answer


def save_import(checked: CheckedImport, study: Study, absent: AbsentPolicy = AbsentPolicy.ERROR) -> ImportResult:
    """Save what was checked in `study`, and report what is absent. What is there already stays."""
    work = _Import(checked, study)
    work.save_conversations()
    for batch in _batches(checked.entries()):
        work.save(batch)
    for batch in _batches(work.absent(absent)):
        work.save_absent(batch, absent)
    return work.result


def differing_outcomes(study: Study, ratings: Sequence[StoredRating], raters: Iterable[Rater]) -> Iterator[str]:
    """The ratings by `raters` for which the study has another outcome in its main round, one clause each."""
    conversations = sorted({stored.conversation for stored in ratings})
    by_key = {rater.key: rater for rater in raters}
    outcomes = {
        (key, *rated[:5]): rated.outcome for key, rater in by_key.items() for rated in study.rated(conversations, rater)
    }
    for conversation, key, rating in ratings:
        there = outcomes.get((key, conversation, rating.turn, rating.item, rating.asked, rating.repeat))
        if rating.round is Round.MAIN and there is not None and there != rating.outcome:
            where = f"{rating.item} of {rating.conversation} by {by_key[key].name}"
            yield f"{where} is {there} there and {rating.outcome} here"


class _Import:
    def __init__(self, checked: CheckedImport, study: Study) -> None:
        self.result = ImportResult(checked)
        self._study, self._reader = study, checked.reader
        self._instrument = checked.reader.instrument
        self._wordings = Questionnaire(self._instrument).wordings
        self._instruments: set[str] = set()

    def save_conversations(self) -> None:
        result = self.result
        for batch in _batches(result.checked.conversations):
            self._study.save_conversations(batch)
            result.conversations += len(batch)
            for conversation in batch:
                if conversation.identity not in result.checked.rated:
                    result.unanswered.add(conversation.identity)

    def save(self, entries: Sequence[ImportedAnswer | ExportedRating]) -> None:
        exported = [entry for entry in entries if isinstance(entry, ExportedRating)]
        units: dict[tuple[CardKey, int | None], list[ImportedAnswer]] = {}
        for entry in entries:
            if isinstance(entry, ImportedAnswer):
                units.setdefault((entry.card, entry.turn), []).append(entry)
        identities = {card.identity for card, _ in units} | {entry.rating.conversation for entry in exported}
        stored = self._study.by_identity(list(identities))
        ratings = [self._exported(entry, stored) for entry in exported]
        answers = [
            entry.answer._replace(rater=rating.rater)
            for entry, rating in zip(exported, ratings, strict=True)
            if entry.answer is not None
        ]
        for (card, turn), given in units.items():
            ratings += self._of_unit(card, turn, given, stored[card.identity])
        new = self._study.write(answers, ratings)
        self.result.new += new
        self.result.known += len(ratings) - new
        if new < len(ratings):
            keys = {rating.rater for rating in ratings}
            raters = [rater for rater in self.result.raters.values() if rater.key in keys]
            for difference in differing_outcomes(self._study, ratings, raters):
                self.result.differing.add(difference)

    def _exported(self, entry: ExportedRating, stored: dict[Identity, StoredConversation]) -> StoredRating:
        """A rating that was exported, as it was."""
        rating = entry.rating
        self._save_instrument(rating.instrument)
        rater = RaterKey(rating.rater, rating.rater_kind, to_json(entry.settings, sorted=True))
        return StoredRating(stored[rating.conversation].key, self._rater(rater).key, rating)

    def _of_unit(
        self, card: CardKey, turn: int | None, entries: Sequence[ImportedAnswer], stored: StoredConversation
    ) -> Iterator[StoredRating]:
        """The ratings that follow from answers about one unit."""
        unit = Unit(stored.conversation, turn)
        outcomes = {entry.item: entry.outcome for entry in entries if entry.outcome is not None}
        findings = rules.apply(self._instrument, unit, outcomes)
        self._save_instrument(self._instrument.hash)
        for entry in entries:
            if entry.outcome is None:
                continue
            value, reasoning = entry.outcome.value, entry.reasoning
            rating = self._rating(card, Slot(turn, entry.item), entry.outcome, entry.detail)
            rating = rating._replace(reasoning=reasoning, rules=findings.get(entry.item, ()), at=entry.at)
            if value is not None:
                item = self._instrument.item(entry.item)
                marks = marks_of(ParsedAnswer(value, reasoning), item, self._instrument, fenced=False)
                rating = rating._replace(marks=marks)
                if reasoning.strip():
                    found = evidence.verify(reasoning, unit.turns, criterion_text=self._wordings[entry.item])
                    rating = rating._replace(evidence=tuple(map(evidence.to_json, found)))
            yield StoredRating(stored.key, self._rater(card.rater).key, rating)

    def _rating(self, card: CardKey, slot: Slot, outcome: Outcome, detail: str) -> Rating:
        rater, item_hash = self._rater(card.rater), self._instrument.item_hashes[slot.item]
        return Rating(
            conversation=card.identity,
            turn=slot.turn,
            item=slot.item,
            outcome=outcome,
            rater=rater.name,
            rater_kind=rater.kind,
            repeat=card.repeat,
            item_hash=item_hash,
            asked=item_hash,  # the prompt is not known; the item is
            instrument=self._instrument.hash,
            detail=detail,
        )

    def _rater(self, key: RaterKey) -> Rater:
        raters = self.result.raters
        if key not in raters:
            settings = from_json(key.settings)
            name = original_name(key.name, key.kind, settings)
            raters[key] = self._study.save_rater(name, key.kind, settings, known_as=key.name)
        return raters[key]

    def _save_instrument(self, hash: str) -> None:
        if hash not in self._instruments:
            self._study.save_instrument(self._reader.instruments[hash])
            self._instruments.add(hash)

    def absent(self, absent: AbsentPolicy) -> Iterator[tuple[CardKey, list[Slot]]]:
        """Report the answers that are due and not in the file; yields those whose absence is to be saved."""
        result, instrument = self.result, self._instrument
        responses = self._study.responses(instrument.id)
        for card, answered in result.checked.answered.items():
            asked = due(instrument, Case(card.identity, self._reader.turns[card.identity], responses))
            slots = [slot for slot in asked if slot not in answered]
            if not slots:
                continue
            names = (slot.item if slot.turn is None else f"{slot.item} at turn {slot.turn}" for slot in slots)
            result.absent.update(slot.item for slot in slots)
            result.absent_in.add(f"{card.identity} by {card.rater.name}: {', '.join(names)}")
            excused = [slot for slot in slots if slot.item not in instrument.gate_ids]
            result.absent_safety += len(slots) - len(excused)
            if absent is AbsentPolicy.NOT_DUE:
                yield card, excused
            elif slots == asked and card.rater.kind is not RaterKind.PERSON:
                # Without any rating there would be no scorecard on which they are missing. A person who left
                # everything blank has not come to this conversation.
                yield card, slots

    def save_absent(self, cards: Sequence[tuple[CardKey, list[Slot]]], absent: AbsentPolicy) -> None:
        stored = self._study.by_identity([card.identity for card, _ in cards])
        ratings = [
            StoredRating(
                stored[card.identity].key, self._rater(card.rater).key, self._rating(card, slot, *_ABSENT[absent])
            )
            for card, slots in cards
            for slot in slots
        ]
        self._study.write([], ratings)
