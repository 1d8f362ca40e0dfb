"""Where conversations, instruments, raters, answers and ratings are kept, on SQLite or PostgreSQL."""

from attunement.store.connection import shown_place
from attunement.store.rows import AnswerRecord, ConversationSummary, Rated, Rater, StoredConversation, StoredRating
from attunement.store.scorecards import ScoredConversation, chosen_instrument, scored_conversations
from attunement.store.study import Study, now

__all__ = [
    "AnswerRecord",
    "ConversationSummary",
    "Rated",
    "Rater",
    "ScoredConversation",
    "StoredConversation",
    "StoredRating",
    "Study",
    "chosen_instrument",
    "now",
    "scored_conversations",
    "shown_place",
]
