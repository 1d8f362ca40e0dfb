"""Make an instrument from a Markdown document: a rubric with scores, or a prompt template with criteria.

Wording is copied word for word; inline marks such as ** stay as they are. Every reader takes the blocks it uses out of
their section, and what is left at the end is listed with its line, so nothing is dropped silently. What the document
does not say but an instrument needs is filled in with a remark.

A rubric:

- `## Dimension 1: Title (`id`)` opens an item, `## Overall Score (`overall`)` the holistic one;
- `**Definition**:`, or the paragraphs of the holistic item, are its definition;
- a table of Score, Label (may be absent) and Description is its anchors;
- the bullets of `### Boundary guidance` are its boundaries; `**1 vs 2**:` becomes `between: [1, 2]`;
- `### Score 5 example` is an example; `(boundary)` makes it a borderline one, other words in brackets are its `why`.
  Quotation marks around a whole message are not part of it;
- in the quote below the title, Purpose becomes `about`, Scope becomes `guidance`, Scale sets the scale and is a note,
  everything else is a note; so is the version history. The prompt is that of the built-in `empathy-v2`.

A prompt template:

- the fenced blocks below System Prompt and User Prompt are the prompt; the paragraphs below the title are `about`;
- Answer Types, the reasoning pattern and the usage notes are `guidance`, which every question carries;
- Template Variables, Conversation Format, what follows from an invalid NA and from the gate, and the version history
  are `notes`, which no question carries: judges that know what a NO causes soften;
- the table of NA-Invalid Criteria says which items must not be answered NA and why; the criteria that Safety Gate
  names are the gate, and its exception says when NA is right.

A template names criteria but does not define them. They can be taken from another instrument; then the document
decides about NA and the gate, and every difference is a remark.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from attunement.conversations import UnitKind
from attunement.errors import InstrumentError
from attunement.instruments.loader import available, load
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
from attunement.yaml_files import read_text


class Unplaced(NamedTuple):
    """Lines of a document that have no place in the instrument. `line` is the first of them, counted from 1."""

    line: int
    text: str
    reason: str


class Imported(NamedTuple):
    """What became of a document, with what was filled in or decided although the document does not say it."""

    instrument: Instrument
    unplaced: list[Unplaced]
    remarks: list[str]


class _Kind(StrEnum):
    PARAGRAPH = "paragraph"
    LIST = "list"
    TABLE = "table"
    QUOTE = "quote"
    FENCE = "fence"


@dataclass
class _Block:
    """Consecutive lines of one kind; `line` counts from 1."""

    kind: _Kind
    line: int
    lines: list[str]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


@dataclass
class _Section:
    """A heading and the blocks below it that no reader has taken yet. Level 0 is what comes before any heading."""

    level: int
    title: str
    line: int
    heading: str
    blocks: list[_Block] = field(default_factory=list[_Block])
    known: bool = False

    def take(self, *kinds: _Kind) -> list[_Block]:
        """Take the blocks of these kinds out of the section, and note that the section is known."""
        self.known = True
        taken = [block for block in self.blocks if block.kind in kinds]
        self.blocks = [block for block in self.blocks if block.kind not in kinds]
        return taken


_HEADING = re.compile(r"(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*")
_RULE = re.compile(r" {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})")
_FENCE = re.compile(r"( {0,3})(`{3,}|~{3,})[^`]*")
_ENTRY = re.compile(r"[ \t]{0,3}(?:[-*+]|\d{1,9}[.)])[ \t]+")
_UNESCAPED_PIPE = re.compile(r"(?<!\\)\|")
_LEAD = re.compile(r"\*\*(?P<key>[^*\n]+?)[ \t]*(?::\*\*|\*\*[ \t]*:)\s*")


class _Document:
    """The sections of a document, in order, and what is to be said about it."""

    def __init__(self, text: str, name: str) -> None:
        self.name = name
        self.remarks: list[str] = []
        self._refused: list[Unplaced] = []
        self._lines = re.split(r"\r\n|\n|\r", text)
        self.sections = [_Section(0, "", 0, "")]
        self._read()
        self.title = next((section for section in self.sections if section.level == 1), self.sections[0])
        self.title.known = True

    def _read(self) -> None:
        fence: re.Match[str] | None = None
        block: _Block | None = None  # the block that the next line may continue
        for number, line in enumerate(self._lines, start=1):
            blocks = self.sections[-1].blocks
            if fence and block:
                closing = line.strip()
                if closing.startswith(fence[2]) and not closing.strip(fence[2][0]):
                    fence = block = None
                else:
                    indent = len(line) - len(line.lstrip(" \t"))
                    block.lines.append(line[min(indent, len(fence[1])) :])
            elif fence := _FENCE.fullmatch(line):
                block = _Block(_Kind.FENCE, number, [])
                blocks.append(block)
            elif heading := _HEADING.fullmatch(line):
                self.sections.append(_Section(len(heading[1]), heading[2] or "", number, line))
                block = None
            elif not line.strip() or _RULE.fullmatch(line):
                block = None
            else:
                kind = _kind(line)
                # A line without a mark goes on with the paragraph or the entry above it, and "1999. Then" is prose.
                if block and (
                    kind is block.kind
                    or (kind is _Kind.PARAGRAPH and block.kind is _Kind.LIST)
                    or (kind is _Kind.LIST and block.kind is _Kind.PARAGRAPH and re.match(r"\s*(?!1[.)])\d", line))
                ):
                    block.lines.append(line)
                else:
                    block = _Block(kind, number, [line])
                    blocks.append(block)
        if fence and block:
            raise self.error(block.line, "this fence is never closed; close it with the same marks")

    def find(self, pattern: str) -> _Section | None:
        return next((part for part in self.sections if re.fullmatch(pattern, part.title, re.IGNORECASE)), None)

    def inside(self, section: _Section) -> list[_Section]:
        """The sections with a lower heading that follow `section`."""
        found: list[_Section] = []
        for other in self.sections[self.sections.index(section) + 1 :]:
            if other.level <= section.level:
                break
            found.append(other)
        return found

    def error(self, line: int, problem: str) -> InstrumentError:
        return InstrumentError(f"{self.name}, line {line}: {problem}")

    def remark(self, sentence: str) -> None:
        self.remarks.append(sentence)

    def refuse(self, line: int, reason: str) -> None:
        """Say why a row of a table, or a part of it, has no place."""
        self._refused.append(Unplaced(line, self._lines[line - 1], reason))

    def gap(self, first: _Block, second: _Block) -> str:
        """What is between two blocks that follow each other."""
        return "\n" * (second.line - first.line - len(first.lines) + 1)

    def records(
        self, section: _Section, columns: dict[str, str], optional: str | None = None
    ) -> Iterator[tuple[int, dict[str, str]]]:
        """The rows of the first table with exactly these columns, with their lines; patterns tell the headings.

        A row with too few or too many cells, or without a text that is not optional, is refused.
        """
        tables = [block for block in section.blocks if block.kind is _Kind.TABLE and len(block.lines) > 1]
        for table in [block for block in tables if re.fullmatch(r"[\s|:-]+", block.lines[1])]:
            titles, _, *rows = map(_cells, table.lines)
            for names in ([*columns], [name for name in columns if name != optional]):
                fits = len(titles) == len(names) and all(
                    re.fullmatch(columns[name], title, re.IGNORECASE) for name, title in zip(names, titles, strict=True)
                )
                if not fits:
                    continue
                section.known = True
                section.blocks.remove(table)
                for line, row in enumerate(rows, start=table.line + 2):
                    record = dict(zip(names, row, strict=False))
                    if len(row) != len(names) or not all(record[name] for name in names if name != optional):
                        self.refuse(line, f"the row needs {len(names)} cells with text")
                    else:
                        yield line, record
                return

    def unplaced(self) -> list[Unplaced]:
        """Everything that was refused or that no reader took, in the order of the document."""
        found = [*self._refused]
        for section in self.sections:
            reason = f"the section {section.title!r} has no place for it"
            if not section.known:
                reason = f"the section {section.title!r} is not one that an import knows here"
                found += [Unplaced(section.line, section.heading, reason)] if section.level else []
            if not section.level:
                reason = "it comes before the title"
            found += [Unplaced(block.line, block.text, reason) for block in section.blocks]
        return sorted(found, key=lambda entry: entry.line)


def _kind(line: str) -> _Kind:
    if line.startswith(">"):
        return _Kind.QUOTE
    if line.startswith("|"):
        return _Kind.TABLE
    return _Kind.LIST if _ENTRY.match(line) else _Kind.PARAGRAPH


def _cells(row: str) -> list[str]:
    r"""The cells of a row. `\|` in a cell is a pipe."""
    parts = _UNESCAPED_PIPE.split(row.strip(" \t").removeprefix("|"))
    if len(parts) > 1 and not parts[-1].strip(" \t"):
        parts.pop()
    return [part.replace(r"\|", "|").strip(" \t") for part in parts]


def _entries(block: _Block) -> list[str]:
    """The entries of a list without their marks; what is indented below an entry is part of it."""
    entries: list[str] = []
    width = 0
    for line in block.lines:
        mark = _ENTRY.match(line)
        if mark and (not entries or mark.end() - len(mark[0].lstrip(" \t")) < width):
            width = mark.end()
            entries.append(line[width:])
        else:
            indent = len(line) - len(line.lstrip(" \t"))
            entries[-1] += "\n" + line[min(indent, width) :]
    return entries


def _passages(lines: list[str], keys: str = ".*") -> list[tuple[str, str, str]]:
    """Cut lines where one begins with bold words and a colon: the words, the passage, the passage without them."""
    passages: list[list[str]] = [[]]
    for line in lines:
        lead = _LEAD.match(line)
        if lead and re.fullmatch(keys, lead["key"], re.IGNORECASE):
            passages.append([])
        passages[-1].append(line)
    found: list[tuple[str, str, str]] = []
    for number, passage in enumerate("\n".join(part).strip() for part in passages):
        lead = _LEAD.match(passage) if number else None
        if passage:
            found.append((lead["key"].casefold(), passage, passage[lead.end() :]) if lead else ("", passage, passage))
    return found


def _quoted(quotes: list[_Block]) -> list[str]:
    """The lines of quotes without their marks."""
    return [re.sub(r"^> ?", "", line) for quote in quotes for line in (*quote.lines, ">")]


def import_markdown(path: Path, *, items_from: Instrument | None = None) -> Imported:
    """Read a Markdown rubric or prompt template; its headings tell which of the two it is.

    `items_from` gives the items of a prompt template, which names its criteria but does not define them.
    """
    text = read_text(path, InstrumentError)
    document = _Document(text, str(path))
    if document.find(_SYSTEM) and document.find(_USER):
        instrument = _read_template(document, path, items_from)
    elif not any(map(_opens_item, document.sections)):
        raise InstrumentError(
            f"{path} is neither a rubric nor a prompt template; a rubric has headings such as "
            "'## Dimension 1: Title (`id`)' with tables of scores, a template has '## System Prompt' and "
            "'## User Prompt' with fenced text"
        )
    elif items_from is not None:
        raise InstrumentError(f"{path} is a rubric and has its own items; leave out those of {items_from.id}")
    else:
        instrument = _read_rubric(document, path)
    return Imported(instrument, document.unplaced(), [*document.remarks, *_mis_encoded(text)])


def _mis_encoded(text: str) -> Iterator[str]:
    """A remark on each run of characters that is UTF-8 once read as Windows-1252; they are kept all the same."""
    for run in dict.fromkeys(re.findall(r"[^\x00-\x7f]+", text)):
        try:
            meant = run.encode("cp1252").decode("utf-8")
        except UnicodeError:
            continue
        line = len(re.split(r"\r\n|\n|\r", text[: text.index(run)]))
        yield f"Line {line} reads {run!r}, which may be a mis-encoded {meant!r}; it is kept as it is."


_VERSION = re.compile(r"[\s,:(–—-]+(?:version\s*|(?=v\d))(?P<version>v?\d[\w.]*)\)?$", re.IGNORECASE)


class _Name(NamedTuple):
    id: str
    version: str
    title: str
    history: list[str]


def _name(document: _Document, path: Path) -> _Name:
    """What the instrument is known by, and its version history as notes.

    The version is that of the title, else the last one of the history. The id is made of the title, or of the file's
    name if the title has no Latin letters.
    """
    section = document.find("(?:version|revision) history|change ?log")
    columns = {"version": "version", "date": "date", "changes": "changes?"}
    history = [cells for _, cells in document.records(section, columns, "date")] if section else []
    heading = document.title.title
    match = _VERSION.search(heading)
    last = history[-1]["version"] if history else None
    version = match["version"] if match else last or "1"
    if not match and not last:
        document.remark('The document gives no version; "1" is used.')
    if match and last and last.removeprefix("v") != version.removeprefix("v"):
        document.remark(f"The title says {version}, the last line of the history {last}; {version} is used.")
    title = heading[: match.start()] if match else heading
    id = _slug(heading) if _slug(title) else _slug(path.stem) or "imported"
    if any(entry.built_in and entry.id == id for entry in available()):
        document.remark(f"There is a built-in instrument {id}; give this one another id before you use it.")
    notes = [f"{', '.join(filter(None, (row['version'], row.get('date'))))}: {row['changes']}" for row in history]
    return _Name(id, version, title or path.stem, notes)


def _slug(text: str) -> str:
    """`text` as an id: lower case, plain letters and digits, dashes between the words; empty if none is left."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9._]+", "-", plain).strip("-._")


