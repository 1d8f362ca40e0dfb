"""What can go wrong because of what the user gave us.

Each error is one sentence that says what was wrong, where (file, line, id) and what to do. The command line prints
that sentence and exits with 2; a traceback is shown only with `--debug`.
"""


class AttunementError(Exception):
    """Something the user can fix. The message is a full sentence for them."""


class InputError(AttunementError):
    """A conversation, a ratings table or another input file cannot be read as it is."""


class InstrumentError(AttunementError):
    """An instrument file is not valid, or an instrument or item that was named does not exist."""


class StudyError(AttunementError):
    """A study cannot be opened, is of another version, or contradicts what is to be saved in it."""


class NoStudyError(StudyError):
    """There is no study under this name yet."""


class JudgeError(AttunementError):
    """A judge cannot be used as named: the name, the address, the key or the model is wrong."""
