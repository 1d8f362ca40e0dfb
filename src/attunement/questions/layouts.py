"""The choices about how a question is put. They stand alone so that the command line can name them quickly."""

from enum import StrEnum


class Layout(StrEnum):
    """The order of a prompt's parts."""

    CRITERION_FIRST = "criterion-first"
    TRANSCRIPT_FIRST = "transcript-first"


class Ask(StrEnum):
    """Whether the items of a unit go in one call."""

    TOGETHER = "together"
    SEPARATELY = "separately"
