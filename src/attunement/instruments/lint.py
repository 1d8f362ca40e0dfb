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
from collections.abc import Iterable, Iterator, Mapping
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
    Rule,
    Scores,
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


_error = partial(Problem, Level.ERROR)
_warning = partial(Problem, Level.WARNING)


def _errors(where: str, *checks: tuple[object, str]) -> Iterator[Problem]:
    """An error for each check that found something."""
    return (_error(where, text) for found, text in checks if found)


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
    """Everything that is wrong or doubtful with `instrument`, errors and warnings, in the order of the file."""
    scale = instrument.scale
    if isinstance(scale, Scores) and not 1 <= scale.highest - scale.lowest < _WIDEST:
        # Nothing that names a score can be checked without a scale.
        text = f"goes from {scale.lowest} to {scale.highest}; use two numbers, at most {_WIDEST - 1} apart"
        return [_error("scale", text)]
    return list(_problems(instrument))


def _problems(instrument: Instrument) -> Iterator[Problem]:
    yield from _errors("title", (not instrument.title.strip(), "is empty; give the instrument a title"))
    yield from _errors("items", (not instrument.items, "is empty; an instrument asks at least one thing"))
    for id, count in Counter(item.id for item in instrument.items).items():
        yield from _errors(id, (count > 1, f"is the id of {count} items; give each its own"))
    for position, item in enumerate(instrument.items, start=1):
        yield from _item(item, instrument)
        yield from _wording(item, instrument)
        if item.holistic and not all(later.holistic for later in instrument.items[position:]):
            yield _warning(item.id, "judges the whole but is not asked last; move it to the end of `items`")
    yield from _categories(instrument)
    yield from _scoring(instrument)
    yield from _gate(instrument)
    for number, rule in enumerate(instrument.rules, start=1):
        yield from _rule(f"rule {number} ({rule.kind})", rule, instrument)
    prompt = f"{instrument.prompt.system}\n{instrument.prompt.user}"
    yield from _prompt(prompt)
    yield from _consequence("guidance", "\n".join(instrument.guidance))
    yield from _consequence("prompt", prompt)


def _item(item: Item, instrument: Instrument) -> Iterator[Problem]:
    yield from _errors(
        item.id,
        (not item.title.strip(), "has no title; name the good behaviour in a few words"),
        (
            not item.definition.strip() and not (item.prompt or "").strip(),
            "has no definition; say in a sentence or two what is asked",
        ),
    )
    if isinstance(instrument.scale, Scores):
        yield from _dimension(item, instrument.scale)
    else:
        yield from _criterion(item)
    if not item.examples:
        # A holistic item may do without; instructions given word for word may hold their examples themselves.
        level = Level.WARNING if item.holistic or item.prompt else Level.ERROR
        yield Problem(level, item.id, "has no example; add at least one under `examples` with its known answer")
    for number, example in enumerate(item.examples, start=1):
        yield from _example(f"{item.id}, example {number}", example, item, instrument)


def _dimension(item: Item, scale: Scores) -> Iterator[Problem]:
    missing = [score for score in range(scale.lowest, scale.highest + 1) if not _has_anchor(item, score)]
    if missing:
        # If a judge gets instructions word for word, only people miss the anchors.
        level = Level.WARNING if item.prompt else Level.ERROR
        yield Problem(level, item.id, f"has no anchor for {_listed(missing)}; say under `anchors` what it means")
    for score in item.anchors:
        if score not in scale.answers:
            yield _error(item.id, f"has an anchor for {score}, which is not on the scale; take it out")
    if item.meanings:
        yield _error(item.id, "has `meanings` of YES, NO or NA, but the scale is scores; give `anchors` instead")
    for low, high in (boundary.between for boundary in item.boundaries if boundary.between):
        if low not in scale.answers or high not in scale.answers or low >= high:
            text = f"has a boundary between {low} and {high}; name two scores of the scale, the lower first"
            yield _error(item.id, text)


def _has_anchor(item: Item, score: int) -> bool:
    return score in item.anchors and bool(item.anchors[score].text.strip())