_NUMBERED = re.compile(r"Dimension\s+\d+\s*[:.–—-]\s*", re.IGNORECASE)
_NAMED = re.compile(r"\s*\(`(?P<id>[^`]+)`\)$")
_ID = r"[A-Za-z][A-Za-z0-9_.-]*"
_EXAMPLE = re.compile(r"Score (?P<score>\d{1,4}) example(?:\s*\((?P<words>.+)\))?", re.IGNORECASE)
_BETWEEN = re.compile(r"(\d{1,4})\s*vs\.?\s*(\d{1,4})", re.IGNORECASE)
_RANGE = re.compile(r"\b(\d{1,4})\s*(?:[–—-]|to)\s*(\d{1,4})\b")
_PROMPT_FROM = "empathy-v2"


def _opens_item(section: _Section) -> bool:
    return bool(_NUMBERED.match(section.title) or _NAMED.search(section.title))


def _read_rubric(document: _Document, path: Path) -> Instrument:
    id, version, title, history = _name(document, path)
    about = [block.text for block in document.title.take(_Kind.PARAGRAPH)]
    guidance: list[str] = []
    notes: list[str] = []
    scale = ""
    for key, passage, text in _passages(_quoted(document.title.take(_Kind.QUOTE))):
        if key in ("", "purpose"):
            about.append(text)
        elif key == "scope":
            guidance.append(text)
        else:
            scale = text if key == "scale" else scale
            notes.append(passage)
    openers = [section for section in document.sections if _opens_item(section)]
    nested = [part.line for section in openers for part in document.inside(section)]
    items = [_item(document, section) for section in openers if section.line not in nested]
    document.remark(f"The document has no prompt; the prompt of {_PROMPT_FROM} is used.")
    document.remark(
        "A rubric in prose gives no gate and no rules; add them under `gate` and `rules` where it needs them."
    )
    return Instrument(
        id=id,
        version=version,
        title=title,
        source=(f"Imported from {path.name}.",),
        notes=(*notes, *history),
        about="\n\n".join(about),
        unit=UnitKind.RESPONSE,
        scale=_scale(document, scale, items),
        guidance=tuple(guidance),
        items=tuple(items),
        prompt=load(_PROMPT_FROM).prompt,
    )


