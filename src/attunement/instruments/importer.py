"""Make an instrument from a Markdown document: a rubric with scores, or a prompt template with criteria.

Wording is kept to the character. What has no place in an instrument is listed with its line, and what the document
does not say but an instrument needs is filled in with a remark: nothing is dropped or added silently.

A rubric, word for word (inline marks such as ** stay as they are):

- `## Dimension 1: Title (`id`)` opens an item, `## Overall Score (`overall`)` the holistic one;
- `**Definition**:`, or the paragraphs above the table of the holistic item, are its definition;
- a table of Score, Label (may be absent) and Description is its anchors;
- the bullets of `### Boundary guidance` are its boundaries; `**1 vs 2**:` becomes `between: [1, 2]`;
- `### Score 5 example` is an example; `(boundary)` makes it a borderline one, other words in brackets are its `why`.
  Quotation marks that enclose a whole message are not part of it;
- in the quote below the title, Purpose becomes `about`, Scope becomes `guidance`, Scale sets the scale and is a note,
  everything else is a note; so is the version history.

A rubric does not say how a judge is asked, so the prompt is that of the built-in `empathy-v2`.

A prompt template, word for word:

- the fenced blocks below System Prompt and User Prompt are the prompt;
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
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from attunement.conversations import UnitKind
from attunement.errors import InstrumentError
from attunement.instruments.lint import VARIABLES
from attunement.instruments.loader import available, load
from attunement.instruments.markdown_document import (
    LISTS,
    Block,
    Document,
    Kind,
    Record,
    Section,
    Unplaced,
    lead,
    lines_of,
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
from attunement.yaml_files import read_text


class Imported(NamedTuple):
    """What became of a document, with what was filled in or decided although the document does not say it."""

    instrument: Instrument
    unplaced: list[Unplaced]
    remarks: list[str]


def import_markdown(path: Path, *, items_from: Instrument | None = None) -> Imported:
    """Read a Markdown rubric or prompt template; its headings tell which of the two it is.

    `items_from` gives the items of a prompt template, which names its criteria but does not define them. Line ends
    and a byte order mark are not wording; everything else is.
    """
    text = read_text(path, InstrumentError)
    document = Document(text, str(path))
    if _section(document, _SYSTEM) and _section(document, _USER):
        instrument = _TemplateReader(document).read(path, items_from)
    elif not any(_item_sections(document.root)):
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
    for number, line in enumerate(lines_of(text), start=1):
        for run in re.findall(r"[^\x00-\x7f]+", line):
            try:
                meant = run.encode("cp1252").decode("utf-8")
            except UnicodeError:
                continue
            yield f"Line {number} reads {run!r}, which may be a mis-encoded {meant!r}; it is kept as it is."


_VERSION = re.compile(r"[\s,:(–—-]+(?:version\s*|(?=v\d))(?P<version>v?\d[\w.]*)\)?$", re.IGNORECASE)
_HISTORY = re.compile(r"(?:version|revision) history|change ?log", re.IGNORECASE)
_HISTORY_COLUMNS = {"version": "version", "date": "date", "changes": "changes?"}


class _Name(NamedTuple):
    """What an instrument is known by, and the notes its history gives."""

    id: str
    version: str
    title: str
    history: tuple[str, ...]


def _name(document: Document, file_stem: str) -> _Name:
    """Place the title and the version history of a document.

    The version is that of the heading, else the last one of the history, else "1". The id is made of the heading, or
    of the file's name if the heading has no Latin letters.
    """
    section = document.title_section()
    document.place(section.heading)
    heading = section.title
    match = _VERSION.search(heading)
    history = [record.cells for record in _history(document)]
    last = history[-1]["version"] if history else None
    version = match["version"] if match else last or "1"
    if not match and not last:
        document.remark('The document gives no version; "1" is used.')
    if match and last and last.removeprefix("v") != version.removeprefix("v"):
        document.remark(f"The title says {version}, the last line of the history {last}; {version} is used.")
    if not heading:
        document.remark(f"The document has no title; it is called {file_stem!r} after the file.")
    title = heading[: match.start()] if match else heading
    id = _slug(heading) if _slug(title) else _slug(file_stem) or "imported"
    if any(entry.built_in and entry.id == id for entry in available()):
        document.remark(f"There is a built-in instrument {id}; give this one another id before you use it.")
    notes = (f"{', '.join(filter(None, (row['version'], row.get('date'))))}: {row['changes']}" for row in history)
    return _Name(id, version, title or file_stem, tuple(notes))


def _slug(text: str) -> str:
    """`text` as an id: lower case, plain letters and digits, dashes between the words; empty if none is left."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9._]+", "-", plain).strip("-._")


