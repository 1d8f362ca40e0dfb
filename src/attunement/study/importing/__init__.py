"""Answers and ratings from files into a study: first everything is checked, then everything is kept.

Two kinds of files are read: ratings that Attunement exported, which come back as they were, and answers that were made
elsewhere, whose evidence is checked and to which the instrument's rules are applied.
"""

from attunement.study.importing.checking import Checked, check
from attunement.study.importing.columns import Columns
from attunement.study.importing.found import Few
from attunement.study.importing.keeping import Absent, Report, keep
from attunement.study.importing.reading import Wishes

__all__ = ["Absent", "Checked", "Columns", "Few", "Report", "Wishes", "check", "keep"]
