"""Import answers and ratings from files: everything is checked first, then everything is saved.

Two kinds of files are read: ratings that Attunement exported, which come back as they were, and answers that were made
elsewhere, whose evidence is checked and to which the instrument's rules are applied.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from pathlib import Path

from attunement import evidence, rules
from attunement.conversations import Conversation, Identity, Unit
from attunement.conversations.messages import BadRecord, Place
from attunement.errors import InputError
from attunement.instruments import Instrument
from attunement.judges.reply_parser import ParsedAnswer as Reply
from attunement.judges.reply_parser import marks_of
from attunement.prompts import Questionnaire
from attunement.ratings import MISSING, NOT_DUE, ErrorKind, Outcome, RaterKind, Rating, Round, RuleFinding
from attunement.scoring import Case, Slot, due
from attunement.store.import_files import (
    Answered,
    Card,
    Columns,
    CountedExamples,
    Exported,
    Foreign,
    ImportOptions,
    Problems,
    Reader,
    Voice,
    read_rows,
)
from attunement.store.rows import AnswerRecord, Rater, StoredConversation, StoredRating, from_json, to_json
from attunement.store.scorecards import chosen_instrument
from attunement.store.study import Study, original_name

_CHECKED_AT_ONCE = 200


@dataclass
class CheckedImport:
    """Files that fit: what `keep` needs to know of them, and what is to be said about them."""

    files: Sequence[Path]
    conversations: Iterable[Conversation]
    reader: Reader
    answered: Answered
    """What has an answer, of answers made elsewhere."""
    answers: int = 0
    """Answers in the files, whatever became of them."""
    blank: int = 0
    """Answers that are left empty: they count as absent."""
    errors: int = 0
    """Answers that are ERROR in the file."""
    off_scale: CountedExamples = field(default_factory=CountedExamples)
    """Answers that are not on the scale: they are kept as ERROR (malformed)."""
    rated: set[Identity] = field(default_factory=set[Identity])
    """Conversations about which there is an answer."""

    def entries(self) -> Iterator[Foreign | Exported]:
        """The answers and ratings in the files, once more."""
        for path in self.files:
            for row in read_rows(path):
                yield from self.reader.read(row)


def check_import(
    files: Sequence[Path],
    conversations: Iterable[Conversation] = (),
    instrument: Instrument | None = None,
    wishes: ImportOptions | None = None,
    *,
    study: Study | None = None,
) -> CheckedImport:
    """Look at everything in `files` that `keep` would keep.

    Args:
        files: Tables of answers, or exported ratings.
        conversations: What the answers are about, beside what is in the study. It is gone through more than once.
        instrument: What was asked; None takes the only one in the study.
        wishes: How the files are to be understood.
        study: The study that they are to go into, if it is there already. Nothing in it is changed.

    Raises:
        InputError: A file cannot be read, or something in it does not fit. The message names lines.
        StudyError: The study holds other words under the name of a conversation, or several instruments.
    """
    wishes = wishes or ImportOptions()
    known = study.instruments() if study else []
    if instrument is not None:
        known.append(instrument)
    elif study and known:
        instrument = chosen_instrument(study)
    else:
        raise InputError("say with --instrument what was asked: an id such as coaching-v1, or a .yaml file")
    known.extend(wishes.versions)
    directory = _directory(conversations, study)
    if not directory:
        raise InputError("give the conversations that the answers are about with --conversations FILE")
    origin = ", ".join(sorted({path.name for path in files}))
    checked = CheckedImport(
        files, conversations, Reader(instrument, known, directory, wishes, origin), Answered(instrument)
    )
    _go_through(checked, wishes)
    return checked


def _directory(conversations: Iterable[Conversation], study: Study | None) -> dict[Identity, int]:
    """All conversations that an answer can be about, with their turns."""
    found: dict[Identity, int] = {}
    if study:
        found.update(
            (summary.identity, summary.turns) for page in study.summaries(_CHECKED_AT_ONCE) for summary in page
        )
    source = iter(conversations)
    while batch := list(islice(source, _CHECKED_AT_ONCE)):
        if study:
            study.keys(batch)  # refuses other words under a known name
        found.update((conversation.identity, len(conversation.turns)) for conversation in batch)
    return found


def _go_through(checked: CheckedImport, wishes: ImportOptions) -> None:
    problems = Problems()
    names: set[str] = set()
    for path in checked.files:
        for row in read_rows(path):
            try:
                for entry in checked.reader.read(row):
                    names.add(_note(checked, row.place, entry))
            except BadRecord as bad:
                problems.add(row.place, bad.reason)
    if problems:
        raise InputError(f"nothing was imported, because not everything fits: {problems}")
    if not checked.answers:
        raise InputError(f"{', '.join(map(str, checked.files))}: there is no answer in it")
    if checked.off_scale.count and checked.off_scale.count == checked.answers - checked.blank:
        raise InputError(
            f"nothing was imported, because no answer is on the scale of {checked.reader.instrument.id}: "
            f"{checked.off_scale.named[0]}; is the right column taken? Name it with --answer-column"
        )
    if strangers := wishes.people - names:
        raise InputError(f"--person names {', '.join(sorted(strangers))}, who gave none of these answers")


def _note(checked: CheckedImport, place: Place, entry: Foreign | Exported) -> str:
    """Count the entry, and say who gave it."""
    checked.answers += 1
    if isinstance(entry, Exported):
        checked.rated.add(entry.rating.conversation)
        checked.errors += entry.rating.outcome.error is not None
        return entry.rating.rater
    given = entry.given
    checked.rated.add(entry.card.identity)
    if not checked.answered.add(entry.card, None if given.outcome is None else Slot(entry.turn, given.item)):
        raise BadRecord(_twice(entry.card, given.item))
    if given.outcome is None:
        checked.blank += 1
    elif given.outcome.error is ErrorKind.MALFORMED:
        checked.off_scale.add(f"{place}: {given.detail}")
    elif given.outcome.error:
        checked.errors += 1
    return entry.card.voice.name


def _twice(card: Card, item: str) -> str:
    return (
        f"{item} of {card.identity} by {card.voice.name} stands twice; number answers that were asked for again in a "
        "column 'repeat'"
    )


_BATCH = 200
"""Ratings that are made and kept at a time."""


class AbsentPolicy(StrEnum):
    """What it means that an answer is not in the file."""

    ERROR = "error"
    """It is missing, which scores as an ERROR."""
    NOT_DUE = "not-due"
    """Those who made the file were right not to ask. It does not excuse a safety item."""


_ABSENT = {
    AbsentPolicy.ERROR: (MISSING, "no answer in the imported file"),
    AbsentPolicy.NOT_DUE: (NOT_DUE, "no answer in the imported file, which is said to be right"),
}


@dataclass
class ImportResult:
    """What an import did."""

    checked: CheckedImport
    conversations: int = 0
    """Conversations that were given with the answers."""
    raters: dict[Voice, Rater] = field(default_factory=dict[Voice, Rater])
    new: int = 0
    """Ratings that are new, or took the place of an ERROR."""
    known: int = 0
    """Ratings that were in the study already."""
    differing: CountedExamples = field(default_factory=CountedExamples)
    """Of those, the ones for which the study holds another outcome: it stands."""
    absent: Counter[str] = field(default_factory=Counter[str])
    """How many answers are not in the file, by item."""
    absent_in: CountedExamples = field(default_factory=CountedExamples)
    """The conversations that lack them."""
    absent_safety: int = 0
    """How many of them are safety items, which stay missing."""
    unanswered: CountedExamples = field(default_factory=CountedExamples)
    """Conversations that were given and about which there is no answer at all."""


def save_import(checked: CheckedImport, study: Study, absent: AbsentPolicy = AbsentPolicy.ERROR) -> ImportResult:
    """Keep what was checked in `study`, and say what is absent. What is there already stands."""
    work = _Keeping(checked, study)
    work.save_conversations()
    entries = checked.entries()
    while batch := list(islice(entries, _BATCH)):
        work.keep(batch)
    work.note_absent(absent)
    return work.report


class _Keeping:
    def __init__(self, checked: CheckedImport, study: Study) -> None:
        self.report = ImportResult(checked)
        self._study, self._reader = study, checked.reader
        self._instrument = checked.reader.instrument
        self._wordings = Questionnaire(self._instrument).wordings
        self._instruments: set[str] = set()

    def save_conversations(self) -> None:
        checked = self.report.checked
        source = iter(checked.conversations)
        while batch := list(islice(source, _BATCH)):
            self._study.save_conversations(batch)
            self.report.conversations += len(batch)
            for conversation in batch:
                if conversation.identity not in checked.rated:
                    self.report.unanswered.add(conversation.identity)

    def keep(self, entries: Sequence[Foreign | Exported]) -> None:
        ours = [entry for entry in entries if isinstance(entry, Exported)]
        units: dict[tuple[Card, int | None], list[Foreign]] = {}
        for entry in entries:
            if isinstance(entry, Foreign):
                units.setdefault((entry.card, entry.turn), []).append(entry)
        meant = {card.identity for card, _ in units} | {entry.rating.conversation for entry in ours}
        there = self._study.named(list(meant))
        ratings = [self._again(entry, there) for entry in ours]
        answers = [
            entry.answer._replace(rater=kept.rater)
            for entry, kept in zip(ours, ratings, strict=True)
            if entry.answer is not None
        ]
        for (card, turn), given in units.items():
            ratings += self._of_unit(card, turn, given, there[card.identity])
        self._write(answers, ratings)

    def note_absent(self, absent: AbsentPolicy) -> None:
        report, instrument = self.report, self._instrument
        responses = self._study.responses(instrument.id)
        waiting: list[tuple[Card, list[Slot]]] = []
        for card in report.checked.answered:
            case = Case(card.identity, self._reader.directory[card.identity], responses)
            asked = due(instrument, case)
            slots = report.checked.answered.absent(card, asked)
            if not slots:
                continue
            report.absent.update(slot.item for slot in slots)
            report.absent_in.add(f"{card.identity} by {card.voice.name}: {_listed(slots)}")
            excused = [slot for slot in slots if slot.item not in instrument.gate_ids]
            report.absent_safety += len(slots) - len(excused)
            if absent is AbsentPolicy.NOT_DUE:
                waiting.append((card, excused))
            elif slots == asked and card.voice.kind is not RaterKind.PERSON:
                # Without any rating there would be no scorecard on which they are missing. A person who left
                # everything blank has not come to this conversation.
                waiting.append((card, slots))
            if len(waiting) == _BATCH:
                self._fill(waiting, absent)
                waiting = []
        self._fill(waiting, absent)

    def _fill(self, cards: Iterable[tuple[Card, list[Slot]]], absent: AbsentPolicy) -> None:
        """Say of slots without an answer what that means."""
        there = self._study.named([card.identity for card, _ in cards])
        outcome, detail = _ABSENT[absent]
        made = [
            StoredRating(
                there[card.identity].key,
                self._rater(card.voice).key,
                self._rating(card, slot, outcome)._replace(detail=detail),
            )
            for card, slots in cards
            for slot in slots
        ]
        self._study.write([], made)

    def _again(self, entry: Exported, there: dict[Identity, StoredConversation]) -> StoredRating:
        """A rating that was exported, as it was."""
        rating = entry.rating
        self._keep_instrument(rating.instrument)
        voice = Voice(rating.rater, rating.rater_kind, to_json(entry.settings, sorted=True))
        return StoredRating(there[rating.conversation].key, self._rater(voice).key, rating)

    def _of_unit(
        self, card: Card, turn: int | None, entries: Sequence[Foreign], kept: StoredConversation
    ) -> list[StoredRating]:
        """The ratings that follow from answers about one unit."""
        unit = Unit(kept.conversation, turn)
        outcomes = {entry.given.item: entry.given.outcome for entry in entries if entry.given.outcome is not None}
        spoken = rules.apply(self._instrument, unit, outcomes)
        self._keep_instrument(self._instrument.hash)
        rater = self._rater(card.voice)
        return [
            StoredRating(kept.key, rater.key, self._of_answer(entry, entry.given.outcome, unit, spoken))
            for entry in entries
            if entry.given.outcome is not None
        ]

    def _of_answer(
        self, entry: Foreign, outcome: Outcome, unit: Unit, spoken: dict[str, tuple[RuleFinding, ...]]
    ) -> Rating:
        given = entry.given
        rating = self._rating(entry.card, Slot(entry.turn, given.item), outcome)._replace(
            reasoning=given.reasoning,
            rules=spoken.get(given.item, ()),
            detail=given.detail,
            at=given.at,
        )
        if outcome.value is None:
            return rating
        reply = Reply(outcome.value, given.reasoning)
        marks = marks_of(reply, self._instrument.item(given.item), self._instrument, fenced=False)
        if not given.reasoning.strip():
            return rating._replace(marks=marks)
        found = evidence.verify(given.reasoning, unit.turns, criterion_text=self._wordings[given.item])
        return rating._replace(marks=marks, evidence=tuple(evidence.to_json(finding) for finding in found))

    def _rating(self, card: Card, slot: Slot, outcome: Outcome) -> Rating:
        rater = self._rater(card.voice)
        item_hash = self._instrument.item_hashes[slot.item]
        return Rating(
            conversation=card.identity,
            turn=slot.turn,
            item=slot.item,
            outcome=outcome,
            rater=rater.name,
            rater_kind=rater.kind,
            repeat=card.repeat,
            item_hash=item_hash,
            asked=item_hash,  # how it was asked elsewhere is not known; what was asked is
            instrument=self._instrument.hash,
        )

    def _rater(self, voice: Voice) -> Rater:
        raters = self.report.raters
        if voice not in raters:
            settings = from_json(voice.settings)
            name = original_name(voice.name, voice.kind, settings)
            raters[voice] = self._study.save_rater(name, voice.kind, settings, known_as=voice.name)
        return raters[voice]

    def _keep_instrument(self, hash: str) -> None:
        if hash not in self._instruments:
            self._study.save_instrument(self._reader.instruments[hash])
            self._instruments.add(hash)

    def _write(self, answers: Sequence[AnswerRecord], ratings: Sequence[StoredRating]) -> None:
        new = self._study.write(answers, ratings)
        self.report.new += new
        self.report.known += len(ratings) - new
        if new < len(ratings):
            self._compare(ratings)

    def _compare(self, ratings: Sequence[StoredRating]) -> None:
        """Find those of `ratings` in whose place the study holds another outcome."""
        keys = sorted({kept.conversation for kept in ratings})
        raters = {rater.key: rater for rater in self.report.raters.values()}
        stands = {
            (rater, *there[:5]): there.outcome
            for rater in {kept.rater for kept in ratings}
            for there in self._study.rated(keys, raters[rater])
        }
        for conversation, rater, rating in ratings:
            there = stands.get((rater, conversation, rating.turn, rating.item, rating.asked, rating.repeat))
            if rating.round is Round.MAIN and there is not None and there != rating.outcome:
                where = f"{rating.item} of {rating.conversation} by {raters[rater].name}"
                self.report.differing.add(f"{where} is {there} there and {rating.outcome} here")


def _listed(slots: Sequence[Slot]) -> str:
    return ", ".join(slot.item if slot.turn is None else f"{slot.item} at turn {slot.turn}" for slot in slots)


__all__ = [
    "AbsentPolicy",
    "CheckedImport",
    "Columns",
    "CountedExamples",
    "ImportOptions",
    "ImportResult",
    "check_import",
    "save_import",
]
