"""`attune describe` and `attune convert`: what is in files of conversations, and the same in another format."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from attunement.cli import options
from attunement.cli.options import NamesOption, RedactOption, redactor_of
from attunement.conversations.writer import Shape

if TYPE_CHECKING:
    from rich.table import Table

    from attunement.conversations.reader import Counts
    from attunement.conversations.statistics import Overview

_MOST_ROWS = 30  # systems in the table; more scroll away what stands above them
_BAR = 36  # columns of the longest bar: with label and count a picture fits into 80
_EIGHTHS = " ▏▎▍▌▋▊▉"


def describe(
    files: options.FilesArgument,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON, for other programs.")] = False,
    format: options.FormatOption = None,
    system: options.SystemOption = None,
    skip_invalid: options.SkipInvalidOption = False,
    prompt_field: options.PromptFieldOption = None,
    response_field: options.ResponseFieldOption = None,
    id_field: options.IdFieldOption = None,
    system_field: options.SystemFieldOption = None,
) -> None:
    """Describe files of conversations: counts, systems, lengths.

    Each reply is compared with the message it answers: a ratio of 2 means twice as many words.

    Example: attune describe chats.jsonl
    """
    from attunement.conversations.statistics import overviews

    reading = options.open_conversations(
        files,
        format=format,
        system=system,
        skip_invalid=skip_invalid,
        prompt_field=prompt_field,
        response_field=response_field,
        id_field=id_field,
        system_field=system_field,
    )
    systems = overviews(reading)
    if as_json:
        import json

        typer.echo(json.dumps(_as_json(systems, reading.counts), ensure_ascii=False, indent=2))
    else:
        for sentence in options.what_was_read(reading):
            typer.echo(sentence)
        if systems:
            _show(systems)


def _as_json(systems: "dict[str, Overview]", counts: "Counts") -> dict[str, Any]:
    from attunement.conversations.statistics import RATIO_BINS, TURN_BINS

    return {
        "files": counts.files,
        "conversations": counts.conversations,
        "unanswered": counts.unanswered,
        "bad": counts.bad,
        "bins_from": {"turns": TURN_BINS, "ratio": RATIO_BINS},
        "systems": [{"system": system, **_figures(overview)} for system, overview in systems.items()],
    }


def _figures(overview: "Overview") -> dict[str, Any]:
    return {
        "conversations": overview.conversations,
        "turns": overview.turns,
        "turns_per_conversation": {
            "mean": overview.mean_turns,
            "fewest": overview.fewest_turns,
            "most": overview.most_turns,
            "bins": overview.turn_bins,
        },
        "words": {
            "user": overview.words_user,
            "assistant": overview.words_assistant,
            "mean_user": overview.mean_words_user,
            "mean_assistant": overview.mean_words_assistant,
        },
        "ratio": {
            "turns": overview.compared,
            "mean": overview.mean_ratio,
            "above_double": overview.above_double,
            "share_above_double": overview.share_above_double,
            "bins": overview.ratio_bins,
        },
        "scenarios": len(overview.scenarios),
        "more_scenarios": overview.more_scenarios,
        "origins": {origin.value: number for origin, number in sorted(overview.origins.items())},
    }


def _show(systems: "dict[str, Overview]") -> None:
    from rich.console import Console

    from attunement.conversations.statistics import RATIO_BINS, TURN_BINS

    console = Console(highlight=False)
    console.print()
    console.print(_table(systems))
    if len(systems) > _MOST_ROWS:
        console.print(f"and {len(systems) - _MOST_ROWS:,} more systems; --json lists them all")
    plain = not console.encoding.lower().startswith("utf")
    for title, labels, bins in (
        ("Turns per conversation", _turn_labels(TURN_BINS), [overview.turn_bins for overview in systems.values()]),
        ("Ratio of reply to message, in turns", _ratio_labels(RATIO_BINS), [o.ratio_bins for o in systems.values()]),
    ):
        console.print(f"\n{title}", style="bold")
        for line in _bars(labels, [sum(column) for column in zip(*bins, strict=True)], plain=plain):
            console.print(line, no_wrap=True, overflow="ignore", crop=False)


def _table(systems: "dict[str, Overview]") -> "Table":
    from rich.table import Table
    from rich.text import Text

    from attunement.conversations.model import Origin

    columns: dict[str, Callable[[Overview], str]] = {
        "conver-\nsations": lambda overview: f"{overview.conversations:,}",
        "turns": lambda overview: f"{overview.turns:,}",
        "turns\neach": _spread,
        "words a\nmessage": lambda overview: _decimal(overview.mean_words_user, 0),
        "words\na reply": lambda overview: _decimal(overview.mean_words_assistant, 0),
        "mean\nratio": lambda overview: _decimal(overview.mean_ratio, 2),
        "above\n2x": lambda overview: _percent(overview.share_above_double),
    }
    if any(overview.scenarios for overview in systems.values()):
        columns["scen-\narios"] = lambda overview: f"{len(overview.scenarios):,}" + "+" * overview.more_scenarios
    if any(overview.origins.keys() - {Origin.UNKNOWN} for overview in systems.values()):
        columns["origin"] = lambda overview: ", ".join(origin.value for origin, _ in overview.origins.most_common())
    table = Table(box=None, padding=(0, 1, 0, 0), header_style="bold")
    table.add_column("system", overflow="fold", min_width=8)
    for header in columns:
        table.add_column(header, justify="left" if header == "origin" else "right", vertical="bottom")
    for system, overview in list(systems.items())[:_MOST_ROWS]:
        # The name comes out of a file: what could steer the terminal or pass for markup is shown, not obeyed.
        name = Text("".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in system))
        table.add_row(name, *(cell(overview) for cell in columns.values()))
    return table


def _spread(overview: "Overview") -> str:
    if overview.fewest_turns == overview.most_turns:
        return str(overview.most_turns)
    return f"{overview.fewest_turns}-{overview.most_turns}"


def _decimal(value: float | None, places: int) -> str:
    return "-" if value is None else f"{value:,.{places}f}"


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.0%}"


def _turn_labels(starts: Sequence[int]) -> list[str]:
    bins = [str(start) if start == after - 1 else f"{start}-{after - 1}" for start, after in pairwise(starts)]
    return [*bins, f"{starts[-1]} and more"]


def _ratio_labels(starts: Sequence[float]) -> list[str]:
    bins = [f"{start:g} to {end:g}" for start, end in pairwise(starts)]
    return [f"under {starts[1]:g}", *bins[1:], f"{starts[-1]:g} and more"]


def _bars(labels: Sequence[str], numbers: Sequence[int], *, plain: bool) -> Iterator[str]:
    """One line per bin, without the empty ones at both ends; `plain` draws with # where blocks cannot be shown."""
    filled = [place for place, number in enumerate(numbers) if number]
    for label, number in list(zip(labels, numbers, strict=True))[filled[0] : filled[-1] + 1] if filled else []:
        yield f"  {label:>11}  {_bar(number / max(numbers), plain)} {number:,}"


