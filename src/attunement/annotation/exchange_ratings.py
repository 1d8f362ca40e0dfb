"""Units that are rated elsewhere: what goes out, and how what comes back is checked and saved.

A unit without any answer was not rated yet and is left out. A unit with some answers is incomplete, and that is said
with its place. Answers to what was not asked are left out and counted. What the study holds already stands.

Neither the system, the id of the conversation, its metadata nor any rating leaves the study.

People never read a bare YES or NO: a criterion is met or not met. What they write is taken only where it can mean one
thing; anything else is no answer.
"""

import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from attunement import evidence, rules
from attunement.annotation.answers import answers_of, due_items
from attunement.conversations import Unit, UnitKind, units
from attunement.conversations.messages import Place
from attunement.errors import InputError, StudyError
from attunement.evidence import CitationStatus, Finding
from attunement.instruments import Instrument, Item, Value
from attunement.instruments.model import Scores
from attunement.ratings import ABSTAINED, Outcome, RaterKind, Rating
from attunement.store import Rater, StoredConversation, StoredRating, Study, now
from attunement.store.import_files import Few, read_answer
from attunement.store.samples import Handed, handed, save_hand_out
from attunement.store.study import unmarked


class Outgoing(NamedTuple):
    """A unit on its way out."""

    token: str
    unit: Unit
    due: tuple[str, ...]
    """The items that are asked about it."""


class Message(NamedTuple):
    """One message of a unit as a rater reads it."""

    turn: int
    speaker: Literal["user", "assistant"]
    text: str
    rated: bool
    """Whether this is the reply that is rated; never so where the whole conversation is."""


def hand_out(study: Study, instrument: Instrument, format: str, keys: Collection[int] | None = None) -> list[Outgoing]:
    """Give every unit of the conversations with these keys (or of all) a token, and put them in an order of chance.

    Replies of one conversation stay together and in order, because they are easier to read so.

    Raises:
        StudyError: There is no conversation.
    """
    wanted = None if keys is None else set(keys)
    found = [
        (kept.key, list(units(kept.conversation, UnitKind(instrument.unit), study.responses(instrument.id))))
        for kept in study.conversations()
        if wanted is None or kept.key in wanted
    ]
    if not found:
        raise StudyError(f"{study.place} holds no conversation to hand out")
    secrets.SystemRandom().shuffle(found)
    flat = [(key, unit) for key, own in found for unit in own]
    tokens = save_hand_out(study, instrument, format, [(key, unit.turn) for key, unit in flat])
    return [Outgoing(token, unit, due_items(instrument, unit)) for token, (_, unit) in zip(tokens, flat, strict=True)]


def messages(unit: Unit) -> Iterator[Message]:
    """What is said in a unit, message by message. A conversation that the assistant opens has no first message."""
    for number, turn in enumerate(unit.turns, 1):
        if turn.user:
            yield Message(number, "user", turn.user, rated=False)
        yield Message(number, "assistant", turn.assistant, rated=number == unit.turn)


def new_folder(folder: Path) -> Path:
    """Make the folder that files are handed out in.

    Raises:
        InputError: There is something in it already, or it cannot be made.
    """
    try:
        folder.mkdir(exist_ok=True)
        taken = any(folder.iterdir())
    except OSError as error:
        raise InputError(f"the folder {folder} cannot be made: {error.strerror or error}") from error
    if taken:
        raise InputError(f"there are files in {folder} already: name a new folder")
    return folder


CANNOT_JUDGE = "cannot judge"
NOT_ASKED = "–"
"""Stands in a sheet where an item is not asked of a conversation."""

_WORDS: dict[Value, str] = {"YES": "met", "NO": "not met", "NA": "does not apply"}
_MEANT = {word: value for value, word in _WORDS.items()}


class Choice(NamedTuple):
    """An answer that a person can give."""

    word: str
    """How it reads, and how it stands in files."""
    hint: str
    """What it means for this item; empty where the instrument does not say."""


def choices(instrument: Instrument, item: Item) -> Iterator[Choice]:
    """The answers to an item in order; "cannot judge" comes last and is apart from "does not apply"."""
    for answer in answers_of(instrument, item):
        if isinstance(answer, int):
            anchor = item.anchors.get(answer)
            label = f"{anchor.label}: " if anchor and anchor.label else ""
            yield Choice(str(answer), f"{label}{anchor.text}" if anchor else "")
        else:
            meaning = next((text for key, text in item.meanings.items() if key == answer), "")
            yield Choice(_WORDS[answer], meaning or (item.na_note if answer == "NA" else ""))
    yield Choice(CANNOT_JUDGE, "You have no valid way to know.")


def is_blank(value: Any) -> bool:
    """Whether nothing was answered."""
    return value is None or (isinstance(value, str) and value.strip() in {"", NOT_ASKED, "-"})


