"""A rubric in Markdown -> an instrument with scores.

What goes where, word for word (inline marks such as ** stay as they are):

- `## Dimension 1: Title (`id`)` opens an item, `## Overall Score (`overall`)` the holistic one;
- `**Definition**:`, or the paragraphs above the table of the holistic item, are its definition;
- a table of Score, Label (may be absent) and Description is its anchors;
- the bullets of `### Boundary guidance` are its boundaries; `**1 vs 2**:` becomes `between: [1, 2]`;
- `### Score 5 example` is an example; `(boundary)` makes it a borderline one, other words in brackets are its `why`.
  Quotation marks that enclose a whole message are not part of it; all between them is kept;
- in the quote below the title, Purpose becomes `about`, Scope becomes `guidance`, Scale sets the scale and is a note,
  everything else is a note; so is the version history.

A rubric says nothing about how a judge is asked, so the prompt is that of the built-in `empathy-v2`.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from attunement.conversations import UnitKind
from attunement.instruments.importing.markdown import Block, Kind, Section, entries, quoted
from attunement.instruments.importing.naming import name, opening, slug
from attunement.instruments.importing.page import Page, Record, lead
from attunement.instruments.loading import load
from attunement.instruments.model import Anchor, Boundary, Example, Instrument, Item, Message, Scores

_NUMBERED = re.compile(r"Dimension\s+\d+\s*[:.–—-]\s*", re.IGNORECASE)
_NAMED = re.compile(r"\s*\(`(?P<id>[^`]+)`\)$")
_ID = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
_COLUMNS = {"score": "score", "label": "label", "description": "description"}
_BOUNDARIES = re.compile(r"boundar(?:y|ies)(?: guidance| rules)?", re.IGNORECASE)
_EXAMPLE = re.compile(r"Score (?P<score>\d{1,4}) example(?:\s*\((?P<words>.+)\))?", re.IGNORECASE)
_BETWEEN = re.compile(r"(\d{1,4})\s*vs\.?\s*(\d{1,4})", re.IGNORECASE)
_RANGE = re.compile(r"\b(\d{1,4})\s*(?:[–—-]|to)\s*(\d{1,4})\b")
_PROMPT_FROM = "empathy-v2"


def is_rubric(page: Page) -> bool:
    """Whether the document has a heading that opens a dimension or the overall score."""
    return any(_item_sections(page.root))


def read_rubric(page: Page, path: Path) -> Instrument:
    """Read a rubric from its page, taking every line that has a place."""
    called = name(page, path.stem)
    front = _front(page)
    items = tuple(_item(page, section) for section in _item_sections(page.root))
    page.remark(f"The document has no prompt; the prompt of {_PROMPT_FROM} is used.")
    page.remark("A rubric in prose gives no gate and no rules; add them under `gate` and `rules` where it needs them.")
    return Instrument(
        id=called.id,
        version=called.version,
        title=called.title,
        about=front.about,
        source=(f"Imported from {path.name}.",),
        unit=UnitKind.RESPONSE,
        scale=_scale(page, front.scale, items),
        guidance=front.guidance,
        notes=(*front.notes, *called.history),
        items=items,
        prompt=load(_PROMPT_FROM).prompt,
    )


class _Front(NamedTuple):
    """What stands below the title."""

    about: str
    scale: str
    guidance: tuple[str, ...]
    notes: tuple[str, ...]


class _Field(NamedTuple):
    """A passage of a quote that begins with bold words, such as `**Scope**: ...`; only the first may have none."""

    key: str | None
    passage: str

    @property
    def text(self) -> str:
        """What follows the bold words."""
        found = lead(self.passage)
        return found[1] if found and self.key is not None else self.passage


def _front(page: Page) -> _Front:
    about: list[str] = []
    guidance: list[str] = []
    notes: list[str] = []
    scale = ""
    for block in opening(page).blocks:
        if block.kind is Kind.PARAGRAPH:
            page.take(block)
            about.append(block.text)
        elif block.kind is Kind.QUOTE:
            page.take(block)
            for part in _fields(quoted(block)):
                match part.key and part.key.casefold():
                    case None | "purpose":
                        about.append(part.text)
                    case "scope":
                        guidance.append(part.text)
                    case key:
                        scale = part.text if key == "scale" else scale
                        notes.append(part.passage)
    return _Front("\n\n".join(about), scale, tuple(guidance), tuple(notes))


def _fields(quote: list[str], keys: str = ".*") -> Iterator[_Field]:
    """Cut the lines of a quote where a line begins with bold words and a colon, if `keys` matches the words."""
    found: list[tuple[str | None, list[str]]] = [(None, [])]
    for line in quote:
        key, _ = lead(line) or (None, "")
        if key is not None and re.fullmatch(keys, key, re.IGNORECASE):
            found.append((key, []))
        found[-1][1].append(line)
    for key, passage in found:
        text = "\n".join(passage).strip()
        if text:
            yield _Field(key, text)


def _scale(page: Page, stated: str, items: tuple[Item, ...]) -> Scores:
    scores = sorted({score for item in items for score in item.anchors})
    match = _RANGE.search(stated)
    if match is None:
        if not scores:
            page.remark("The document gives no scale; 1 to 5 is used.")
            return Scores(kind="scores")
        page.remark(f"The document states no scale; {scores[0]} to {scores[-1]} is used, after its tables.")
        return Scores(kind="scores", lowest=scores[0], highest=scores[-1])
    lowest, highest = sorted((int(match[1]), int(match[2])))
    beyond = ", ".join(str(score) for score in scores if not lowest <= score <= highest)
    if beyond:
        page.remark(f"The document states a scale of {match[0]}, but its tables also describe {beyond}.")
    return Scores(kind="scores", lowest=lowest, highest=highest)


def _item_sections(section: Section) -> Iterator[Section]:
    """The sections that open an item; what stands inside one is part of it."""
    if _NUMBERED.match(section.title) or _NAMED.search(section.title):
        yield section
        return
    for child in section.children:
        yield from _item_sections(child)


def _item(page: Page, section: Section) -> Item:
    assert section.heading is not None  # noqa: S101 - it has a title
    page.take(section.heading)
    line = section.heading.line
    numbered = _NUMBERED.match(section.title)
    named = _NAMED.search(section.title)
    title = section.title[numbered.end() if numbered else 0 : named.start() if named else None]
    id = named["id"] if named else slug(title).replace("-", "_")
    if not _ID.fullmatch(id):
        raise page.error(line, f"{id!r} cannot be the id of an item; write it as (`id`), letters first, no spaces")
    if not named:
        page.remark(f"Line {line} gives {title!r} no id; {id} is used.")
    holistic = not numbered and (id == "overall" or title.casefold().startswith("overall"))
    boundaries: list[Boundary] = []
    examples: list[Example] = []
    for child in section.children:
        match = _EXAMPLE.fullmatch(child.title)
        if _BOUNDARIES.fullmatch(child.title):
            boundaries += _boundaries(page, child)
        elif match:
            examples += _example(page, child, int(match["score"]), match["words"])
    return Item(
        id=id,
        title=title,
        definition=_definition(page, section.blocks, prose=holistic),
        anchors=_anchors(page, section.blocks),
        boundaries=tuple(boundaries),
        examples=tuple(examples),
        holistic=holistic,
    )


def _definition(page: Page, blocks: list[Block], *, prose: bool) -> str:
    """The paragraph that says it is the definition; with `prose`, the paragraphs above the first table."""
    for block in blocks:
        found = lead(block.text)
        if block.kind is Kind.PARAGRAPH and found and found[0].casefold() == "definition":
            page.take(block)
            return found[1]
    paragraphs: list[str] = []
    for block in blocks if prose else []:
        if block.kind is Kind.TABLE:
            break
        if block.kind is Kind.PARAGRAPH:
            page.take(block)
            paragraphs.append(block.text)
    return "\n\n".join(paragraphs)


def _anchors(page: Page, blocks: list[Block]) -> dict[int, Anchor]:
    """The anchors of the first table of scores; another table is not taken."""
    for block in blocks:
        records = page.records(block, _COLUMNS, optional=("label",)) if block.kind is Kind.TABLE else None
        if records is not None:
            return dict(_read_anchors(page, records))
    return {}


def _read_anchors(page: Page, records: list[Record]) -> Iterator[tuple[int, Anchor]]:
    lines: dict[int, int] = {}
    for line, cells in records:
        digits = cells["score"].strip("*")
        if not re.fullmatch(r"-?[0-9]{1,6}", digits):
            page.refuse(line, f"{cells['score']!r} is not a whole number")
        elif (first := lines.setdefault(int(digits), line)) != line:
            page.refuse(line, f"score {digits} has a description already, in line {first}")
        else:
            yield int(digits), Anchor(label=cells.get("label") or None, text=cells["description"])


def _boundaries(page: Page, section: Section) -> Iterator[Boundary]:
    page.take(section.heading)
    for block in section.blocks:
        if block.kind is Kind.LIST:
            page.take(block)
            for entry in entries(block):
                key, rest = lead(entry) or ("", "")
                match = _BETWEEN.fullmatch(key)
                if match:
                    yield Boundary(between=(int(match[1]), int(match[2])), text=rest)
                else:
                    yield Boundary(text=entry)


def _example(page: Page, section: Section, score: int, words: str | None) -> Iterator[Example]:
    """The example in the quotes of a section; none, and no quote taken, where user and response do not alternate."""
    page.take(section.heading)
    quotes = [block for block in section.blocks if block.kind is Kind.QUOTE]
    said = list(_fields([line for block in quotes for line in (*quoted(block), "")], "user|response|assistant"))
    sides = [(field.key or "").casefold() == "user" for field in said]
    if not sides or sides != [True, False] * (len(sides) // 2):
        if section.heading:
            page.refuse(section.heading.line, "an example needs a quote with **User**: and **Response**: in turn")
        return
    page.take(*quotes)
    texts = [_unquoted(field.text) for field in said]
    borderline = words is not None and words.casefold() in {"boundary", "borderline"}
    yield Example(
        answer=score,
        kind="borderline" if borderline else "clear",
        turns=tuple(Message(user=user, assistant=reply) for user, reply in zip(texts[::2], texts[1::2], strict=True)),
        why="" if borderline or words is None else words,
    )


def _unquoted(text: str) -> str:
    """The words without the quotation marks around all of them.

    A message with marks inside keeps them all: `"A" and "B"` begins and ends with marks that do not enclose the whole.
    """
    inner = text[1:-1]
    enclosed = len(text) >= 2 and text[0] + text[-1] in {'""', "“”"} and not set(inner) & set('"“”')
    return inner if enclosed else text
