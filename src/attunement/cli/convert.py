"""`attune convert`: read conversations of any shape and write them in one of the JSON shapes."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attunement.cli import reading as shared
from attunement.cli.hiding import NamesOption, RedactOption, redactor_of
from attunement.conversations.writing import Shape

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
    format: shared.FormatOption = None,
    system: shared.SystemOption = None,
    skip_bad: shared.SkipBadOption = False,
    redact: RedactOption = False,
    names: NamesOption = None,
    prompt_field: shared.PromptFieldOption = None,
    response_field: shared.ResponseFieldOption = None,
    id_field: shared.IdFieldOption = None,
    system_field: shared.SystemFieldOption = None,
    force: shared.ForceOption = False,
) -> None:
    """Write conversations of any shape in one of the JSON shapes.

    The shape of what is read is recognised. An input file is never written over.

    Example: attune convert chats.csv chats.jsonl --system my-bot --redact
    """
    from attunement.conversations.writing import STDOUT, write
    from attunement.errors import AttunementError

    redactor = redactor_of(redact=redact, names=names)
    reading = shared.open_conversations(
        files,
        format=format,
        system=system,
        skip_bad=skip_bad,
        output=output,
        prompt_field=prompt_field,
        response_field=response_field,
        id_field=id_field,
        system_field=system_field,
    )
    if output != STDOUT and Path(output).resolve() in [path.resolve() for path in reading.paths]:
        raise AttunementError(f"{output}: this file is read, so it is not written over; give the output another name.")
    shared.refuse_to_overwrite(output, force=force)
    write(reading if redactor is None else map(redactor.redact, reading), output, to)
    for sentence in shared.what_was_read(reading):
        typer.echo(sentence, err=output == STDOUT)
    if redactor is not None:
        typer.echo(_what_was_replaced(redactor), err=output == STDOUT)
        if reading.counts.bad:
            typer.echo(f"{reading.bad_lines} holds the bad records as they were: they are not redacted.", err=True)


def _what_was_replaced(redactor: "Redactor") -> str:
    kinds = [f"{count:,} {kind}" for kind, count in sorted(redactor.counts.items())]
    return (
        f"Replaced: {', '.join(kinds)}." if kinds else "Replaced nothing: no address, number, link or name was found."
    )
