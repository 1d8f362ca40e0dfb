"""One rater's outcome for one item and unit. People and judges make the same record.

An outcome is a value (YES, NO or a score), NA, ABSTAINED (this rater has no valid way to know) or ERROR with its
kind. Nothing that could not be read ever becomes a value.
"""

from enum import StrEnum
from typing import Any, NamedTuple

from attunement.conversations import Identity
from attunement.instruments import Value


class State(StrEnum):
    """What came of asking."""

    VALUE = "value"
    NA = "na"
    ABSTAINED = "abstained"
    ERROR = "error"
    NOT_DUE = "not_due"  # an imported study did not ask, and says that this was right; no rater gives it
    DISPUTED = "disputed"  # half of a panel says met and half not met; no rater gives it


class ErrorKind(StrEnum):
    """Why there is no answer."""

    MALFORMED = "malformed"
    REFUSED = "refused"
    PROMPT_TOO_LONG = "prompt_too_long"
    TIMEOUT = "timeout"
    RATE_LIMITED = "rate_limited"
    SERVER = "server"
    AUTH = "auth"
    BUDGET = "budget"
    SKIPPED = "skipped"
    MISSING = "missing"
    NOT_RECORDED = "not_recorded"


class Outcome(NamedTuple):
    """A value, NA, ABSTAINED or an ERROR. Make one with the constructors below."""

    state: State
    value: Value | None = None
    error: ErrorKind | None = None

    @classmethod
    def of(cls, value: Value) -> "Outcome":
        """The outcome of an answer on the scale."""
        return cls(State.NA, "NA") if value == "NA" else cls(State.VALUE, value)

    @classmethod
    def failed(cls, kind: ErrorKind) -> "Outcome":
        """The outcome of a question that got no answer."""
        return cls(State.ERROR, error=kind)

    def __str__(self) -> str:
        match self.state:
            case State.ERROR:
                return f"ERROR ({self.error})"
            case State.ABSTAINED:
                return "ABSTAINED"
            case State.NOT_DUE:
                return "–"
            case State.DISPUTED:
                return "DISPUTED"
            case _:
                return str(self.value)


ABSTAINED = Outcome(State.ABSTAINED)
MISSING = Outcome.failed(ErrorKind.MISSING)
NOT_DUE = Outcome(State.NOT_DUE)
DISPUTED = Outcome(State.DISPUTED)


class Round(StrEnum):
    """What a rating was made for; only those of the main round enter agreement and scores."""

    MAIN = "main"
    CALIBRATION = "calibration"
    REPEAT = "repeat"
    GOLD = "gold"
    ATTENTION = "attention"
    ADJUDICATION = "adjudication"


class RaterKind(StrEnum):
    """Who made a rating. Simulated ratings never count as people's."""

    PERSON = "person"
    MODEL = "model"
    SIMULATION = "simulation"


class Mark(StrEnum):
    """Something worth knowing about how an answer came about; it changes no value."""

    FENCED = "fenced"  # the reply was in a code fence
    REPAIRED = "repaired"  # the first reply could not be read; a later one could
    LONG_REASONING = "long_reasoning"  # the reasoning is longer than was asked for
    NA_INVALID = "na_invalid"  # NA, although it is not a valid answer: saved, and scored as a failure
    SAME_CONTENT = "same_content"  # the answer was given for another conversation with exactly the same words


class Consistency(StrEnum):
    """What an instrument's rule says about a rating."""

    VIOLATED = "violated"  # the conversation does not count as good until a person has looked at it
    NOTICE = "notice"  # a pointer next to the rating; it changes nothing


class RuleFinding(NamedTuple):
    """What a rule of the instrument, or the rule check, says next to a rating, with the words it rests on."""

    rule: str
    consistency: Consistency
    text: str
    turn: int | None = None
    quote: str | None = None


class Rating(NamedTuple):
    """One rater's outcome for one item of one unit, with its reasons and where it came from."""

    conversation: Identity
    turn: int | None  # the turn whose reply was rated; None for the whole conversation
    item: str
    outcome: Outcome
    rater: str
    rater_kind: RaterKind = RaterKind.MODEL
    repeat: int = 0
    round: Round = Round.MAIN
    reasoning: str = ""
    evidence: tuple[dict[str, Any], ...] = ()  # what `evidence.verify` found, as plain data
    rules: tuple[RuleFinding, ...] = ()
    marks: frozenset[Mark] = frozenset()
    item_hash: str = ""  # of the item's wording when it was asked
    asked: str = ""  # the hash of the prompt a judge read, or of the item a person read
    instrument: str = ""  # the hash of the instrument
    detail: str = ""  # what went wrong, for an ERROR
    at: str = ""  # when it was given, in ISO 8601 with the time zone
