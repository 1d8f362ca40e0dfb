"""A prompt template in Markdown -> an instrument with criteria.

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
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from attunement.conversations import UnitKind
from attunement.errors import InstrumentError
from attunement.instruments.importing.markdown import Block, Kind, Section, entries, fenced
from attunement.instruments.importing.naming import name, opening
from attunement.instruments.importing.page import Page
from attunement.instruments.model import Criteria, GateItem, Instrument, Item, Prompt, Scoring

_SYSTEM, _USER = "System Prompt", "User Prompt"
_VARIABLES = {"{criterion_id}", "{criterion_category}", "{criterion_prompt}", "{reply_format}", "{conversation}"}
_LIMIT = re.compile(r"(?:<=|≤|at most|no more than|up to|maximum of|max\.?)\s*(\d{1,6})\s*char", re.IGNORECASE)
_SHORTEST_LIMIT = 50  # the model refuses a shorter one
_TURN_FORMAT = ("--- Turn 1 ---", "User:", "Assistant:")
_ID = r"[A-Za-z][A-Za-z0-9_.-]*"
_NAMED = re.compile(rf"`?(?P<id>{_ID})`?(?:\s*\((?P<title>.+)\))?")
# An id in running text is capitals and a number, or stands in code marks; a short name may follow in brackets.
_MENTION = re.compile(rf"(?:`(?P<code>{_ID})`|\b(?P<plain>[A-Z]{{1,5}}\d{{1,3}})\b)(?:\s*\((?P<title>[^()]+)\))?")
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
                match = _NAMED.fullmatch(cells["criterion"])
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
