"""Open the files and folders that the program writes: private, never a database, complete or not there at all."""

import os
import re
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from attunement.errors import InputError

STDOUT = "-"
_DATABASE = b"SQLite format 3\x00"
_COMPANION = re.compile(r"(.+)-(?:wal|shm|journal)")
_PART = re.compile(r"\..+\.(?P<process>\d+)\.attune-part")


def check_output(path: str | Path, *, force: bool = True) -> None:
    """Raise an InputError for a study, for what belongs to one and, without `force`, for any file that exists."""
    path = Path(path)
    if str(path) == STDOUT:
        return
    owner = _COMPANION.fullmatch(path.name)
    if _is_database(path) or (owner and _is_database(path.with_name(owner[1]))):
        raise InputError(f"{path} is a study or another database, so it is not overwritten; give another name")
    if not force and path.exists():
        raise InputError(f"{path} exists already: give another name, or --force to overwrite it")


def _is_database(path: Path) -> bool:
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return file.read(len(_DATABASE)) == _DATABASE
    except OSError:
        return False  # what cannot be read cannot be told; writing it fails on its own


@contextmanager
def replacing(path: str | Path) -> Generator[BinaryIO]:
    """A stream that replaces `path` when it is complete; until then the old file stays.

    A new file can be read by its owner only. One that is replaced keeps its permissions.

    Raises:
        InputError: The file cannot be written, or is a database.
    """
    path = Path(path)
    check_output(path)
    try:
        if path.exists() and not path.is_file():  # a pipe or a device
            with path.open("wb") as stream:
                yield stream
            return
        _remove_leftovers(path.parent)
        part = path.with_name(f".{path.name[:200]}.{os.getpid()}.attune-part")
        try:
            with open_private(part) as stream:
                yield stream
            with suppress(FileNotFoundError):
                part.chmod(stat.S_IMODE(path.stat().st_mode))
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"{path}: cannot write the file: {error.strerror or error}.") from error


def open_private(path: Path) -> BinaryIO:
    """The file, empty and locked until it is closed; if it is new, only its owner can read it."""
    stream = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600), "wb")
    _lock(stream)
    return stream


def make_folder(folder: Path) -> None:
    """Make the folder and those above it, for their owner only; one that exists stays as it is."""
    for missing in reversed([part for part in (folder, *folder.parents) if not part.exists()]):
        missing.mkdir(mode=0o700, exist_ok=True)
    folder.mkdir(exist_ok=True)  # fails where a file has the name


def _remove_leftovers(folder: Path) -> None:
    """Remove what killed processes were writing here."""
    for part in folder.iterdir():
        if made := _PART.fullmatch(part.name):
            with suppress(OSError), part.open("rb") as stream:
                if _lock(stream) and not is_running(int(made["process"])):  # it may be about to lock it
                    part.unlink(missing_ok=True)


def is_running(process: int) -> bool:
    """Whether this machine has a process of this number."""
    if os.name != "posix":  # elsewhere the call would end it
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        pass  # it is somebody else's
    return True


def _lock(stream: BinaryIO) -> bool:
    """Lock the file until it is closed; False if another process has locked it, or this system has no such locks."""
    try:
        import fcntl
    except ImportError:
        return False
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