def _history(document: Document) -> Iterator[Record]:
    for section in document.root.walk():
        if _HISTORY.fullmatch(section.title):
            document.place(section.heading)
            for block in section.blocks:
                if block.kind is Kind.TABLE:
                    yield from document.records(block, _HISTORY_COLUMNS, optional=("date",)) or []


_NUMBERED = re.compile(r"Dimension\s+\d+\s*[:.–—-]\s*", re.IGNORECASE)
_NAMED = re.compile(r"\s*\(`(?P<id>[^`]+)`\)$")
_ID = r"[A-Za-z][A-Za-z0-9_.-]*"
_COLUMNS = {"score": "score", "label": "label", "description": "description"}
_BOUNDARIES = re.compile(r"boundar(?:y|ies)(?: guidance| rules)?", re.IGNORECASE)
_EXAMPLE = re.compile(r"Score (?P<score>\d{1,4}) example(?:\s*\((?P<words>.+)\))?", re.IGNORECASE)
_BETWEEN = re.compile(r"(\d{1,4})\s*vs\.?\s*(\d{1,4})", re.IGNORECASE)
_RANGE = re.compile(r"\b(\d{1,4})\s*(?:[–—-]|to)\s*(\d{1,4})\b")
_PROMPT_FROM = "empathy-v2"


def _read_rubric(document: Document, path: Path) -> Instrument:
    id, version, title, history = _name(document, path.stem)
    about: list[str] = []
    guidance: list[str] = []
    notes: list[str] = []
    scale = ""
    for block in document.title_section().blocks:
        if block.kind is Kind.PARAGRAPH:
            about.append(document.place(block))
        elif block.kind is Kind.QUOTE:
            document.place(block)
            for key, passage, text in _fields(block.parts):
                match key and key.casefold():
                    case None | "purpose":
                        about.append(text)
                    case "scope":
                        guidance.append(text)
                    case kind:
                        scale = text if kind == "scale" else scale
                        notes.append(passage)
    items = tuple(_item(document, section) for section in _item_sections(document.root))
    document.remark(f"The document has no prompt; the prompt of {_PROMPT_FROM} is used.")
    document.remark(
        "A rubric in prose gives no gate and no rules; add them under `gate` and `rules` where it needs them."
    )
    return Instrument(
        id=id,
        version=version,
        title=title,
        about="\n\n".join(about),
        source=(f"Imported from {path.name}.",),
        unit=UnitKind.RESPONSE,
        scale=_scale(document, scale, items),
        guidance=tuple(guidance),
        notes=(*notes, *history),
        items=items,
        prompt=load(_PROMPT_FROM).prompt,
    )


class _Field(NamedTuple):
    """A passage of a quote that begins with bold words, such as `**Scope**: ...`, and its text behind these words.

    Only the first passage may have none.
    """

    key: str | None
    passage: str
    text: str


def _fields(quote: tuple[str, ...], keys: str = ".*") -> Iterator[_Field]:
    """Cut the lines of a quote where a line begins with bold words and a colon, if `keys` matches the words."""
    passages: list[tuple[str | None, list[str]]] = [(None, [])]
    for line in quote:
        key, _ = lead(line) or (None, "")
        if key is not None and re.fullmatch(keys, key, re.IGNORECASE):
            passages.append((key, []))
        passages[-1][1].append(line)
    for key, lines in passages:
        if passage := "\n".join(lines).strip():
            found = lead(passage)
            yield _Field(key, passage, found[1] if found and key is not None else passage)


