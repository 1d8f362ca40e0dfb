"""What a record says about a conversation beside the talk: id, system, instructions, origin, and everything else.

A field `system` may name the bot or hold its system prompt. It is the prompt where it has a line break, more than
four words or a full stop at its end; otherwise, and wherever the record has `instructions` of its own, it is the
name. Where the record itself names no id or system, an object `metadata` or `meta` in it may.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

from attunement.conversations.model import Origin
from attunement.conversations.readers import names
from attunement.conversations.readers.record import InexactNumber, surely_exact
from attunement.conversations.readers.talk import join

_ORIGINS = frozenset(Origin)
_WORDS_OF_A_NAME = 4  # "Claude 3.5 Sonnet v2" is a name; system prompts of fewer words end with a full stop


@dataclass(frozen=True, slots=True)
class Fields:
    """The names of fields, where the usual ones are not to be taken."""

    prompt: str | None = None
    response: str | None = None
    id: str | None = None
    system: str | None = None


class About(NamedTuple):
    """What a record says beside the talk."""

    id: str | None
    system: str | None
    instructions: str | None
    origin: Origin
    metadata: dict[str, Any]


class _Wanted(NamedTuple):
    ids: tuple[str, ...]
    systems: tuple[str, ...]


class Layout(NamedTuple):
    """Which fields of a record say what, for all records with the same fields."""

    wanted: _Wanted
    ids: tuple[str, ...]
    systems: tuple[str, ...]
    prompt: str | None  # a field `system` that may be the system prompt
    instructions: tuple[str, ...]
    origins: tuple[str, ...]
    objects: tuple[str, ...]
    rest: tuple[str, ...]


def lay_out(keys: Iterable[str], talk: Collection[str], fields: Fields) -> Layout:
    """Say which of `keys` hold what; `talk` are those that hold the conversation itself."""
    rest = tuple(key for key in keys if key not in talk)

    def among(wanted: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(names.present(wanted, rest))

    wanted = _Wanted(
        ids=names.ID if fields.id is None else (fields.id,),
        systems=names.SYSTEM if fields.system is None else (fields.system,),
    )
    instructions = among(names.INSTRUCTIONS)
    ambiguous = among(("system",)) if fields.system is None and not among(("instructions",)) else ()
    return Layout(
        wanted=wanted,
        ids=among(wanted.ids),
        systems=among(wanted.systems),
        prompt=ambiguous[0] if ambiguous else None,
        instructions=instructions,
        origins=among(("origin",)),
        objects=among(names.METADATA),
        rest=rest,
    )


def read_about(record: dict[str, Any], layout: Layout, exact: bool) -> About:
    """What `record` says beside the talk; every field that says none of it is kept as metadata.

    Raises:
        InexactNumber: A number may have been rounded, where `exact` does not say that none was.
    """
    rest = {key: record[key] for key in layout.rest}
    inner: dict[str, Any] = {}
    for key in layout.objects:
        if isinstance(rest[key], dict):
            inner |= rest.pop(key)
    instructions = ""
    for key in layout.instructions:
        if rest[key] is None or isinstance(rest[key], str):
            instructions = join(instructions, rest.pop(key) or "")
    if layout.prompt is not None and isinstance(rest[layout.prompt], str) and reads_as_prompt(rest[layout.prompt]):
        instructions = join(instructions, rest.pop(layout.prompt))
    identity = _take(layout.ids, rest, exact)
    system = _take(layout.systems, rest, exact)
    origin = _take_origin(layout.origins, rest)
    if not exact and not (surely_exact(rest) and surely_exact(inner)):
        raise InexactNumber
    if inner:
        identity = identity or _take(names.present(layout.wanted.ids, inner), inner, exact)
        system = system or _take(names.present(layout.wanted.systems, inner), inner, exact)
        origin = origin or _take_origin(names.present(("origin",), inner), inner)
        for key, value in inner.items():
            rest[f"metadata.{key}" if key in rest else key] = value
    return About(identity, system, instructions or None, origin or Origin.UNKNOWN, rest)


@lru_cache(maxsize=64)  # a file says the same few again and again
def reads_as_prompt(system: str) -> bool:
    """Whether a field `system` holds the bot's system prompt and not its name."""
    return "\n" in system or len(system.split()) > _WORDS_OF_A_NAME or system.rstrip().endswith((".", "!", "?"))


def _take(keys: Iterable[str], record: dict[str, Any], exact: bool) -> str | None:
    for key in keys:
        value = record.get(key)
        if isinstance(value, (str, int, float)) and not isinstance(value, bool) and value != "":
            if not (exact or surely_exact(value)):
                raise InexactNumber
            del record[key]
            return str(value)
    return None


def _take_origin(keys: Iterable[str], record: dict[str, Any]) -> Origin | None:
    for key in keys:
        if isinstance(value := record[key], str) and value.casefold() in _ORIGINS:
            del record[key]
            return Origin(value.casefold())
    return None
