"""`attune prompt`: see exactly what a judge would be sent."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from attunement.cli import asking, reading

if TYPE_CHECKING:
    from attunement.conversations import Conversation
    from attunement.conversations.readers import Reading
    from attunement.questions import Question


def prompt(
    files: reading.FilesArgument,
    instrument: asking.InstrumentOption = "coaching-v1",
    item: asking.ItemOption = None,
    conversation: Annotated[
        str | None, typer.Option("--conversation", metavar="ID", help="Which conversation; else the first one.")
    ] = None,
    layout: asking.LayoutOption = "criterion-first",
    ask: asking.AskOption = None,
    responses: asking.ResponsesOption = asking.Responses.ALL,
    json: Annotated[bool, typer.Option("--json", help="One line of JSON a question, for programs.")] = False,
    format: reading.FormatOption = None,
    system: reading.SystemOption = None,
    prompt_field: reading.PromptFieldOption = None,
    response_field: reading.ResponseFieldOption = None,
    id_field: reading.IdFieldOption = None,
    system_field: reading.SystemFieldOption = None,
) -> None:
    """Print exactly what a judge would be sent about one conversation.

    Each question comes with its hash, which covers every word of it, and an estimate of its tokens. Nothing is sent.

    Example: attune prompt chats.jsonl --instrument coaching-v1 --item CQ8
    """
    from attunement.conversations import units
    from attunement.instruments.lint import checked
    from attunement.questions import Ask, Layout, Questionnaire

    chosen = _choose(
        reading.open_conversations(
            files,
            format=format,
            system=system,
            prompt_field=prompt_field,
            response_field=response_field,
            id_field=id_field,
            system_field=system_field,
        ),
        conversation,
    )
    questionnaire = Questionnaire(
        checked(instrument), layout=Layout(layout), items=item, ask=Ask(ask) if ask is not None else None
    )
    for unit in units(chosen, questionnaire.instrument.unit, responses):
        for question in questionnaire.questions(unit):
            typer.echo(_as_json(question) if json else _as_text(question))


def _choose(conversations: "Reading", id: str | None) -> "Conversation":
    from attunement.errors import InputError

    for conversation in conversations:
        if id is None or id in {conversation.id, str(conversation.identity)}:
            return conversation
    raise InputError("there is no conversation to ask about" if id is None else f"there is no conversation {id!r}")


def _as_json(question: "Question") -> str:
    import orjson

    content: dict[str, Any] = {
        "unit": str(question.unit),
        "items": [item.id for item in question.items],
        "hash": question.hash,
        "tokens": question.tokens(),
        "messages": question.messages(),
        "schema": question.schema,
    }
    return orjson.dumps(content).decode()


def _as_text(question: "Question") -> str:
    import orjson

    text = question.render()
    items = ", ".join(item.id for item in question.items)
    return "\n".join(
        [
            f"##### {items} about {question.unit}",
            f"##### hash {question.hash}, about {question.tokens():,} tokens",
            "##### system",
            text.system,
            "##### user",
            text.user,
            "##### the reply must fit this JSON Schema",
            orjson.dumps(question.schema).decode(),
            "",
        ]
    )
