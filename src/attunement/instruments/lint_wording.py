"""Does the wording of an instrument make a rater's task harder than it is?

Three traps can be seen in the text alone: levels that repeat each other, a criterion that asks two things without
saying how they combine, and text that tells a judge what its answer leads to (judges soften when they know). The last
two are found by phrases, so they are warnings: the author decides.
"""

import re
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from itertools import combinations

from attunement.instruments.model import Criteria, Instrument, Item
from attunement.instruments.problems import Problem

_NEARLY = 0.9
"""The share of words in common from which two levels are nearly the same: one word of ten may differ."""


def item_wording(item: Item, instrument: Instrument) -> Iterator[Problem]:
    """What is doubtful in the words of one item; the only errors are levels that say the very same thing."""
    yield from _repeated(item.id, {str(score): anchor.text for score, anchor in item.anchors.items()})
    yield from _repeated(item.id, {str(answer): text for answer, text in item.meanings.items()})
    if isinstance(instrument.scale, Criteria) and asks_twice(item):
        yield Problem.warning(
            item.id, "seems to ask two things; say how they combine (both, either, at least one), or make two items"
        )
    phrase = tells_consequence(_read_by_judge(item))
    if phrase:
        yield _consequence(item.id, phrase)


def common_wording(instrument: Instrument) -> Iterator[Problem]:
    """What is doubtful in the text that stands around every item."""
    for where, text in (
        ("guidance", "\n".join(instrument.guidance)),
        ("prompt", f"{instrument.prompt.system}\n{instrument.prompt.user}"),
    ):
        phrase = tells_consequence(text)
        if phrase:
            yield _consequence(where, phrase)


def _consequence(where: str, phrase: str) -> Problem:
    return Problem.warning(
        where,
        f"tells the judge what its answer leads to (“{phrase}”); take it out, because judges soften when they know",
    )


def _read_by_judge(item: Item) -> str:
    anchors = (anchor.text for anchor in item.anchors.values())
    reasons = (example.why for example in item.examples)
    return "\n".join([item.title, *_rules(item), *anchors, *reasons])


def _rules(item: Item) -> list[str]:
    """The parts of an item that can say how an answer is found."""
    boundaries = (boundary.text for boundary in item.boundaries)
    return [item.definition, *item.meanings.values(), *boundaries, *item.edge_cases, item.na_note, item.prompt or ""]


def _repeated(where: str, levels: Mapping[str, str]) -> Iterator[Problem]:
    words = {level: _folded(text) for level, text in levels.items() if text.strip()}
    for (one, left), (other, right) in combinations(words.items(), 2):
        if left == right:
            yield Problem.error(where, f"says the same for {one} and {other}; say what tells them apart")
        elif SequenceMatcher(None, left, right, autojunk=False).ratio() >= _NEARLY:
            yield Problem.warning(where, f"says nearly the same for {one} and {other}; say what tells them apart")


def _folded(text: str) -> list[str]:
    """The words that carry the meaning: no case, no marks, no articles."""
    return [word for word in re.findall(r"\w+", text.casefold()) if word not in {"a", "an", "the"}]


_CONSEQUENCES = re.compile(
    r"""
    \bweighted\ (?:score|mean|average|sum)s?\b
    | \bweights?\ (?:of|is|are|=|:)\ *0?[.,]?\d
    | \bpass(?:ing)?\ (?:mark|threshold|score|rate)\b
    | \bthreshold\ (?:of|is|=|:)\ *\d
    | \bsafety\ gate\b
    | \b(?:trip|trigger|fail)(?:s|ped|ping|ed|ing)?\ (?:the|a)\ gate\b
    | \bautomatic(?:ally)?\ (?:reject\w*|fail\w*)
    | \b(?:conversation|reply|response|bot|chatbot|system|model|release)\ (?:is|are|gets?|will\ be)\ rejected\b
    | \brejects?\ the\ (?:conversation|reply|response|bot|chatbot|system|model|release)\b
    | \b(?:conversation|bot|chatbot|system|model|release)\ (?:fails|will\ fail|cannot\ pass|does\ not\ pass)\b
    | \b(?:treated|counted|counts?)\ as\ (?:a\ )?failures?\b
    | \bblocks?\ the\ release\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""Phrases, not words: topics have weight, people fear rejection, and "overall score" is an item's own name."""


def tells_consequence(text: str) -> str | None:
    """The first phrase of `text` that speaks of weights, the threshold or what an answer leads to."""
    found = _CONSEQUENCES.search(" ".join(text.split()))
    return found.group() if found else None


_COMBINED = re.compile(
    r"\b(?:both|either|neither|(?<!at )all|any (?:of|one)|at least (?:one|two|\d)|one of|only one|alone|together)\b",
    re.IGNORECASE,
)
"""Words that say how several asks make one answer."""

_JOINED = re.compile(
    r"""
    \b(?:and/or|and|or)\s+
    (?:(?:also|then|never|not|always|\w+ly)\s+)*
    (?:
        (?:does|did|is|was|has|are|can|whether|it|they|the\s(?:assistant|reply|response|bot))
        | (?:clarif|identif|var)(?:y|ies|ied)
        | (?:
            acknowledge|address|adapt|admit|advise|agree|allow|apologi[sz]e|ask|assume|avoid|blame|bring|build|catch
            |confirm|connect|criticise|describe|diagnose|dismiss|draw|encourage|endorse|explain|explore|express|find
            |follow|give|handle|hear|hold|ignore|include|invite|keep|leave|listen|make|mention|minimi[sz]e|normali[sz]e
            |notice|prescribe|propose|provide|push|put|recogni[sz]e|recommend|refer|reflect|remember|respond|say|see
            |set|speak|stay|suggest|summari[sz]e|take|talk|tell|treat|understand|validate|wait
          )(?:s|es|d|ed)?
        | (?:
            answer|care|challenge|check|claim|comfort|help|judge|label|lecture|match|name|offer|praise|promise
            |question|respect|return|show|support|use
          )(?:s|es|d|ed)
        | brought|built|caught|drew|found|gave|heard|held|kept|left|made|said|saw|spoke|told|took|understood
    )\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""A second ask: a new clause, or a verb of what an assistant does. Verbs that are nouns just as often ("support and
help") count only with an ending."""


def asks_twice(item: Item) -> bool:
    """Whether the definition joins two asks and nothing in the item says how they make one answer."""
    joined = item.definition.count("?") > 1 or _JOINED.search(item.definition)
    return bool(joined) and not any(_COMBINED.search(part) for part in _rules(item))
