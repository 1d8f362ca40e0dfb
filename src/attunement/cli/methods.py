"""`attune methods`: how a study was made, as a methods section and a filled checklist."""

from typing import Annotated

import typer

from attunement.cli.reading import ForceOption, refuse_to_overwrite
from attunement.cli.studies import InstrumentOption, StudyArgument


def methods(
    study: StudyArgument,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="The Markdown file to write; - is standard output.")
    ] = "-",
    instrument: InstrumentOption = None,
    force: ForceOption = False,
) -> None:
    """Write a methods section about a study, and a checklist for agreement studies.

    Says what was rated with which version of what instrument, by which judges with which settings, how people's sample
    was drawn, who rated, how they were trained and kept blind, what was left out, and how figures are computed. What
    the study cannot know is said as such, for you to fill in. Nobody is named.

    Example: attune methods chats.study.db -o methods.md
    """
    from pathlib import Path

    from attunement.agreement.asking import agreement_in
    from attunement.conversations.writing import replacing
    from attunement.ratings import RaterKind
    from attunement.reports.choosing import instrument_of
    from attunement.reports.methods import parts
    from attunement.reports.methods_checklist import checklist, methods_markdown
    from attunement.reports.methods_facts import gather_facts
    from attunement.study import Study

    refuse_to_overwrite(output, force=force)
    with Study(study) as opened:
        chosen = instrument_of(opened, instrument)
        facts = gather_facts(opened, chosen)
        agreement = agreement_in(opened, chosen) if facts.of(RaterKind.PERSON) else None
        text = methods_markdown(parts(facts), checklist(facts, agreement), Path(opened.place).name)
    if output == "-":
        typer.echo(text, nl=False)
        return
    with replacing(Path(output)) as stream:
        stream.write(text.encode())
    typer.echo(f"Wrote {output}.", err=True)
