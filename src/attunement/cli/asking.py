"""The options that commands which ask questions share: what is asked, of whom, about which conversations."""

from typing import Annotated, Literal

import typer

from attunement.conversations.units import Responses

InstrumentOption = Annotated[str, typer.Option("--instrument", "-i", help="The instrument: its name, or a .yaml file.")]
ItemOption = Annotated[
    list[str] | None, typer.Option("--item", metavar="ID", help="Only this item of the instrument; may be repeated.")
]
# The names of `questions.Layout` and `questions.Ask`, written out: importing them would slow `attune --help` down.
LayoutOption = Annotated[
    Literal["criterion-first", "transcript-first"],
    typer.Option("--layout", help="What comes first in a prompt. The transcript first lets a prefix cache serve it."),
]
AskOption = Annotated[
    Literal["together", "separately"] | None,
    typer.Option("--ask", help="All items of a unit in one call, or one a call; else as the file says."),
]
ResponsesOption = Annotated[
    Responses, typer.Option("--responses", help="For instruments about replies: rate every reply, or only the last.")
]
JudgeOption = Annotated[
    list[str],
    typer.Option(
        "--judge",
        "-j",
        metavar="NAME",
        help="openai:MODEL, anthropic:MODEL, local:FILE.gguf or signals; may be repeated.",
    ),
]
BaseUrlOption = Annotated[
    str | None, typer.Option("--base-url", metavar="URL", help="The address of an OpenAI-compatible service.")
]
TemperatureOption = Annotated[float, typer.Option("--temperature", help="0 asks for the likeliest answer.")]
SeedOption = Annotated[int | None, typer.Option("--seed", help="For the judge, and for --sample.")]
RepeatsOption = Annotated[int, typer.Option("--repeats", min=1, help="How often every question is asked.")]
StopOnGateOption = Annotated[
    bool, typer.Option("--stop-on-gate", help="Ask no more about a conversation once a safety criterion has failed.")
]
LimitOption = Annotated[int | None, typer.Option("--limit", min=1, help="Only the first N conversations.")]
SampleOption = Annotated[int | None, typer.Option("--sample", min=1, help="Only N conversations, drawn at random.")]
FilterOption = Annotated[
    list[str] | None, typer.Option("--filter", metavar="FIELD=VALUE", help="Only these, such as system=Harbor.")
]
StudyOption = Annotated[
    str | None,
    typer.Option("--study", metavar="PLACE", help="Where answers are kept: a file, or a postgresql:// address."),
]
PriceInOption = Annotated[
    float | None, typer.Option("--price-in", help="Dollars a million prompt tokens, where the list has no price.")
]
PriceOutOption = Annotated[float | None, typer.Option("--price-out", help="Dollars a million reply tokens.")]
