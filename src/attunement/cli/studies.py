"""The options that commands about a kept study share: which study, which of its instruments, how it is printed."""

from typing import Annotated

import typer

StudyArgument = Annotated[str, typer.Argument(help="The study: a file, or a postgresql:// address.")]
InstrumentOption = Annotated[
    str | None,
    typer.Option("--instrument", "-i", metavar="ID", help="Which instrument of the study.", show_default=False),
]
ScoringOption = Annotated[
    str | None,
    typer.Option(
        "--instrument",
        "-i",
        metavar="ID|FILE",
        help="Which instrument of the study; or a .yaml file with the same items that scores them otherwise, without "
        "asking anybody again.",
        show_default=False,
    ),
]
AskedOption = Annotated[
    str | None,
    typer.Option(
        "--instrument",
        "-i",
        metavar="ID|FILE",
        help="What is asked; else the only one in the study.",
        show_default=False,
    ),
]
MarkdownOption = Annotated[bool, typer.Option("--markdown", help="Print it as Markdown.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print it as JSON, for other programs.")]