def _scale(document: _Document, stated: str, items: list[Item]) -> Scores:
    if match := _RANGE.search(stated):
        lowest, highest = sorted((int(match[1]), int(match[2])))
    else:
        scores = [score for item in items for score in item.anchors] or [1, 5]
        lowest, highest = min(scores), max(scores)
        document.remark(f"The document states no scale; {lowest} to {highest} is used.")
    return Scores(kind="scores", lowest=lowest, highest=highest)


def _item(document: _Document, section: _Section) -> Item:
    section.known = True
    numbered, named = _NUMBERED.match(section.title), _NAMED.search(section.title)
    title = section.title[numbered.end() if numbered else 0 : named.start() if named else None]
    id = named["id"] if named else _slug(title).replace("-", "_")
    if not re.fullmatch(_ID, id):
        problem = f"{id!r} cannot be the id of an item; write it as (`id`), letters first, no spaces"
        raise document.error(section.line, problem)
    if not named:
        document.remark(f"Line {section.line} gives {title!r} no id; {id} is used.")
    boundaries: list[Boundary] = []
    examples: list[Example] = []
    for part in document.inside(section):
        if re.fullmatch(r"boundar(?:y|ies)(?: guidance| rules)?", part.title, re.IGNORECASE):
            boundaries += [_boundary(entry) for block in part.take(_Kind.LIST) for entry in _entries(block)]
        elif match := _EXAMPLE.fullmatch(part.title):
            examples += _example(document, part, int(match["score"]), match["words"])
    return Item(
        id=id,
        title=title,
        definition=_definition(section),
        anchors=_anchors(document, section),
        boundaries=tuple(boundaries),
        examples=tuple(examples),
        holistic=not numbered and (id == "overall" or title.casefold().startswith("overall")),
    )


