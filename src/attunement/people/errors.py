"""What people are told when something of theirs cannot be done."""

from attunement.errors import StudyError


class GoneError(StudyError):
    """The unit is not, or no longer, this rater's to change."""
