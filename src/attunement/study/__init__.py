"""Where conversations, instruments, raters, answers and ratings are kept, on SQLite or PostgreSQL."""

from attunement.study.connecting import shown_place
from attunement.study.records import AnswerRecord, Kept, KeptRating, Rated, Rater, Summary
from attunement.study.scorecards import Judged, chosen_instrument, judged
from attunement.study.store import Study, now

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
    "shown_place",
]
