"""`attune view`: the report of a study, served page by page."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from attunement.cli.report import hiding_of


def view(
    study: Annotated[str, typer.Argument(help="The study: a file, or a postgresql:// address.")],
    instrument: Annotated[
        str | None,
        typer.Option(
            metavar="ID|FILE",
            help="Which instrument of the study; or a .yaml file with the same items and other weights or threshold.",
            show_default=False,
        ),
    ] = None,
    redact: Annotated[
        bool,
        typer.Option(
            "--redact",
            help="Replace e-mail addresses, links, phone, card and social security numbers; listed crisis lines stay.",
        ),
    ] = False,
    names: Annotated[
        Path | None, typer.Option("--names", metavar="FILE", help="With --redact: names to replace too, one a line.")
    ] = None,
    no_text: Annotated[
        bool, typer.Option("--no-text", help="Leave out all that was said and all reasons; keep the figures.")
    ] = False,
    host: Annotated[str, typer.Option(help="Where to listen; the default is reached from this computer only.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port to listen on.")] = 8766,
    address: Annotated[
        str | None,
        typer.Option(metavar="URL", help="How the pages are reached behind a proxy, such as https://example.org/view."),
    ] = None,
    proxy: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="The proxy whose X-Forwarded headers are believed; several with commas."),
    ] = None,
) -> None:
    """Open the pages of the report in a browser, served from the study, whatever its size.

    It prints one link, which works until the command is stopped. The pages can be read at once; a large study is
    counted in the background, and counted again when it has changed. Nothing is written to the study, and nothing
    leaves this computer. The pages show everybody's answers: do not give the link to people who still rate.

    Example: attune view chats.study.db
    """
    from attunement.cli.listening import address_of, check_port
    from attunement.reports.choosing import instrument_of
    from attunement.study import Study
    from attunement.web.serving import run
    from attunement.web.view import make_view, new_token

    hiding = hiding_of(redact=redact, names=names, no_text=no_text)
    where = address_of(address, host, port)
    check_port(host, port)
    with Study(study) as opened:
        token = new_token()
        app = make_view(opened, instrument_of(opened, instrument), hiding, token, address=where)
        typer.echo(f"{where}/enter/{token}")
        typer.echo("The link lets in whoever has it, and shows everybody's answers. Press Ctrl+C to stop.")
        sys.stdout.flush()  # whoever started us through a pipe needs the link now
        run(app, host=host, port=port, proxies=proxy)