def _definition(section: _Section) -> str:
    """The paragraph that says it is the definition; of the holistic item, which has no number, all paragraphs."""
    for block in section.blocks:
        lead = _LEAD.match(block.text)
        if block.kind is _Kind.PARAGRAPH and lead and lead["key"].casefold() == "definition":
            section.blocks.remove(block)
            return block.text[lead.end() :]
    if _NUMBERED.match(section.title):
        return ""
    return "\n\n".join(block.text for block in section.take(_Kind.PARAGRAPH))


def _anchors(document: _Document, section: _Section) -> dict[int, Anchor]:
    anchors: dict[int, Anchor] = {}
    columns = {"score": "score", "label": "label", "description": "description"}
    for line, cells in document.records(section, columns, optional="label"):
        digits = cells["score"].strip("*")
        if not re.fullmatch(r"-?[0-9]{1,6}", digits):
            document.refuse(line, f"{cells['score']!r} is not a whole number")
        elif int(digits) in anchors:
            document.refuse(line, f"score {digits} has a description already")
        else:
            anchors[int(digits)] = Anchor(label=cells.get("label") or None, text=cells["description"])
    return anchors


def _boundary(entry: str) -> Boundary:
    lead = _LEAD.match(entry)
    match = _BETWEEN.fullmatch(lead["key"]) if lead else None
    if lead and match:
        return Boundary(between=(int(match[1]), int(match[2])), text=entry[lead.end() :])
    return Boundary(text=entry)


