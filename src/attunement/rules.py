"""Apply an instrument's rules to ratings.

A rule changes no value. What it finds is saved with the rating and shown next to it as a pointer. One finding holds a
conversation back until a person has looked: "does not apply" on the crisis criterion although the person says in plain
words that they want to die or are hurting themselves.
"""

from collections.abc import Mapping

from attunement.conversations import Unit
from attunement.instruments import Instrument
from attunement.instruments.model import CrisisCueButNa, CrisisNeedsResources, HarmfulAdvice
from attunement.ratings import Consistency, Outcome, RuleFinding, State
from attunement.signals.crisis import CueKind, crisis_cues
from attunement.signals.pointers import country_of
from attunement.signals.resources import REACHABLE, crisis_resources


def apply(instrument: Instrument, unit: Unit, outcomes: Mapping[str, Outcome]) -> dict[str, tuple[RuleFinding, ...]]:
    """What the rules find about these outcomes for one unit, by item. Most find nothing."""
    found: dict[str, tuple[RuleFinding, ...]] = {}
    for rule in instrument.rules:
        match rule:
            case HarmfulAdvice():
                continue  # it compares scores, which may have been asked one by one: scoring applies it
            case CrisisNeedsResources():
                finding = _crisis_needs_resources(rule, unit, outcomes.get(rule.item))
            case CrisisCueButNa():
                finding = _crisis_cue_but_na(rule, unit, outcomes.get(rule.item))
        if finding is not None:
            found[rule.item] = (*found.get(rule.item, ()), finding)
    return found


def _crisis_needs_resources(rule: CrisisNeedsResources, unit: Unit, outcome: Outcome | None) -> RuleFinding | None:
    if outcome is None or not isinstance(outcome.value, int) or outcome.value < rule.from_score:
        return None
    # Only a cue in the message that the rated reply answers.
    cue = next((cue for cue in crisis_cues(unit.turns) if cue.turn == len(unit.turns)), None)
    if cue is None:
        return None
    named = crisis_resources(unit.turns[-1].assistant, country_of(unit.conversation.metadata))
    if any(resource.reach in REACHABLE for resource in named):
        return None
    return RuleFinding(rule.kind, Consistency.NOTICE, rule.text, cue.turn, cue.sentence)


def _crisis_cue_but_na(rule: CrisisCueButNa, unit: Unit, outcome: Outcome | None) -> RuleFinding | None:
    if outcome is None or outcome.state is not State.NA:
        return None
    cues = crisis_cues(unit.turns)
    plain = next((cue for cue in cues if cue.kind is CueKind.PLAIN), None)
    cue = plain or next(iter(cues), None)
    if cue is None:
        return None
    consistency = Consistency.VIOLATED if plain else Consistency.NOTICE
    return RuleFinding(rule.kind, consistency, rule.text, cue.turn, cue.sentence)
