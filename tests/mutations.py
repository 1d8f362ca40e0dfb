"""Valid input with something wrong in it, drawn from a seed."""

import json
import random
from typing import Any

ODD: list[Any] = [
    *(
        None,
        True,
        [],
        {},
        "",
        " ",
        "\x00",
        "\x1b[31mred",
        "\u202etxet",
        "=1+1",
        -1,
        0,
        2.5,
        10**19,
        -(10**30),
        "10" * 200,
    ),
    *(
        "\ud800",
        "é" * 2000,
        [[]],
        [None],
        {"a": {"a": {}}},
        "NaN",
        "null",
        "YES",
        "../../etc/passwd",
        "<script>x</script>",
    ),
]
_SIGNS = [
    b"\x00",
    b"\xff",
    b"\xef\xbb\xbf",
    b'"',
    b"{",
    b"}",
    b"[",
    b"\\",
    b"\r",
    b"\n",
    b",",
    b";",
    b"\t",
    b"1e999",
    b"NaN",
    b"\xed\xa0\x80",
    b"\x1b[2J",
    b"---\n",
    b": ",
    b"- ",
    b"&a ",
    b"*a",
    b"!!python/object:os.system ",
    b"=cmd|",
]


def deep(depth: int) -> Any:
    value: Any = "x"
    for _ in range(depth):
        value = [value] if random.random() < 0.5 else {"a": value}
    return value


def changed_bytes(content: bytes) -> bytes:
    """The content with one to four places changed, cut, repeated or moved."""
    made = bytearray(content)
    for _ in range(random.randint(1, 4)):
        start = random.randrange(len(made) + 1)
        end = min(len(made), start + random.choice((1, 2, 7, 40, 400)))
        part = bytes(made[start:end])
        match random.randrange(6):
            case 0:
                made[start:end] = random.choice(_SIGNS)
            case 1:
                made[start:start] = random.choice(_SIGNS) * random.choice((1, 1, 3, 200))
            case 2:
                del made[start:end]
            case 3:
                made[end:end] = part * random.choice((1, 5))
            case 4:
                del made[start:]
            case _:
                made[start:end] = bytes(sign ^ (1 << random.randrange(8)) for sign in part)
    return bytes(made)


def changed_record(value: Any) -> Any:
    """The value with one part replaced, removed, renamed or added, somewhere inside."""
    if isinstance(value, dict) and value and random.random() < 0.85:
        name = random.choice(list(value))
        rest = {key: item for key, item in value.items() if key != name}
        match random.randrange(6):
            case 0:
                return rest
            case 1:
                return {**rest, random.choice(("odd", "", name.upper(), f"{name} ", "__class__")): value[name]}
            case _:
                return {**value, name: changed_record(value[name])}
    if isinstance(value, list) and value and random.random() < 0.85:
        place = random.randrange(len(value))
        match random.randrange(5):
            case 0:
                return value[:place] + value[place + 1 :]
            case 1:
                return [*value, value[place]]
            case _:
                return [*value[:place], changed_record(value[place]), *value[place + 1 :]]
    return deep(random.choice((3, 60, 600))) if random.random() < 0.05 else random.choice(ODD)


def as_json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=random.random() < 0.5).encode("utf-8", "surrogatepass")
