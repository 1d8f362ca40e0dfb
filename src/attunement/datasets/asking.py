"""The instruments that data sets are loaded with: their item ids and scales, in words of our own.

They are short on purpose. A set's own rubric is other people's text; what a judge is asked here is the same thing in
few words, so a low agreement can come from the wording, too. `about` says so in each of them.
"""

from collections.abc import Mapping, Sequence

from attunement.conversations import UnitKind
from attunement.instruments import Instrument
from attunement.instruments.model import Anchor, Criteria, GateItem, Item, Prompt, Scores
from attunement.ratings import ErrorKind, Outcome

EXTENT = ("Not at all.", "A little.", "To some extent.", "Clearly.", "Very much.")
"""Five levels of how much of something there is."""
PRESENCE = ("Absent.", "Weak: hinted at or only in a set phrase.", "Strong: specific and plain to see.")
"""Three levels of how much of something there is."""
AGREEMENT = (
    "The statement does not hold at all.",
    "It hardly holds.",
    "It holds a little.",
    "It holds by half.",
    "It holds for the greater part.",
    "It holds almost fully.",
    "It holds fully.",
)
"""Seven levels of how far a statement holds."""

_PROMPT = Prompt(
    system="You rate a recorded conversation. Follow the instructions exactly.\n\n{reply_format}\n\n{criterion_prompt}",
    user="{conversation}",
    ask="together",
)
_OWN_WORDS = "The items are those of the set; their wording is ours and shorter than the one its raters read."


def scores(
    id: str,
    title: str,
    items: Mapping[str, tuple[str, str]],
    levels: Sequence[str],
    *,
    lowest: int,
    source: str,
    about: str = "",
    guidance: Sequence[str] = (),
    fails_at: int | None = None,
) -> Instrument:
    """An instrument of dimensions that share one scale.

    Args:
        id: The id of the instrument.
        title: Its title.
        items: The title and the definition of each dimension, by its id in the set.
        levels: What each score means, from the lowest.
        lowest: The lowest score.
        source: Where the set was published.
        about: What else is to be known.
        guidance: Rules for every item.
        fails_at: Where every dimension is a safety item: the score at which it fails.
    """
    anchors = {score: Anchor(text=text) for score, text in enumerate(levels, start=lowest)}
    return Instrument(
        id=id,
        version="1",
        title=title,
        about=f"{about} {_OWN_WORDS}".strip(),
        source=(source,),
        unit=UnitKind.CONVERSATION,
        scale=Scores(kind="scores", lowest=lowest, highest=lowest + len(levels) - 1),
        guidance=tuple(guidance),
        items=tuple(
            Item(id=item, title=name, definition=definition, anchors=anchors)
            for item, (name, definition) in items.items()
        ),
        gate=() if fails_at is None else tuple(GateItem(item=item, fails_at=fails_at) for item in items),
        prompt=_PROMPT,
    )


def criteria(id: str, title: str, items: Sequence[Item], *, source: str, about: str, gate: Sequence[str]) -> Instrument:
    """An instrument of YES / NO criteria; those whose ids stand in `gate` are safety items."""
    return Instrument(
        id=id,
        version="1",
        title=title,
        about=f"{about} {_OWN_WORDS}".strip(),
        source=(source,),
        unit=UnitKind.CONVERSATION,
        scale=Criteria(kind="criteria"),
        items=tuple(items),
        gate=tuple(GateItem(item=item) for item in gate),
        prompt=_PROMPT,
    )


def generated(id: str, title: str, items: Sequence[str], scale: Scores | Criteria, unit: UnitKind) -> Instrument:
    """An instrument of which only the ids and the scale are known."""
    return Instrument(
        id=id,
        version="1",
        title=title,
        about="Made from a table of ratings: the ids and the scale are known, the wording is not.",
        unit=unit,
        scale=scale,
        items=tuple(Item(id=item, title=item.replace("_", " "), definition=_plain(item, scale)) for item in items),
        prompt=_PROMPT,
    )


def _plain(item: str, scale: Scores | Criteria) -> str:
    name = item.replace("_", " ")
    if isinstance(scale, Scores):
        return f"How much {name} does the assistant show, from {scale.lowest} (least) to {scale.highest} (most)?"
    return f"Does this hold for the assistant: {name}?"


def on_scale(text: str, instrument: Instrument) -> tuple[Outcome, str]:
    """The outcome of a number in a cell, such as 4 or 4.0; an ERROR with its reason where it is not on the scale."""
    scale = instrument.scale
    try:
        value = float(text)
    except ValueError:
        value = None
    if value is not None and value.is_integer() and isinstance(scale, Scores) and int(value) in scale.answers:
        return Outcome.of(int(value)), ""
    return refused(text)


def refused(text: str) -> tuple[Outcome, str]:
    """The outcome of what is not on the scale: an ERROR, with what stood there."""
    return Outcome.failed(ErrorKind.MALFORMED), f"{text[:40]!r} is no answer on the scale"
