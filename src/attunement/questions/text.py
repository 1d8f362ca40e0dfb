"""A text that is sent many times.

Most of a prompt stands in many others: the transcript in all questions about a conversation, the words about an item
in those about all conversations. Writing it as JSON for each request anew would take longer than making the rest of
the request, so each text is written once.
"""

import orjson


class Text(str):
    """A `str` like any other that keeps what `escaped` has made of it."""

    __slots__ = ("json",)

    json: bytes


def escaped(text: str) -> bytes:
    """What stands between the quotation marks when `text` is written as JSON.

    Half a character, which no request can carry, becomes a question mark.
    """
    if not isinstance(text, Text):
        return _escape(text)
    if not hasattr(text, "json"):
        text.json = _escape(text)
    return text.json


def _escape(text: str) -> bytes:
    return orjson.dumps(text.encode("utf-8", "replace").decode())[1:-1]
