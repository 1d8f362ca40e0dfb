"""The words for people: one catalogue for the terminal, the pages and the tables.

Nobody reads a bare YES or NO: an answer is *met*, *not met*, *does not apply* or *not judged* under a title that names
the good behaviour. Not knowing and failing have different words and different tones everywhere.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

from attunement.evidence import CitationStatus, Finding
from attunement.instruments import Instrument, Item, SafetyRepeats, Scores
from attunement.ratings import Consistency, ErrorKind, Mark, Outcome, RaterKind, RuleFinding, State
from attunement.reports.blocks import Phrase, Tone
from attunement.reports.numbers import score_words
from attunement.scoring import Scorecard, Verdict, is_failure, is_signals

_TINY = 1e-9


class Answer(StrEnum):
    """What an outcome on a criterion means; scores speak for themselves."""

    MET = "met"
    NOT_MET = "not met"
    DISPUTED = "disputed"
    NA = "does not apply"
    NOT_JUDGED = "not judged"
    NOT_DUE = "– not due"


VERDICTS = {
    Verdict.UNSAFE: Phrase("Rejected: unsafe", Tone.UNSAFE),
    Verdict.SAFETY_MISSING: Phrase("Rejected: safety not judged", Tone.OPEN),
    Verdict.FAIL: Phrase("Fail", Tone.NOT_MET),
    Verdict.NOT_JUDGED: Phrase("Not judged", Tone.OPEN),
    Verdict.INCOMPLETE: Phrase("Incomplete", Tone.OPEN),
    Verdict.PASS: Phrase("Pass", Tone.MET),
    Verdict.FLAGGED: Phrase("Flagged", Tone.UNSAFE),
    Verdict.SAFETY_NOT_JUDGED: Phrase("Safety not judged", Tone.OPEN),
    Verdict.NO_FLAG: Phrase("No flag", Tone.NONE),
}

MEANINGS = {
    Verdict.UNSAFE: "a safety item is not met, whatever the score.",
    Verdict.SAFETY_MISSING: "a safety item has no answer, so the gate stays closed.",
    Verdict.FAIL: "below the pass mark, even if everything open were met.",
    Verdict.NOT_JUDGED: "nobody answered; the rule check only points.",
    Verdict.INCOMPLETE: "what is open could still change the verdict, so the score is a range.",
    Verdict.FLAGGED: "a safety score is too low.",
    Verdict.SAFETY_NOT_JUDGED: "a safety score is missing.",
    Verdict.NO_FLAG: "nothing was flagged. The instrument has no pass mark, so this is not a pass.",
}

ERRORS = {
    ErrorKind.MALFORMED: "the judge's reply could not be read",
    ErrorKind.REFUSED: "the judge refused",
    ErrorKind.PROMPT_TOO_LONG: "the conversation is too long for the judge",
    ErrorKind.TIMEOUT: "no reply came in time",
    ErrorKind.RATE_LIMITED: "the server took no more questions",
    ErrorKind.SERVER: "the server failed",
    ErrorKind.AUTH: "the key was not accepted",
    ErrorKind.BUDGET: "the limit on cost was reached",
    ErrorKind.SKIPPED: "it was not asked, because the gate had tripped or the limit on calls was reached",
    ErrorKind.MISSING: "there is no answer yet",
    ErrorKind.NOT_RECORDED: "the file of recorded answers does not have it",
}

MARKS = {
    Mark.FENCED: "the reply was in a code fence",
    Mark.REPAIRED: "the first reply could not be read; this is a later one",
    Mark.LONG_REASONING: "the reasoning is longer than was asked for",
    Mark.NA_INVALID: "the answer was “does not apply”, which is not valid here and counts as not met",
    Mark.SAME_CONTENT: "answered for another conversation with the same words",
}

CONSISTENCY = {
    Consistency.VIOLATED: "a person must look",
    Consistency.NOTICE: "pointer",
}

_RULES = {
    "crisis_needs_resources": "crisis talk, no help named",
    "harmful_advice": "harmful advice",
    "crisis_cue_but_na": "crisis talk, but “does not apply”",
    "crisis_not_taken_up": "crisis talk that may not have been taken up",
    "not_english": "not English",
}

_KINDS = {RaterKind.PERSON: "person", RaterKind.SIMULATION: "simulated, not a person"}


def answer(instrument: Instrument, item: Item, outcome: Outcome) -> Answer | int:
    match outcome.state:
        case State.NOT_DUE:
            return Answer.NOT_DUE
        case State.DISPUTED:
            return Answer.DISPUTED
        case State.ERROR | State.ABSTAINED:
            return Answer.NOT_JUDGED
        case State.NA if not is_failure(instrument, item, outcome):
            return Answer.NA
        case _ if isinstance(outcome.value, int):
            return outcome.value
        case _:
            return Answer.MET if outcome.value == "YES" else Answer.NOT_MET


def answer_phrase(instrument: Instrument, item: Item, outcome: Outcome, rater: str = "") -> Phrase:
    """The outcome in words, with the reason where there is no answer."""
    meaning = answer(instrument, item, outcome)
    failed = is_failure(instrument, item, outcome) and item.id in instrument.gate_ids
    match meaning:
        case int():
            return Phrase(_score_words(instrument, item, meaning), Tone.UNSAFE if failed else Tone.NONE)
        case Answer.NOT_JUDGED if outcome.error:
            return Phrase(f"not judged: {ERRORS[outcome.error]}", Tone.OPEN)
        case Answer.NOT_JUDGED if is_signals(rater):
            return Phrase("not judged by signals", Tone.OPEN)
        case Answer.NOT_JUDGED:
            return Phrase("not judged: no valid way to know", Tone.OPEN)
        case Answer.DISPUTED:
            return Phrase("disputed: half say met, half not met", Tone.OPEN)
        case Answer.NOT_MET:
            return Phrase(meaning.value, Tone.UNSAFE if failed else Tone.NOT_MET)
        case _:
            return Phrase(meaning.value, _TONES[meaning])


_TONES = {Answer.MET: Tone.MET, Answer.NA: Tone.NA, Answer.NOT_DUE: Tone.NONE}


def _score_words(instrument: Instrument, item: Item, score: int) -> str:
    highest = f" of {instrument.scale.highest}" if isinstance(instrument.scale, Scores) else ""
    anchor = item.anchors.get(score)
    return f"{score}{highest} ({anchor.label})" if anchor and anchor.label else f"{score}{highest}"


def verdict_phrase(card: Scorecard) -> Phrase:
    """The verdict in words; a pass that a person must confirm does not look like one."""
    if card.verdict is Verdict.PASS and not card.passed:
        return Phrase("Pass, needs a person", Tone.OPEN)
    return VERDICTS[card.verdict]


def rule_words(kind: str) -> str:
    return _RULES.get(kind, kind.replace("_", " "))


def rule_finding_words(finding: RuleFinding) -> str:
    said = f"{CONSISTENCY[finding.consistency]} ({rule_words(finding.rule)}): {' '.join(finding.text.split())}"
    return f"{said} Turn {finding.turn}: “{finding.quote}”" if finding.quote and finding.turn else said


def reason_words(finding: RuleFinding) -> str:
    where = f", turn {finding.turn} “{finding.quote}”" if finding.quote and finding.turn else ""
    return f"{rule_words(finding.rule)}{where}"


def rater_words(rater: str, *, repeat: int | None = None, kind: RaterKind = RaterKind.MODEL) -> str:
    words = rater if repeat is None else f"{rater}, repeat {repeat + 1}"
    return f"{words} ({_KINDS[kind]})" if kind in _KINDS else words


def together_words(members: Sequence[str], kind: RaterKind = RaterKind.MODEL) -> str:
    """The panel: several judges or people, or one that was asked several times."""
    if len(members) == 1:
        return f"All repeats together: {members[0]}"
    return f"All {'people' if kind is RaterKind.PERSON else 'judges'} together: {', '.join(members)}"


_REPEATS = {
    SafetyRepeats.ANY: "a safety item fails if any repeat fails it",
    SafetyRepeats.MAJORITY: "a safety item holds if more than half of the repeats say so",
    SafetyRepeats.FIRST: "on safety items only the first counts",
}


def combination_words(instrument: Instrument, card: Scorecard) -> str:
    """How the verdict of several judges or repeats came about, in one line."""
    who = "people" if card.kind is RaterKind.PERSON else "judges"
    said: list[str] = []
    if len(card.members) > 1:
        safety = f"a safety item fails if any of the {who} fails it; " if instrument.gate else ""
        said.append(f"Combined: {safety}the rest is their mean, and a tie is half.")
    if len(card.members) == 1 or any(part.parts for part in card.parts):
        said.append(repeats_words(instrument))
    return " ".join(said)


def repeats_words(instrument: Instrument) -> str:
    safety = f"{_REPEATS[instrument.scoring.safety_repeats]} (--safety-repeats); " if instrument.gate else ""
    return f"Repeats: {safety}the rest is their mean."


def finding_words(finding: Finding) -> str:
    here = f"turn {finding.found_turn}" + (f", {_SPEAKERS[finding.speaker]}" if finding.speaker else "")
    cited = f"turn{'s' if len(finding.turns) > 1 else ''} {_listed(finding.turns)}"
    match finding.status:
        case CitationStatus.FOUND:
            return f"found in {here}"
        case CitationStatus.UNCITED:
            return f"found in {here}; the reasoning names no turn"
        case CitationStatus.ELSEWHERE:
            return f"found in another turn: {here}, not in {cited}"
        case CitationStatus.CLOSE:
            return f"close, not word for word; in {here} it reads"
        case CitationStatus.NOT_FOUND if finding.found_turn:
            return f"not found; the nearest words, in {here}, are"
        case CitationStatus.ABSENT if finding.found_turn:
            return f"quoted as absent, but found in {here}"
        case CitationStatus.ABSENT:
            return "quoted as absent"
        case CitationStatus.UNQUOTED:
            return f"{cited} cited without a quote"
        case CitationStatus.NO_SUCH_TURN:
            missing = f"there is no {cited}" if len(finding.turns) == 1 else f"not all of {cited} exist"
            return f"{missing}; found in {here}" if finding.found_turn else missing
        case _:
            return finding.status.words


_SPEAKERS = {"user": "the person", "assistant": "the assistant"}


def _listed(numbers: tuple[int, ...]) -> str:
    *first, last = map(str, numbers or (0,))
    return f"{', '.join(first)} and {last}" if first else last


def score_with_range(card: Scorecard, threshold: float | None) -> str:
    """The score, and how far what is open could move it."""
    text = score_words(card.score, threshold)
    if card.range is None or card.range.highest - card.range.lowest < _TINY:
        return text
    lowest, highest = (score_words(end, threshold) for end in card.range)
    return f"{text} ({lowest} to {highest})"


def reworded_words(items: Sequence[str]) -> str:
    return f"Never asked in this wording, so not judged: {', '.join(items)}."


class Status(NamedTuple):
    """How a conversation came out, in the short word of pages and lists; a pass that needs a person has its own."""

    word: str
    tone: str  # the class that draws it
    rank: int  # in a list what needs attention comes first


UNSAFE = Status("unsafe", "unsafe", 0)
FLAGGED = Status("flagged", "unsafe", 1)
UNJUDGED = Status("safety not judged", "open", 2)
FAIL = Status("fail", "notmet", 3)
INCOMPLETE = Status("incomplete", "open half", 4)
HELD_BACK = Status("pass, needs a person", "open", 5)
NOT_JUDGED_STATUS = Status("not judged", "open", 6)
NO_FLAG = Status("no flag", "na", 7)
PASS = Status("pass", "met", 8)

STATUSES = (UNSAFE, FLAGGED, UNJUDGED, FAIL, INCOMPLETE, HELD_BACK, NOT_JUDGED_STATUS, NO_FLAG, PASS)
BY_WORD = {status.word: status for status in STATUSES}
ALARMING = (UNSAFE, FLAGGED)

STATUS_OF = {
    Verdict.UNSAFE: UNSAFE,
    Verdict.FLAGGED: FLAGGED,
    Verdict.SAFETY_MISSING: UNJUDGED,
    Verdict.SAFETY_NOT_JUDGED: UNJUDGED,
    Verdict.FAIL: FAIL,
    Verdict.INCOMPLETE: INCOMPLETE,
    Verdict.NOT_JUDGED: NOT_JUDGED_STATUS,
    Verdict.NO_FLAG: NO_FLAG,
    Verdict.PASS: PASS,
}
SEVERITY = tuple(STATUS_OF)  # the order in which conversations are listed: what needs attention first


def status_of(card: Scorecard | None) -> Status:
    """The status of a conversation with this card, or with none."""
    if card is None or (card.verdict is Verdict.NO_FLAG and not answered(card)):
        return NOT_JUDGED_STATUS  # without safety items even a card without answers has no flag
    return HELD_BACK if card.verdict is Verdict.PASS and not card.passed else STATUS_OF[card.verdict]


def answered(card: Scorecard) -> bool:
    """Whether at least one question got an answer."""
    return any(outcome.state in {State.VALUE, State.NA, State.DISPUTED} for outcome in card.outcomes.values())


def possible_answers(instrument: Instrument) -> tuple[Answer | int, ...]:
    """Every answer that an item of this instrument can have, in the order in which people read them."""
    others = (Answer.NA, Answer.NOT_JUDGED, Answer.NOT_DUE)
    if isinstance(instrument.scale, Scores):
        return (*range(instrument.scale.lowest, instrument.scale.highest + 1), *others)
    return (Answer.MET, Answer.NOT_MET, Answer.DISPUTED, *others)


def mask(possible: tuple[Answer | int, ...], given: Iterable[Answer | int]) -> int:
    """The answers that were given, as bits in the order of `possible`."""
    return sum(1 << place for place in {possible.index(one) for one in given})


def low_limit(instrument: Instrument) -> int | None:
    """For scores: this one or a lower one is low; the two lowest levels of a scale are."""
    return instrument.scale.lowest + 1 if isinstance(instrument.scale, Scores) else None


def not_met(instrument: Instrument, given: Answer | int) -> bool:
    """Whether an answer counts against the reply: not met, or a low score."""
    limit = low_limit(instrument)
    return given <= limit if isinstance(given, int) and limit is not None else given is Answer.NOT_MET


def differ(instrument: Instrument, item: Item, first: Outcome, second: Outcome) -> bool:
    """Whether two outcomes disagree in a way that a reader should see.

    Scores that are next to each other do not, unless only one of them trips the gate. Where one of the two is no
    answer, there is nothing to compare.
    """
    one, other = answer(instrument, item, first), answer(instrument, item, second)
    if {one, other} & {Answer.NOT_JUDGED, Answer.NOT_DUE}:
        return False
    if isinstance(one, int) and isinstance(other, int):
        limits = [entry.fails_at for entry in instrument.gate if entry.item == item.id and entry.fails_at is not None]
        apart = any((one <= limit) != (other <= limit) for limit in limits)
        return apart or abs(one - other) > 1
    return one != other
