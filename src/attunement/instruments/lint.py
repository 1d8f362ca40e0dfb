"""Check an instrument: what is missing or contradictory, and wording that makes a rater's task harder.

The models only refuse what cannot be read, so that an unfinished file can be opened. This module says what is missing
or contradictory in it (an error: nobody should be judged with it) and what its author should look at again (a
warning). Every command that judges with an instrument loads it with `checked`.

Three traps can be seen in the text alone: levels that repeat each other, a criterion that asks two things without
saying how they combine, and text that tells a judge what its answer leads to (judges soften when they know). The last
two are found by phrases, so they are warnings: the author decides.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from enum import StrEnum
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from attunement.errors import InstrumentError
from attunement.instruments.loader import load
from attunement.instruments.model import (
    CrisisCueButNa,
    CrisisNeedsResources,
    Criteria,
    Example,
    HarmfulAdvice,
    Instrument,
    Item,
    Scores,
    Value,
)

VARIABLES = frozenset({"criterion_id", "criterion_category", "criterion_prompt", "reply_format", "conversation"})
"""What a prompt may name in braces."""

_WIDEST = 101  # 0 to 100 is the widest scale in use; more levels are a typo and cost memory to go through
_NEARLY = 0.9  # the share of common words from which two levels are nearly the same: one word of ten may differ


class Level(StrEnum):
    ERROR = "error"  # the instrument cannot be used to judge until this is fixed
    WARNING = "warning"  # the author should look at it again


class Problem(NamedTuple):
    """One thing that is wrong or doubtful. `where` and `text` read as one sentence."""

    level: Level
    where: str
    text: str

    def __str__(self) -> str:
        return f"{self.where} {self.text}"


def checked(name: str | Path) -> Instrument:
    """Load an instrument to judge with; an InstrumentError gives the first error and says how many there are."""
    instrument = load(name)
    errors = [problem for problem in lint(instrument) if problem.level is Level.ERROR]
    if errors:
        count = "1 error" if len(errors) == 1 else f"{len(errors)} errors"
        raise InstrumentError(
            f"{instrument.id} cannot be used, it has {count}; the first: {errors[0]} "
            f"(all of them: attune instrument lint {name})"
        )
    return instrument


def lint(instrument: Instrument) -> list[Problem]:
    """Everything that is wrong or doubtful with `instrument`, the errors first."""
    scale = instrument.scale
    if isinstance(scale, Scores) and not 1 <= scale.highest - scale.lowest < _WIDEST:
        # Nothing that names a score can be checked without a scale.
        text = f"goes from {scale.lowest} to {scale.highest}; use two numbers, at most {_WIDEST - 1} apart"
        return [Problem(Level.ERROR, "scale", text)]
    return list(_problems(instrument))


def _problems(instrument: Instrument) -> Iterator[Problem]:
    checks = [_whole, _items, _categories, _scoring, _gate, _rules]
    for where, found, text in (check for part in checks for check in part(instrument)):
        if found:
            yield Problem(Level.ERROR, where, text)
    yield from _warnings(instrument)


_Check = tuple[str, object, str]
"""An error: where it is, whether it is there (what was found), and what to say."""


def _whole(instrument: Instrument) -> Iterator[_Check]:
    yield "title", not instrument.title.strip(), "is empty; give the instrument a title"
    yield "items", not instrument.items, "is empty; an instrument asks at least one thing"
    for id, count in Counter(item.id for item in instrument.items).items():
        yield id, count > 1, f"is the id of {count} items; give each its own"
    for variable in ("conversation", "criterion_prompt"):
        text = f"never names {{{variable}}}; put it where that text belongs"
        yield "prompt", variable not in _variables(instrument), text


def _items(instrument: Instrument) -> Iterator[_Check]:
    scale = instrument.scale
    for item in instrument.items:
        untold = not item.definition.strip() and not (item.prompt or "").strip()
        yield item.id, not item.title.strip(), "has no title; name the good behaviour in a few words"
        yield item.id, untold, "has no definition; say in a sentence or two what is asked"
        # Of a judge that gets instructions word for word, only people miss the levels and examples.
        if not item.prompt:
            yield item.id, _untold_levels(item, scale), f"{_untold_levels(item, scale)}"
            yield item.id, not item.examples and not item.holistic, _NO_EXAMPLE
        yield from _dimension(item, scale) if isinstance(scale, Scores) else _criterion(item)
        for one, other in _pairs(item):
            yield item.id, one[1] == other[1], f"says the same for {one[0]} and {other[0]}; say how they differ"
        for number, example in enumerate(item.examples, start=1):
            yield from _example(f"{item.id}, example {number}", example, item, scale.answers)


_NO_EXAMPLE = "has no example; add at least one under `examples` with its known answer"


def _untold_levels(item: Item, scale: Scores | Criteria) -> str:
    """What to say about answers without a meaning; empty if each has one."""
    if isinstance(scale, Scores):
        told = [score for score, anchor in item.anchors.items() if anchor.text.strip()]
        missing = [score for score in scale.answers if score not in told]
        return f"has no anchor for {_listed(missing)}; say under `anchors` what it means" if missing else ""
    needed = ("YES", "NO", "NA") if item.na_valid else ("YES", "NO")
    missing = [answer for answer in needed if not item.meanings.get(answer, "").strip()]
    hint = ", or set `na_valid: false`" if missing == ["NA"] else ""
    return f"does not say what {_listed(missing)} means; add it under `meanings`{hint}" if missing else ""


def _dimension(item: Item, scale: Scores) -> Iterator[_Check]:
    for score in item.anchors:
        text = f"has an anchor for {score}, which is not on the scale; take it out"
        yield item.id, score not in scale.answers, text
    text = "has `meanings` of YES, NO or NA, but the scale is scores; give `anchors` instead"
    yield item.id, item.meanings, text
    for low, high in (boundary.between for boundary in item.boundaries if boundary.between):
        text = f"has a boundary between {low} and {high}; name two scores of the scale, the lower first"
        yield item.id, low not in scale.answers or high not in scale.answers or low >= high, text


def _criterion(item: Item) -> Iterator[_Check]:
    contradictory = not item.na_valid and "NA" in item.meanings
    between = any(boundary.between for boundary in item.boundaries)
    yield item.id, contradictory, "says what NA means although `na_valid` is false; take one of the two out"
    yield item.id, item.anchors, "has `anchors`, but the scale is criteria; give `meanings` instead"
    yield item.id, between, "has a boundary between two scores, but the scale is criteria; take `between` out"


def _example(where: str, example: Example, item: Item, answers: Sequence[Value]) -> Iterator[_Check]:
    choice = f"{', '.join(str(answer) for answer in answers[:-1])} or {answers[-1]}"
    text = f"has the answer {example.answer!r}, which is not on the scale; use {choice}"
    yield where, example.answer not in answers, text
    invalid = example.answer == "NA" and "NA" in answers and not item.na_valid
    yield where, invalid, "has the answer NA, which is not valid for this item; use YES or NO"
    replied = any(message.assistant.strip() for message in example.turns)
    yield where, not replied, "has no reply of the assistant; give its `turns`"


def _categories(instrument: Instrument) -> Iterator[_Check]:
    for item in instrument.items:
        untitled = item.category is not None and item.category not in instrument.categories
        yield item.id, untitled, f"has the category {item.category!r}, which has no title; add it under `categories`"
        # An item of the gate may be outside the score; any other one would silently count for nothing.
        uncounted = item.category is None and instrument.scoring.weights and item.id not in instrument.gate_ids
        yield item.id, uncounted, "has no category, so it counts for nothing; give it one that has a weight"


def _scoring(instrument: Instrument) -> Iterator[_Check]:
    weights, where = instrument.scoring.weights, "scoring"
    if not weights:
        text = "has a threshold but no weights; say under `weights` what the score is made of"
        yield where, instrument.scoring.threshold is not None, text
        return
    scores, total = isinstance(instrument.scale, Scores), sum(weights.values())
    yield where, scores, "has weights, but only criteria can be weighted; take weights and threshold out"
    text = f"has weights that add up to {total:.6g}; they must add up to 1"
    yield where, not math.isclose(total, 1, abs_tol=1e-6), text
    used = {item.category for item in instrument.items}
    for category, weight in weights.items():
        text = f"gives a weight to {category!r}, a category without items; take it out"
        yield where, category not in used, text
        text = f"gives {category!r} the weight {weight:g}; use a share above 0 and up to 1"
        yield where, not 0 < weight <= 1, text
    for category in dict.fromkeys(item.category for item in instrument.items if item.id not in instrument.gate_ids):
        text = f"gives no weight to {category!r}; give it one, or put all of its items into the gate"
        yield where, category is not None and category not in weights, text


def _gate(instrument: Instrument) -> Iterator[_Check]:
    known = {item.id for item in instrument.items}
    for id, count in Counter(entry.item for entry in instrument.gate).items():
        yield "gate", id not in known, f"names {id!r}, but there is no such item; correct the id"
        yield "gate", count > 1, f"names {id!r} {count} times; once is enough"
    scale = instrument.scale
    for entry in instrument.gate:
        where, score = f"gate, {entry.item}", entry.fails_at
        if not isinstance(scale, Scores):
            yield where, score is not None, "has `fails_at`, but a criterion fails on NO; take it out"
            continue
        yield where, score is None, "does not say which score fails; add `fails_at`"
        text = f"fails at {score}; use a score of the scale below the highest, or nothing could pass"
        yield where, score is not None and not scale.lowest <= score < scale.highest, text


def _rules(instrument: Instrument) -> Iterator[_Check]:
    """The items that a rule names must exist, and the rule must be able to apply to them."""
    items = {item.id: item for item in instrument.items}
    scores = isinstance(instrument.scale, Scores)
    for number, rule in enumerate(instrument.rules, start=1):
        where = f"rule {number} ({rule.kind})"
        for id in rule.limits if isinstance(rule, HarmfulAdvice) else [rule.item]:
            yield where, id not in items, f"names {id!r}, but there is no such item; correct the id"
        if isinstance(rule, CrisisCueButNa):
            yield where, scores, "is about the answer NA, but the scale is scores; take the rule out"
            invalid = not scores and rule.item in items and not items[rule.item].na_valid
            yield where, invalid, f"is about NA, which is not valid for {rule.item}; take the rule out"
            continue
        yield where, not scores, "is about scores, but the scale is criteria; take the rule out"
        named = [rule.from_score] if isinstance(rule, CrisisNeedsResources) else rule.limits.values()
        for score in named if scores else ():
            text = f"names the score {score}, which is not on the scale; correct it"
            yield where, score not in instrument.scale.answers, text


def _warnings(instrument: Instrument) -> Iterator[Problem]:
    warning = partial(Problem, Level.WARNING)
    for position, item in enumerate(instrument.items, start=1):
        if item.prompt and (untold := _untold_levels(item, instrument.scale)):
            yield warning(item.id, untold)
        # A holistic item may do without; instructions given word for word may hold their examples themselves.
        if not item.examples and (item.prompt or item.holistic):
            yield warning(item.id, _NO_EXAMPLE)
        yield from (warning(item.id, text) for text in _wording(item, instrument))
        if item.holistic and not all(later.holistic for later in instrument.items[position:]):
            yield warning(item.id, "judges the whole but is not asked last; move it to the end of `items`")
    used = {item.category for item in instrument.items}
    for category in instrument.categories:
        if category not in used:
            yield warning(f"categories, {category}", "holds no item; take it out")
    for variable in sorted(_variables(instrument) - VARIABLES):
        text = f"names {{{variable}}}, which nothing fills in; it is sent as written, so correct or remove it"
        yield warning("prompt", text)
    for where, texts in (("guidance", instrument.guidance), ("prompt", _prompt_texts(instrument))):
        yield from (warning(where, text) for text in _consequence("\n".join(texts)))


def _prompt_texts(instrument: Instrument) -> tuple[str, str]:
    return instrument.prompt.system, instrument.prompt.user


def _variables(instrument: Instrument) -> set[str]:
    return set(re.findall(r"\{([A-Za-z_][A-Za-z0-9_]*)\}", "\n".join(_prompt_texts(instrument))))


def _listed(answers: Iterable[object]) -> str:
    return " and ".join(map(str, answers))


def _wording(item: Item, instrument: Instrument) -> Iterator[str]:
    """What is doubtful in the words of one item."""
    for (one, left), (other, right) in _pairs(item):
        if left != right and SequenceMatcher(None, left, right, autojunk=False).ratio() >= _NEARLY:
            yield f"says nearly the same for {one} and {other}; say how they differ"
    # What can say how an answer is found.
    boundaries = (boundary.text for boundary in item.boundaries)
    rules = [item.definition, *item.meanings.values(), *boundaries, *item.edge_cases, item.na_note, item.prompt or ""]
    joined = item.definition.count("?") > 1 or _JOINED.search(item.definition)
    if isinstance(instrument.scale, Criteria) and joined and not any(map(_COMBINED.search, rules)):
        yield "seems to ask two things; say how they combine (both, either, at least one), or make two items"
    anchors = (anchor.text for anchor in item.anchors.values())
    reasons = (example.why for example in item.examples)
    yield from _consequence("\n".join([item.title, *rules, *anchors, *reasons]))


_Level = tuple[object, list[str]]
"""An answer and the words that say what it means, without articles."""


def _pairs(item: Item) -> Iterator[tuple[_Level, _Level]]:
    for texts in ({score: anchor.text for score, anchor in item.anchors.items()}, item.meanings):
        levels = [(level, _content_words(text)) for level, text in texts.items() if text.strip()]
        yield from combinations(levels, 2)


def _content_words(text: str) -> list[str]:
    return [word for word in re.findall(r"\w+", text.casefold()) if word not in {"a", "an", "the"}]


def _consequence(text: str) -> Iterator[str]:
    if phrase := tells_consequence(text):
        yield (f"tells the judge what its answer leads to (“{phrase}”); remove it, because it makes judges lenient")


def tells_consequence(text: str) -> str | None:
    """The first phrase of `text` that speaks of weights, the threshold or what an answer leads to."""
    found = _CONSEQUENCES.search(" ".join(text.split()))
    return found.group() if found else None


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

# Words that say how several asks make one answer.
_COMBINED = re.compile(
    r"\b(?:both|either|neither|(?<!at )all|any (?:of|one)|at least (?:one|two|\d)|one of|only one|alone|together)\b",
    re.IGNORECASE,
)

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
