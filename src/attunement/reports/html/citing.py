"""Which words of a conversation does a reasoning cite, and how does a citation lead to them?

Words that are cited have a number, and so has each citation that leads to them, so that a click on the citation marks
exactly them, also where two citations overlap.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from attunement.conversations import Conversation
from attunement.evidence import Finding, Standing
from attunement.reports.conversation import Place
from attunement.reports.html.marking import Cited, Segment, segments
from attunement.reports.html.text import Hiding, Moved

LONG = 6000
"""Characters from which a message scrolls in its own frame, so that one message cannot bury the rest."""


class Message(NamedTuple):
    """One message in pieces; those that are cited carry the numbers of the citations."""

    segments: list[Segment]
    long: bool


class TurnShown(NamedTuple):
    """One turn; None for a message that is empty."""

    number: int
    user: Message | None
    assistant: Message | None


class Piece(NamedTuple):
    """A part of a reasoning: plain words, or a citation with what became of it."""

    text: str
    kind: str = "text"
    """`text`; `found`: it leads to words; `lost`: it stands nowhere."""
    cited: int = 0
    note: str = ""
    """What a reader should know about the citation, such as that it is not word for word."""
    nearest: str = ""
    """The nearest words, for a quotation that was not found."""


class Citations:
    """The cited words of one conversation, numbered as they come up."""

    def __init__(self, hiding: Hiding) -> None:
        self._hiding = hiding
        self._cited: dict[tuple[Place, int, int], Cited] = {}

    def pieces(self, text: str, findings: Iterable[Finding]) -> list[Piece]:
        """A reasoning in pieces; what it cites is marked in the turns from now on."""
        reasoning = Moved(text, self._hiding)
        pieces: list[Piece] = []
        at = 0
        for finding in sorted(findings, key=lambda one: one.reasoning_start):
            start, end = reasoning.place(finding.reasoning_start), reasoning.place(finding.reasoning_end)
            if finding.quote is None or start < at or end <= start:
                continue
            if start > at:
                pieces.append(Piece(reasoning.text[at:start]))
            pieces.append(self._citation(finding, reasoning.text[start:end]))
            at = end
        if at < len(reasoning.text):
            pieces.append(Piece(reasoning.text[at:]))
        return pieces

    def _citation(self, finding: Finding, text: str) -> Piece:
        number = self._cite(finding)
        cited = " and ".join(str(turn) for turn in finding.turns)
        match finding.standing:
            case Standing.NOT_FOUND | Standing.NO_SUCH_TURN:
                where = f" in turn {cited}" if finding.turns else ""
                note = f"not found{where}" if finding.standing is Standing.NOT_FOUND else f"there is no turn {cited}"
                nearest = self._hiding.text(finding.nearest or "")
                return Piece(text, "lost", number, note, nearest)
            case Standing.CLOSE:
                return Piece(text, "found" if number else "text", number, "not word for word")
            case Standing.ELSEWHERE:
                return Piece(text, "found" if number else "text", number, f"found in turn {finding.found_turn}")
            case Standing.ABSENT if number:
                return Piece(text, "found", number, f"quoted as absent, yet it stands in turn {finding.found_turn}")
            case _:
                return Piece(text, "found" if number else "text", number)

    def _cite(self, finding: Finding) -> int:
        """A number for the words that a citation leads to; 0 where it leads nowhere."""
        if finding.found_turn is None or finding.speaker is None or finding.start is None or finding.end is None:
            return 0
        if finding.start >= finding.end:
            return 0
        words = Place(finding.found_turn, finding.speaker), finding.start, finding.end
        # Whoever quotes the same words leads to the same place, which a browser can mark without a script.
        return self._cited.setdefault(words, Cited(len(self._cited) + 1, *words)).number

    def turns(self, conversation: Conversation) -> Iterator[TurnShown]:
        """What was said, with everything marked that was cited so far."""
        by_place: dict[Place, list[Cited]] = {}
        for cited in self._cited.values():
            by_place.setdefault(cited.place, []).append(cited)
        for number, turn in enumerate(conversation.turns, start=1):
            user = self._message(turn.user, by_place.get(Place(number, "user"), ()))
            assistant = self._message(turn.assistant, by_place.get(Place(number, "assistant"), ()))
            yield TurnShown(number, user, assistant)

    def _message(self, said: str, cited: Iterable[Cited]) -> Message | None:
        if not said:
            return None
        moved = Moved(said, self._hiding)
        spans = [one._replace(start=moved.place(one.start), end=moved.place(one.end)) for one in cited]
        return Message(segments(moved.text, spans), len(said) > LONG)
