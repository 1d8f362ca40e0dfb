"""`attune instrument`: look at instruments, check them, make and import new ones."""

import typer

app = typer.Typer(help="Look at instruments, check them, make and import new ones.", no_args_is_help=True)


@app.command("list")
def list_() -> None:
    """List the instruments that can be used by name.

    Example: attune instrument list
    """
    from attunement.instruments import available

    for entry in available():
        typer.echo(entry.id)