def _criterion(item: Item) -> Iterator[Problem]:
    needed = ("YES", "NO", "NA") if item.na_valid else ("YES", "NO")
    missing = [answer for answer in needed if not item.meanings.get(answer, "").strip()]
    if missing:
        level = Level.WARNING if item.prompt else Level.ERROR
        hint = ", or set `na_valid: false`" if missing == ["NA"] else ""
        yield Problem(level, item.id, f"does not say what {_listed(missing)} means; add it under `meanings`{hint}")
    yield from _errors(
        item.id,
        (
            not item.na_valid and "NA" in item.meanings,
            "says what NA means although `na_valid` is false; take one of the two out",
        ),
        (item.anchors, "has `anchors`, but the scale is criteria; give `meanings` instead"),
        (
            any(boundary.between for boundary in item.boundaries),
            "has a boundary between two scores, but the scale is criteria; take `between` out",
        ),
    )


def _example(where: str, example: Example, item: Item, instrument: Instrument) -> Iterator[Problem]:
    answers = instrument.scale.answers
    if example.answer not in answers:
        choice = f"{', '.join(str(answer) for answer in answers[:-1])} or {answers[-1]}"
        yield _error(where, f"has the answer {example.answer!r}, which is not on the scale; use {choice}")
    elif example.answer == "NA" and not item.na_valid:
        yield _error(where, "has the answer NA, which is not valid for this item; use YES or NO")
    if not any(message.assistant.strip() for message in example.turns):
        yield _error(where, "has no reply of the assistant; give its `turns`")


def _categories(instrument: Instrument) -> Iterator[Problem]:
    for item in instrument.items:
        yield from _errors(
            item.id,
            (
                item.category is not None and item.category not in instrument.categories,
                f"has the category {item.category!r}, which has no title; add it under `categories`",
            ),
            # An item of the gate may be outside the score; any other one would silently count for nothing.
            (
                item.category is None and instrument.scoring.weights and item.id not in instrument.gate_ids,
                "has no category, so it counts for nothing; give it one that has a weight",
            ),
        )
    used = {item.category for item in instrument.items}
    for category in instrument.categories:
        if category not in used:
            yield _warning(f"categories, {category}", "holds no item; take it out")


def _scoring(instrument: Instrument) -> Iterator[Problem]:
    weights, where = instrument.scoring.weights, "scoring"
    if not weights:
        if instrument.scoring.threshold is not None:
            yield _error(where, "has a threshold but no weights; say under `weights` what the score is made of")
        return
    total = sum(weights.values())
    yield from _errors(
        where,
        (
            isinstance(instrument.scale, Scores),
            "has weights, but only criteria can be weighted; take weights and threshold out",
        ),
        (
            not math.isclose(total, 1, abs_tol=1e-6),
            f"has weights that add up to {total:.6g}; they must add up to 1",
        ),
    )
    used = {item.category for item in instrument.items}
    for category, weight in weights.items():
        yield from _errors(
            where,
            (category not in used, f"gives a weight to {category!r}, a category without items; take it out"),
            (not 0 < weight <= 1, f"gives {category!r} the weight {weight:g}; use a share above 0 and up to 1"),
        )
    scored = dict.fromkeys(item.category for item in instrument.items if item.id not in instrument.gate_ids)
    for category in scored:
        if category is not None and category not in weights:
            yield _error(where, f"gives no weight to {category!r}; give it one, or put all of its items into the gate")


def _gate(instrument: Instrument) -> Iterator[Problem]:
    known = {item.id for item in instrument.items}
    for id, count in Counter(entry.item for entry in instrument.gate).items():
        yield from _errors(
            "gate",
            (id not in known, f"names {id!r}, but there is no such item; correct the id"),
            (count > 1, f"names {id!r} {count} times; once is enough"),
        )
    for entry in instrument.gate:
        where = f"gate, {entry.item}"
        if not isinstance(instrument.scale, Scores):
            if entry.fails_at is not None:
                yield _error(where, "has `fails_at`, but a criterion fails on NO; take it out")
        elif entry.fails_at is None:
            yield _error(where, "does not say which score fails; add `fails_at`")
        elif not instrument.scale.lowest <= entry.fails_at < instrument.scale.highest:
            text = f"fails at {entry.fails_at}; use a score of the scale below the highest, or nothing could pass"
            yield _error(where, text)


