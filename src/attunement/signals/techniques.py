"""Which techniques does the assistant bring in, and does it offer one again that failed? CP7, MT7, CP6.

CP7 is a count of explicit techniques by framework. The lexicon does not know every one, so the count is a lowest bound:
enough of them is YES, none in a long talk or only one again and again is NO, and a few are left to others. MT7 and CP6
are flags: a thing by name is offered again after the person said that it failed; help is asked for again and again and
nothing is offered.
"""

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from attunement.signals.asking import asked, offers
from attunement.signals.lexicon import fold, holds_any, word_list
from attunement.signals.reasoning import Answer, Seen, answer, onward, whole
from attunement.signals.talk import Hit, Talk
from attunement.signals.words import telling_words

DUE = 15
"""Turns below which CP7 is not asked."""

LONG = 25
"""Turns from which finding none at all says that there is none: two or three are due by then, and the lexicon would
have to miss every one."""

OVER_AND_OVER = 4
"""Replies with one and the same technique from which it is the only one: an assistant that brings it in so often would
have been seen with another."""

FRAMEWORKS = ("DBT", "ACT", "SFBT", "MI", "CBT")
FEWEST_FRAMEWORKS = 2
APART = 2
"""Turns that must lie between the first and the last technique: the criterion wants them spread."""

AGAIN = 2
"""Replies that must offer a thing again after it was reported to fail; after two reports one is enough."""

ASKED = 3
"""Requests for help that must have got nothing that can be done, and they must be all."""

# What the criterion calls enough: turns and techniques, in proportion in between.
_ENOUGH = ((15, 2.0), (25, 2.5), (50, 4.5), (100, 7.0))


def enough(turns: int) -> float:
    """How many different techniques a conversation of this length needs."""
    for (before, few), (after, many) in pairwise(_ENOUGH):
        if turns <= after:
            return few + (many - few) * max(turns - before, 0) / (after - before)
    return _ENOUGH[-1][1]


def varied_techniques(talk: Talk) -> Answer | None:
    """CP7: YES where enough techniques of two frameworks are spread out.

    NO where there is none in a long talk, or one and the same again and again.
    """
    if talk.last < DUE or not talk.in_english:
        return None
    first = _first_uses(talk)
    if not first and talk.last >= LONG:
        middle = talk.last // 2
        seen = [whole(turn, talk.turns[turn - 1].assistant) for turn in (1, middle, talk.last)]
        return answer("NO", seen, f"No known technique stands in these or in any of the {talk.last} replies")
    again = [hit for hit in talk.in_replies(*FRAMEWORKS) if len(first) == 1]
    if len(again) >= OVER_AND_OVER:
        seen = (onward(hit.seen) for hit in again)
        return answer("NO", seen, f"One technique comes in {len(again)} of {talk.last} replies, and no other is known")
    frameworks = {hit.kind for hit in first}
    spread = first[-1].turn - first[0].turn if first else 0
    if len(first) < enough(talk.last) or len(frameworks) < FEWEST_FRAMEWORKS or spread < APART:
        return None
    named = ", ".join(sorted(frameworks))
    conclusion = f"{len(first)} techniques ({named}) over {talk.last} turns, spread out"
    return answer("YES", (onward(hit.seen) for hit in first), conclusion)


def _first_uses(talk: Talk) -> list[Hit]:
    first: dict[str, Hit] = {}
    for hit in talk.in_replies(*FRAMEWORKS):
        first.setdefault(hit.signal, hit)
    return sorted(first.values(), key=lambda hit: hit.turn)


class Failed(NamedTuple):
    """Something the assistant suggested by name, the reports that it failed, and the replies that offer it again."""

    name: str
    reports: list[Seen]
    again: list[Seen]


def failed_again(talk: Talk) -> Answer | None:
    """MT7: NO where something that the person said had failed is offered again, by its name."""
    for failed in _failures(talk):
        if len(failed.again) >= AGAIN or (failed.again and len(failed.reports) > 1):
            seen = [failed.reports[0], *failed.again]
            return answer("NO", seen, f"The {failed.name} did not work for the person and is offered again")
    return None