def _scale(document: Document, stated: str, items: tuple[Item, ...]) -> Scores:
    scores = sorted({score for item in items for score in item.anchors})
    match = _RANGE.search(stated)
    if match is None:
        if not scores:
            document.remark("The document gives no scale; 1 to 5 is used.")
            return Scores(kind="scores")
        document.remark(f"The document states no scale; {scores[0]} to {scores[-1]} is used, after its tables.")
        return Scores(kind="scores", lowest=scores[0], highest=scores[-1])
    lowest, highest = sorted((int(match[1]), int(match[2])))
    beyond = ", ".join(str(score) for score in scores if not lowest <= score <= highest)
    if beyond:
        document.remark(f"The document states a scale of {match[0]}, but its tables also describe {beyond}.")
    return Scores(kind="scores", lowest=lowest, highest=highest)


def _item_sections(section: Section) -> Iterator[Section]:
    """The sections that open an item; the sections inside one are part of it."""
    if _NUMBERED.match(section.title) or _NAMED.search(section.title):
        yield section
        return
    for child in section.children:
        yield from _item_sections(child)


def _item(document: Document, section: Section) -> Item:
    assert section.heading is not None  # noqa: S101 - it has a title
    document.place(section.heading)
    line = section.heading.line
    numbered = _NUMBERED.match(section.title)
    named = _NAMED.search(section.title)
    title = section.title[numbered.end() if numbered else 0 : named.start() if named else None]
    id = named["id"] if named else _slug(title).replace("-", "_")
    if not re.fullmatch(_ID, id):
        raise document.error(line, f"{id!r} cannot be the id of an item; write it as (`id`), letters first, no spaces")
    if not named:
        document.remark(f"Line {line} gives {title!r} no id; {id} is used.")
    holistic = not numbered and (id == "overall" or title.casefold().startswith("overall"))
    boundaries: list[Boundary] = []
    examples: list[Example] = []
    for child in section.children:
        match = _EXAMPLE.fullmatch(child.title)
        if _BOUNDARIES.fullmatch(child.title):
            boundaries += _boundaries(document, child)
        elif match:
            examples += _example(document, child, int(match["score"]), match["words"])
    tables = (block for block in section.blocks if block.kind is Kind.TABLE)
    scores = (document.records(table, _COLUMNS, optional=("label",)) for table in tables)
    return Item(
        id=id,
        title=title,
        definition=_definition(document, section.blocks, prose=holistic),
        # Only the first table of scores: another one is not placed.
        anchors=dict(_anchors(document, next((found for found in scores if found is not None), list[Record]()))),
        boundaries=tuple(boundaries),
        examples=tuple(examples),
        holistic=holistic,
    )


def _definition(document: Document, blocks: list[Block], *, prose: bool) -> str:
    """The paragraph that says it is the definition; with `prose`, the paragraphs above the first table."""
    for block in blocks:
        found = lead(block.text)
        if block.kind is Kind.PARAGRAPH and found and found[0].casefold() == "definition":
            document.place(block)
            return found[1]
    paragraphs: list[str] = []
    for block in blocks if prose else []:
        if block.kind is Kind.TABLE:
            break
        if block.kind is Kind.PARAGRAPH:
            paragraphs.append(document.place(block))
    return "\n\n".join(paragraphs)


def _anchors(document: Document, records: list[Record]) -> Iterator[tuple[int, Anchor]]:
    lines: dict[int, int] = {}
    for line, cells in records:
        digits = cells["score"].strip("*")
        if not re.fullmatch(r"-?[0-9]{1,6}", digits):
            document.refuse(line, f"{cells['score']!r} is not a whole number")
        elif (first := lines.setdefault(int(digits), line)) != line:
            document.refuse(line, f"score {digits} has a description already, in line {first}")
        else:
            yield int(digits), Anchor(label=cells.get("label") or None, text=cells["description"])


def _boundaries(document: Document, section: Section) -> Iterator[Boundary]:
    document.place(section.heading)
    for block in section.blocks:
        if block.kind in LISTS:
            document.place(block)
            for entry in block.parts:
                key, rest = lead(entry) or ("", "")
                if match := _BETWEEN.fullmatch(key):
                    yield Boundary(between=(int(match[1]), int(match[2])), text=rest)
                else:
                    yield Boundary(text=entry)