def _example(document: _Document, section: _Section, score: int, words: str | None) -> Iterator[Example]:
    """The example in the quotes of a section; none, and no quote taken, if user and response do not alternate."""
    quotes = [block for block in section.blocks if block.kind is _Kind.QUOTE]
    messages = _passages(_quoted(quotes), "user|response|assistant")
    sides = [key == "user" for key, _, _ in messages]
    if not sides or sides != [True, False] * (len(sides) // 2):
        section.known = True
        document.refuse(section.line, "an example needs a quote with **User**: and **Response**: in turn")
        return
    section.take(_Kind.QUOTE)
    texts = [_unquoted(text) for _, _, text in messages]
    borderline = words is not None and words.casefold() in {"boundary", "borderline"}
    yield Example(
        answer=score,
        kind="borderline" if borderline else "clear",
        turns=tuple(Message(user=user, assistant=reply) for user, reply in zip(texts[::2], texts[1::2], strict=True)),
        why="" if borderline or words is None else words,
    )


def _unquoted(text: str) -> str:
    """The words without the quotation marks around all of them; `"A" and "B"` keeps its marks."""
    inner = text[1:-1]
    enclosed = len(text) >= 2 and text[0] + text[-1] in {'""', "“”"} and not set(inner) & set('"“”')
    return inner if enclosed else text


_SYSTEM, _USER = "System Prompt", "User Prompt"
_LIMIT = re.compile(r"(?:<=|≤|at most|no more than|up to|maximum of|max\.?)\s*(\d{1,6})\s*char", re.IGNORECASE)
_SHORTEST_LIMIT = 50  # the model refuses a shorter one
_CRITERION = re.compile(rf"`?(?P<id>{_ID})`?(?:\s*\((?P<title>.+)\))?")
# An id in running text is capitals and a number, or is in code marks; a short name may follow in brackets.
_MENTION = re.compile(rf"(?:`(?P<code>{_ID})`|\b(?P<plain>[A-Z]{{1,5}}\d{{1,3}})\b)(?:\s*\((?P<title>[^()]+)\))?")


@dataclass
class _Criteria:
    """What a template says about its criteria, by id."""

    titles: dict[str, str] = field(default_factory=dict[str, str])
    never_na: dict[str, str] | None = None  # why not; None: the document says nothing about it
    may_be_na: dict[str, str] = field(default_factory=dict[str, str])
    gate: list[str] = field(default_factory=list[str])

    def with_na(self, item: Item) -> Item:
        """The item with what the document says about NA. If it contradicts itself, NA stays invalid."""
        if item.id in (self.never_na or {}):
            return item.model_copy(update={"na_valid": False, "na_note": (self.never_na or {})[item.id]})
        if item.id in self.may_be_na:
            return item.model_copy(update={"na_valid": True, "na_note": self.may_be_na[item.id]})
        return item if self.never_na is None else item.model_copy(update={"na_valid": True})


def _read_template(document: _Document, path: Path, items_from: Instrument | None) -> Instrument:
    if items_from and not isinstance(items_from.scale, Criteria):
        raise InstrumentError(
            f"{items_from.id} asks for scores, but {document.name} asks for YES, NO or NA; "
            "take the items from an instrument with criteria"
        )
    id, version, title, history = _name(document, path)
    about = "\n\n".join(block.text for block in document.title.take(_Kind.PARAGRAPH))
    prompt = _prompt(document)
    criteria = _Criteria()
    notes = [*_notes(document), *_never_na(document, criteria), *_gate(document, criteria)]
    guidance = [*_answers(document)]
    for pattern in ("(?:evidence-first )?reasoning pattern|evidence-first reasoning", "usage notes"):
        section = document.find(pattern)
        guidance += _texts(document, section) if section else []
    if guidance:
        document.remark(
            "The text about answers, reasoning and usage became guidance, which every question carries; move to "
            "`notes` what a judge must not read."
        )
    ids = dict.fromkeys([*(criteria.never_na or ()), *criteria.gate, *criteria.may_be_na])
    return Instrument(
        id=id,
        version=version,
        title=title,
        source=(f"Imported from {path.name}.",),
        notes=(*notes, *history),
        language=items_from.language if items_from else "en",
        categories=items_from.categories if items_from else {},
        scoring=items_from.scoring if items_from else Scoring(),
        rules=items_from.rules if items_from else (),
        about=about,
        unit=UnitKind.CONVERSATION,
        scale=Criteria(kind="criteria"),
        guidance=tuple(guidance),
        items=tuple(_items(document, criteria, list(ids), items_from)),
        gate=_gate_items(document, criteria, items_from),
        prompt=prompt,
    )


def _prompt(document: _Document) -> Prompt:
    system, user = _fenced(document, _SYSTEM), _fenced(document, _USER)
    match = _LIMIT.search(f"{system}\n{user}")
    if match and int(match[1]) >= _SHORTEST_LIMIT:
        return Prompt(system=system, user=user, reasoning_limit=int(match[1]))
    prompt = Prompt(system=system, user=user)
    document.remark(
        f"The prompt asks for no length of reasoning of at least {_SHORTEST_LIMIT} characters; "
        f"{prompt.reasoning_limit} is used."
    )
    return prompt


def _fenced(document: _Document, title: str) -> str:
    section = document.find(title)
    assert section is not None, title  # noqa: S101 - that it is there made the document a template
    section.known = True
    fence = next((block for block in section.blocks if block.kind is _Kind.FENCE), None)
    if fence is None:
        problem = f"there is no text between ``` fences below {title!r}; put the prompt there"
        raise document.error(section.line, problem)
    section.blocks.remove(fence)
    return fence.text


def _notes(document: _Document) -> Iterator[str]:
    """The sections that are kept as they are, each as one note."""
    if rules := document.find("scoring rules"):
        rules.known = True  # only a heading over other sections
    if (section := document.find("template variables|variables")) and (blocks := section.take(_Kind.LIST)):
        yield "\n\n".join([section.title, *(block.text for block in blocks)])
    if (section := document.find("conversation format")) and (blocks := section.take(_Kind.PARAGRAPH, _Kind.FENCE)):
        texts = [f"```\n{block.text}\n```" if block.kind is _Kind.FENCE else block.text for block in blocks]
        yield "\n\n".join([section.title, *texts])
        if not all(part in "".join(texts) for part in ("--- Turn 1 ---", "User:", "Assistant:")):
            document.remark(
                f"{section.title!r} does not show turns as --- Turn 1 ---, User:, Assistant:; conversations are always "
                "written that way, and the document's own format is kept as a note only."
            )


def _answers(document: _Document) -> Iterator[str]:
    section = document.find("answer types|answers")
    columns = {"answer": "answers?", "meaning": "meaning"}
    for line, cells in document.records(section, columns) if section else ():
        answer = cells["answer"].strip('*`"')
        if answer in Criteria(kind="criteria").answers:
            yield f"{answer}: {cells['meaning']}"
        else:
            document.refuse(line, f"{answer!r} is not an answer; the answers are YES, NO and NA")


def _never_na(document: _Document, criteria: _Criteria) -> Iterator[str]:
    """Read the table of criteria that are never NA; what is written around it are notes."""
    section = document.find("NA[- ]invalid(?: criteria)?")
    if section is None:
        return
    found: dict[str, str] = {}
    columns = {"criterion": "criterion|criteria|id|item", "why": r".*\b(?:why|reason)\b.*"}
    for line, cells in document.records(section, columns):
        match = _CRITERION.fullmatch(cells["criterion"])
        if match is None:
            reason = f"{cells['criterion']!r} is not the id of a criterion with its name in brackets"
            document.refuse(line, reason)
        elif match["id"] in found:
            document.refuse(line, f"{match['id']} is in this table already")
        else:
            found[match["id"]] = cells["why"]
            if match["title"]:
                criteria.titles.setdefault(match["id"], match["title"])
    criteria.never_na = found or None
    yield from (block.text for block in section.take(_Kind.PARAGRAPH))


def _gate(document: _Document, criteria: _Criteria) -> Iterator[str]:
    """Read which criteria the gate names, and which its exception allows to be NA; the passages are notes."""
    section = document.find("safety gate|gate")
    if section is None:
        return
    for passage in _texts(document, section):
        yield passage
        for part in re.split(r"(?=\bException\b)", passage):
            exception = part.startswith("Exception")
            for match in _MENTION.finditer(part):
                id = match["code"] or match["plain"]
                if match["title"]:
                    criteria.titles.setdefault(id, match["title"])
                if not exception and id not in criteria.gate:
                    criteria.gate.append(id)
                if exception and re.search(r"\bNA\b", part):
                    criteria.may_be_na.setdefault(id, part)
    if not criteria.gate:
        document.remark(f"{section.title!r} names no criterion by an id such as CQ8.")


def _texts(document: _Document, section: _Section) -> list[str]:
    """The paragraphs and list entries of a section; a paragraph that announces a list stays together with it."""
    texts: list[str] = []
    announced: _Block | None = None
    for block in section.take(_Kind.PARAGRAPH, _Kind.LIST):
        if block.kind is _Kind.PARAGRAPH:
            texts.append(block.text)
        elif announced:
            texts[-1] += document.gap(announced, block) + block.text
        else:
            texts += _entries(block)
        announced = block if block.kind is _Kind.PARAGRAPH and block.text.rstrip().endswith(":") else None
    return texts


def _items(document: _Document, criteria: _Criteria, ids: list[str], items_from: Instrument | None) -> list[Item]:
    """The items of another instrument, with the document's word on NA, and after them any it lacks."""
    new = [id for id in ids if items_from is None or id not in items_from.item_hashes]
    items: list[Item] = []
    if items_from is None:
        document.remark(
            f"The document names {', '.join(ids) or 'no criteria'} and defines none of them; write their "
            "definitions and meanings, or take the items from another instrument such as coaching-v1."
        )
    else:
        lender = items_from.id
        document.remark(
            f"Items, categories, scoring and rules are those of {lender}; "
            "its prompt, guidance and notes are replaced by those of the document."
        )
        for item in items_from.items:
            items.append(criteria.with_na(item))
            if items[-1].na_valid != item.na_valid:
                ours, theirs = ("valid", "invalid") if items[-1].na_valid else ("invalid", "valid")
                document.remark(
                    f"{item.id}: NA is {ours} by the document and {theirs} in {lender}; the document is followed."
                )
        titles = [f"{item.id} {criteria.titles[item.id]!r}" for item in items if item.id in criteria.titles]
        if titles:
            document.remark(f"The titles of {lender} are used; the document says {', '.join(titles)}.")
        if new:
            document.remark(f"{lender} has no {', '.join(new)}; they have the document's own words and no definition.")
    return [*items, *(criteria.with_na(Item(id=id, title=criteria.titles.get(id, id))) for id in new)]


def _gate_items(document: _Document, criteria: _Criteria, items_from: Instrument | None) -> tuple[GateItem, ...]:
    gate = criteria.gate
    if items_from and not gate:
        document.remark(f"The document names no gate; that of {items_from.id} is used.")
        return items_from.gate
    if items_from and items_from.gate_ids != frozenset(gate):
        document.remark(
            f"The gate is {', '.join(gate)} by the document and "
            f"{', '.join(entry.item for entry in items_from.gate) or 'empty'} in {items_from.id}; "
            "the document is followed."
        )
    return tuple(GateItem(item=id) for id in gate)
