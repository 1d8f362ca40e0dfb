"""The counts of a set of conversations, as `attune describe` prints them: systems, turns, words."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from attunement.conversations.model import Origin
from attunement.conversations.statistics import RATIO_BINS, TURN_BINS, Overview
from attunement.reports.blocks import Block, Column, Row, Table, Text

_MOST_ROWS = 30  # systems in the table; more would push the rest off the screen
_BAR = 36  # the width of the longest bar: with its label and number it fits into 80 columns


def lengths_blocks(systems: Mapping[str, Overview]) -> list[Block]:
    blocks: list[Block] = [_systems_table(systems)]
    if len(systems) > _MOST_ROWS:
        blocks.append(Text(f"and {len(systems) - _MOST_ROWS:,} more systems; --json lists them all"))
    turns = [str(a) if a == b - 1 else f"{a}-{b - 1}" for a, b in pairwise(TURN_BINS)]
    ratios = [f"under {RATIO_BINS[1]:g}", *(f"{a:g} to {b:g}" for a, b in pairwise(RATIO_BINS[1:]))]
    turns, ratios = [*turns, f"{TURN_BINS[-1]} and more"], [*ratios, f"{RATIO_BINS[-1]:g} and more"]
    blocks.append(_bars("Turns per conversation", "conversations", turns, _sums(systems, "turn_bins")))
    blocks.append(_bars("Ratio of reply to message", "turns", ratios, _sums(systems, "ratio_bins")))
    return blocks


def _systems_table(systems: Mapping[str, Overview]) -> Table:
    with_scenarios = any(one.scenarios for one in systems.values())
    with_origins = any(one.origins.keys() - {Origin.UNKNOWN} for one in systems.values())
    titles = [
        "conver-\nsations",
        "turns",
        "turns\neach",
        "words a\nmessage",
        "words\na reply",
        "mean\nratio",
        "above\n2x",
    ]
    columns = [Column("system", width=18), *(Column(title, numeric=True) for title in titles)]
    columns += [Column("scenarios", numeric=True, wide=True)] * with_scenarios
    columns += [Column("origin", wide=True)] * with_origins
    rows: list[Row] = []
    for system, one in list(systems.items())[:_MOST_ROWS]:
        each = str(one.most_turns) if one.fewest_turns == one.most_turns else f"{one.fewest_turns}-{one.most_turns}"
        cells = [system, f"{one.conversations:,}", f"{one.turns:,}", each, _number(one.mean_words_user, ",.0f")]
        cells += [_number(one.mean_words_assistant, ",.0f"), _number(one.mean_ratio, ".2f")]
        cells.append(_number(one.share_above_double, ".0%"))
        cells += [f"{len(one.scenarios):,}{'+' * one.more_scenarios}"] * with_scenarios
        cells += [", ".join(origin.value for origin, _ in one.origins.most_common())] * with_origins
        rows.append(Row(cells))
    return Table(columns, rows)


def _number(value: float | None, format: str) -> str:
    return "-" if value is None else f"{value:{format}}"


def _sums(systems: Mapping[str, Overview], bins: str) -> list[int]:
    return [sum(column) for column in zip(*(getattr(one, bins) for one in systems.values()), strict=True)]


def _bars(title: str, counted: str, labels: Sequence[str], numbers: Sequence[int]) -> Table:
    """One row per bin, without empty bins at the ends; a bar is never too short to see."""
    filled = [place for place, number in enumerate(numbers) if number]
    shown = slice(filled[0], filled[-1] + 1) if filled else slice(0)
    rows = [
        Row([label, "█" * (max(1, round(number / max(numbers) * _BAR)) if number else 0), f"{number:,}"])
        for label, number in zip(labels[shown], numbers[shown], strict=True)
    ]
    return Table([Column("", numeric=True), Column(""), Column(counted, numeric=True)], rows, title)


def lengths_record(systems: Mapping[str, Overview]) -> dict[str, Any]:
    each = [{"system": system, **_overview_record(overview)} for system, overview in systems.items()]
    return {"bins_from": {"turns": TURN_BINS, "ratio": RATIO_BINS}, "systems": each}


def _overview_record(one: Overview) -> dict[str, Any]:
    turns = {"mean": one.mean_turns, "fewest": one.fewest_turns, "most": one.most_turns, "bins": one.turn_bins}
    words = {"user": one.words_user, "assistant": one.words_assistant}
    ratio = {"turns": one.compared, "mean": one.mean_ratio, "above_double": one.above_double}
    return {
        "conversations": one.conversations,
        "turns": one.turns,
        "turns_per_conversation": turns,
        "words": {**words, "mean_user": one.mean_words_user, "mean_assistant": one.mean_words_assistant},
        "ratio": {**ratio, "share_above_double": one.share_above_double, "bins": one.ratio_bins},
        "scenarios": len(one.scenarios),
        "more_scenarios": one.more_scenarios,
        "origins": {origin.value: number for origin, number in sorted(one.origins.items())},
    }
