"""Look up each citation of a reasoning in the conversation."""

from collections.abc import Sequence
from functools import lru_cache

from attunement.conversations import Turn
from attunement.evidence.citations import Citation, Denial, citations
from attunement.evidence.findings import CitationStatus, Finding
from attunement.evidence.lookup import FEW, Passage, Pieces, Speaker, Transcript, fold, pieces, stands_in, transcript
from attunement.prompts.transcript import MARK, restore

_QUOTE = 3
"""Minimum words of a quote without its own turn: shorter ones are figures of speech, like 'therapy voice', or too
common.
"""
_CLOSE = 0.7
"""Minimum share of equal words for a close passage; below, it is a different sentence."""
_CLOSE_FEW = 0.8
"""The same for one or two words, which are compared by letters ("closing eyes" is not "closing my")."""


def verify(reasoning: str, turns: Sequence[Turn], *, criterion_text: str = "") -> list[Finding]:
    """Check every citation in `reasoning` against the conversation in `turns`.

    Quotes are compared word by word, after folding case, white space, typographic marks and markdown; they may skip
    words at an ellipsis, in order and within one message, because judges shorten what they quote. Marks that neutralize
    a message are ignored.

    A quote with a turn in its sentence always counts, even if it is one word. Without one, a quote of three words or
    more counts as UNCITED if it is found; a shorter one counts as a figure of speech, unless it is in the turn cited
    last or in `criterion_text`, or is quoted as absent.

    The findings come in the order of the reasoning; a reasoning without any has the one finding NOTHING. Only its first
    20,000 characters and 60 quotes are checked.
    """
    said = transcript(tuple(turns))
    criterion = _folded(criterion_text)
    findings: list[Finding] = []
    for citation in citations(reasoning, len(turns)):
        finding = _check(citation, said, criterion)
        if finding is not None:
            findings.append(finding)
    return findings or [Finding(CitationStatus.NOTHING)]


# The same few criteria are asked about every conversation.
_folded = lru_cache(maxsize=64)(fold)


def _check(citation: Citation, said: Transcript, criterion: str) -> Finding | None:
    """The finding for `citation`; None if it is only a figure of speech."""
    last = len(said)
    existing = [turn for turn in citation.turns if 1 <= turn <= last]
    bound = () if citation.carried else citation.turns
    first: Speaker = "user" if citation.by_user else "assistant"
    words = citation.quote or ""
    quote = pieces(restore(words) if MARK in words else words)
    here = said.find(quote, existing, first)
    if here is None and (quote.whole == " " or not (citation.denial or quote.says_something)):
        if len(existing) < len(bound):
            return _finding(CitationStatus.NO_SUCH_TURN, bound, citation, quoted=False)
        return _finding(CitationStatus.UNQUOTED, bound, citation, quoted=False) if bound else None

    if citation.denial is Denial.PLAIN or (citation.denial and (not bound or here is None)):
        there = here if bound else said.find(quote, _everywhere(citation, said), first)
        return _finding(CitationStatus.ABSENT, bound, citation, there)
    if here is not None:
        return _finding(CitationStatus.FOUND, citation.turns, citation, here)
    counts = bound or quote.words >= _QUOTE
    there = said.find(quote, _everywhere(citation, said), first) if counts else None
    if bound and not existing:
        return _finding(CitationStatus.NO_SUCH_TURN, bound, citation, there)
    if there is not None:
        return _finding(CitationStatus.ELSEWHERE if bound else CitationStatus.UNCITED, bound, citation, there)
    if stands_in(criterion, quote):
        return _finding(CitationStatus.CRITERION, bound, citation)
    return _nearest(quote, existing, bound, citation, said) if counts else None


def _everywhere(citation: Citation, said: Transcript) -> list[int]:
    """All turns, starting with those around the first named one."""
    named = citation.turns[0] if citation.turns else 1
    return sorted(range(1, len(said) + 1), key=lambda turn: abs(turn - named))


def _nearest(quote: Pieces, turns: list[int], bound: tuple[int, ...], citation: Citation, said: Transcript) -> Finding:
    """The finding for a quote that was not found: the nearest text, searched in `turns` first."""
    close = _CLOSE if quote.words > FEW else _CLOSE_FEW
    near = said.nearest(quote, turns)
    if near is None or near.likeness < close:
        near = said.nearest(quote, range(1, len(said) + 1))
    if near is None:
        return _finding(CitationStatus.NOT_FOUND, bound, citation)
    standing = CitationStatus.CLOSE if near.likeness >= close else CitationStatus.NOT_FOUND
    return _finding(standing, bound, citation, near.passage)._replace(nearest=near.passage.text)


def _finding(
    standing: CitationStatus,
    turns: tuple[int, ...],
    citation: Citation,
    passage: Passage | None = None,
    *,
    quoted: bool = True,
) -> Finding:
    turn, speaker, start, end, _ = passage or (None, None, None, None, None)
    quote = citation.quote if quoted else None
    return Finding(standing, turns, quote, turn, speaker, start, end, None, citation.start, citation.end)
