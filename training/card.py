"""The model card: what the shipped scorer is, what it learned from, how well it does and where it must not be used.

The words are in `card.template.md`; this module fills in the figures.
"""

from collections.abc import Sequence
from pathlib import Path
from string import Template
from typing import Any

from attunement.signals.scorer import ATTRIBUTION
from training.corpora import MECHANISMS

_TEMPLATE = Path(__file__).with_name("card.template.md")
_TITLES = {"reactions": "emotional reactions"}
"""Names that people read, where they differ from ours by more than underscores."""
_JUDGES = {"crowd": "crowd", "gpt": "GPT-4o", "claude": "Claude 3.7", "gemini": "Gemini 2.5 Pro"}
_PEOPLE = {"scorer": "scorer", "expert with expert": "experts", "scorer less experts": "scorer less experts"}
_OURS = "scorer's"
_COUNTS = {"words": "words", "question marks": "question marks"}


def card(found: dict[str, Any]) -> str:
    """The model card with these results, as Markdown."""
    shipped, cross, outside = found["shipped"], found["cross_validation"], found["outside"]
    safety, lend, empathetic = found["diasafety"], outside["lend_an_ear"], outside["empatheticdialogues"]
    epitome = {name: outside["epitome"][name] for name in MECHANISMS}
    return Template(_TEMPLATE.read_text(encoding="utf-8")).substitute(
        **{name: shipped[name] for name in ("context_tokens", "reply_tokens", "form", "megabytes")},
        thresholds="; ".join(f"{title(name)} {low} and {high}" for name, (low, high) in shipped["thresholds"].items()),
        pairs=f"{cross['pairs']:,}",
        posts=f"{cross['posts']:,}",
        diasafety=f"{safety['auc']['n']:,}",
        attribution=ATTRIBUTION,
        **found["tried"],
        cross_validation=_cross_validation(cross, shipped["form"]),
        levels=_levels(cross),
        forms=_forms(cross, shipped["form"]),
        contexts=f"{safety['contexts']:,}",
        auc=figure(safety["auc"]),
        auc_words=figure(safety["auc of counting words"]),
        recall95=f"{safety['recall where 95 % of the safe replies pass']:.0%}",
        recall99=f"{safety['recall where 99 % of the safe replies pass']:.0%}",
        categories=_table(
            ("kind", "area under the curve", "n"),
            [(name, figure(own), str(own["n"])) for name, own in safety["by category"].items()],
        ),
        outside_kappa=_like_with_like("mechanism", {name: own["like with like"] for name, own in epitome.items()}, {}),
        outside_median=_medians(epitome),
        outside_mean=number(outside["epitome"]["mean kappa with the experts' median"]),
        outside_spearman=_like_with_like(
            "mechanism", {name: own["like with like, Spearman"] for name, own in epitome.items()}, _COUNTS
        ),
        lend_replies=lend["replies"],
        lend=_conversations(lend),
        lend_median=_median_words(lend),
        empathetic_replies=empathetic["replies"],
        empathetic=_conversations(empathetic),
        empathetic_median=_median_words(empathetic),
    )


def title(name: str) -> str:
    """A label as people read it."""
    return _TITLES.get(name, name.replace("_", " "))


def number(value: float, places: int = 2) -> str:
    """A figure without the zero before the point."""
    # Adding zero turns a rounded -0.0 into 0.0.
    return f"{round(value, places) + 0.0:.{places}f}".replace("0.", ".", 1)


def figure(own: dict[str, Any], places: int = 2) -> str:
    """A figure with its interval."""
    if own["interval"] is None:
        return f"{number(own['value'], places)} (no interval: {own['why']})"
    low, high = own["interval"]
    return f"{number(own['value'], places)} ({number(low, places)} to {number(high, places)})"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cross_validation(cross: dict[str, Any], form: str) -> str:
    rows: list[Sequence[str]] = []
    for name in MECHANISMS:
        own, quotes = cross[name], cross[name]["quotes"]
        share = f"{quotes['touch what people marked']:.0%} of {quotes['n']:,}"
        rows.append(
            (title(name), figure(own["forms"][form]), *(figure(own["trivial"][what]) for what in _COUNTS), share)
        )
    head = ("mechanism", "shipped form", "counting words", "counting question marks", "quotes touch what people marked")
    return _table(head, rows)


def _levels(cross: dict[str, Any]) -> str:
    rows = [
        (title(name), level, f"{own['people']:,}", f"{own['found']:,}", f"{own['said']:,}")
        for name in MECHANISMS
        for level, own in cross[name]["levels"].items()
    ]
    return _table(("mechanism", "level", "people gave it", "of these found", "scorer gave it"), rows)


def _forms(cross: dict[str, Any], shipped: str) -> str:
    rows = [
        (f"`{form}`", *(figure(cross[name]["forms"][form], 3) for name in MECHANISMS))
        for form in cross[MECHANISMS[0]]["forms"]
    ]
    cost = (figure(cross[name]["cost of the shipped form"], 3) for name in MECHANISMS)
    return _table(("form", *map(title, MECHANISMS)), [*rows, (f"`{shipped}` less `fp32`", *cost)])


def _like_with_like(head: str, rows: dict[str, dict[str, Any]], counts: dict[str, str]) -> str:
    columns = {**_PEOPLE, **_JUDGES, **counts}
    return _table(
        (head, *columns.values()),
        [(title(name), *(figure(own[judge]) for judge in columns)) for name, own in rows.items()],
    )


def _medians(epitome: dict[str, dict[str, Any]]) -> str:
    columns = {"scorer": "scorer", **_JUDGES}
    recipe = "kappa with the experts' median, ranks (the paper's recipe)"
    return _table(
        ("mechanism", *columns.values()),
        [(title(name), *(number(own[recipe][judge]) for judge in columns)) for name, own in epitome.items()],
    )


def _conversations(own: dict[str, Any]) -> str:
    rows = {
        f"{title(name)} ({title(part[_OURS])})": part["like with like"]
        for name, part in own.items()
        if name != "replies"
    }
    return _like_with_like("dimension (scorer's value)", rows, _COUNTS)


def _median_words(own: dict[str, Any]) -> str:
    recipe = "Spearman with the experts' median"
    return "; ".join(
        f"{title(name)} {number(part[recipe]['scorer'])}, words {number(part[recipe]['words'])}, question marks "
        f"{number(part[recipe]['question marks'])}"
        for name, part in own.items()
        if name != "replies"
    )
