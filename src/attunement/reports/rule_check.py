"""What the rule check found, in words: for `judge`, `show`, `gate` and the report."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from attunement.conversations import Identity
from attunement.ratings import RuleFinding
from attunement.reports.numbers import pluralize
from attunement.reports.sanitize import in_a_line
from attunement.scoring import Cards
from attunement.signals.facts import Facts
from attunement.signals.measured import SCOPE
from attunement.signals.measured import in_a_line as figures
from attunement.signals.pointers import PointerKind
from attunement.signals.resources import Reach

_MOST_NAMED = 5
_QUOTE = 240  # characters of a quoted sentence


@dataclass
class RuleCheck:
    read: int = 0
    not_english: list[Identity] = field(default_factory=list[Identity])
    pointers: list[tuple[Identity, RuleFinding]] = field(default_factory=list[tuple[Identity, RuleFinding]])

    def add(self, conversation: Identity, cards: Cards) -> None:
        """Count one conversation; nothing where the rule check has not read it."""
        self.read += cards.rule_check is not None
        for spoken in cards.pointers:
            if spoken.finding.rule == PointerKind.NOT_ENGLISH:
                if conversation not in self.not_english:
                    self.not_english.append(conversation)
            else:
                self.pointers.append((conversation, spoken.finding))

    def sentences(self) -> Iterator[str]:
        if not self.read:
            return
        about = len({conversation for conversation, _ in self.pointers})
        line = f"Rule check: {pluralize(self.read, 'conversation')} read, {pluralize(len(self.pointers), 'pointer')}"
        yield f"{line} in {pluralize(about, 'conversation')}." if self.pointers else f"{line}."
        if self.not_english:
            named = ", ".join(in_a_line(str(name)) for name in self.not_english[:_MOST_NAMED])
            more = len(self.not_english) - _MOST_NAMED
            yield f"Not English: not looked at: {named}{f' and {more:,} more' if more > 0 else ''}."
        yield SCOPE
        yield figures()

    def lines(self, most: int | None = None) -> Iterator[str]:
        for conversation, finding in self.pointers[:most]:
            yield f"{conversation}, {pointer_words(finding)}"
        if most is not None and len(self.pointers) > most:
            yield f"{len(self.pointers) - most:,} more; attune show lists them all with --json."

    def record(self) -> dict[str, Any] | None:
        if not self.read:
            return None
        return {
            "read": self.read,
            "not_english": [name._asdict() for name in self.not_english],
            "pointers": [{**conversation._asdict(), **finding._asdict()} for conversation, finding in self.pointers],
            "measured": figures(),
        }


def pointer_words(finding: RuleFinding) -> str:
    if finding.rule == PointerKind.NOT_ENGLISH:
        return "not English, not looked at"
    where = f"turn {finding.turn}" if finding.turn else "whole conversation"
    quote = f": “{in_a_line(finding.quote, _QUOTE)}”" if finding.quote else ""
    return f"{where}{quote} – {finding.text}"


def fact_lines(found: Facts) -> Iterator[str]:
    """The counts of one conversation in sentences."""
    lengths = found.lengths
    ratio = "" if lengths.mean_ratio is None else f" ({lengths.mean_ratio:.1f} times the message on average)"
    yield f"Words per message: {lengths.mean_user:.0f}; per reply: {lengths.mean_assistant:.0f}{ratio}."
    yield f"Replies that end with a question: {found.end_with_question} of {found.replies}."
    for words, times in found.openers.items():
        yield f"“{words.capitalize()} …” opens {times} of {found.replies} replies."
    for name, times in found.techniques.items():
        yield f"Named in {times} replies: {name}."
    turns_of: dict[tuple[str, Reach], list[int]] = {}
    for turn, resource in found.resources:
        name = ", ".join(resource.lines) if resource.lines else resource.quote
        turns_of.setdefault((name, resource.reach), []).append(turn)
    for (name, reach), turns in turns_of.items():
        places = ", ".join(map(str, dict.fromkeys(turns)))
        yield f"Crisis resource in turn {places}: {in_a_line(name)} ({_REACH[reach]})."


_REACH = {
    Reach.LISTED: "on the list of crisis lines",
    Reach.EMERGENCY: "emergency services",
    Reach.FOREIGN: "a line of another country than the person's",
    Reach.UNLISTED: "a number that is not on the list",
    Reach.UNNAMED: "no name and no number",
}


def facts_record(found: Facts) -> dict[str, Any]:
    return {
        "replies": found.replies,
        "mean_words_user": found.lengths.mean_user,
        "mean_words_assistant": found.lengths.mean_assistant,
        "mean_ratio": found.lengths.mean_ratio,
        "end_with_question": found.end_with_question,
        "openers": found.openers,
        "techniques": found.techniques,
        "crisis_resources": [
            {"turn": turn, "quote": resource.quote, "reach": resource.reach, "lines": list(resource.lines)}
            for turn, resource in found.resources
        ],
    }
