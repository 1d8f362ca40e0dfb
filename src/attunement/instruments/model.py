"""What is asked: an instrument is a versioned file of items with a scale, a prompt, a way to score, gates and rules.

The models refuse unknown keys and wrong types. Whether an instrument is complete (every level has its anchor, every
named item exists) is a question for `lint`, so that an unfinished file can still be opened and looked at.
"""

import hashlib
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr

from attunement.conversations import UnitKind
from attunement.errors import InstrumentError

Value = StrictInt | StrictStr
"""An answer on a scale: a whole number, or YES, NO, NA."""


class Strict(BaseModel):
    """A part of an instrument: unknown keys are refused, nothing changes after loading."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, use_attribute_docstrings=True)


# Of each scale: `answers` is every answer a rater can give, in order; `key` names the answer in a judge's reply.
class Scores(Strict):
    """Whole numbers, each with an anchor text: the scale of dimensions."""

    kind: Literal["scores"]
    lowest: int = 1
    highest: int = 5
    key: ClassVar[str] = "score"

    @property
    def answers(self) -> tuple[Value, ...]:
        return tuple(range(self.lowest, self.highest + 1))


class Criteria(Strict):
    """YES, NO and NA: the scale of criteria."""

    kind: Literal["criteria"]
    key: ClassVar[str] = "answer"
    answers: ClassVar[tuple[Value, ...]] = ("YES", "NO", "NA")


class Anchor(Strict):
    """What one score of a dimension means."""

    label: str | None = None
    """A word for the level, such as "Good"."""
    text: str


class Boundary(Strict):
    """A rule for hesitant cases."""

    between: tuple[int, int] | None = None
    """The two scores it tells apart; absent for a rule that is not about two neighbours."""
    text: str


class Message(Strict):
    """One turn of a worked example."""

    user: str
    assistant: str


class Example(Strict):
    """A worked example with its known answer. It is part of prompts and trains people; it is never a rated unit."""

    answer: Value
    kind: Literal["clear", "borderline"] = "clear"
    turns: tuple[Message, ...]
    why: str = ""


class Finding(Strict):
    """What somebody measured about an item."""

    text: str
    source: str
    people: bool = False
    """Whether it was compared with people's ratings. Without one that was, the item is "not checked against people"."""


class Validity(Strict):
    """What is known about an item. Empty is allowed and shown as "not checked against people"."""

    findings: tuple[Finding, ...] = ()
    contested: str | None = None
    """Why the item itself is disputed; scorecards also show the score without such items."""


class Item(Strict):
    """One thing that is asked. Its title names the good behaviour."""

    id: str = Field(pattern=r"^[A-Za-z][A-Za-z0-9_.-]*$")
    title: str
    definition: str = ""
    anchors: dict[int, Anchor] = {}
    """For a dimension: one anchor per score."""
    meanings: dict[Literal["YES", "NO", "NA"], str] = {}
    """For a criterion: what each answer means."""
    boundaries: tuple[Boundary, ...] = ()
    examples: tuple[Example, ...] = ()
    edge_cases: tuple[str, ...] = ()
    category: str | None = None
    weight: float = Field(default=1.0, gt=0)
    """Its share within the category's mean."""
    minimum_turns: int = Field(default=1, ge=1)
    """Below this many turns the item is not due: not asked, in no mean, shown as a dash."""
    na_valid: bool = True
    na_note: str = ""
    """Why NA is invalid, or when it is the right answer."""
    holistic: bool = False
    """A judgement of the whole, asked last; it may have no examples."""
    statistics: Literal["length"] | None = None
    """Figures about the conversation that the question carries."""
    prompt: str | None = None
    """Instructions to a judge that replace the ones made from the parts above, word for word."""
    validity: Validity = Validity()

    def hash(self, scale: Scores | Criteria) -> str:
        """The sha256 of everything a rater reads of this item: any word changes it, a weight does not."""
        read = self.model_dump(mode="json", exclude_defaults=True, exclude={"weight", "validity", "minimum_turns"})
        return _sha256({"item": read, "scale": scale.model_dump(mode="json")})


class NaPolicy(StrEnum):
    """What a valid NA does to the mean of its category."""

    EXCLUDE = "exclude"
    PASS = "pass"  # noqa: S105 - an answer counted as met, not a password


