"""`attune judge-info`: what is known about a judge before it is used."""

from typing import Annotated

import typer

from attunement.cli import asking
from attunement.errors import InputError


def judge_info(
    name: Annotated[str, typer.Argument(help="signals, openai:MODEL, anthropic:MODEL or local:FILE.gguf.")],
    base_url: asking.BaseUrlOption = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON, for other programs.")] = False,
) -> None:
    """Say what is known about a judge: how it works, what was measured, what it costs.

    For signals, the rule check: how often its pointers were right, on which data, and what it cannot see. For other
    judges: what the name says, the price, and how to measure them. Nothing is sent.

    Example: attune judge-info signals
    """
    if markdown and as_json:
        raise InputError("--markdown and --json exclude each other")
    from attunement.reports import judge_info as known

    info = known.judge_info(name, base_url)
    if as_json:
        import json

        typer.echo(json.dumps(info.record, indent=2, ensure_ascii=False))
    elif markdown:
        typer.echo(known.judge_info_markdown(info), nl=False)
    else:
        from attunement.reports.terminal import open_console

        known.draw_judge_info(info, open_console())
