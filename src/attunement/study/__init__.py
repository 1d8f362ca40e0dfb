"""Where conversations, instruments, raters, answers and ratings are kept, on SQLite or PostgreSQL."""

from attunement.study.scorecards import Judged, chosen_instrument, judged
from attunement.study.store import AnswerRecord, Kept, KeptRating, Rated, Rater, Study, Summary, now

__all__ = [
    "AnswerRecord",
    "Judged",
    "Kept",
    "KeptRating",
    "Rated",
    "Rater",
    "Study",
    "Summary",
    "chosen_instrument",
    "judged",
    "now",
]
