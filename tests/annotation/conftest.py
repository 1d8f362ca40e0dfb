"""Studies of both kinds for the tests of this folder, closed when a test ends."""

from tests.annotation.projects import close_studies
from tests.postgres import postgres, study_place

__all__ = ["close_studies", "postgres", "study_place"]