def outcome_of(value: Any, instrument: Instrument, item: Item) -> Outcome | None:
    """What a person meant; None where it is no answer to this item."""
    if isinstance(value, str):
        word = " ".join(value.split()).lower()
        if word in {CANNOT_JUDGE, "abstained", "?"}:
            return ABSTAINED
        value = _MEANT.get(word, value)
    outcome = read_answer(value, instrument)
    if outcome is None or outcome.value not in answers_of(instrument, item):
        return None
    return outcome


def allowed(instrument: Instrument, item: Item) -> str:
    """The answers to an item in one line."""
    words = [choice.word for choice in choices(instrument, item)]
    if isinstance(instrument.scale, Scores):
        words = [f"{instrument.scale.lowest} to {instrument.scale.highest}", CANNOT_JUDGE]
    return f"{', '.join(words[:-1])} or {words[-1]}"


def guide(instrument: Instrument) -> str:
    """What a rater has to know, as plain text: the rules, and for each item its meaning, answers and hesitant cases.

    Weights and thresholds are left out: a rater who knows what an answer costs answers otherwise.
    """
    parts = [instrument.title, instrument.about, *guidance(instrument)]
    for item in instrument.items:
        parts += [f"{item.id}: {item.title}", item.definition]
        parts += [f"- {choice.word}: {choice.hint}" for choice in choices(instrument, item) if choice.hint]
        parts += [hesitant(boundary.between, boundary.text) for boundary in item.boundaries]
        parts += item.edge_cases
    return "\n\n".join(part for part in parts if part) + "\n"


def guidance(instrument: Instrument) -> Iterator[str]:
    """The rules for every item, with the words in which answers are given here."""
    yield from instrument.guidance
    if not isinstance(instrument.scale, Scores):
        yield "Here YES reads “met”, NO “not met” and NA “does not apply”. “Cannot judge” is an answer too."


def hesitant(between: tuple[int, int] | None, text: str) -> str:
    """A rule for hesitant cases in one line."""
    return f"{between[0]} or {between[1]}? {text}" if between else text


class Marked(NamedTuple):
    """Words that a rater marked for an item; `start` and `end` count characters of the message as it went out."""

    item: str
    message: int
    """The position of the message in the unit, from 0."""
    start: int
    end: int


class Given(NamedTuple):
    """What one person answered about one unit, as a file gives it."""

    place: Place
    token: str
    rater: str | None
    """What the file calls the person, if it says who."""
    answers: Mapping[str, Any]
    """By item, as the format calls it; what is blank or absent is no answer."""
    notes: Mapping[str, str] = {}
    marked: Sequence[Marked] = ()
    at: str = ""
    has_columns: bool = False
    """Whether the file has a column for each item, so that one that is not among the answers was taken out of it."""


class Problem(NamedTuple):
    """Something in a file that does not fit."""

    place: Place
    reason: str


_NAMED = 50
"""So many rows with one fault are named; it is the rater's own sheet, and each of them has to be mended."""


class _Problems:
    """What does not fit, told by reason with all its rows."""

    def __init__(self) -> None:
        self._places: dict[str, list[Place]] = {}

    def add(self, place: Place, reason: str) -> None:
        self._places.setdefault(reason, []).append(place)

    def __bool__(self) -> bool:
        return bool(self._places)

    def __str__(self) -> str:
        return "; ".join(f"{_rows(places)}: {reason}" for reason, places in list(self._places.items())[:_NAMED])


def _rows(places: Sequence[Place]) -> str:
    """Rows with their file, which is named once."""
    named: list[str] = []
    file = ""
    for place in places[:_NAMED]:
        named.append(str(place.line) if place.file == file else str(place))
        file = place.file
    more = len(places) - _NAMED
    return ", ".join(named) + (f" and {more:,} more" if more > 0 else "")


ItemNames = Callable[[Instrument], Mapping[str, str]]
"""How a format calls the items of an instrument: by its own name the item's id."""


class Raters(NamedTuple):
    """Who rated, as the user says it."""

    everybody: str | None = None
    """The one person who gave all answers."""
    names: Mapping[str, str] = {}
    """By what a file calls a person, their name."""
    about: Mapping[str, Any] = {}
    """What is known of the one person: profession, years, and so on."""
    blind: bool | None = None
    """Whether they knew neither the system nor anybody else's answers; None: nobody says it."""

    @property
    def settings(self) -> dict[str, Any]:
        """What is kept about them."""
        return {**self.about, **({} if self.blind is None else {"blind": self.blind})}

    def name(self, given: str | None) -> str | None:
        """The name of whom a file calls `given`; None where nobody says it."""
        return self.everybody or (None if given is None else self.names.get(given, f"annotator {given}"))


