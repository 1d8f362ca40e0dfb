"""How commands are grouped in the help, and their old names."""

from itertools import groupby
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from attunement.errors import InputError

HEADINGS = ("Judge", "Read results", "People", "Statistics", "Data", "Instruments")
"""The headings of `attune --help`, in their order."""

OLD_COMMANDS: dict[str, tuple[list[str], dict[str, str | None]]] = {
    "forget": (["delete"], {}),
    "stats": (["describe"], {}),
    "examples": (["self-test"], {}),
    "judge-info": (["judges", "show"], {}),
    "add": (["import", "--as", "conversations"], {}),
    "take-in": (["import", "--as", "sheet"], {"--format": "--as", "csv": "sheet"}),
    "hand-out": (
        ["export", "--for", "sheet"],
        {"--format": "--for", "csv": "sheet", "-o": None, "--output": None},
    ),
}
"""The old commands, which work until the next release: the new words, and what replaces the words after them."""
OLD_OPTIONS = {"--skip-bad": "--skip-invalid", "--about": "--rater-info", "--certify": "--test"}


class Command(TyperCommand):
    """A command that rejects a second --instrument, unless it takes several: only the last one would be used."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        _, _, given = self.make_parser(ctx).parse_args(list(args))
        times = sum(each.name == "instrument" and not getattr(each, "multiple", False) for each in given)
        if times > 1 and not ctx.resilient_parsing:
            raise InputError(
                f"--instrument was given {times} times; attune {ctx.info_name} takes one instrument at a time"
            )
        return super().parse_args(ctx, args)

    def get_short_help_str(self, limit: int = 45) -> str:
        return _first_sentence(self)


class Group(TyperGroup):
    """Commands under headings, each with a full line, and with their old names."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, args if ctx.parent else _with_new_names(args, quiet=ctx.resilient_parsing))

    def list_commands(self, ctx: Any) -> list[str]:
        return sorted(super().list_commands(ctx), key=lambda name: _place(self.commands[name]))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        shown = [(name, self.commands[name]) for name in self.list_commands(ctx)]
        width = max(len(name) for name, _ in shown)
        for place, commands in groupby(shown, key=lambda each: _place(each[1])):
            with formatter.section(HEADINGS[place] if place < len(HEADINGS) else "Commands"):
                formatter.write_dl([(name.ljust(width), _first_sentence(command)) for name, command in commands])

    def get_short_help_str(self, limit: int = 45) -> str:
        return _first_sentence(self)


def _with_new_names(args: list[str], *, quiet: bool) -> list[str]:
    """The arguments with the current names of commands and options, and a note about each old name."""
    end = args.index("--") if "--" in args else len(args)
    words, renamed = list[str](), dict[str, str]()
    for word in args[:end]:
        name, equals, value = word.partition("=")
        if name in OLD_OPTIONS:
            renamed[name] = OLD_OPTIONS[name]
        words.append(f"{OLD_OPTIONS.get(name, name)}{equals}{value}")
    command = next((place for place, word in enumerate(words) if not word.startswith("-")), None)
    if command is not None and words[command] in OLD_COMMANDS:
        new, changed = OLD_COMMANDS[words[command]]
        renamed[words[command]] = " ".join(new)
        after = [part for word in words[command + 1 :] for part in (word.split("=", 1) if word[:2] == "--" else [word])]
        words[command:] = [*new, *(now for word in after if (now := changed.get(word, word)) is not None)]
    for old, new_name in renamed.items():
        if not quiet:
            message = f"attune: {old} is now called {new_name}; the old name will stop working in the next release."
            typer.echo(message, err=True)
    return words + args[end:]


def _place(command: Any) -> int:
    heading = command.rich_help_panel
    return HEADINGS.index(heading) if heading in HEADINGS else len(HEADINGS)


def _first_sentence(command: Any) -> str:
    """The first sentence of the help, never cut."""
    return " ".join((command.help or "").strip().split("\n\n")[0].split()).removesuffix(".")