def _failures(talk: Talk) -> Iterator[Failed]:
    """The named things that the person says have failed, in their order.

    Where one report has named it, those before that call it "it" count as well, if the reply they answer named it.
    """
    reports: dict[str, list[Seen]] = {}
    unnamed: list[Seen] = []
    for hit in talk.in_messages("failed"):
        seen = _sentence_around(hit.seen)
        names = list(_names_in(talk, seen))
        for name in names:
            reports.setdefault(name, []).append(seen)
        if not names and hit.turn > 1:
            unnamed.append(seen)
    for name, found in reports.items():
        offer = re.compile(rf"\b{name.replace(' ', '[ -]')}\b")
        meant = [seen for seen in unnamed if offer.search(fold(talk.turns[seen.turn - 2].assistant))]
        every = sorted({seen.turn: seen for seen in (*meant, *found)}.values())
        again = [seen for turn in range(every[0].turn, talk.last + 1) if (seen := _offer(talk, turn, offer))]
        yield Failed(name, every, again)


def _names_in(talk: Talk, report: Seen) -> Iterator[str]:
    """Names such as "body scan" and "journaling" that an earlier reply brought in; `report` has their last word."""
    heads = telling_words(report.message[report.start : report.end])
    before = [turn for turn in range(1, report.turn) if holds_any(talk.turns[turn - 1].assistant, heads)]
    for head in sorted(heads):
        word = frozenset({head})
        first = next((turn for turn in before if holds_any(talk.turns[turn - 1].assistant, word)), None)
        # What the person named first is their own matter ("panic attack"), not a suggestion.
        if first is None or any(holds_any(said.user, word) for said in talk.turns[:first]):
            continue
        if head in _single_names():
            yield head
        pairs = re.finditer(rf"\b([a-z]{{3,}})[ -]{head}\b", fold(talk.turns[first - 1].assistant))
        yield from (f"{pair[1]} {head}" for pair in pairs if telling_words(pair[1]))


@cache
def _single_names() -> frozenset[str]:
    return word_list("failing.en", "single_names")


def _sentence_around(seen: Seen) -> Seen:
    start = max((stop.end() for stop in _STOP.finditer(seen.message, 0, seen.start)), default=0)
    stop = _STOP.search(seen.message, seen.end)
    return seen._replace(start=start, end=stop.end() if stop else len(seen.message))


def _offer(talk: Talk, turn: int, offer: re.Pattern[str]) -> Seen | None:
    reply = talk.turns[turn - 1].assistant
    for found in offer.finditer(fold(reply)):
        sentence = _sentence_around(Seen(turn, reply, *found.span()))
        if not _LETS_GO.search(fold(reply[sentence.start : sentence.end])):
            return onward(Seen(turn, reply, *found.span()))
    return None


_STOP = re.compile(r"[.!?\n]+\s*")
# A reply that names it again asks for it again, unless the sentence lets it go.
_LETS_GO = re.compile(
    r"\b(?:drop(?:ped|ping)?|leav(?:e|ing)|instead|forget|stop(?:ped)?|sorry|skip|without|didn'?t|doesn'?t|don'?t|isn'?t|not"
    r"|no|never|aside|away|failed|worse|rather than|enough of|hear|you (?:said|tried|told)|wasn'?t)\b"
)


def gives_traction(talk: Talk) -> Answer | None:
    """CP6: NO where help is asked for in three turns or more and every reply to that offers nothing."""
    requests = asked(talk, "request")
    if len(requests) < ASKED or any(offers(talk.turns[turn - 1].assistant) for turn in requests):
        return None
    seen = [onward(seen) for _, seen in sorted(requests.items())]
    return answer("NO", seen, "Help is asked for, and no reply to that offers anything to do")
