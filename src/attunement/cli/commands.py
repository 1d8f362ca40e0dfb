"""How commands are grouped in the help, and their old names."""

from collections.abc import Iterator
from itertools import groupby
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from attunement.errors import InputError

HEADINGS = ("Judge", "Read results", "People", "Statistics", "Data", "Instruments")
"""The headings of `attune --help`, in their order."""

RENAMED = {
    "forget": "delete",
    "stats": "describe",
    "examples": "self-test",
    "judge-info": "judges show",
    "add": "import",
    "take-in": "import",
    "hand-out": "export --for",
}

RENAMED_OPTIONS = {"--skip-bad": "--skip-invalid", "--about": "--rater-info", "--certify": "--test"}

_TOOLS = {"csv": "sheet"}
"""Old values of --format and their new names."""


class Command(TyperCommand):
    """A command that accepts old option names, and rejects a second --instrument unless it takes several."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments.

        Raises:
            InputError: An instrument is named more than once; only the last one would be used.
        """
        args = list(_renamed(args, quiet=ctx.resilient_parsing))
        if not ctx.resilient_parsing:
            self._refuse_second_instrument(ctx, args)
        return super().parse_args(ctx, args)

    def get_short_help_str(self, limit: int = 45) -> str:
        """The first sentence of the help, never cut."""
        return _first_sentence(self)

    def _refuse_second_instrument(self, ctx: Any, args: list[str]) -> None:
        _, _, given = self.make_parser(ctx).parse_args(list(args))
        times = sum(1 for each in given if each.name == "instrument" and not getattr(each, "multiple", False))
        if times > 1:
            told = f"--instrument was given {times} times"
            raise InputError(f"{told}; attune {ctx.info_name} takes one instrument at a time")


class Group(TyperGroup):
    """Commands under headings, each with a full line, and with their old names."""

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(super().list_commands(ctx), key=lambda name: _place(self.commands[name]))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        shown = [(name, self.commands[name]) for name in self.list_commands(ctx) if not self.commands[name].hidden]
        width = max(len(name) for name, _ in shown)
        for place, commands in groupby(shown, key=lambda each: _place(each[1])):
            with formatter.section(HEADINGS[place] if place < len(HEADINGS) else "Commands"):
                formatter.write_dl([(name.ljust(width), command.get_short_help_str()) for name, command in commands])

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        if ctx.parent is None and args and (new := RENAMED.get(args[0])):
            _note_renamed(args[0], new, quiet=ctx.resilient_parsing)
            args = _translated(args[0], args[1:])
        return super().resolve_command(ctx, args)

    def get_short_help_str(self, limit: int = 45) -> str:
        """The first sentence of the help, never cut."""
        return _first_sentence(self)


def _translated(old: str, words: list[str]) -> list[str]:
    """The current spelling of a command that was typed with its old name."""
    match old:
        case "add":
            return ["import", "--as", "conversations", *words]
        case "take-in":
            words, format = _without(words, "--format", default="csv")
            return ["import", "--as", _TOOLS.get(format, format), *words]
        case "hand-out":
            words, format = _without(words, "--format", default="csv")
            words, folder = _without(words, "--output", "-o")
            return ["export", "--for", _TOOLS.get(format, format), *words, *filter(None, [folder])]
        case _:
            return [*RENAMED[old].split(), *words]


def _without(words: list[str], *names: str, default: str = "") -> tuple[list[str], str]:
    """The arguments without one option, and the value of that option."""
    left, value, waiting = list[str](), default, iter(words)
    for word in waiting:
        name, equals, behind = word.partition("=")
        if name in names:
            value = behind if equals else next(waiting, "")
        else:
            left.append(word)
    return left, value


def _renamed(args: list[str], *, quiet: bool) -> Iterator[str]:
    end = args.index("--") if "--" in args else len(args)
    for place, word in enumerate(args):
        name, equals, behind = word.partition("=")
        new = RENAMED_OPTIONS.get(name) if place < end else None
        if new:
            _note_renamed(name, new, quiet=quiet)
        yield f"{new}{equals}{behind}" if new else word


def _note_renamed(old: str, new: str, *, quiet: bool) -> None:
    if not quiet:
        typer.echo(f"attune: {old} is now called {new}; the old name will stop working in the next release.", err=True)


def _place(command: Any) -> int:
    heading = command.rich_help_panel
    return HEADINGS.index(heading) if heading in HEADINGS else len(HEADINGS)


def _first_sentence(command: Any) -> str:
    return " ".join((command.help or "").strip().split("\n\n")[0].split()).removesuffix(".")