def _bar(share: float, plain: bool) -> str:
    if plain:
        return "#" * round(share * _BAR)
    full, eighths = divmod(round(share * _BAR * 8), 8)
    if share and not full:
        eighths = max(eighths, 1)  # something is never drawn as nothing
    return "█" * full + _EIGHTHS[eighths].strip()


if TYPE_CHECKING:
    from attunement.conversations.redaction import Redactor


def convert(
    files: Annotated[
        list[str],
        typer.Argument(metavar="IN", help="Files, folders or patterns with conversations; - is standard input."),
    ],
    output: Annotated[
        str, typer.Argument(metavar="OUT", help="The file to write: .jsonl or .json, also with .gz; - prints lines.")
    ],
    to: Annotated[Shape, typer.Option("--to", help="The shape to write.")] = Shape.MESSAGES,
    format: options.FormatOption = None,
    system: options.SystemOption = None,
    skip_invalid: options.SkipInvalidOption = False,
    redact: RedactOption = False,
    names: NamesOption = None,
    prompt_field: options.PromptFieldOption = None,
    response_field: options.ResponseFieldOption = None,
    id_field: options.IdFieldOption = None,
    system_field: options.SystemFieldOption = None,
    force: options.ForceOption = False,
) -> None:
    """Convert conversations from any known format to JSON.

    The format of the input is recognised. An input file is never written over.

    Example: attune convert chats.csv chats.jsonl --system my-bot --redact
    """
    from attunement.conversations.writer import STDOUT, write
    from attunement.errors import AttunementError

    redactor = redactor_of(redact=redact, names=names)
    reading = options.open_conversations(
        files,
        format=format,
        system=system,
        skip_invalid=skip_invalid,
        output=output,
        prompt_field=prompt_field,
        response_field=response_field,
        id_field=id_field,
        system_field=system_field,
    )
    if output != STDOUT and Path(output).resolve() in [path.resolve() for path in reading.paths]:
        raise AttunementError(f"{output}: this file is read, so it is not written over; give the output another name.")
    options.refuse_to_overwrite(output, force=force)
    write(reading if redactor is None else map(redactor.redact, reading), output, to)
    for sentence in options.what_was_read(reading):
        typer.echo(sentence, err=output == STDOUT)
    if redactor is not None:
        typer.echo(_what_was_replaced(redactor), err=output == STDOUT)
        if reading.counts.bad:
            typer.echo(f"{reading.bad_lines} holds the invalid records as they were: they are not redacted.", err=True)


def _what_was_replaced(redactor: "Redactor") -> str:
    kinds = [f"{count:,} {kind}" for kind, count in sorted(redactor.counts.items())]
    return (
        f"Replaced: {', '.join(kinds)}." if kinds else "Replaced nothing: no address, number, link or name was found."
    )
