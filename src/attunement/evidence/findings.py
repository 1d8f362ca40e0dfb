"""The result of checking each citation of a judge."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from attunement.evidence.lookup import Speaker


class CitationStatus(StrEnum):
    """The result of checking one citation. The values are stored with ratings and never change."""

    FOUND = "found"
    UNCITED = "uncited"
    ELSEWHERE = "elsewhere"
    CLOSE = "close"
    NOT_FOUND = "not_found"
    ABSENT = "absent"
    CRITERION = "criterion"
    UNQUOTED = "unquoted"
    NO_SUCH_TURN = "no_such_turn"
    NOTHING = "nothing"

    @property
    def words(self) -> str:
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
    """The result for one citation, and where the words are.

    `found_turn`, `speaker`, `start` and `end` are the position of the quoted words, or for CLOSE and NOT_FOUND of the
    nearest ones; they are all set or all None. If an ABSENT finding has them, the judge denied words that do occur.
    """

    status: CitationStatus
    turns: tuple[int, ...] = ()
    """The turns cited, counted from 1; empty for a quote that comes without a turn."""
    quote: str | None = None
    found_turn: int | None = None
    speaker: Speaker | None = None
    start: int | None = None
    """Where the words begin in that speaker's original message; `end` is after the last one."""
    end: int | None = None
    nearest: str | None = None
    """The actual words there, if they differ from the quote."""
    reasoning_start: int = 0
    """The position of the citation in the reasoning: the quote with its marks, or the mention of the turns."""
    reasoning_end: int = 0


def has_verified_quote(findings: Iterable[Finding]) -> bool:
    """Whether at least one quote is really where the judge says.

    A quote without a turn may be anywhere in the conversation.
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
    values = {name: value for name, value in plain.items() if name not in {"standing", "turns"}}
    return Finding(CitationStatus(plain["standing"]), tuple(plain["turns"]), **values)
