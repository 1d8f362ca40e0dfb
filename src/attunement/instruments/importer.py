"""Make an instrument from a Markdown document: a rubric with scores, or a prompt template with criteria.

Wording is kept to the character. What has no place in an instrument is listed with its line, and what the document
does not say but an instrument needs is filled in and said in a remark: nothing is dropped or added silently.

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

What goes where, word for word:

- the fenced blocks below System Prompt and User Prompt are the prompt, to the character;
- the paragraphs below the title are `about`;
- Answer Types, the reasoning pattern and the usage notes are `guidance`, which every question carries;
- Template Variables, Conversation Format, what follows from an invalid NA and from the gate, and the version history
  are `notes`, which no question carries: a judge that knows what its NO causes softens;
- the table of NA-Invalid Criteria says which items must not be answered NA and why; the criteria that Safety Gate
  names are the gate, and its exception says when NA is right.

A template names criteria but does not define them. They can be taken from another instrument; then the document
decides about NA and the gate, and every difference is a remark.

Text of several lines, and long text, stands in block literals without escapes or folding, so that a sentence can be
found and compared as it is. Keys come in the order of the model, and what equals the defaults is left out.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple, cast

import yaml

from attunement.conversations import UnitKind
from attunement.errors import InstrumentError
from attunement.instruments.loader import load
from attunement.instruments.markdown_document import (
    Block,
    Imported,
    Kind,
    Page,
    Record,
    Section,
    Unplaced,
    entries,
    fenced,
    lead,
    lines,
    name,
    opening,
    quoted,
    slug,
)
from attunement.instruments.model import (
    Anchor,
    Boundary,
    Criteria,
    Example,
    GateItem,
    Instrument,
    Item,
    Message,
    Prompt,
    Scores,
    Scoring,
)

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


_SYSTEM, _USER = "System Prompt", "User Prompt"
_VARIABLES = {"{criterion_id}", "{criterion_category}", "{criterion_prompt}", "{reply_format}", "{conversation}"}
_LIMIT = re.compile(r"(?:<=|≤|at most|no more than|up to|maximum of|max\.?)\s*(\d{1,6})\s*char", re.IGNORECASE)
_SHORTEST_LIMIT = 50  # the model refuses a shorter one
_TURN_FORMAT = ("--- Turn 1 ---", "User:", "Assistant:")
_TEMPLATE_ID = r"[A-Za-z][A-Za-z0-9_.-]*"
_TEMPLATE_NAMED = re.compile(rf"`?(?P<id>{_TEMPLATE_ID})`?(?:\s*\((?P<title>.+)\))?")
# An id in running text is capitals and a number, or stands in code marks; a short name may follow in brackets.
_MENTION = re.compile(
    rf"(?:`(?P<code>{_TEMPLATE_ID})`|\b(?P<plain>[A-Z]{{1,5}}\d{{1,3}})\b)(?:\s*\((?P<title>[^()]+)\))?"
)
_EXCEPTION = re.compile(r"(?=\bException\b)")
_NA = re.compile(r"\bNA\b")


def is_template(page: Page) -> bool:
    """Whether the document has a system prompt and a user prompt."""
    return _section(page, _SYSTEM) is not None and _section(page, _USER) is not None


def read_template(page: Page, path: Path, items_from: Instrument | None) -> Instrument:
    """Read a prompt template from its page, taking every line that has a place."""
    if items_from and not isinstance(items_from.scale, Criteria):
        raise InstrumentError(
            f"{items_from.id} asks for scores, but {page.name} asks for YES, NO or NA; "
            "take the items from an instrument with criteria"
        )
    called = name(page, path.stem)
    about = [block for block in opening(page).blocks if block.kind is Kind.PARAGRAPH]
    page.take(*about)
    prompt = _prompt(page)
    found = _found(page)
    items = _named_items(page, found) if items_from is None else _borrowed_items(page, found, items_from)
    return Instrument(
        id=called.id,
        version=called.version,
        title=called.title,
        about="\n\n".join(block.text for block in about),
        source=(f"Imported from {path.name}.",),
        language=items_from.language if items_from else "en",
        unit=UnitKind.CONVERSATION,
        scale=Criteria(kind="criteria"),
        guidance=tuple(found.guidance),
        notes=(*found.notes, *called.history),
        categories=items_from.categories if items_from else {},
        items=tuple(items),
        scoring=items_from.scoring if items_from else Scoring(),
        gate=_gate(page, found, items_from),
        rules=items_from.rules if items_from else (),
        prompt=prompt,
    )


@dataclass
class _Found:
    """What the sections of a document say besides the prompt."""

    guidance: list[str] = field(default_factory=list[str])
    notes: list[str] = field(default_factory=list[str])
    titles: dict[str, str] = field(default_factory=dict[str, str])
    never_na: dict[str, str] | None = None
    """Why an item must not be answered NA; None where the document says nothing about it."""
    may_be_na: dict[str, str] = field(default_factory=dict[str, str])
    gate: list[str] = field(default_factory=list[str])

    @property
    def ids(self) -> list[str]:
        """Every item the document names, once, in the order of the document."""
        return list(dict.fromkeys([*(self.never_na or ()), *self.gate, *self.may_be_na]))

    def title(self, id: str) -> str:
        """What the document calls the item."""
        return self.titles.get(id, id)


def _section(page: Page, title: str) -> Section | None:
    return next((part for part in page.root.walk() if part.title.casefold() == title.casefold()), None)


def _prompt(page: Page) -> Prompt:
    system, user = _fence_below(page, _SYSTEM), _fence_below(page, _USER)
    text = f"{system}\n{user}"
    for variable in dict.fromkeys(re.findall(r"\{[a-z_]+\}", text)):
        if variable not in _VARIABLES:
            page.remark(f"{variable} in the prompt is no variable that is filled in; it would be sent as it stands.")
    for variable in ("{criterion_prompt}", "{conversation}"):
        if variable not in text:
            page.remark(f"The prompt has no {variable}; a judge would not see what stands for it.")
    match = _LIMIT.search(text)
    limit = int(match[1]) if match else 0
    if limit >= _SHORTEST_LIMIT:
        return Prompt(system=system, user=user, reasoning_limit=limit)
    prompt = Prompt(system=system, user=user)
    page.remark(
        f"The prompt asks for no length of reasoning of at least {_SHORTEST_LIMIT} characters; "
        f"{prompt.reasoning_limit} is used."
    )
    return prompt


def _fence_below(page: Page, title: str) -> str:
    section = _section(page, title)
    assert section is not None, title  # noqa: S101 - that it is there made the document a template
    assert section.heading is not None, title  # noqa: S101
    page.take(section.heading)
    for block in section.blocks:
        if block.kind is Kind.FENCE:
            page.take(block)
            return fenced(block)
    raise page.error(section.heading.line, f"below {title!r} stands no text between ``` fences; put the prompt there")


def _found(page: Page) -> _Found:
    found = _Found()
    guiding: list[str] = []
    for section in page.root.walk():
        for pattern, read in _READERS.items():
            if re.fullmatch(pattern, section.title, re.IGNORECASE):
                page.take(section.heading)
                before = len(found.guidance)
                read(page, section, found)
                guiding += [section.title] if len(found.guidance) > before else []
    if guiding:
        page.remark(
            f"What stands below {', '.join(guiding)} became guidance, which every question carries; "
            "move to `notes` what a judge must not read."
        )
    return found


def _read_variables(page: Page, section: Section, found: _Found) -> None:
    found.notes += _note(page, section, {Kind.LIST})


def _read_format(page: Page, section: Section, found: _Found) -> None:
    found.notes += _note(page, section, {Kind.PARAGRAPH, Kind.FENCE})
    shown = [fenced(block) for block in section.blocks if block.kind is Kind.FENCE]
    if not all(part in "\n".join(shown) for part in _TURN_FORMAT):
        page.remark(
            f"{section.title!r} does not show turns as {', '.join(_TURN_FORMAT)}; "
            "conversations are always written so, and the document's own format is kept as a note only."
        )


def _read_heading(page: Page, section: Section, found: _Found) -> None:
    """A heading that only holds other sections together."""


def _read_answers(page: Page, section: Section, found: _Found) -> None:
    for block in section.blocks:
        if block.kind is Kind.TABLE:
            for line, cells in page.records(block, {"answer": "answers?", "meaning": "meaning"}) or []:
                answer = cells["answer"].strip('*`"')
                if answer in Criteria(kind="criteria").answers:
                    found.guidance.append(f"{answer}: {cells['meaning']}")
                else:
                    page.refuse(line, f"{answer!r} is no answer; the answers are YES, NO and NA")


def _read_never_na(page: Page, section: Section, found: _Found) -> None:
    for block in section.blocks:
        if block.kind is Kind.PARAGRAPH:
            page.take(block)
            found.notes.append(block.text)
        elif block.kind is Kind.TABLE:
            records = page.records(block, {"criterion": "criterion|criteria|id|item", "why": r".*\b(?:why|reason)\b.*"})
            for line, cells in records or []:
                match = _TEMPLATE_NAMED.fullmatch(cells["criterion"])
                if match is None:
                    page.refuse(line, f"{cells['criterion']!r} is not the id of a criterion with its name in brackets")
                    continue
                if match["id"] in (found.never_na or {}):
                    page.refuse(line, f"{match['id']} stands in this table already")
                    continue
                found.never_na = {**(found.never_na or {}), match["id"]: cells["why"]}
                if match["title"]:
                    found.titles.setdefault(match["id"], match["title"])


def _read_gate(page: Page, section: Section, found: _Found) -> None:
    for passage in _passages(page, section):
        found.notes.append(passage)
        for part in _EXCEPTION.split(passage):
            exception = part.startswith("Exception")
            for match in _MENTION.finditer(part):
                id = match["code"] or match["plain"]
                if match["title"]:
                    found.titles.setdefault(id, match["title"])
                if not exception and id not in found.gate:
                    found.gate.append(id)
                if exception and _NA.search(part):
                    found.may_be_na.setdefault(id, part)
    if not found.gate:
        page.remark(f"{section.title!r} names no criterion by an id such as CQ8.")


def _read_guidance(page: Page, section: Section, found: _Found) -> None:
    found.guidance += _passages(page, section)


_READERS: dict[str, Callable[[Page, Section, _Found], None]] = {
    "template variables|variables": _read_variables,
    "conversation format": _read_format,
    "scoring rules": _read_heading,
    "answer types|answers": _read_answers,
    "NA[- ]invalid(?: criteria)?": _read_never_na,
    "safety gate|gate": _read_gate,
    "(?:evidence-first )?reasoning pattern|evidence-first reasoning": _read_guidance,
    "usage notes": _read_guidance,
}


def _note(page: Page, section: Section, kinds: set[Kind]) -> list[str]:
    """The blocks of these kinds below the title of their section, as they stand: one note, or none."""
    blocks = [block for block in section.blocks if block.kind in kinds]
    page.take(*blocks)
    return ["\n\n".join([section.title, *(block.text for block in blocks)])] if blocks else []


def _passages(page: Page, section: Section) -> Iterator[str]:
    """The paragraphs and list entries of a section; a paragraph that announces a list stays together with it."""
    announced: Block | None = None
    for block in section.blocks:
        if block.kind is Kind.LIST:
            page.take(block)
            if announced:
                yield page.source(announced, block)
            else:
                yield from entries(block)
            announced = None
            continue
        if announced:
            yield announced.text
        announced = None
        if block.kind is Kind.PARAGRAPH:
            page.take(block)
            if block.text.rstrip().endswith(":"):
                announced = block
            else:
                yield block.text
    if announced:
        yield announced.text


def _named_items(page: Page, found: _Found) -> list[Item]:
    """The items a document names, with what little it says about them."""
    page.remark(
        f"The document names {', '.join(found.ids) or 'no criteria'} and defines none of them; write their "
        "definitions and meanings, or take the items from another instrument such as coaching-v1."
    )
    return [_with_na(page, Item(id=id, title=found.title(id)), found) for id in found.ids]


def _with_na(page: Page, item: Item, found: _Found) -> Item:
    """The item with what the document says about NA. Where it contradicts itself, NA stays invalid."""
    why = (found.never_na or {}).get(item.id)
    when = found.may_be_na.get(item.id)
    if why is not None:
        if when is not None:
            page.remark(f"The document lists {item.id} as NA-invalid and also allows NA for it; NA is invalid here.")
        return item.model_copy(update={"na_valid": False, "na_note": why})
    if when is not None:
        return item.model_copy(update={"na_valid": True, "na_note": when})
    return item if found.never_na is None else item.model_copy(update={"na_valid": True})


def _borrowed_items(page: Page, found: _Found, items_from: Instrument) -> list[Item]:
    """The items of another instrument, with the document's word on NA, and after them any it lacks."""
    lender = items_from.id
    page.remark(
        f"Items, categories, scoring and rules are those of {lender}; "
        "its own prompt, guidance and notes are not taken, the document's stand in their place."
    )
    items: list[Item] = []
    for item in items_from.items:
        own = _with_na(page, item, found)
        if own.na_valid != item.na_valid:
            ours, theirs = ("valid", "invalid") if own.na_valid else ("invalid", "valid")
            page.remark(f"{item.id}: NA is {ours} by the document and {theirs} in {lender}; the document is followed.")
        items.append(own)
    titles = [f"{item.id} {found.titles[item.id]!r}" for item in items_from.items if item.id in found.titles]
    if titles:
        page.remark(f"The titles of {lender} are used; the document says {', '.join(titles)}.")
    absent = [id for id in found.ids if id not in {item.id for item in items}]
    if absent:
        page.remark(f"{lender} has no {', '.join(absent)}; the document's own words stand there, without a definition.")
    return items + [_with_na(page, Item(id=id, title=found.title(id)), found) for id in absent]