class SafetyRepeats(StrEnum):
    """How the repeats of one rater on a safety item count."""

    ANY = "any"
    """One failing repeat fails it."""
    MAJORITY = "majority"
    """It fails unless more than half of the repeats say that it holds."""
    FIRST = "first"
    """Only the first repeat counts."""


class Scoring(Strict):
    """How ratings become a score."""

    weights: dict[str, float] = {}
    """The share of each category in the weighted score; the shares add up to 1."""
    threshold: float | None = Field(default=None, ge=0, le=1)
    """The weighted score from which a conversation passes; absent: the instrument has no pass mark."""
    na: NaPolicy = NaPolicy.EXCLUDE
    safety_repeats: SafetyRepeats = SafetyRepeats.ANY
    """Which repeats of one rater fail a safety item; raters are always combined by any."""


class GateItem(Strict):
    """An item whose failure rejects a conversation whatever its score."""

    item: str
    fails_at: int | None = None
    """For a dimension: this score or a lower one fails. A criterion fails on NO."""


class CrisisNeedsResources(Strict):
    """Points at a high score on the item where the person is in danger and the reply names no crisis resource."""

    kind: Literal["crisis_needs_resources"]
    item: str
    from_score: int
    text: str


class HarmfulAdvice(Strict):
    """Points at the lowest safety score next to scores above the limits: was harmful advice rated as helpful?"""

    kind: Literal["harmful_advice"]
    limits: dict[str, int]
    """The highest score of each item that fits harmful advice."""
    text: str
    notice: str
    """What to ask where only the scores themselves hint at it."""


class CrisisCueButNa(Strict):
    """Points at “does not apply” where the person speaks of suicide or self-harm; in plain words it holds back."""

    kind: Literal["crisis_cue_but_na"]
    item: str
    text: str


Rule = Annotated[CrisisNeedsResources | HarmfulAdvice | CrisisCueButNa, Field(discriminator="kind")]


class Prompt(Strict):
    """The text around the items. Variables are in braces; everything else is sent as written.

    `{criterion_id}`, `{criterion_category}`, `{criterion_prompt}`, `{reply_format}` and `{conversation}`.
    """

    system: str
    user: str
    ask: Literal["together", "separately"] = "separately"
    """All items of a unit in one call, or one item a call."""
    reasoning_limit: int = Field(default=300, ge=50)
    """The most characters of reasoning a judge is asked for."""


class Instrument(Strict):
    """A versioned set of items that people and judges answer alike."""

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")
    version: str
    title: str
    about: str = ""
    source: tuple[str, ...] = ()
    language: str = "en"
    unit: UnitKind
    scale: Annotated[Scores | Criteria, Field(discriminator="kind")]
    guidance: tuple[str, ...] = ()
    """Rules for every item; every question carries them."""
    notes: tuple[str, ...] = ()
    """Remarks for those who read the instrument; no question carries them."""
    categories: dict[str, str] = {}
    """Category ids and their titles."""
    items: tuple[Item, ...]
    scoring: Scoring = Scoring()
    gate: tuple[GateItem, ...] = ()
    rules: tuple[Rule, ...] = ()
    prompt: Prompt

    @cached_property
    def hash(self) -> str:
        """The sha256 of the canonical content: formatting and comments do not change it, any word does."""
        return _sha256(self.canonical())

    @cached_property
    def gate_ids(self) -> frozenset[str]:
        return frozenset(entry.item for entry in self.gate)

    @cached_property
    def item_hashes(self) -> dict[str, str]:
        return {item.id: item.hash(self.scale) for item in self.items}

    @cached_property
    def _by_id(self) -> dict[str, Item]:
        return {item.id: item for item in self.items}

    def item(self, id: str) -> Item:
        """The item with this id; an InstrumentError that names the known ones if there is none."""
        if id not in self._by_id:
            raise InstrumentError(f"{self.id} has no item {id!r}; it has {', '.join(self._by_id)}")
        return self._by_id[id]

    def canonical(self) -> dict[str, Any]:
        """The content as plain data, without what equals the defaults."""
        return self.model_dump(mode="json", exclude_defaults=True)


def _sha256(content: Any) -> str:
    return hashlib.sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)).hexdigest()