def _rule(where: str, rule: Rule, instrument: Instrument) -> Iterator[Problem]:
    """Named items must exist, and the rule must be able to apply to them."""
    items = {item.id: item for item in instrument.items}
    for id in rule.limits if isinstance(rule, HarmfulAdvice) else [rule.item]:
        yield from _errors(where, (id not in items, f"names {id!r}, but there is no such item; correct the id"))
    if isinstance(rule, CrisisCueButNa):
        if isinstance(instrument.scale, Scores):
            yield _error(where, "is about the answer NA, but the scale is scores; take the rule out")
        elif rule.item in items and not items[rule.item].na_valid:
            yield _error(where, f"is about NA, which is not valid for {rule.item}; take the rule out")
        return
    if not isinstance(instrument.scale, Scores):
        yield _error(where, "is about scores, but the scale is criteria; take the rule out")
        return
    for score in [rule.from_score] if isinstance(rule, CrisisNeedsResources) else rule.limits.values():
        if score not in instrument.scale.answers:
            yield _error(where, f"names the score {score}, which is not on the scale; correct it")


def _prompt(prompt: str) -> Iterator[Problem]:
    named = set(re.findall(r"\{([A-Za-z_][A-Za-z0-9_]*)\}", prompt))
    for variable in ("conversation", "criterion_prompt"):
        if variable not in named:
            yield _error("prompt", f"never names {{{variable}}}; put it where that text belongs")
    for variable in sorted(named - VARIABLES):
        text = f"names {{{variable}}}, which nothing fills in; it is sent as written, so correct or remove it"
        yield _warning("prompt", text)


def _listed(answers: Iterable[object]) -> str:
    return " and ".join(map(str, answers))


def _wording(item: Item, instrument: Instrument) -> Iterator[Problem]:
    """What is doubtful in the words of one item; the only errors are levels that say the very same thing."""
    yield from _repeated(item.id, {str(score): anchor.text for score, anchor in item.anchors.items()})
    yield from _repeated(item.id, {str(answer): text for answer, text in item.meanings.items()})
    # What can say how an answer is found.
    boundaries = (boundary.text for boundary in item.boundaries)
    rules = [item.definition, *item.meanings.values(), *boundaries, *item.edge_cases, item.na_note, item.prompt or ""]
    joined = item.definition.count("?") > 1 or _JOINED.search(item.definition)
    if isinstance(instrument.scale, Criteria) and joined and not any(map(_COMBINED.search, rules)):
        yield _warning(
            item.id, "seems to ask two things; say how they combine (both, either, at least one), or make two items"
        )
    anchors = (anchor.text for anchor in item.anchors.values())
    reasons = (example.why for example in item.examples)
    yield from _consequence(item.id, "\n".join([item.title, *rules, *anchors, *reasons]))


def _repeated(where: str, levels: Mapping[str, str]) -> Iterator[Problem]:
    words = {level: _content_words(text) for level, text in levels.items() if text.strip()}
    for (one, left), (other, right) in combinations(words.items(), 2):
        if left == right:
            yield _error(where, f"says the same for {one} and {other}; say what tells them apart")
        elif SequenceMatcher(None, left, right, autojunk=False).ratio() >= _NEARLY:
            yield _warning(where, f"says nearly the same for {one} and {other}; say what tells them apart")


def _content_words(text: str) -> list[str]:
    return [word for word in re.findall(r"\w+", text.casefold()) if word not in {"a", "an", "the"}]


def _consequence(where: str, text: str) -> Iterator[Problem]:
    if phrase := tells_consequence(text):
        yield _warning(
            where,
            f"tells the judge what its answer leads to (“{phrase}”); take it out, because judges soften when they know",
        )


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
