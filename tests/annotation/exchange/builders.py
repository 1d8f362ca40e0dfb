"""Small studies that units are handed out from."""

from collections.abc import Mapping
from pathlib import Path

from attunement.annotation.exchange import ExportedUnit
from attunement.conversations import Conversation, Turn
from attunement.instruments import load
from attunement.ratings import RaterKind
from attunement.store import StoredRating, Study
from tests.builders import ratings

COACHING = load("coaching-v1")
EMPATHY = load("empathy-v2")

SYSTEM = "Harbor-Seven"
SCRIPT = "<script>alert('x')</script> & <b>bold</b> \"quoted\""
TALKS = [
    Conversation(
        "alpha-1", SYSTEM, (Turn("I cannot sleep.", "Since when?"), Turn(SCRIPT, "That is hard. \U0001f642 Yes."))
    ),
    Conversation("beta-2", SYSTEM, (Turn("", "=HYPERLINK(1) is what I say"),), metadata={"risk": "very-high"}),
    Conversation("gamma-3", "Lantern", tuple(Turn(f"Still {n}.", "Go on.") for n in range(6))),
]


def study_of_talks(place: Path) -> Study:
    """A study in which a judge has rated the first conversation."""
    study = Study(place, create=True)
    study.save_instrument(COACHING)
    judge = study.save_rater("openai:sharp-judge", RaterKind.MODEL, {})
    keys = study.save_conversations(TALKS)
    made = ratings(COACHING, {"CQ8": "NO"}, conversation=TALKS[0].identity, rater=judge.name, reasoning="judge-said-so")
    study.write([], [StoredRating(keys[0], judge.key, rating) for rating in made])
    return study


def by_id(outgoing: list[ExportedUnit]) -> Mapping[str, ExportedUnit]:
    """Units by the id of their conversation, and the turn where there is one."""
    return {
        entry.unit.conversation.id + (f"#{entry.unit.turn}" if entry.unit.turn else ""): entry for entry in outgoing
    }
