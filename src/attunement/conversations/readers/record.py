"""What a file gives before it is understood: one record with its place, and the reason why a record is refused."""

from typing import Any, NamedTuple, TypeGuard


class BadRecord(Exception):
    """One record cannot be read; the others may be fine. `reason` is a clause that stands behind the place."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line  # where in the record the fault stands, if that is known: 1 is its first line


class InexactNumber(Exception):
    """A number was rounded when its line was parsed: the line must be parsed again by the exact, slower way."""


class Place(NamedTuple):
    """Where a record begins. For Parquet, `line` is the row; both count from 1."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Record(NamedTuple):
    """One record of a file: what was parsed, or a `BadRecord` that says why it could not be."""

    line: int
    value: Any
    raw: bytes | str
    exact: bool = True  # False: whole numbers of more than 64 bits were rounded


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """Whether `value` is a JSON object."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Whether `value` is a JSON list."""
    return isinstance(value, list)


def listed(record: Any, key: str | None) -> list[Any]:
    """The list in the field `key` of `record`; without a key, the record itself.

    Raises:
        BadRecord: It is no list.
    """
    value = record if key is None else record[key]
    if not is_list(value):
        raise BadRecord(
            "this is no conversation" if key is None else f"the field '{key}' holds no list of what was said"
        )
    return value


def decoded(raw: bytes) -> str:
    """The text of `raw`, in which lone surrogates may occur.

    Raises:
        BadRecord: `raw` is not UTF-8; the reason names the first wrong byte.
    """
    try:
        return raw.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start)
        column = error.start - (raw.rfind(b"\n", 0, error.start) + 1)
        raise BadRecord(
            f"this is not UTF-8 text (the line has 0x{raw[error.start]:02x} as byte {column + 1}); save it as UTF-8",
            line + 1,
        ) from None


def surely_exact(value: object) -> bool:
    """Whether every number in `value` is sure to be what the file says.

    orjson rounds whole numbers that need more than 64 bits to floats; ids of 20 digits are such numbers.
    """
    if isinstance(value, str):
        return True
    if isinstance(value, float):
        return abs(value) < 2**63
    if is_object(value):
        return all(map(surely_exact, value.values()))
    return all(map(surely_exact, value)) if is_list(value) else True