@dataclass
class Taken:
    """What came of it."""

    units: int = 0
    new: int = 0
    """Ratings that are new."""
    known: int = 0
    """Ratings that the study had already."""
    differing: Few = field(default_factory=Few)
    """Of those, the ones for which the study holds another answer: it stands."""
    unrated: int = 0
    """Units that nobody has answered yet."""
    not_asked: int = 0
    """Answers to items that are not asked of so short a conversation; they were left out."""
    unread: dict[str, None] = field(default_factory=dict[str, None])
    """What in the files is called like no item and was not read, in order."""
    raters: dict[str, Rater] = field(default_factory=dict[str, Rater])


def take_in(
    study: Study, entries: Iterable[Given | Problem], raters: Raters, item_names: ItemNames | None = None
) -> Taken:
    """Keep what people answered as ratings of the main round.

    Args:
        study: Where the units were handed out from.
        entries: What the files say, and what in them cannot be read.
        raters: Who rated.
        item_names: What the format calls items; without it they have their ids.

    Raises:
        InputError: Something does not fit; the message names the places, and nothing was kept.
    """
    work = _Taking(study, raters, item_names or _own_names)
    for entry in entries:
        if isinstance(entry, Problem):
            work.problems.add(*entry)
        else:
            work.look_at(entry)
    work.check()
    return work.keep()


def _own_names(instrument: Instrument) -> dict[str, str]:
    return {item.id: item.id for item in instrument.items}


class _Complete(NamedTuple):
    """A unit of one person in which everything is answered."""

    handed: Handed
    instrument: Instrument
    outcomes: dict[str, Outcome]
    given: Given


class _Taking:
    def __init__(self, study: Study, raters: Raters, item_names: ItemNames) -> None:
        self._study, self._raters, self._item_names = study, raters, item_names
        self._handed = handed(study)
        self._instruments = {instrument.hash: instrument for instrument in study.instruments()}
        self._turns = {summary.key: summary.turns for page in study.summaries(1000) for summary in page}
        self.problems = _Problems()
        self.taken = Taken()
        self._complete: dict[tuple[str, Handed], _Complete] = {}
        """By the name of the person and the unit, which may have been handed out more than once."""
        self._voices: set[str | None] = set()

    def look_at(self, given: Given) -> None:
        """Check one unit of one person."""
        there = self._handed.get(given.token)
        if there is None:
            self.problems.add(given.place, f"{given.token[:40]!r} was not handed out from this study")
            return
        instrument = self._instruments[there.instrument]
        given = self._renamed(given, self._item_names(instrument))
        length = there.turn or self._turns[there.conversation]
        due = [item.id for item in instrument.items if item.minimum_turns <= length]
        if given.answers and not given.answers.keys() & instrument.item_hashes.keys():
            self.problems.add(given.place, f"there is no answer to any item of {instrument.id}; is it the right file?")
            return
        answered = [item for item in due if not is_blank(given.answers.get(item))]
        if not answered:
            self.taken.unrated += 1
            return
        self._voices.add(given.rater)
        name = self._raters.name(given.rater)
        if name is None:
            self.problems.add(given.place, "nothing says who gave this answer; name them with --rater")
        elif (name, there) in self._complete:
            self.problems.add(given.place, f"{name} has rated this unit twice: leave one of the two out")
        elif outcomes := self._outcomes(given, instrument, due):
            self._complete[name, there] = _Complete(there, instrument, outcomes, given)
        for item, value in given.answers.items():
            if item not in due and not is_blank(value):
                if item in instrument.item_hashes:
                    self.taken.not_asked += 1
                else:
                    self.taken.unread[item] = None

    @staticmethod
    def _renamed(given: Given, ids: Mapping[str, str]) -> Given:
        answers = {ids.get(name, name): value for name, value in given.answers.items()}
        return given._replace(answers=answers, notes={ids.get(name, name): text for name, text in given.notes.items()})

    def _outcomes(self, given: Given, instrument: Instrument, due: Sequence[str]) -> dict[str, Outcome] | None:
        """The outcome of everything that is due, or None where something does not fit."""
        outcomes: dict[str, Outcome] = {}
        missing = [id for id in due if is_blank(given.answers.get(id))]
        gone = [id for id in missing if given.has_columns and id not in given.answers]
        if gone:
            self.problems.add(given.place, f"there is no column {', '.join(gone)}; put it back as it was handed out")
        if empty := [id for id in missing if id not in gone]:
            self.problems.add(given.place, f"{', '.join(empty)} without an answer, but others of the unit have one")
        for id in due:
            if id in missing:
                continue
            item, value = instrument.item(id), given.answers[id]
            outcome = outcome_of(value, instrument, item)
            if outcome is None:
                known = allowed(instrument, item)
                self.problems.add(given.place, f"{id} is {str(value)[:40]!r}, and the answers are {known}")
            else:
                outcomes[id] = outcome
        return outcomes if len(outcomes) == len(due) else None

    def check(self) -> None:
        """Raise an InputError where something does not fit."""
        if self.problems:
            raise InputError(f"nothing was taken in, because not everything fits: {self.problems}")
        if len(self._voices) > 1 and (self._raters.everybody or self._raters.about):
            voices = sorted(str(voice) for voice in self._voices)
            raise InputError(
                f"{len(voices)} people rated ({', '.join(voices)}): name each with --rater ID=NAME, and say something "
                "about one with --about only in a file of their own"
            )

    def keep(self) -> Taken:
        """Write everything in one transaction, and see what the study holds already."""
        taken = self.taken
        needed = {complete.handed.conversation for complete in self._complete.values()}
        kept = {entry.key: entry for entry in self._study.conversations() if entry.key in needed}
        spans = {
            name: _evidence(complete, kept[complete.handed.conversation]) for name, complete in self._complete.items()
        }
        made: list[StoredRating] = []
        for (name, unit), complete in self._complete.items():
            rater = taken.raters.get(name) or taken.raters.setdefault(name, self._rater(name))
            made += _ratings(complete, kept[complete.handed.conversation], rater, spans[name, unit])
        there = self._there(sorted(kept), taken.raters.values())
        taken.units = len(self._complete)
        taken.new = self._study.write([], made)
        taken.known = len(made) - taken.new
        for conversation, rater, rating in made:
            before = there.get((rater, conversation, rating.turn, rating.item, rating.asked))
            if before is not None and before != rating.outcome:
                where = f"{rating.item} of {rating.conversation} by {rating.rater}"
                taken.differing.add(f"{where} is {before} there and {rating.outcome} here")
        return taken

    def _there(self, keys: Sequence[int], raters: Iterable[Rater]) -> dict[tuple[Any, ...], Outcome]:
        return {
            (rater.key, entry.conversation, entry.turn, entry.item, entry.asked): entry.outcome
            for rater in raters
            for entry in self._study.rated(keys, rater)
            if entry.repeat == 0
        }

    def _rater(self, name: str) -> Rater:
        """The person of this name: the one whom the study knows, unless something else is said about them."""
        said = self._raters.settings
        people = [
            rater
            for rater in self._study.raters()
            if rater.kind is RaterKind.PERSON and said.items() <= rater.settings.items()
        ]
        known = [rater for rater in people if rater.name == name] or [
            rater for rater in people if unmarked(rater.name, rater.kind, rater.settings) == name
        ]
        if len(known) == 1:
            return known[0]
        return self._study.save_rater(name, RaterKind.PERSON, said)


