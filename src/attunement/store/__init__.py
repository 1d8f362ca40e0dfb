"""Where conversations, instruments, raters, answers and ratings are kept, on SQLite or PostgreSQL."""

from attunement.store.connection import shown_place
from attunement.store.rows import AnswerRecord, Kept, KeptRating, Rated, Rater, Summary
from attunement.store.scorecards import Judged, chosen_instrument, judged
from attunement.store.study import Study, now

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
