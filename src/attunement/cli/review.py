"""`attune review`: open the pages where a clinician reads what a judge found, decides, and signs."""

import sys
from typing import Annotated

import typer

from attunement.cli.listening import THIS_COMPUTER, AddressOption, HostOption, PortOption, ProxyOption
from attunement.cli.studies import InstrumentOption, StudyArgument


def review(
    study: StudyArgument,
    reviewer: Annotated[
        list[str] | None,
        typer.Option("--reviewer", "-r", metavar="NAME", help="Who reviews; may be repeated.", show_default=False),
    ] = None,
    instrument: InstrumentOption = None,
    new_links: Annotated[bool, typer.Option("--new-links", help="Close the links that were given out before.")] = False,
    host: HostOption = THIS_COMPUTER,
    port: PortOption = 8767,
    address: AddressOption = None,
    proxy: ProxyOption = None,
) -> None:
    """Open the pages where a reviewer reads what a judge found, confirms or overrules it, and signs off.

    It prints one link for each reviewer and serves the pages until it is stopped. Nobody has to rate for it. Reviewers
    see judges' answers, so somebody who is to rate blind should not be one. What they say stands beside the judge's
    verdict, and counts with attune gate --with-reviews.

    Example: attune review chats.study.db --reviewer "Ada Berg"
    """
    from attunement.cli.listening import address_of, check_port
    from attunement.people import access
    from attunement.people.review_desk import review_desk, reviewers
    from attunement.study import Study, chosen_instrument

    where = address_of(address, host, port)
    check_port(host, port)
    with Study(study) as opened:
        project = review_desk(opened, chosen_instrument(opened, instrument))
        for member in reviewers(opened, project, reviewer or []):
            if new_links:
                access.revoke(opened, project, member)
            typer.echo(f"{member.name}: {where}/enter/{access.issue(opened, project, member)}")
        typer.echo("A link lets in whoever has it: send each to its reviewer only. Press Ctrl+C to stop.")
        sys.stdout.flush()  # whoever started us through a pipe needs the links now
        from attunement.web.serving import serve

        serve(opened, host=host, port=port, address=where, proxies=proxy)
