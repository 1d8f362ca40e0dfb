"""What became of each thing a judge points to."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from attunement.evidence.lookup import Speaker


class CitationStatus(StrEnum):
    """What became of one citation. The values are stored with ratings and never change."""

    FOUND = "found"
    """The quoted words stand in a turn that is cited for them."""
    UNCITED = "uncited"
    """The words are quoted without a turn, and they stand in the conversation."""
    ELSEWHERE = "elsewhere"
    """The words stand in another turn than the cited one."""
    CLOSE = "close"
    """Nearly the same words stand in the conversation, but not these."""
    NOT_FOUND = "not_found"
    """The words stand nowhere in the conversation."""
    ABSENT = "absent"
    """The words are quoted to say that they do not occur."""
    CRITERION = "criterion"
    """The words are quoted from the criterion, not from the conversation."""
    UNQUOTED = "unquoted"
    """A turn is cited and nothing is quoted from it."""
    NO_SUCH_TURN = "no_such_turn"
    """The cited turn does not exist."""
    NOTHING = "nothing"
    """The reasoning cites nothing at all."""

    @property
    def words(self) -> str:
        """The standing in plain words."""
        return _WORDS[self]


_WORDS = {
    CitationStatus.FOUND: "found in the cited turn",
    CitationStatus.UNCITED: "found, but no turn is cited",
    CitationStatus.ELSEWHERE: "found in another turn",
    CitationStatus.CLOSE: "close but not verbatim",
    CitationStatus.NOT_FOUND: "not found",
    CitationStatus.ABSENT: "quoted to say that it is absent",
    CitationStatus.CRITERION: "quoted from the criterion",
    CitationStatus.UNQUOTED: "cited without a quote",
    CitationStatus.NO_SUCH_TURN: "the cited turn does not exist",
    CitationStatus.NOTHING: "nothing cited",
}


class Finding(NamedTuple):
    """What became of one citation, and where to see it.

    `found_turn`, `speaker`, `start` and `end` say where the quoted words stand, or for CLOSE and NOT_FOUND the nearest
    ones; they are all set or all None. An ABSENT finding that has them is a denial of words that do occur.
    """

    status: CitationStatus
    turns: tuple[int, ...] = ()
    """The turns cited, counted from 1; empty for a quote that comes without a turn."""
    quote: str | None = None
    found_turn: int | None = None
    speaker: Speaker | None = None
    start: int | None = None
    """Where the words begin in that speaker's message, as it was said; `end` is behind the last one."""
    end: int | None = None
    nearest: str | None = None
    """What is really said there, where that is not what was quoted."""
    reasoning_start: int = 0
    """Where the citation begins in the reasoning: the quote with its marks, or the words that name the turns."""
    reasoning_end: int = 0


def has_verified_quote(findings: Iterable[Finding]) -> bool:
    """Whether at least one quote really stands where it is said to stand.

    A quote that comes without a turn says only that it stands somewhere.
    """
    return any(finding.status in {CitationStatus.FOUND, CitationStatus.UNCITED} for finding in findings)


def to_json(finding: Finding) -> dict[str, Any]:
    """`finding` as plain data without what is not set."""
    plain: dict[str, Any] = {
        name: value for name, value in zip(Finding._fields, finding, strict=True) if value is not None
    }
    del plain["status"]
    return {"standing": finding.status.value, **plain, "turns": list(finding.turns)}


def from_json(plain: Mapping[str, Any]) -> Finding:
    """The finding that `to_json` wrote down."""
    values = {name: value for name, value in plain.items() if name not in {"standing", "turns"}}
    return Finding(CitationStatus(plain["standing"]), tuple(plain["turns"]), **values)
