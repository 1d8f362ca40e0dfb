"""Studies of both kinds for the tests of this folder."""

from tests.postgres import postgres, study_place

__all__ = ["postgres", "study_place"]
