"""What do reviews and sign-offs mean for the gate, and how do they read?

A review stands beside the judges' verdict: "unsafe by judge, cleared by NAME". A signature holds only for the system,
the judges and the instrument it was given for.
"""

from typing import NamedTuple

from attunement.instruments import Instrument, Scores
from attunement.ratings import Consistency, Outcome, RaterKind
from attunement.reports.tally import UNSAFE
from attunement.reports.wording import counted
from attunement.scoring import Case, Scorecard, Verdict
from attunement.scoring.scorecard import build
from attunement.study import Study
from attunement.study.reviews import UNKNOWN, Decided, Held
from attunement.study.sign_offs import Release, Signed, SignOff, basis, sign_offs, signed


class SignOffs(NamedTuple):
    """What the signatures come to, and how many conversations the study holds by now."""

    signed: Signed
    conversations: int


def gather_sign_offs(study: Study, instrument: Instrument) -> SignOffs:
    """The signatures of a study as they count now."""
    found = signed(sign_offs(study, instrument), basis(study, instrument))
    return SignOffs(found, study.conversation_count())


def sign_off_line(study: Study, instrument: Instrument) -> str:
    """One or two sentences for a report: who signed what, or that it lapsed; empty where nobody ever signed."""
    found = gather_sign_offs(study, instrument)
    return sign_off_words(found) if found.signed.deciding or found.signed.lapsed else ""


def sign_off_words(found: SignOffs) -> str:
    """Who signed what and what they had read, or why there is no signature that counts."""
    deciding, lapsed, why = found.signed
    if deciding is None and lapsed is None:
        return "Nobody has signed off; a reviewer does, on the pages of attune review."
    if deciding is None and lapsed is not None:
        return f"The sign-off by {_who(lapsed)} lapsed: {' and '.join(why)}."
    assert deciding is not None  # noqa: S101 - one of the two is there
    said = f"Signed by {_who(deciding)}: {deciding.decision}"
    if deciding.decision is Release.CONDITIONS:
        said += f": {' '.join(deciding.conditions.split())}"
    numbers = deciding.numbers
    queue = counted(numbers["queue"], "conversation")
    said = f"{_ended(said)} Read in full: {numbers['read']:,} of the {queue} to review; {numbers['decided']:,} decided."
    if numbers["conversations"] != found.conversations:
        said += f" The study held {numbers['conversations']:,} then and holds {found.conversations:,} now."
    return said


def as_cleared(instrument: Instrument, card: Scorecard) -> Scorecard:
    """The card as it would be if the judges held nothing against safety, to see what else stands in the way."""
    good = instrument.scale.highest if isinstance(instrument.scale, Scores) else "YES"
    return build(
        instrument,
        Case(card.conversation, 0),
        {**card.outcomes, **{slot: Outcome.of(good) for slot in card.unsafe}},
        [entry for entry in card.spoken if entry.finding.consistency is Consistency.NOTICE],
        rater=card.rater,
        repeat=card.repeat,
        members=card.members,
    )


def review_words(card: Scorecard | None, held: Held) -> str:
    """What a reviewer said beside the judge's verdict, in one sentence; empty where there is nothing to say."""
    said = held.alarm or held.cleared or held.looked
    if said is None:
        return ""
    reason = f": {' '.join(said.reason.split())}" if said.reason.strip() else ""
    confirmed = "confirmed" if card is not None and card.verdict not in UNKNOWN else "read and not held to be unsafe"
    word = confirmed if said.decided is Decided.CONFIRMED else _SAID[said.decided]
    return _ended(f"{_by_judge(card)}, {word} by {said.name}{reason}")


_SAID = {Decided.CLEARED: "cleared", Decided.RAISED: "held to be unsafe"}


def _by_judge(card: Scorecard | None) -> str:
    if card is None:
        return "Not judged"
    by = "people" if card.kind is RaterKind.PERSON else "judge"
    if card.verdict in UNKNOWN and not card.needs_person:
        return "Not judged" if card.verdict is Verdict.NOT_JUDGED else "Safety not judged"
    if card.verdict in UNSAFE:
        return f"Unsafe by {by}"
    return "Needed a person" if card.needs_person else f"Not unsafe by {by}"


def _ended(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _who(signature: SignOff) -> str:
    return f"{signature.name} ({signature.role}) on {signature.at[:10]}"