def _gate(page: Page, found: _Found, items_from: Instrument | None) -> tuple[GateItem, ...]:
    own = tuple(GateItem(item=id) for id in found.gate)
    if items_from is None:
        return own
    if not own:
        page.remark(f"The document names no gate; that of {items_from.id} is used.")
        return items_from.gate
    if items_from.gate_ids != frozenset(found.gate):
        page.remark(
            f"The gate is {', '.join(found.gate)} by the document and "
            f"{', '.join(entry.item for entry in items_from.gate) or 'empty'} in {items_from.id}; "
            "the document is followed."
        )
    return own


_LONG = 100  # with its key and indentation a longer text would pass 120 columns
# Only escapes carry control characters, and only they keep a rarer line end from being read as an ordinary one.
_NEEDS_ESCAPES = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")


def to_yaml(instrument: Instrument, schema: str | None) -> str:
    """The instrument as YAML; loading it gives an equal instrument.

    `schema` is where editors find the JSON Schema: a path or an address, named in a comment on the first line.
    """
    content = instrument.model_dump(exclude_defaults=True)
    # The kind of scale tells the two apart when the file is read, and the ends of a scale are worth seeing.
    content["scale"] = instrument.scale.model_dump()
    comment = f"# yaml-language-server: $schema={schema}\n" if schema else ""
    body = yaml.dump(_plain(content), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=float("inf"))
    return comment + body


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in cast(dict[Any, Any], value).items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in cast(list[Any], value)]
    return value


