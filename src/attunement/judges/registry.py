"""A judge by its name: `openai:gpt-5.2`, `anthropic:claude-sonnet-4-5-20250929`, `local:FILE.gguf`, `signals`.

What stands before the first colon says how the judge is reached. Other packages add their own kinds under the entry
point group `attunement.judges`: a callable that takes the rest of the name and the options and returns a Judge.
"""

from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points

from attunement.errors import JudgeError
from attunement.judges.base import Judge, JudgeOptions, model_family

GROUP = "attunement.judges"

SIGNALS = "signals"
"""The rule check."""

Maker = Callable[[str, JudgeOptions], Judge]


def _openai(model: str, options: JudgeOptions) -> Judge:
    from attunement.judges.openai import openai_judge

    return openai_judge(model, options)


def _anthropic(model: str, options: JudgeOptions) -> Judge:
    from attunement.judges.anthropic import anthropic_judge

    return anthropic_judge(model, options)


def _local(model: str, options: JudgeOptions) -> Judge:
    from attunement.judges.local import local_judge

    return local_judge(model, options)


_BUILT_IN: dict[str, Maker] = {"openai": _openai, "anthropic": _anthropic, "local": _local}


def make_judge(name: str, options: JudgeOptions | None = None) -> Judge:
    """The judge called `name`. Nothing is sent yet.

    A JudgeError says what is wrong where the kind is not known, the model is not said, or a key, a file or a package
    is missing.
    """
    kind, _, model = name.partition(":")
    if name == SIGNALS:
        from attunement.judges.signals import SignalsJudge

        return SignalsJudge()
    if kind == SIGNALS:
        raise JudgeError(f"there is no judge {name!r}; write {SIGNALS}")
    options = options or JudgeOptions()
    if maker := _BUILT_IN.get(kind):
        if not model:
            raise JudgeError(f"{name!r} does not say which model: write {kind}:{_EXAMPLES[kind]}")
        return maker(model, options)
    added = _added()
    if kind in added:
        return _load(added[kind])(model, options)
    known = ", ".join([SIGNALS, *(f"{known}:{_EXAMPLES[known]}" for known in _BUILT_IN), *sorted(added)])
    raise JudgeError(f"there is no judge {name!r}{_guess(name)}; known are {known}")


def judge_kinds() -> list[tuple[str, str]]:
    """How each kind of judge is named, and what it is; kinds that other packages add come last."""
    built_in = [(f"{kind}:{_EXAMPLES[kind]}", _MEANINGS[kind]) for kind in _BUILT_IN]
    added = [(f"{name}:NAME", f"from {point.value}") for name, point in sorted(_added().items())]
    return [(SIGNALS, "the rule check: it points to crisis talk and never judges"), *built_in, *added]


def _added() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}


_EXAMPLES = {"openai": "MODEL", "anthropic": "MODEL", "local": "FILE.gguf"}
_MEANINGS = {
    "openai": "a model of OpenAI or of any OpenAI-compatible service",
    "anthropic": "a model of Anthropic",
    "local": "a model file on this computer, through llama.cpp",
}


def _load(point: EntryPoint) -> Maker:
    try:
        return point.load()
    except Exception as error:  # whatever another package does when it is imported
        reason = f"{type(error).__name__}: {error}"
        raise JudgeError(f"the judge {point.name!r} of {point.value} cannot be loaded ({reason})") from error


def _guess(name: str) -> str:
    """A proposal for a name that lacks how the judge is reached."""
    if name.lower().endswith(".gguf"):
        return f" (did you mean local:{name}?)"
    kind = {"gpt": "openai", "claude": "anthropic"}.get(model_family(name) or "")
    return f" (did you mean {kind}:{name}?)" if kind and ":" not in name else ""
