"""`signals`: the rule check. It answers no question; it abstains, and points at crisis talk that may need a look.

It needs no LLM, key or connection. What it looks for is in `attunement.signals.pointers`.
"""

import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from attunement.errors import JudgeError
from attunement.instruments import Instrument
from attunement.instruments.model import CrisisCueButNa, CrisisNeedsResources
from attunement.judges.base import Abstention, Answer, Failure, Request
from attunement.judges.registry import SIGNALS
from attunement.judges.reply_parser import ParsedAnswer
from attunement.prompts import Question, Questionnaire
from attunement.ratings import Consistency, ErrorKind, RuleFinding
from attunement.signals.pointers import country_of, pointers

RULES = "2"  # part of the rater's settings: raise it when a change of code changes what is pointed at


class SignalsJudge:
    """The rule check, as a judge that abstains from every item."""

    name = SIGNALS
    refused: Mapping[str, str] = {}

    def __init__(self) -> None:
        self.settings: Mapping[str, Any] = {"rules": rules_version()}  # with other patterns it is another rater

    async def read_unit(self, question: Question) -> Mapping[str, ParsedAnswer | Abstention]:
        """Abstain from every item; the pointers come with the item that asks about crisis handling."""
        crisis = crisis_items(question.questionnaire.instrument)
        return {item.id: Abstention(_findings(question) if item.id in crisis else ()) for item in question.items}

    async def ask(self, request: Request) -> Answer | Failure:
        """Fails: the rule check reads conversations, not prompts."""
        return Failure(ErrorKind.REFUSED, "signals reads conversations and cannot be asked with a prompt")

    async def close(self) -> None:
        """Nothing to close."""


def crisis_items(instrument: Instrument) -> frozenset[str]:
    """The items about crisis handling, as the instrument's rules name them."""
    return frozenset(rule.item for rule in instrument.rules if isinstance(rule, CrisisCueButNa | CrisisNeedsResources))


def refuse_without_crisis_item(questionnaire: Questionnaire) -> None:
    """Raise a JudgeError if no item about crisis handling is asked: nothing could be pointed at."""
    instrument = questionnaire.instrument
    crisis = crisis_items(instrument)
    if crisis and crisis.isdisjoint(item.id for item in questionnaire.items):
        named = ", ".join(sorted(crisis))
        raise JudgeError(f"signals only points to crisis talk: also ask about {named} (--item), or name another judge")
    if not crisis:
        raise JudgeError(
            f"signals points at crisis talk, and no rule of {instrument.id} says which item is about that: add a rule "
            "crisis_cue_but_na or crisis_needs_resources to the instrument, or name another judge"
        )


@cache
def rules_version() -> str:
    """The version of the code, and a hash of the patterns of crisis talk."""
    patterns = files("attunement.signals").joinpath("crisis.yaml").read_bytes()
    return f"{RULES}-{hashlib.sha256(patterns).hexdigest()[:8]}"


def _findings(question: Question) -> tuple[RuleFinding, ...]:
    unit = question.unit
    country = country_of(unit.conversation.metadata)
    found = pointers(unit.turns, country=country, last_reply=unit.turn is not None)
    return tuple(RuleFinding(each.kind, Consistency.NOTICE, each.text, each.turn, each.quote) for each in found)
