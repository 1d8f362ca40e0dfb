"""`attune view`: the report of a study, served page by page."""

import sys

import typer

from attunement.cli.hiding import NamesOption, NoTextOption, RedactOption, hiding_of
from attunement.cli.listening import THIS_COMPUTER, AddressOption, HostOption, PortOption, ProxyOption
from attunement.cli.studies import ScoringOption, StudyArgument


def view(
    study: StudyArgument,
    instrument: ScoringOption = None,
    redact: RedactOption = False,
    names: NamesOption = None,
    no_text: NoTextOption = False,
    host: HostOption = THIS_COMPUTER,
    port: PortOption = 8766,
    address: AddressOption = None,
    proxy: ProxyOption = None,
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
