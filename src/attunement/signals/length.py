"""Are the replies far longer than the messages they answer? CP2.

The criterion carries its own bounds: a mean ratio over 2x, or more than half of the turns over 2x, is bad length and
means NO. Good length alone does not mean YES, because tone and variety are asked as well; so this is a flag.
"""

from attunement.conversations.lengths import DOUBLE, length_statistics
from attunement.signals.reasoning import Answer, answer, whole
from attunement.signals.talk import Talk

MEAN, SHARE = 2.0, 0.5
"""The bounds of CP2 beyond which length is bad."""


def over_long(talk: Talk) -> Answer | None:
    """CP2: NO where the length is bad by the criterion's own figures."""
    lengths = length_statistics(talk.turns)
    mean, share = lengths.mean_ratio, lengths.share_above_double
    if mean is None or share is None or not (mean > MEAN or share > SHARE):
        return None
    longest = max(range(talk.last), key=lambda turn: lengths.turns[turn].ratio or 0.0)
    user, reply, _ = lengths.turns[longest]
    compared = sum(length.ratio is not None for length in lengths.turns)
    conclusion = (
        f"These {_words(user)} got {_words(reply)}. On average replies have {mean:.1f}x the words of the message, and "
        f"{lengths.above_double} of {compared} are over {DOUBLE:.0f}x; bad is over {MEAN:.0f}x or over half"
    )
    return answer("NO", [whole(longest + 1, talk.turns[longest].user)], conclusion)


def _words(number: int) -> str:
    return "1 word" if number == 1 else f"{number} words"