class _Dumper(yaml.SafeDumper):
    """Block literals for text, short lists of numbers on one line, lists indented below their key."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, indentless=False)

    def analyze_scalar(self, scalar: str) -> Any:
        # PyYAML writes no literal that holds a tab or a line with trailing spaces, but reads them as they are.
        analysis = super().analyze_scalar(scalar)
        # White space at the very beginning would be taken for indentation.
        analysis.allow_block = scalar[:1].strip() != "" and not _NEEDS_ESCAPES.search(scalar)
        return analysis


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None
    if _NEEDS_ESCAPES.search(text):
        style = '"'
    elif "\n" in text or len(text) > _LONG:
        style = "|"
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)  # pyright: ignore[reportUnknownMemberType]


def _represent_list(dumper: yaml.SafeDumper, values: list[Any]) -> yaml.SequenceNode:
    numbers = all(isinstance(value, int) for value in values)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", values, flow_style=numbers)


_Dumper.add_representer(str, _represent_text)
_Dumper.add_representer(list, _represent_list)


__all__ = ["Imported", "Unplaced", "import_markdown", "to_yaml"]


def import_markdown(path: Path, *, items_from: Instrument | None = None) -> Imported:
    """Read a Markdown rubric or prompt template; which of the two it is follows from its headings.

    `items_from` gives the items of a prompt template, which names its criteria but does not define them. Line ends
    and a byte order mark are not wording; everything else is.
    """
    text = _text(path)
    page = Page(text, str(path))
    if is_template(page):
        instrument = read_template(page, path, items_from)
    elif not is_rubric(page):
        raise InstrumentError(
            f"{path} is neither a rubric nor a prompt template; a rubric has headings such as "
            "'## Dimension 1: Title (`id`)' with tables of scores, a template has '## System Prompt' and "
            "'## User Prompt' with fenced text"
        )
    elif items_from is not None:
        raise InstrumentError(f"{path} is a rubric and has its own items; leave out those of {items_from.id}")
    else:
        instrument = read_rubric(page, path)
    return Imported(instrument, page.unplaced(), [*page.remarks, *_mis_encoded(text)])


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise InstrumentError(f"{path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InstrumentError(f"{path} is not UTF-8 text: {error.reason} at byte {error.start}") from error


def _mis_encoded(text: str) -> Iterator[str]:
    """A remark on each run of characters that is UTF-8 once read as Windows-1252; they are kept all the same."""
    for number, line in enumerate(lines(text), start=1):
        for run in re.findall(r"[^\x00-\x7f]+", line):
            try:
                meant = run.encode("cp1252").decode("utf-8")
            except UnicodeError:
                continue
            yield f"Line {number} reads {run!r}, which may be a mis-encoded {meant!r}; it is kept as it stands."
