"""`attune add`: put conversations into a study without asking anybody about them."""

from typing import Annotated

import typer

from attunement.cli import reading as shared


def add(
    study: Annotated[str, typer.Argument(help="The study: a file, or a postgresql:// address; made if not there.")],
    files: shared.FilesArgument,
    format: shared.FormatOption = None,
    system: shared.SystemOption = None,
    skip_bad: shared.SkipBadOption = False,
    prompt_field: shared.PromptFieldOption = None,
    response_field: shared.ResponseFieldOption = None,
    id_field: shared.IdFieldOption = None,
    system_field: shared.SystemFieldOption = None,
) -> None:
    """Put conversations into a study without asking a judge, for people to rate.

    One that is there already is left as it is. After that, `attune plan` draws a sample and `attune annotate` opens the
    pages where people rate. `attune judge` needs no `add`: it keeps what it reads.

    Example: attune add chats.study.db chats.jsonl
    """
    from attunement.study import Study

    reading = shared.open_conversations(
        files,
        format=format,
        system=system,
        skip_bad=skip_bad,
        output=None if "://" in study else study,
        prompt_field=prompt_field,
        response_field=response_field,
        id_field=id_field,
        system_field=system_field,
    )
    with Study(study, create=True) as opened:
        before = opened.conversation_count()
        shared.keep(reading, opened)
        now = opened.conversation_count()
    for sentence in shared.what_was_read(reading):
        typer.echo(sentence)
    typer.echo(f"New in the study: {now - before:,}. It holds {now:,} now.")