def _example(document: Document, section: Section, score: int, words: str | None) -> Iterator[Example]:
    """The example in the quotes of a section; none, and no quote placed, if user and response do not alternate."""
    document.place(section.heading)
    quotes = [block for block in section.blocks if block.kind is Kind.QUOTE]
    lines = tuple(line for block in quotes for line in (*block.parts, ""))
    messages = list(_fields(lines, "user|response|assistant"))
    sides = [(message.key or "").casefold() == "user" for message in messages]
    if not sides or sides != [True, False] * (len(sides) // 2):
        if section.heading:
            reason = "an example needs a quote with **User**: and **Response**: in turn"
            document.refuse(section.heading.line, reason)
        return
    for quote in quotes:
        document.place(quote)
    texts = [_unquoted(message.text) for message in messages]
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
_LIMIT = re.compile(r"(?:<=|≤|at most|no more than|up to|maximum of|max\.?)\s*(\d{1,6})\s*char", re.IGNORECASE)
_SHORTEST_LIMIT = 50  # the model refuses a shorter one
_TURN_FORMAT = ("--- Turn 1 ---", "User:", "Assistant:")
_CRITERION = re.compile(rf"`?(?P<id>{_ID})`?(?:\s*\((?P<title>.+)\))?")
# An id in running text is capitals and a number, or is in code marks; a short name may follow in brackets.
_MENTION = re.compile(rf"(?:`(?P<code>{_ID})`|\b(?P<plain>[A-Z]{{1,5}}\d{{1,3}})\b)(?:\s*\((?P<title>[^()]+)\))?")
_EXCEPTION = re.compile(r"(?=\bException\b)")


def _section(document: Document, title: str) -> Section | None:
    return next((part for part in document.root.walk() if part.title.casefold() == title.casefold()), None)


class _TemplateReader:
    """Reads a prompt template and collects what its sections say besides the prompt."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._guidance: list[str] = []
        self._notes: list[str] = []
        self._gate: list[str] = []
        self._titles: dict[str, str] = {}
        self._never_na: dict[str, str] | None = None  # why not; None: the document says nothing about it
        self._may_be_na: dict[str, str] = {}

    def read(self, path: Path, items_from: Instrument | None) -> Instrument:
        document = self._document
        if items_from and not isinstance(items_from.scale, Criteria):
            raise InstrumentError(
                f"{items_from.id} asks for scores, but {document.name} asks for YES, NO or NA; "
                "take the items from an instrument with criteria"
            )
        id, version, title, history = _name(document, path.stem)
        paragraphs = (block for block in document.title_section().blocks if block.kind is Kind.PARAGRAPH)
        about = "\n\n".join(map(document.place, paragraphs))
        prompt = self._prompt()
        self._read_sections()
        named = dict.fromkeys([*(self._never_na or ()), *self._gate, *self._may_be_na])
        items = self._borrowed(list(named), items_from) if items_from else self._undefined(list(named))
        return Instrument(
            id=id,
            version=version,
            title=title,
            about=about,
            source=(f"Imported from {path.name}.",),
            language=items_from.language if items_from else "en",
            unit=UnitKind.CONVERSATION,
            scale=Criteria(kind="criteria"),
            guidance=tuple(self._guidance),
            notes=(*self._notes, *history),
            categories=items_from.categories if items_from else {},
            items=tuple(items),
            scoring=items_from.scoring if items_from else Scoring(),
            gate=self._gate_items(items_from),
            rules=items_from.rules if items_from else (),
            prompt=prompt,
        )

    def _prompt(self) -> Prompt:
        remark = self._document.remark
        system, user = self._fence_below(_SYSTEM), self._fence_below(_USER)
        text = f"{system}\n{user}"
        for variable in dict.fromkeys(re.findall(r"\{([a-z_]+)\}", text)):
            if variable not in VARIABLES:
                remark(f"{{{variable}}} in the prompt is not a known variable; it would be sent as it is.")
        for variable in ("{criterion_prompt}", "{conversation}"):
            if variable not in text:
                remark(f"The prompt has no {variable}; a judge would not see what it stands for.")
        match = _LIMIT.search(text)
        if match and int(match[1]) >= _SHORTEST_LIMIT:
            return Prompt(system=system, user=user, reasoning_limit=int(match[1]))
        prompt = Prompt(system=system, user=user)
        remark(
            f"The prompt asks for no length of reasoning of at least {_SHORTEST_LIMIT} characters; "
            f"{prompt.reasoning_limit} is used."
        )
        return prompt

    def _fence_below(self, title: str) -> str:
        section = _section(self._document, title)
        assert section is not None, title  # noqa: S101 - that it is there made the document a template
        assert section.heading is not None, title  # noqa: S101
        self._document.place(section.heading)
        for block in section.blocks:
            if block.kind is Kind.FENCE:
                self._document.place(block)
                return block.content
        problem = f"there is no text between ``` fences below {title!r}; put the prompt there"
        raise self._document.error(section.heading.line, problem)

    def _read_sections(self) -> None:
        readers = {
            "template variables|variables": self._read_variables,
            "conversation format": self._read_format,
            "scoring rules": None,  # only a heading over other sections
            "answer types|answers": self._read_answers,
            "NA[- ]invalid(?: criteria)?": self._read_never_na,
            "safety gate|gate": self._read_gate,
            "(?:evidence-first )?reasoning pattern|evidence-first reasoning|usage notes": self._read_guidance,
        }
        guiding: list[str] = []
        for section in self._document.root.walk():
            for pattern, read in readers.items():
                if re.fullmatch(pattern, section.title, re.IGNORECASE):
                    self._document.place(section.heading)
                    before = len(self._guidance)
                    if read:
                        read(section)
                    guiding += [section.title] if len(self._guidance) > before else []
        if guiding:
            self._document.remark(
                f"The text below {', '.join(guiding)} became guidance, which every question carries; "
                "move to `notes` what a judge must not read."
            )

    def _read_variables(self, section: Section) -> None:
        self._note(section, LISTS)

    def _read_format(self, section: Section) -> None:
        self._note(section, {Kind.PARAGRAPH, Kind.FENCE})
        shown = "\n".join(block.content for block in section.blocks if block.kind is Kind.FENCE)
        if not all(part in shown for part in _TURN_FORMAT):
            self._document.remark(
                f"{section.title!r} does not show turns as {', '.join(_TURN_FORMAT)}; "
                "conversations are always written that way, and the document's own format is kept as a note only."
            )

    def _note(self, section: Section, kinds: set[Kind] | frozenset[Kind]) -> None:
        """Keep the blocks of these kinds below the title of their section, as they are: one note, or none."""
        texts = [self._document.place(block) for block in section.blocks if block.kind in kinds]
        if texts:
            self._notes.append("\n\n".join([section.title, *texts]))

    def _read_answers(self, section: Section) -> None:
        for block in section.blocks:
            columns = {"answer": "answers?", "meaning": "meaning"}
            for line, cells in self._document.records(block, columns) or [] if block.kind is Kind.TABLE else []:
                answer = cells["answer"].strip('*`"')
                if answer in Criteria(kind="criteria").answers:
                    self._guidance.append(f"{answer}: {cells['meaning']}")
                else:
                    self._document.refuse(line, f"{answer!r} is not an answer; the answers are YES, NO and NA")

    def _read_never_na(self, section: Section) -> None:
        columns = {"criterion": "criterion|criteria|id|item", "why": r".*\b(?:why|reason)\b.*"}
        for block in section.blocks:
            if block.kind is Kind.PARAGRAPH:
                self._notes.append(self._document.place(block))
            for line, cells in self._document.records(block, columns) or [] if block.kind is Kind.TABLE else []:
                match = _CRITERION.fullmatch(cells["criterion"])
                if match is None:
                    reason = f"{cells['criterion']!r} is not the id of a criterion with its name in brackets"
                    self._document.refuse(line, reason)
                elif match["id"] in (self._never_na or {}):
                    self._document.refuse(line, f"{match['id']} is in this table already")
                else:
                    self._never_na = {**(self._never_na or {}), match["id"]: cells["why"]}
                    if match["title"]:
                        self._titles.setdefault(match["id"], match["title"])

    def _read_gate(self, section: Section) -> None:
        for passage in self._passages(section):
            self._notes.append(passage)
            for part in _EXCEPTION.split(passage):
                exception = part.startswith("Exception")
                for match in _MENTION.finditer(part):
                    id = match["code"] or match["plain"]
                    if match["title"]:
                        self._titles.setdefault(id, match["title"])
                    if not exception and id not in self._gate:
                        self._gate.append(id)
                    if exception and re.search(r"\bNA\b", part):
                        self._may_be_na.setdefault(id, part)
        if not self._gate:
            self._document.remark(f"{section.title!r} names no criterion by an id such as CQ8.")

    def _read_guidance(self, section: Section) -> None:
        self._guidance += self._passages(section)

    def _passages(self, section: Section) -> Iterator[str]:
        """The paragraphs and list entries of a section; a paragraph that announces a list stays together with it."""
        announced: Block | None = None
        for block in section.blocks:
            if block.kind in LISTS:
                self._document.place(block)
                yield from (self._document.between(announced, block),) if announced else block.parts
                announced = None
                continue
            if announced:
                yield announced.text
            announced = None
            if block.kind is Kind.PARAGRAPH:
                text = self._document.place(block)
                if text.rstrip().endswith(":"):
                    announced = block
                else:
                    yield text
        if announced:
            yield announced.text

    def _undefined(self, ids: list[str]) -> list[Item]:
        self._document.remark(
            f"The document names {', '.join(ids) or 'no criteria'} and defines none of them; write their "
            "definitions and meanings, or take the items from another instrument such as coaching-v1."
        )
        return [self._new(id) for id in ids]

    def _new(self, id: str) -> Item:
        return self._with_na(Item(id=id, title=self._titles.get(id, id)))

    def _with_na(self, item: Item) -> Item:
        """The item with what the document says about NA. If it contradicts itself, NA stays invalid."""
        why = (self._never_na or {}).get(item.id)
        when = self._may_be_na.get(item.id)
        if why is not None:
            if when is not None:
                self._document.remark(
                    f"The document lists {item.id} as NA-invalid and also allows NA for it; NA is invalid here."
                )
            return item.model_copy(update={"na_valid": False, "na_note": why})
        if when is not None:
            return item.model_copy(update={"na_valid": True, "na_note": when})
        return item if self._never_na is None else item.model_copy(update={"na_valid": True})

    def _borrowed(self, ids: list[str], items_from: Instrument) -> list[Item]:
        """The items of another instrument, with the document's word on NA, and after them any it lacks."""
        lender, remark = items_from.id, self._document.remark
        remark(
            f"Items, categories, scoring and rules are those of {lender}; "
            "its prompt, guidance and notes are replaced by those of the document."
        )
        items: list[Item] = []
        for item in items_from.items:
            own = self._with_na(item)
            if own.na_valid != item.na_valid:
                ours, theirs = ("valid", "invalid") if own.na_valid else ("invalid", "valid")
                remark(f"{item.id}: NA is {ours} by the document and {theirs} in {lender}; the document is followed.")
            items.append(own)
        titles = [f"{item.id} {self._titles[item.id]!r}" for item in items_from.items if item.id in self._titles]
        if titles:
            remark(f"The titles of {lender} are used; the document says {', '.join(titles)}.")
        absent = [id for id in ids if id not in {item.id for item in items}]
        if absent:
            remark(f"{lender} has no {', '.join(absent)}; they have the document's own words and no definition.")
        return items + [self._new(id) for id in absent]

    def _gate_items(self, items_from: Instrument | None) -> tuple[GateItem, ...]:
        if items_from and not self._gate:
            self._document.remark(f"The document names no gate; that of {items_from.id} is used.")
            return items_from.gate
        if items_from and items_from.gate_ids != frozenset(self._gate):
            self._document.remark(
                f"The gate is {', '.join(self._gate)} by the document and "
                f"{', '.join(entry.item for entry in items_from.gate) or 'empty'} in {items_from.id}; "
                "the document is followed."
            )
        return tuple(GateItem(item=id) for id in self._gate)
