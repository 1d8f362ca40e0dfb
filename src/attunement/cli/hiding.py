"""The options that keep words out of what is written, and what the user means by them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from attunement.conversations.redaction import Redactor
    from attunement.reports.html.text import Hiding

RedactOption = Annotated[
    bool,
    typer.Option(
        "--redact",
        help="Replace e-mail addresses, links, phone, card and social security numbers; listed crisis lines stay.",
    ),
]
NamesOption = Annotated[
    Path | None, typer.Option("--names", metavar="FILE", help="With --redact: names to replace too, one a line.")
]
NoTextOption = Annotated[
    bool, typer.Option("--no-text", help="Leave out all that was said and all reasons; keep the figures.")
]


def redactor_of(*, redact: bool, names: Path | None) -> "Redactor | None":
    """What replaces private words, as the user said; None where nothing is replaced.

    Raises:
        InputError: Names are given without --redact, or their file cannot be read.
    """
    from attunement.conversations.redaction import Redactor, read_names
    from attunement.errors import InputError

    if names is not None and not redact:
        raise InputError("--names replaces names only together with --redact; give both")
    return Redactor([] if names is None else read_names(names)) if redact else None


def hiding_of(*, redact: bool, names: Path | None, no_text: bool) -> "Hiding":
    """What pages must not show, as the user said; it raises what `redactor_of` does."""
    from attunement.reports.html.text import Hiding

    redactor = redactor_of(redact=redact, names=names)
    if redactor is None:
        return Hiding(texts=not no_text)
    return Hiding(redactor.redact_text, texts=not no_text, rename=redactor.redact_name)
