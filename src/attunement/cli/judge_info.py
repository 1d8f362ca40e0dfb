"""`attune judge-info`: what is known about a judge before it is used."""

from typing import Annotated

import typer

from attunement.cli import asking
from attunement.errors import InputError


def judge_info(
    name: Annotated[
        str, typer.Argument(help="signals, signals:rules, openai:MODEL, anthropic:MODEL or local:FILE.gguf.")
    ],
    base_url: asking.BaseUrlOption = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON, for other programs.")] = False,
) -> None:
    """Say what is known about a judge: how it decides, what it was measured on, and what that came to.

    For signals, the embedded judge, that is its validity card: item by item the figures with their intervals beside
    those of people, LLMs and trivial judges, and a verdict. For other judges it says what the name tells, the price,
    and how to measure them. Nothing is sent.

    Example: attune judge-info signals
    """
    if markdown and as_json:
        raise InputError("--markdown and --json exclude each other")
    from attunement.reports.judge_info import judge_info as known_about
    from attunement.reports.judge_info_text import draw_judge_info, judge_info_markdown, judge_info_record

    info = known_about(name, base_url)
    if as_json:
        import json

        typer.echo(json.dumps(judge_info_record(info), indent=2, ensure_ascii=False))
    elif markdown:
        typer.echo(judge_info_markdown(info), nl=False)
    else:
        from attunement.reports.terminal import open_console

        draw_judge_info(info, open_console())