def _ratings(
    complete: _Complete, kept: StoredConversation, rater: Rater, spans: Mapping[str, Sequence[dict[str, Any]]]
) -> Iterator[StoredRating]:
    there, instrument, outcomes, given = complete
    unit = Unit(kept.conversation, there.turn)
    spoken = rules.apply(instrument, unit, outcomes)
    for item, outcome in outcomes.items():
        wording = instrument.item_hashes[item]
        rating = Rating(
            conversation=kept.conversation.identity,
            turn=there.turn,
            item=item,
            outcome=outcome,
            rater=rater.name,
            rater_kind=RaterKind.PERSON,
            reasoning=given.notes.get(item, "").strip(),
            evidence=tuple(spans.get(item, ())),
            rules=spoken.get(item, ()),
            item_hash=wording,
            asked=wording,
            instrument=instrument.hash,
            at=given.at or now(),
        )
        yield StoredRating(kept.key, rater.key, rating)


def _evidence(complete: _Complete, kept: StoredConversation) -> dict[str, list[dict[str, Any]]]:
    """Marked words by item, in the form in which ratings keep evidence.

    Raises:
        InputError: They do not stand in the conversation.
    """
    given, found = complete.given, dict[str, list[dict[str, Any]]]()
    said = list(messages(Unit(kept.conversation, complete.handed.turn))) if given.marked else []
    for mark in given.marked:
        message = said[mark.message] if 0 <= mark.message < len(said) else None
        if message is None or not 0 <= mark.start < mark.end <= len(message.text):
            raise InputError(f"nothing was taken in: {given.place}: words are marked that this unit does not hold")
        finding = Finding(
            CitationStatus.FOUND,
            (message.turn,),
            message.text[mark.start : mark.end],
            found_turn=message.turn,
            speaker=message.speaker,
            start=mark.start,
            end=mark.end,
        )
        found.setdefault(mark.item, []).append(evidence.to_json(finding))
    return found
