"""Studies that were judged with real prompts, for comparisons and corrections."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from attunement.conversations import Conversation, Turn, Unit, UnitKind, units
from attunement.instruments import Instrument, Item, Value
from attunement.prompts import Ask, Questionnaire
from attunement.ratings import Outcome, RaterKind, Rating
from attunement.store import AnswerRecord, StoredRating, Study
from attunement.store.samples import NotDrawn, SampledConversation, save_sample
from tests.reports.samples import COACHING

Answering = Callable[[Conversation, Unit, Item], Value | Outcome | None]


def talks(count: int, system: str = "Harbor", *, scenario: bool = True, **metadata: object) -> list[Conversation]:
    """So many conversations of five turns, each with words of its own."""
    return [
        Conversation(
            f"t{number}",
            system,
            tuple(Turn(f"I feel {number}, {turn}.", f"{system} hears {turn}.") for turn in range(5)),
            {**({"scenario": f"s{number}"} if scenario else {}), **metadata},
        )
        for number in range(count)
    ]


def all_met(conversation: Conversation, unit: Unit, item: Item) -> Value:
    """The answer YES, or the score 4."""
    return 4 if unit.turn else "YES"


def every_third_not_met(*items: str) -> Answering:
    """NO to these items in every third conversation, else YES."""

    def answer(conversation: Conversation, unit: Unit, item: Item) -> Value:
        return "NO" if item.id in items and int(conversation.id[1:]) % 3 == 0 else "YES"

    return answer


def judge(
    path: Path,
    conversations: Sequence[Conversation],
    answer: Answering = all_met,
    *,
    instrument: Instrument = COACHING,
    rater: str = "judge",
    kind: RaterKind = RaterKind.MODEL,
    settings: dict[str, Any] | None = None,
    ask: Ask | None = None,
    model: str = "model-1",
) -> Path:
    """Add one rater's answers to a study; None leaves a question open."""
    with Study(path, create=True) as study:
        study.save_instrument(instrument)
        kept = study.save_rater(rater, kind, {"layout": "criterion-first"} if settings is None else settings)
        keys = study.save_conversations(conversations)
        questionnaire = Questionnaire(instrument, ask=ask)
        rows: list[StoredRating] = []
        answers: list[AnswerRecord] = []
        for key, conversation in zip(keys, conversations, strict=True):
            for unit in units(conversation, UnitKind(instrument.unit)):
                for question in questionnaire.questions(unit):
                    answers.append(AnswerRecord(question.hash, kept.key, 0, model=model))
                    for item in question.items:
                        given = answer(conversation, unit, item)
                        if given is not None:
                            outcome = given if isinstance(given, Outcome) else Outcome.of(given)
                            mark = instrument.item_hashes[item.id]
                            asked = question.hash if kind is RaterKind.MODEL else mark
                            made = Rating(
                                conversation.identity,
                                unit.turn,
                                item.id,
                                outcome,
                                kept.name,
                                kind,
                                item_hash=mark,
                                asked=asked,
                                instrument=instrument.hash,
                            )
                            rows.append(StoredRating(key, kept.key, made))
        study.write(answers if kind is RaterKind.MODEL else [], rows)
    return path


def draw(
    path: Path,
    conversations: Sequence[Conversation],
    chosen: Iterable[Conversation],
    *,
    probability: float = 0.5,
    split: bool = False,
    instrument: str = COACHING.id,
) -> None:
    """Keep a sample of these conversations; with `split` every second one is for certifying."""
    with Study(path) as study:
        keys = study.keys(conversations)
        drawn = [keys[conversation.identity] for conversation in chosen]
        units = {
            key: SampledConversation("all", probability, ("certify" if place % 2 else "develop") if split else None)
            for place, key in enumerate(drawn)
        }
        rest = {key: NotDrawn("all", probability) for key in keys.values() if key not in units}
        save_sample(study, name=None, instrument=instrument, seed=0, design={}, units=units, waiting=rest)
