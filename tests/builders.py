"""Small conversations and ratings that tests build their cases from."""

from collections.abc import Mapping

from attunement.conversations import Conversation, Identity, Turn
from attunement.instruments import Instrument, Value
from attunement.ratings import Outcome, Rating

HERE = Identity("bot", "c1")


def talk(*pairs: tuple[str, str], id: str = "c1", system: str = "bot") -> Conversation:
    """A conversation of these (user, assistant) pairs."""
    return Conversation(id, system, tuple(Turn(*pair) for pair in pairs))


def rating(instrument: Instrument, item: str, answer: Value | Outcome, **more: object) -> Rating:
    """A rating of one item, in its present wording, by the judge `j`."""
    outcome = answer if isinstance(answer, Outcome) else Outcome.of(answer)
    fields: dict[str, object] = {
        "conversation": HERE,
        "turn": None,
        "rater": "j",
        "item_hash": instrument.item_hashes[item],
        "instrument": instrument.hash,
    }
    return Rating(item=item, outcome=outcome, **{**fields, **more})  # pyright: ignore[reportArgumentType]


def ratings(
    instrument: Instrument, answers: Mapping[str, Value | Outcome], *, others: Value | Outcome = "YES", **more: object
) -> list[Rating]:
    """A rating for every item: `answers` where given, else `others`."""
    return [rating(instrument, item.id, answers.get(item.id, others), **more) for item in instrument.items]
