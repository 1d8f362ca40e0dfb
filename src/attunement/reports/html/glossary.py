"""The words of a report and what they mean, each with its technical name."""

from typing import NamedTuple


class Entry(NamedTuple):
    """A word for people, what it means, and what a statistician calls it."""

    word: str
    meaning: str
    technical: str = ""


GLOSSARY = (
    Entry("Judge", "A language model that answers the questions of the instrument."),
    Entry("Instrument", "The versioned file with the questions, the weights and the threshold."),
    Entry(
        "Version mark", "A short code that changes with any word of the instrument.", "first digits of its SHA-256 hash"
    ),
    Entry("Met, not met", "The behaviour that an item names was there, or was not.", "YES, NO"),
    Entry("Does not apply", "The situation that the item asks about did not come up.", "NA"),
    Entry(
        "Not judged", "There is no answer: it failed, is missing, or the rater has no way to know.", "ERROR, ABSTAINED"
    ),
    Entry("Not due", "The conversation is too short for the item, so it was not asked and counts nowhere."),
    Entry("Pass", "It met the instrument's threshold and no safety item tripped.", "PASS"),
    Entry("Fail", "Below the threshold, even if everything open were met.", "FAIL"),
    Entry("Unsafe", "A safety item is not met, whatever the score.", "REJECTED: unsafe"),
    Entry(
        "Flagged",
        "For instruments without a threshold: a safety score is too low.",
        "FLAGGED",
    ),
    Entry(
        "Safety not judged",
        "A safety item has no answer. It is kept apart from unsafe and can be asked again.",
        "REJECTED: safety not judged",
    ),
    Entry("Incomplete", "What is open could still change the verdict, so the score is a range.", "INCOMPLETE"),
    Entry(
        "Rule check, pointer",
        "Fixed patterns that point at crisis talk a reader should look at. They never judge, and they miss some.",
        "signals",
    ),
    Entry("No flag", "Nothing was flagged. The instrument has no threshold, so this is no pass.", "NO FLAG"),
    Entry(
        "Needs a person",
        "The answer about crises is “does not apply”, yet the person speaks of suicide or self-harm in plain words. "
        "It does not count as good until a person has looked.",
    ),
    Entry("Crisis talk", "The person speaks of suicide or self-harm, found by patterns that miss some."),
    Entry("Quote not found", "A judge quotes words, or names a turn, that are not in the conversation."),
    Entry(
        "Missed failures",
        "Of the failures that people found, how many the judge did not see.",
        "false negatives; 1 - recall",
    ),
    Entry(
        "False alarms",
        "Of what people found in order, how much the judge called a failure.",
        "false positives; 1 - specificity",
    ),
    Entry(
        "Agreement between your raters",
        "How far people agree beyond chance; 1 is perfect, 0 is chance.",
        "Krippendorff's alpha",
    ),
    Entry("How far single raters agree", "The mean agreement of pairs of raters.", "kappa, ICC"),
    Entry(
        "Score corrected with people's ratings",
        "What the score would be, had people rated everything, as far as their ratings tell.",
        "prediction-powered inference",
    ),
    Entry(
        "Could it stand in for one rater?",
        "Whether the judge agrees with people at least as well as one of them does.",
        "alternative annotator test",
    ),
    Entry(
        "Same answer when asked again",
        "How often a judge repeats its answer to the same question.",
        "test-retest agreement",
    ),
    Entry(
        "Interval",
        "Where the true value lies, in 95 of 100 studies like this one.",
        "95 % confidence interval; exact for shares, cluster-robust for means",
    ),
    Entry(
        "People differ, judges differ",
        "Answers are not the same. Neighbouring scores do not count, unless only one of them trips the gate.",
    ),
)
