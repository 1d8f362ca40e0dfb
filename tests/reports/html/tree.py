"""A page as a tree of elements, so that tests can ask for parts of it. Tags that do not match are an error."""

from collections.abc import Iterator
from html.parser import HTMLParser

VOID = {"meta", "link", "input", "br", "hr", "img"}
APART = {"p", "div", "td", "th", "tr", "li", "h1", "h2", "h3", "h4", "section", "summary", "option", "br", "span"}


class Element:
    def __init__(self, tag: str, attributes: dict[str, str]) -> None:
        self.tag, self.attributes = tag, attributes
        self.inside: list[Element | str] = []

    def all(self) -> Iterator["Element"]:
        yield self
        for one in self.inside:
            if isinstance(one, Element):
                yield from one.all()

    def find(self, *, tag: str = "", kind: str = "", **attributes: str) -> list["Element"]:
        """The elements with this tag, class and these attributes."""
        return [
            one
            for one in self.all()
            if (not tag or one.tag == tag)
            and (not kind or kind in one.attributes.get("class", "").split())
            and all(one.attributes.get(name) == value for name, value in attributes.items())
        ]

    def one(self, **wanted: str) -> "Element":
        (found,) = self.find(**wanted)
        return found

    @property
    def text(self) -> str:
        """The words a reader sees, on one line; scripts and styles are none."""
        if self.tag in {"script", "style", "noscript"}:
            return ""
        parts = (
            one if isinstance(one, str) else f" {one.text} " if one.tag in APART else one.text for one in self.inside
        )
        return " ".join("".join(parts).split())

    @property
    def raw(self) -> str:
        return "".join(one if isinstance(one, str) else one.raw for one in self.inside)


class _Reader(HTMLParser):
    CDATA_CONTENT_ELEMENTS = ("script", "style")

    def __init__(self) -> None:
        super().__init__()
        self.open = [Element("", {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].inside.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].inside.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        self.open[-1].inside.append(data)


def parse(html: str) -> Element:
    reader = _Reader()
    reader.feed(html)
    reader.close()
    assert len(reader.open) == 1
    return reader.open[0]
