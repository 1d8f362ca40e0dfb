"""`attune forget`: delete a conversation with everything derived from it."""

from typing import Annotated

import typer

from attunement.cli.studies import StudyArgument


def forget(
    study: StudyArgument,
    conversation: Annotated[str, typer.Argument(help="The conversation: its id, or system/id.")],
) -> None:
    """Delete a conversation from a study: its words, its ratings, and the answers they rest on.

    It is gone at once, without a question. What was exported before is not touched.

    Example: attune forget chats.study.db session-17
    """
    from attunement.errors import StudyError
    from attunement.study import Study

    with Study(study) as opened:
        found = opened.find(conversation)
        if not found:
            raise StudyError(f"{opened.place} holds no conversation {conversation!r}; nothing was deleted")
        if len(found) > 1:
            names = ", ".join(str(kept.conversation.identity) for kept in found)
            raise StudyError(f"{conversation!r} may mean {names}: say which, as system/id; nothing was deleted")
        gone = opened.forget(found[0].key)
    ratings = "1 rating" if gone == 1 else f"{gone:,} ratings"
    typer.echo(f"Forgot {found[0].conversation.identity} with {ratings}.")
