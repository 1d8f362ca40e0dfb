"""Make the exact messages a judge receives from units and items, with the JSON schema of the reply.

A `Questionnaire` prepares what is the same for every unit; its questions are cheap to make and to compare, and their
text is rendered only when it is sent. Only the turns of a conversation enter a prompt: never its id, its metadata or
the bot's own instructions.

The text a judge reads of an item is made from the parts of the instrument file, in a fixed order: general rules,
title, definition, answers, boundaries, edge cases, examples. Weights, thresholds and gates are not part of it.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple

import orjson

from attunement.conversations import Turn, Unit, UnitKind, fingerprint
from attunement.conversations.statistics import length_statistics
from attunement.instruments import Criteria, Example, Instrument, Item, Scores
from attunement.prompts.transcript import transcript


def instructions(instrument: Instrument, items: Sequence[Item]) -> str:
    """The value of `{criterion_prompt}` for these items, without statistics of the conversation."""
    if len(items) == 1 and items[0].prompt is not None:
        return items[0].prompt
    parts = [_listed("Rules for every question:", instrument.guidance)] if instrument.guidance else []
    parts += [_item(item, instrument.scale) for item in items]
    return "\n\n".join(parts)


def statistics(items: Sequence[Item], turns: Sequence[Turn]) -> str:
    """The statistics of the conversation that these items carry; empty if none does."""
    if not any(item.statistics == "length" for item in items):
        return ""
    length = length_statistics(turns)
    lines = [
        f"Turn {number}: user {turn.user}, assistant {turn.assistant}"
        + ("" if turn.ratio is None else f", ratio {turn.ratio:.2f}")
        for number, turn in enumerate(length.turns, start=1)
    ]
    if length.mean_ratio is None:
        summary = "No ratio can be given: the person wrote nothing."
    else:
        counted = sum(turn.ratio is not None for turn in length.turns)
        summary = f"Mean ratio {length.mean_ratio:.2f}; {length.above_double} of {counted} turns above 2x."
    return "\n".join(["Length of this conversation, counted in words:", *lines, summary])


def reply_format(instrument: Instrument, items: Sequence[Item], *, together: bool) -> str:
    """The value of `{reply_format}`: which JSON object is expected."""
    limit = instrument.prompt.reasoning_limit
    scale = instrument.scale
    if isinstance(scale, Scores):
        allowed = f"a whole number from {scale.lowest} to {scale.highest}"
    else:
        allowed = "exactly one of " + ", ".join(f'"{answer}"' for answer in scale.answers)
    pair = (
        f'exactly the keys "reasoning" and "{scale.key}", in this order: "reasoning" is text of at most {limit} '
        f'characters that quotes or cites its evidence first, "{scale.key}" is {allowed}'
    )
    if not together:
        return f"Return ONLY a single JSON object with {pair}."
    keys = ", ".join(f'"{item.id}"' for item in items)
    return (
        f"Return ONLY a single JSON object with exactly the keys {keys}, in this order. The value of each is an "
        f"object with {pair}."
    )


def _item(item: Item, scale: Scores | Criteria) -> str:
    parts = [f"{item.id}: {item.title}", item.definition]
    if isinstance(scale, Scores):
        parts.append("\n".join(["Scores:", *_anchors(item)]))
    else:
        meanings = [f"{answer}: {meaning.strip()}" for answer, meaning in item.meanings.items()]
        no_na = [] if item.na_valid else [f"NA is not a valid answer here. {item.na_note}"]
        parts.append(_listed("Answers:", meanings + no_na))
    if item.boundaries:
        between = (f"{rule.between[0]} or {rule.between[1]}: " if rule.between else "" for rule in item.boundaries)
        texts = (rule.text.strip() for rule in item.boundaries)
        parts.append(_listed("When in doubt:", list(map("".join, zip(between, texts, strict=True)))))
    if item.edge_cases:
        parts.append(_listed("Special cases:", item.edge_cases))
    parts += [_example(example, scale) for example in item.examples]
    return "\n\n".join(part.strip() for part in parts if part.strip())


def _anchors(item: Item) -> Iterator[str]:
    for score, anchor in sorted(item.anchors.items()):
        label = f" ({anchor.label})" if anchor.label else ""
        yield f"{score}{label}: {anchor.text.strip()}"


def _example(example: Example, scale: Scores | Criteria) -> str:
    """A worked example, indented so that it cannot be taken for the transcript."""
    kind = "Borderline example" if example.kind == "borderline" else "Example"
    lines = [f"{kind}, {scale.key} {example.answer}:"]
    for number, turn in enumerate(example.turns, start=1):
        lines += [
            f"  (Turn {number}) User: {turn.user.strip()}",
            f"  (Turn {number}) Assistant: {turn.assistant.strip()}",
        ]
    if example.why:
        lines.append(f"  Reasoning: {example.why.strip()}")
    return "\n".join(lines)


def _listed(heading: str, entries: Sequence[str]) -> str:
    return "\n".join([heading, *(f"- {entry.strip()}" for entry in entries)])


def reply_schema(instrument: Instrument, items: Sequence[Item], *, together: bool) -> dict[str, Any]:
    """The JSON Schema of the reply to a question about `items`.

    Keys come in the order in which they should be written, reasoning first, so that the answer follows from it.
    """
    scale = instrument.scale
    kind = "integer" if isinstance(scale, Scores) else "string"
    answer = _object(
        {
            "reasoning": {"type": "string", "maxLength": instrument.prompt.reasoning_limit},
            scale.key: {"type": kind, "enum": list(scale.answers)},
        }
    )
    return _object({item.id: answer for item in items}) if together else answer


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def fill(text: str, values: Mapping[str, str]) -> list[str]:
    """Put each value where its name is in braces, and give the texts before, between and after the transcripts.

    Braces that hold no known variable stay as they are, and so does such a name inside a value.
    """
    pieces = text.split("{conversation}")
    return [re.sub(r"\{([a-z_]+)\}", lambda found: values.get(found[1], found[0]), piece) for piece in pieces]


class Layout(StrEnum):
    CRITERION_FIRST = "criterion-first"
    TRANSCRIPT_FIRST = "transcript-first"


class Ask(StrEnum):
    """Whether the items of a unit go in one call."""

    TOGETHER = "together"
    SEPARATELY = "separately"


RENDERING = "3"
"""The version of how prompts are put together. It is part of every prompt hash: raise it when a change of code
changes a prompt, or old answers would pass for answers to the new text."""

# Characters of a prompt hash that all questions about a unit share. A database then keeps its answers side by side and
# writes one place for all of them; scattered, each would be a place of its own.
_OF_UNIT = 16


class Rendered(NamedTuple):
    """The text of a question. The user message is `shared` followed by `own`.

    In the transcript-first layout `system` and `shared` are equal for all items of a unit, so that a prefix cache
    can serve them; in the other layout `shared` is empty.
    """

    system: str
    shared: str
    own: str

    @property
    def user(self) -> str:
        return self.shared + self.own


_Pieces = tuple[str, ...]
"""A text of a prompt: the pieces before, between and after the places of the transcript."""


@dataclass(frozen=True)
class _Prepared:
    """What a question about these items has in common for all units."""

    items: tuple[Item, ...]
    together: bool
    about_safety: bool
    with_statistics: bool
    schema: dict[str, Any]
    values: dict[str, str]
    texts: Sequence[_Pieces]
    digest: bytes

    @property
    def length(self) -> int:
        """Characters of a prompt without the transcript."""
        return sum(len(piece) for pieces in self.texts for piece in pieces)


@dataclass
class _UnitText:
    """A unit with its transcript, which all questions about the unit share."""

    unit: Unit
    closing: str

    @cached_property
    def digest(self) -> bytes:
        conversation, turn = self.unit
        return bytes.fromhex(conversation.fingerprint() if turn is None else fingerprint(self.unit.turns))

    @cached_property
    def tokens(self) -> int:
        # A script without spaces has more tokens a character than four to one; bytes follow that better.
        return estimate_tokens(len(self.transcript.encode()))

    @cached_property
    def transcript(self) -> str:
        rate_last = self.unit.turn is not None
        return transcript(self.unit.turns, closing=self.closing, rate_last=rate_last, hash=self.digest.hex())


@dataclass(slots=True, eq=False)
class Question:
    """One item, or a group of them, about one unit. It never changes; many are made, so making one must be cheap."""

    questionnaire: "Questionnaire" = field(repr=False)
    hash: str
    _text: _UnitText = field(repr=False)
    _prepared: _Prepared = field(repr=False)

    @property
    def unit(self) -> Unit:
        return self._text.unit

    @property
    def unit_hash(self) -> str:
        """The part of `hash` that depends only on the words of the unit."""
        return self.hash[:_OF_UNIT]

    @property
    def items(self) -> tuple[Item, ...]:
        return self._prepared.items

    @property
    def together(self) -> bool:
        """Whether the reply is an object with one answer per item, or just the one answer."""
        return self._prepared.together

    @property
    def about_safety(self) -> bool:
        return self._prepared.about_safety

    @property
    def schema(self) -> dict[str, Any]:
        return self._prepared.schema

    def render(self) -> Rendered:
        return self.questionnaire.render(self._text, self._prepared)

    def messages(self) -> list[dict[str, str]]:
        text = self.render()
        return [{"role": "system", "content": text.system}, {"role": "user", "content": text.user}]

    def tokens(self) -> int:
        """About how many tokens the prompt has, without rendering it."""
        length = self._prepared.length + len(statistics(self.items, self.unit.turns))
        return estimate_tokens(length) + self.shareable_tokens()

    def shareable_tokens(self) -> int:
        """About how many of them are the transcript, which other questions about the unit repeat."""
        return self._text.tokens


def estimate_tokens(characters: int) -> int:
    """About how many tokens a text of this length has: four characters each, as in English prose."""
    return -(-characters // 4)


class Questionnaire:
    """An instrument in a layout, ready to be asked about any number of units."""

    def __init__(
        self,
        instrument: Instrument,
        *,
        layout: Layout = Layout.CRITERION_FIRST,
        items: Sequence[str] | None = None,
        ask: Ask | None = None,
    ) -> None:
        """`items` limits the questions to these ids, in the instrument's order; `ask` overrides the instrument's."""
        wanted = None if items is None else {instrument.item(id).id for id in items}
        self.instrument = instrument
        self.layout = layout
        self.items = tuple(item for item in instrument.items if wanted is None or item.id in wanted)
        self.together = (ask or instrument.prompt.ask) == Ask.TOGETHER
        self.wordings = {item.id: instructions(instrument, [item]) for item in self.items}
        """What a judge reads of each item."""
        self._groups: dict[tuple[str, ...], _Prepared] = {}
        self._by_turns: dict[int, list[_Prepared]] = {}
        self._texts = _layout_texts(instrument, layout)
        self._closing = instrument.prompt.user.partition("{conversation}")[2].strip()

    @cached_property
    def digest(self) -> str:
        """A hash of all that can be asked: another one means that a unit may get other questions."""
        items = [(self._prepared((item,)).digest.hex(), item.minimum_turns) for item in self.items]
        return hashlib.sha256(orjson.dumps([self.together, items])).hexdigest()

    def questions(self, unit: Unit) -> Iterator[Question]:
        """The questions about `unit`, safety first; an item that is not due at its number of turns is left out."""
        text = _UnitText(unit, self._closing)
        words = text.digest
        start = words.hex()[:_OF_UNIT]
        for prepared in self._due(len(unit.turns)):
            own = hashlib.sha256(prepared.digest + words).hexdigest()[_OF_UNIT:]
            yield Question(self, start + own, text, prepared)

    def _due(self, turns: int) -> list[_Prepared]:
        if turns not in self._by_turns:
            due = tuple(item for item in self.items if item.minimum_turns <= turns)
            groups = [due] if self.together and due else [(item,) for item in due]
            prepared = [self._prepared(group) for group in groups]
            self._by_turns[turns] = sorted(prepared, key=lambda group: not group.about_safety)
        return self._by_turns[turns]

    def render(self, text: _UnitText, prepared: _Prepared) -> Rendered:
        texts = prepared.texts
        if prepared.with_statistics:
            values, added = prepared.values, statistics(prepared.items, text.unit.turns)
            texts = self._filled({**values, "criterion_prompt": f"{values['criterion_prompt']}\n\n{added}"})
        return Rendered(*(text.transcript.join(pieces) for pieces in texts))

    def _filled(self, values: Mapping[str, str]) -> list[_Pieces]:
        return [tuple(fill(text, values)) for text in self._texts]

    def _prepared(self, items: tuple[Item, ...]) -> _Prepared:
        ids = tuple(item.id for item in items)
        if ids in self._groups:
            return self._groups[ids]
        instrument = self.instrument
        values = {
            "criterion_id": ", ".join(item.id for item in items),
            "criterion_category": ", ".join(sorted({item.category for item in items if item.category})),
            "criterion_prompt": instructions(instrument, items),
            "reply_format": reply_format(instrument, items, together=self.together),
        }
        schema = reply_schema(instrument, items, together=self.together)
        carried = sorted({item.statistics for item in items if item.statistics})
        kind = UnitKind(instrument.unit).value
        parts = [RENDERING, self.layout, kind, *self._texts, self._closing, tuple(values.items()), carried, schema]
        digest = hashlib.sha256(orjson.dumps(parts)).digest()
        about_safety = any(item.id in instrument.gate_ids for item in items)
        texts = self._filled(values)
        prepared = _Prepared(items, self.together, about_safety, bool(carried), schema, values, texts, digest)
        self._groups[ids] = prepared
        return prepared


def _layout_texts(instrument: Instrument, layout: Layout) -> Rendered:
    """The templates of the system message and of the two parts of the user message.

    Transcript first: everything from the paragraph with the first variable about the item on moves behind the
    transcript, in its order, before the words that close the prompt. Nothing is added or left out.
    """
    system, user = instrument.prompt.system, instrument.prompt.user
    if layout is Layout.CRITERION_FIRST:
        return Rendered(system, "", user)
    first = _ABOUT_ITEM.search(system)
    if first is None:
        common, moved = system, ""
    else:
        start = system.rfind("\n\n", 0, first.start())
        common, moved = (system[:start], system[start:].strip("\n")) if start >= 0 else ("", system)
    before, variable, after = user.partition("{conversation}")
    own = f"\n\n{moved}{after}" if moved else after
    return Rendered(common, before + variable, own)


_ABOUT_ITEM = re.compile(r"\{(?:criterion_id|criterion_category|criterion_prompt|reply_format)\}")
