"""Do files of answers fit the conversations and the instrument? Everything is looked at before anything is kept."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from attunement.conversations import Conversation, Identity
from attunement.conversations.readers.record import BadRecord, Place
from attunement.errors import InputError
from attunement.instruments import Instrument
from attunement.ratings import ErrorKind
from attunement.scoring import Slot
from attunement.study.importing.exported import Exported
from attunement.study.importing.found import Answered, Card, Few, Problems
from attunement.study.importing.reading import Foreign, Reader, Wishes
from attunement.study.importing.rows import rows
from attunement.study.scorecards import chosen_instrument
from attunement.study.store import Study

_BATCH = 200


@dataclass
class Checked:
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
    off_scale: Few = field(default_factory=Few)
    """Answers that are not on the scale: they are kept as ERROR (malformed)."""
    rated: set[Identity] = field(default_factory=set[Identity])
    """Conversations about which there is an answer."""

    def entries(self) -> Iterator[Foreign | Exported]:
        """The answers and ratings in the files, once more."""
        for path in self.files:
            for row in rows(path):
                yield from self.reader.read(row)


def check(
    files: Sequence[Path],
    conversations: Iterable[Conversation] = (),
    instrument: Instrument | None = None,
    wishes: Wishes | None = None,
    *,
    study: Study | None = None,
) -> Checked:
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
    wishes = wishes or Wishes()
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
    checked = Checked(files, conversations, Reader(instrument, known, directory, wishes, origin), Answered(instrument))
    _go_through(checked, wishes)
    return checked


def _directory(conversations: Iterable[Conversation], study: Study | None) -> dict[Identity, int]:
    """All conversations that an answer can be about, with their turns."""
    found: dict[Identity, int] = {}
    if study:
        found.update((summary.identity, summary.turns) for page in study.summaries(_BATCH) for summary in page)
    source = iter(conversations)
    while batch := list(islice(source, _BATCH)):
        if study:
            study.keys(batch)  # refuses other words under a known name
        found.update((conversation.identity, len(conversation.turns)) for conversation in batch)
    return found


def _go_through(checked: Checked, wishes: Wishes) -> None:
    problems = Problems()
    names: set[str] = set()
    for path in checked.files:
        for row in rows(path):
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


def _note(checked: Checked, place: Place, entry: Foreign | Exported) -> str:
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
