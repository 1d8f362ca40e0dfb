"""Where conversations, instruments, raters, answers and ratings are kept, on SQLite or PostgreSQL."""

from attunement.study.store import AnswerRecord, Kept, KeptRating, Rated, Rater, Study, now

__all__ = ["AnswerRecord", "Kept", "KeptRating", "Rated", "Rater", "Study", "now"]
