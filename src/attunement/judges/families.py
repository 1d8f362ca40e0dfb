"""What does a model's name say: its family, whether it is pinned to a date, whether it thinks before it answers?

A judge of the same family as the system it judges favours that system, and a name without a date may mean another
model next month. Names are all we have; a name that says nothing gives None or False.
"""

import ipaddress
import re
from urllib.parse import urlsplit

from attunement.judges.protocol import Judge

_FAMILIES = {
    "gpt": r"(?:chat)?gpt|o[134]|davinci|codex",
    "claude": r"claude",
    "gemini": r"gemini|gemma|palm|medgemma",
    "llama": r"(?:code|tiny)?llama|vicuna|alpaca",
    "mistral": r"mistral|mixtral|ministral|magistral|codestral|devstral|pixtral|voxtral|zephyr",
    "qwen": r"qwen|qwq|qvq",
    "deepseek": r"deepseek",
    "phi": r"phi",
    "command": r"command|aya",
    "grok": r"grok",
    "nova": r"nova",
    "glm": r"(?:chat)?glm",
    "kimi": r"kimi|moonshot",
    "minimax": r"minimax",
    "granite": r"granite",
    "falcon": r"falcon",
    "yi": r"yi",
    "olmo": r"olmo|tulu",
    "smollm": r"smollm",
}
# A stem stands alone or is followed by its version ("llama3", "gpt-4o"); "ollama" and "phil" are other words.
_STEMS = re.compile(
    r"(?<![a-z])(?:"
    + "|".join(f"(?P<{family}>{stems})" for family, stems in _FAMILIES.items())
    + r")(?![a-z])(?!\.cpp)"
)


def model_family(name: str) -> str | None:
    """The family of the model that `name` names first, such as `gpt` for `openai:gpt-5.2`; None where unknown."""
    match = _STEMS.search(_bare(name))
    return match.lastgroup if match else None


def shared_family(one: str, other: str) -> str | None:
    """A family that both names mention: a model distilled from one family into another belongs to both."""
    families = {match.lastgroup for match in _STEMS.finditer(_bare(one))}
    for match in _STEMS.finditer(_bare(other)):
        if match.lastgroup in families:
            return match.lastgroup
    return None


def _bare(name: str) -> str:
    """The name without the prefix of the judge, which says how it is reached and not what it is."""
    return re.sub(r"\A(?:openai|anthropic|local):", "", name.lower())


_DATE = re.compile(
    r"(?<!\d)(?:"
    r"20\d\d-?(?:0[1-9]|1[0-2])-?(?:0[1-9]|[12]\d|3[01])"  # 2025-08-07, 20250807
    r"|(?:0[1-9]|1[0-2])-?(?:0[1-9]|[12]\d|3[01])|(?:2\d)(?:0[1-9]|1[0-2])"  # 0613, 05-20; 2411
    r"|00[1-9]"  # the numbered versions of Gemini are as fixed as a date
    r")(?![\dbk])"
)


def is_dated(model: str) -> bool:
    """Whether the name is pinned to a date or a numbered version, so that it means the same model next month."""
    return _DATE.search(model.partition("-")[2]) is not None


_THINKS = re.compile(
    r"(?<![a-z])(?:gpt-5(?!.*chat)|gpt-oss|o[134](?![a-z])|gemini-(?:2\.5|[3-9])|grok-(?:[4-9]|3-mini)|qwq|qvq|magistral)"
    r"|thinking|reason|deepseek-r\d|[-_]r1\b"
)


def thinks(model: str) -> bool:
    """Whether a model of this name is known to write down thoughts before its answer, which count as reply."""
    return _THINKS.search(model.lower()) is not None


def hosted(judge: Judge) -> bool:
    """Whether the judge's model is run by somebody else, who may change it behind its name."""
    return hosted_at(judge.settings.get("base_url"))


def hosted_at(address: str | None) -> bool:
    """Whether a service at this address is somebody else's; one without an address runs in this process."""
    host = urlsplit(address or "").hostname
    if not host:
        return False
    try:
        return ipaddress.ip_address(host).is_global
    except ValueError:
        # A name without a dot, or under one of the reserved endings, is a machine of one's own.
        return "." in host and not host.endswith((".local", ".localhost", ".internal", ".lan", ".home.arpa"))
