"""Units x items -> the exact messages a judge receives.

A `Questionnaire` prepares what is the same for every unit; its questions are cheap to make and to tell apart, and
their text is rendered only when it is sent. Only the turns of a conversation enter a prompt: never its id, its
metadata or the bot's own instructions.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import orjson

from attunement.conversations import Unit, UnitKind, fingerprint
from attunement.instruments import Instrument, Item
from attunement.questions.layouts import Ask, Layout
from attunement.questions.schema import reply_schema
from attunement.questions.template import Template
from attunement.questions.text import Text
from attunement.questions.transcript import transcript
from attunement.questions.wording import instructions, reply_format, statistics

RENDERING = "2"
"""The version of how prompts are put together. It is part of every prompt hash: raise it when a change of code
changes a prompt, or old answers would pass for answers to the new text."""

_OF_UNIT = 16
"""Characters of a prompt hash that all questions about a unit share. A database then keeps its answers side by side
and writes one place for all of them; scattered, each would be a place of its own."""


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
        """The whole user message."""
        return self.shared + self.own


_Pieces = tuple[Text, ...]
"""A text of a prompt, as what stands before, between and behind the places of the transcript."""


@dataclass(frozen=True)
class _Prepared:
    """What a question about these items has in common for all units."""

    items: tuple[Item, ...]
    together: bool
    about_safety: bool
    with_figures: bool
    """Whether figures about the conversation stand in the prompt."""
    schema: dict[str, Any]
    values: dict[str, str]
    texts: Sequence[_Pieces]
    digest: bytes

    @property
    def length(self) -> int:
        """Characters of a prompt without the transcript."""
        return sum(len(piece) for pieces in self.texts for piece in pieces)


@dataclass
class _Sheet:
    """A unit with its transcript, which all questions about the unit share."""

    unit: Unit
    closing: str
    _last: tuple[_Pieces, Text] | None = field(default=None, init=False)

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

    def fill(self, pieces: _Pieces) -> Text:
        """The text with the transcript in its places.

        The last one that has any is kept: mostly the words around the transcript are the same for all items.
        """
        if len(pieces) == 1:
            return pieces[0]
        if self._last is None or self._last[0] != pieces:
            self._last = pieces, Text(self.transcript.join(pieces))
        return self._last[1]


@dataclass(slots=True, eq=False)
class Question:
    """One item, or a group of them, about one unit. It never changes; many are made, so making one must be cheap."""

    questionnaire: "Questionnaire" = field(repr=False)
    hash: str
    _sheet: _Sheet = field(repr=False)
    _prepared: _Prepared = field(repr=False)

    @property
    def unit(self) -> Unit:
        """What is asked about."""
        return self._sheet.unit

    @property
    def unit_hash(self) -> str:
        """The part of `hash` that tells the words of the unit, whatever is asked about them."""
        return self.hash[:_OF_UNIT]

    @property
    def items(self) -> tuple[Item, ...]:
        """What is asked."""
        return self._prepared.items

    @property
    def together(self) -> bool:
        """Whether the reply is an object with one answer per item, or just the one answer."""
        return self._prepared.together

    @property
    def about_safety(self) -> bool:
        """Whether an item of the gate is among those asked."""
        return self._prepared.about_safety

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the reply."""
        return self._prepared.schema

    def render(self) -> Rendered:
        """The text that is sent."""
        return self.questionnaire.render(self._sheet, self._prepared)

    def messages(self) -> list[dict[str, str]]:
        """The text as the messages of a chat: system, then user."""
        text = self.render()
        return [{"role": "system", "content": text.system}, {"role": "user", "content": text.user}]

    def tokens(self) -> int:
        """About how many tokens the prompt has, without rendering it."""
        figures = len(statistics(self.items, self.unit.turns))
        return estimate_tokens(self._prepared.length + figures) + self.shareable_tokens()

    def shareable_tokens(self) -> int:
        """About how many of them are the transcript, which other questions about the unit repeat."""
        return self._sheet.tokens


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
        """Prepare the questions.

        `items` limits them to these ids, in the instrument's order; `ask` overrides whether the items of a unit go
        in one call.
        """
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
        self._templates = [Template(text) for text in self._texts]
        self._closing = instrument.prompt.user.partition("{conversation}")[2].strip()

    @cached_property
    def digest(self) -> str:
        """A hash of all that can be asked: another one means that a unit may get other questions."""
        items = [(self._prepared((item,)).digest.hex(), item.minimum_turns) for item in self.items]
        return hashlib.sha256(orjson.dumps([self.together, items])).hexdigest()

    def questions(self, unit: Unit) -> Iterator[Question]:
        """The questions about `unit`, safety first; an item that is not due at its number of turns is left out."""
        sheet = _Sheet(unit, self._closing)
        words = sheet.digest
        start = words.hex()[:_OF_UNIT]
        for prepared in self._due(len(unit.turns)):
            own = hashlib.sha256(prepared.digest + words).hexdigest()[_OF_UNIT:]
            yield Question(self, start + own, sheet, prepared)

    def _due(self, turns: int) -> list[_Prepared]:
        if turns not in self._by_turns:
            due = tuple(item for item in self.items if item.minimum_turns <= turns)
            groups = [due] if self.together and due else [(item,) for item in due]
            prepared = [self._prepared(group) for group in groups]
            self._by_turns[turns] = sorted(prepared, key=lambda group: not group.about_safety)
        return self._by_turns[turns]

    def render(self, sheet: _Sheet, prepared: _Prepared) -> Rendered:
        """Fill the templates for one unit and group of items."""
        texts = prepared.texts
        if prepared.with_figures:
            values, figures = prepared.values, statistics(prepared.items, sheet.unit.turns)
            texts = self._filled({**values, "criterion_prompt": f"{values['criterion_prompt']}\n\n{figures}"})
        return Rendered(*map(sheet.fill, texts))

    def _filled(self, values: Mapping[str, str]) -> list[_Pieces]:
        return [tuple(map(Text, template.fill(values, around="conversation"))) for template in self._templates]

    def _prepared(self, items: tuple[Item, ...]) -> _Prepared:
        ids = tuple(item.id for item in items)
        if ids not in self._groups:
            self._groups[ids] = self._prepare(items)
        return self._groups[ids]

    def _prepare(self, items: tuple[Item, ...]) -> _Prepared:
        instrument = self.instrument
        values = {
            "criterion_id": ", ".join(item.id for item in items),
            "criterion_category": ", ".join(sorted({item.category for item in items if item.category})),
            "criterion_prompt": instructions(instrument, items),
            "reply_format": reply_format(instrument, items, together=self.together),
        }
        schema = reply_schema(instrument, items, together=self.together)
        figures = sorted({item.statistics for item in items if item.statistics})
        kind = UnitKind(instrument.unit).value
        parts = [RENDERING, self.layout, kind, *self._texts, self._closing, tuple(values.items()), figures, schema]
        digest = hashlib.sha256(orjson.dumps(parts)).digest()
        about_safety = any(item.id in instrument.gate_ids for item in items)
        texts = self._filled(values)
        return _Prepared(items, self.together, about_safety, bool(figures), schema, values, texts, digest)


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
