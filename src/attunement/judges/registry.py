"""A judge by its name: `openai:gpt-5.2`, `anthropic:MODEL`, `local:FILE.gguf`, `replay:FILE.jsonl`, `signals`.

The part before the first colon says what kind of judge it is. Other packages add their own kinds under the entry point
group `attunement.judges`: a callable that gets the rest of the name and the options, and returns a Judge.
"""

from collections.abc import Callable
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points

from attunement.errors import JudgeError
from attunement.judges.base import Judge, JudgeOptions, model_family

GROUP = "attunement.judges"
SIGNALS = "signals"  # the rule check

# Each kind: an example of the rest of the name, and what it is. `KIND_judge` in the module KIND makes the judge.
_BUILT_IN = {
    "openai": ("MODEL", "a model of OpenAI or of any OpenAI-compatible service"),
    "anthropic": ("MODEL", "a model of Anthropic"),
    "local": ("FILE.gguf", "a model file on this computer, through llama.cpp"),
    "replay": ("FILE.jsonl", "answers recorded earlier; nothing is sent"),
}

_Factory = Callable[[str, JudgeOptions], Judge]


def make_judge(name: str, options: JudgeOptions | None = None) -> Judge:
    """The judge called `name`. Nothing is sent yet.

    Raises a JudgeError if the kind is unknown, the model is missing from the name, or a key, a file or a package is
    missing.
    """
    kind, _, model = name.partition(":")
    if name == SIGNALS:
        from attunement.judges.signals import SignalsJudge

        return SignalsJudge()
    if kind == SIGNALS:
        raise JudgeError(f"there is no judge {name!r}; write {SIGNALS}")
    options = options or JudgeOptions()
    if kind in _BUILT_IN:
        if not model:
            raise JudgeError(f"{name!r} does not say which model: write {kind}:{_BUILT_IN[kind][0]}")
        factory: _Factory = getattr(import_module(f"attunement.judges.{kind}"), f"{kind}_judge")
        return factory(model, options)
    added = _added()
    if kind in added:
        return _load(added[kind])(model, options)
    known = ", ".join([SIGNALS, *(f"{known}:{example}" for known, (example, _) in _BUILT_IN.items()), *sorted(added)])
    raise JudgeError(f"there is no judge {name!r}{_guess(name)}; known are {known}")


def judge_kinds() -> list[tuple[str, str]]:
    """How each kind of judge is named, and what it is; kinds that other packages add come last."""
    built_in = [(f"{kind}:{example}", meaning) for kind, (example, meaning) in _BUILT_IN.items()]
    added = [(f"{name}:NAME", f"from {point.value}") for name, point in sorted(_added().items())]
    return [(SIGNALS, "the rule check: it points to crisis talk and never judges"), *built_in, *added]


def _added() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}


def _load(point: EntryPoint) -> _Factory:
    try:
        return point.load()
    except Exception as error:  # whatever another package does when it is imported
        reason = f"{type(error).__name__}: {error}"
        raise JudgeError(f"the judge {point.name!r} of {point.value} cannot be loaded ({reason})") from error


def _guess(name: str) -> str:
    """A suggestion for a name without a kind."""
    if name.lower().endswith(".gguf"):
        return f" (did you mean local:{name}?)"
    kind = {"gpt": "openai", "claude": "anthropic"}.get(model_family(name) or "")
    return f" (did you mean {kind}:{name}?)" if kind and ":" not in name else ""
