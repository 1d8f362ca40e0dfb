"""The page of one conversation: the transcript, everybody's answers, and the citations between them.

Words that are cited have a number, and so has each citation that leads to them, so that a click on the citation marks
exactly them. Citations may overlap: a message is cut wherever one begins or ends, and each part knows all citations
that it belongs to.

Everything is escaped by the templates. The policy of a page names the hashes of our own style and script, so that
nothing else can run or be loaded, whatever a transcript holds.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup, escape

from attunement.conversations import Conversation, Origin
from attunement.evidence import CitationStatus, Finding
from attunement.instruments import Item
from attunement.ratings import Mark, Outcome, RaterKind
from attunement.reports.blocks import Block, Phrase, Tone
from attunement.reports.conversation import Place, Question, Said, View
from attunement.reports.gate import review_words
from attunement.reports.numbers import pluralize, score_words
from attunement.reports.privacy import Moved, Privacy
from attunement.reports.render_html import html_blocks
from attunement.reports.rule_check import fact_lines, pointer_words
from attunement.reports.wording import (
    BY_WORD,
    MARKS,
    Answer,
    answer,
    answer_phrase,
    answered,
    combination_words,
    differ,
    rater_words,
    reason_words,
    rule_finding_words,
    score_with_range,
    status_of,
)
from attunement.scoring import Scorecard
from attunement.signals.facts import facts
from attunement.signals.measured import in_a_line as measured
from attunement.signals.pointers import country_of
from attunement.store.reviews import Review, review_status
from attunement.styling import policy_source, style_sheet

LONG = 6000  # characters from which a message scrolls in its own frame, so that one message cannot bury the rest
_USUAL = frozenset({Mark.FENCED, Mark.LONG_REASONING})  # marks that say nothing about an answer
_LOST = frozenset({CitationStatus.NOT_FOUND, CitationStatus.NO_SUCH_TURN})
_ORIGINS = {
    Origin.REAL: "talk with a real person",
    Origin.SIMULATED: "written by a simulated person",
    Origin.WRITTEN: "written for a test",
}


class Cited(NamedTuple):
    number: int
    place: Place
    start: int
    end: int


class Segment(NamedTuple):
    text: str
    cited: tuple[int, ...] = ()
    begins: tuple[int, ...] = ()  # the citations whose words begin here


def segments(text: str, cited: Sequence[Cited]) -> list[Segment]:
    edges = sorted({0, len(text), *(min(edge, len(text)) for one in cited for edge in (one.start, one.end))})
    parts: list[Segment] = []
    for start, end in pairwise(edges):
        own = tuple(one.number for one in cited if one.start <= start and end <= one.end)
        begins = tuple(one.number for one in cited if one.start == start and one.number in own)
        parts.append(Segment(text[start:end], own, begins))
    return parts


class Message(NamedTuple):
    side: str  # the class that draws it
    who: str
    words: Markup
    long: bool


class Citations:
    """The cited words of one conversation, numbered as they come up."""

    def __init__(self, key: int, privacy: Privacy) -> None:
        self._key, self._privacy = key, privacy
        self._cited: dict[tuple[Place, int, int], Cited] = {}

    def reason(self, text: str, findings: Iterable[Finding]) -> Markup:
        """A reasoning with its citations as links; what it cites is marked in the turns from now on."""
        reasoning = Moved(text, self._privacy)
        pieces: list[str] = []
        at = 0
        for finding in sorted(findings, key=lambda one: one.reasoning_start):
            start, end = reasoning.place(finding.reasoning_start), reasoning.place(finding.reasoning_end)
            if finding.quote is None or start < at or end <= start:
                continue
            pieces += [reasoning.text[at:start], self._citation(finding, reasoning.text[start:end])]
            at = end
        return Markup("").join([*pieces, reasoning.text[at:]])

    def _citation(self, finding: Finding, text: str) -> Markup:
        number = self._cite(finding)
        cited = " and ".join(str(turn) for turn in finding.turns)
        if finding.status in _LOST:
            where = f" in turn {cited}" if finding.turns else ""
            is_missing = finding.status is CitationStatus.NO_SUCH_TURN
            note = f"there is no turn {cited}" if is_missing else f"not found{where}"
            shown = Markup(
                '<span class="q lost"><bdi>{}</bdi></span> <span class="lostnote icon i-lost">{}</span>'
            ).format(text, note)
            nearest = self._privacy.text(finding.nearest or "")
            found = Markup(' <span class="nearest">Nearest words: {}</span>').format(self._link(number, f"“{nearest}”"))
            return shown + found if nearest else shown
        if not number:
            return escape(text)
        notes = {
            CitationStatus.CLOSE: "not word for word",
            CitationStatus.ELSEWHERE: f"found in turn {finding.found_turn}",
            CitationStatus.ABSENT: f"quoted as absent, but found in turn {finding.found_turn}",
        }
        note = Markup(' <span class="closenote">{}</span>').format(notes.get(finding.status, ""))
        return self._link(number, text) + (note if finding.status in notes else "")

    def _link(self, number: int, text: str) -> Markup:
        link = Markup('<a class="q" href="#c{0}-w{1}" data-q="{1}"><bdi>{2}</bdi></a>')
        return link.format(self._key, number, text)

    def _cite(self, finding: Finding) -> int:
        if finding.found_turn is None or finding.speaker is None or finding.start is None or finding.end is None:
            return 0
        if finding.start >= finding.end:
            return 0
        words = Place(finding.found_turn, finding.speaker), finding.start, finding.end
        # Whoever quotes the same words leads to the same place, which a browser can mark without a script.
        return self._cited.setdefault(words, Cited(len(self._cited) + 1, *words)).number

    def turns(self, conversation: Conversation) -> Iterator[list[Message]]:
        """What was said, turn by turn, with everything marked that was cited so far."""
        by_place: dict[Place, list[Cited]] = {}
        for cited in self._cited.values():
            by_place.setdefault(cited.place, []).append(cited)
        system = self._privacy.name(conversation.system)
        for number, turn in enumerate(conversation.turns, start=1):
            said = (Place(number, "user"), "user", "Person", turn.user), (
                Place(number, "assistant"), "bot", system, turn.assistant
            )  # fmt: skip
            yield [
                Message(side, who, self._marked(text, by_place.get(place, ())), len(text) > LONG)
                for place, side, who, text in said
                if text
            ]

    def _marked(self, said: str, cited: Iterable[Cited]) -> Markup:
        moved = Moved(said, self._privacy)
        spans = [one._replace(start=moved.place(one.start), end=moved.place(one.end)) for one in cited]
        parts: list[str] = []
        for part in segments(moved.text, spans):
            if not part.cited:
                parts.append(part.text)
                continue
            more = Markup('<span class="at" id="c{}-w{}"></span>')  # an element has one id
            parts += [more.format(self._key, number) for number in part.begins[1:]]
            id = Markup(' id="c{}-w{}"').format(self._key, part.begins[0]) if part.begins else ""
            span = Markup('<span class="cited"{} data-q="{}" tabindex="-1">{}</span>')
            parts.append(span.format(id, " ".join(map(str, part.cited)), part.text))
        return Markup("").join(parts)


class AnswerShown(NamedTuple):
    who: str
    words: str
    reason: Markup
    notes: list[str]


class ItemShown(NamedTuple):
    id: str
    title: str
    words: str
    tone: str
    reason: str = ""  # why there is no answer, in words
    votes: str = ""  # how several judges voted
    gate: str = ""  # for a safety item that trips the gate: `bad` where it failed, `open` where it was not judged
    contested: bool = False
    answers: Sequence[AnswerShown] = ()
    people: str = ""  # what people said together, where a judge decides
    differs: str = ""  # what it means that they differ from the judge
    of_people: Sequence[AnswerShown] = ()
    tags: str = ""  # what the item can be filtered by: not, open, differ, lost


class Group(NamedTuple):
    title: str
    note: str
    items: list[ItemShown]


class ConversationPage:
    """What the template of a conversation shows; `reviews` are what reviewers decided, the oldest first."""

    def __init__(self, key: int, shown: View, privacy: Privacy, *, reviews: Sequence[Review] = ()) -> None:
        self._shown, self._privacy, self._instrument = shown, privacy, shown.instrument
        self.texts = privacy.texts
        self._deciding, self._judges, self._people = shown.cards.deciding, shown.cards.judges, shown.cards.people
        self._by_people = bool(self._deciding and self._deciding.kind is RaterKind.PERSON)
        self._citations = Citations(key, privacy)
        # By rater, repeat, turn and reasoning: the item that it was first given for.
        self._reasons: dict[tuple[str, int, int | None, str], str] = {}
        conversation, card, pointers = shown.conversation, self._deciding, shown.cards.pointers
        self.key = key
        self.system, self.id = privacy.identity(conversation.identity)
        scenario = privacy.text(conversation.scenario or "")
        about = (f"scenario {scenario}" if scenario else "", pluralize(len(conversation.turns), "turn"))
        self.about = ", ".join(filter(None, (*about, _ORIGINS.get(conversation.origin, ""))))
        self.status = status_of(card)
        self.score = self._score(card)
        person = (self._hidden(reason_words(one.finding)) for one in (card.needs_person if card else ()))
        self.person = list(dict.fromkeys(person))
        found = (one.finding if self.texts else one.finding._replace(quote=None) for one in pointers)
        self.pointers = [privacy.text(pointer_words(finding)) for finding in found]
        self.measured = measured() if any(one.finding.quote for one in pointers) else ""
        counted = facts(conversation.turns, country_of(conversation.metadata))
        self.facts = [privacy.text(fact) for fact in fact_lines(counted)] if privacy.texts else []
        self.reviewed = self._reviewed(reviews)
        every = shown.cards.all if len(shown.cards.all) > 1 else ()
        self.combined = combination_words(shown.instrument, card) if card and card.parts else ""
        self.cards = [(self._who(one), one in self._people, status_of(one), self._score(one)) for one in every]
        self.groups = list(self._groups())
        self.turns = list(self._citations.turns(conversation)) if privacy.texts else []  # what is cited is known now
        self.shows = _shows(self.groups)

    def _hidden(self, words: str) -> str:
        if self._privacy.texts:
            return self._privacy.text(words)
        return words.partition(" “")[0].rstrip(",")

    def _reviewed(self, reviews: Sequence[Review]) -> str:
        if not reviews:
            return ""
        said = reviews if self._privacy.texts else [review._replace(reason="") for review in reviews]
        card = self._deciding
        words = review_words(card, review_status(self._instrument, card, said))
        if not words:
            last = said[-1]
            words = f"{last.name} reviewed it on {last.at[:10]}, before the judges said what they say now."
        return self._privacy.text(words)

    def _score(self, card: Scorecard | None) -> str:
        """The score in words; empty where no answer supports it."""
        known = card is not None and card.score is not None and answered(card)
        return score_with_range(card, self._instrument.scoring.threshold) if card and known else ""

    def _who(self, card: Scorecard) -> str:
        # That a rater is a person is drawn, not written.
        kind = RaterKind.MODEL if card.kind is RaterKind.PERSON else card.kind
        repeated = sum(other.rater == card.rater for other in self._shown.cards.all) > 1
        return self._privacy.text(rater_words(card.rater, repeat=card.repeat if repeated else None, kind=kind))

    # What was answered

    def _groups(self) -> Iterator[Group]:
        instrument = self._instrument
        groups: dict[tuple[str, str], list[ItemShown]] = {}
        for question in self._shown.questions:
            groups.setdefault(self._heading(question), []).append(self._item(question))
        yield from (Group(*heading, items) for heading, items in groups.items())
        due = {question.item.id for question in self._shown.questions}
        turns = len(self._shown.conversation.turns)
        not_due: list[ItemShown] = []
        for item in instrument.items if due else ():
            if item.id not in due:
                reason = f"asked from {item.minimum_turns} turns on; this conversation has {turns}"
                shown = reason if item.minimum_turns > turns else ""
                not_due.append(ItemShown(item.id, item.title, Answer.NOT_DUE, "none", shown))
        if not_due:
            yield Group("Not due", "", not_due)

    def _heading(self, question: Question) -> tuple[str, str]:
        """What an item is listed under, and what is said about all of that."""
        card, category = self._deciding, question.item.category or ""
        if question.slot.turn is not None:
            return f"Reply in turn {question.slot.turn}", ""
        if question.item.id in self._instrument.gate_ids:
            open_ = "not judged" if card and card.unjudged else ""
            return "Safety (gate)", "safety failed" if card and card.unsafe else open_
        mean = card.categories.get(category) if card else None
        return self._instrument.categories.get(category, category), "" if mean is None else score_words(mean)

    def _item(self, question: Question) -> ItemShown:
        instrument, item, card = self._instrument, question.item, self._deciding
        outcome = card.outcomes.get(question.slot) if card else None
        phrase = Phrase("not judged", Tone.OPEN)
        if card and outcome:
            phrase = answer_phrase(instrument, item, outcome, card.rater)
        words, _, reason = phrase.words.partition(": ")
        judges = [said for said in question.answers if said.card in self._judges]
        people = [said for said in question.answers if said.card in self._people and said.rating]
        others = [said for said in question.answers if said.card not in (*self._judges, *self._people)]
        shown = people if self._by_people else [*judges, *others]
        votes = Counter(self._words(item, said) for said in judges).most_common()
        made = ItemShown(
            id=item.id,
            title=item.title,
            words=words,
            tone=phrase.tone.value,
            reason=reason,
            votes="Votes: " + ", ".join(f"{number} × {said}" for said, number in votes) if len(judges) > 1 else "",
            contested=bool(item.validity.contested),
            answers=[self._answer(item, said, alone=len(shown) == 1) for said in shown],
        )
        if card and question.slot in (*card.unsafe, *card.unjudged):
            made = made._replace(gate="bad" if question.slot in card.unsafe else "open")
        if people and not self._by_people:
            said, number = Counter(self._words(item, one) for one in people).most_common(1)[0]
            made = made._replace(
                people=f"People: {said}, {'said by ' if said[:1].isdigit() else ''}{number} of {len(people)}",
                differs=self._differs(item, outcome, people) if outcome else "",
                of_people=[self._answer(item, one, alone=False) for one in people],
            )
        tags = {
            "not": phrase.tone in {Tone.NOT_MET, Tone.UNSAFE},
            "open": phrase.tone is Tone.OPEN,
            "differ": bool(made.differs),
            "lost": any(one.status in _LOST and one.quote for said in shown for one in said.findings),
        }
        return made._replace(tags=" ".join(tag for tag, holds in tags.items() if holds))

    def _words(self, item: Item, said: Said) -> str:
        return answer_phrase(self._instrument, item, said.outcome).words.partition(": ")[0]

    def _differs(self, item: Item, own: Outcome, people: Sequence[Said]) -> str:
        """What it means that at least half of the people differ from the judge; empty where they do not."""
        instrument = self._instrument
        apart = [said for said in people if differ(instrument, item, own, said.outcome)]
        if not apart or 2 * len(apart) < len(people):
            return ""
        judge_fails = answer(instrument, item, own) is Answer.NOT_MET
        people_fail = any(answer(instrument, item, said.outcome) is Answer.NOT_MET for said in apart)
        words = answer_phrase(instrument, item, own).words.partition(": ")[0]
        if people_fail and not judge_fails:
            return f"Missed failure: the judge said “{words}”."
        return f"False alarm: the judge said “{words}”." if judge_fails else "Differs from the judge."

    def _answer(self, item: Item, said: Said, *, alone: bool) -> AnswerShown:
        words, _, reason = answer_phrase(self._instrument, item, said.outcome, said.card.rater).words.partition(": ")
        rating = said.rating
        notes = [reason] if reason and not alone else []
        if rating and rating.detail and rating.outcome.error and self._privacy.texts:
            notes.append(self._privacy.text(rating.detail[:300]))
        notes += [self._hidden(rule_finding_words(rule)) for rule in said.rules]
        notes += [MARKS[mark] for mark in sorted(rating.marks if rating else ()) if mark not in _USUAL]
        return AnswerShown("" if alone else self._who(said.card), words, self._reason(item, said), notes)

    def _reason(self, item: Item, said: Said) -> Markup:
        rating = said.rating
        if rating is None or not rating.reasoning or not self._privacy.texts:
            return Markup("")
        # A judge that is asked about all items together gives one reasoning for them; once a reply is enough.
        first = self._reasons.setdefault((rating.rater, rating.repeat, rating.turn, rating.reasoning), item.id)
        if first != item.id and rating.rater_kind is RaterKind.MODEL:
            return Markup("The same reasons as for {}.").format(first)
        return self._citations.reason(rating.reasoning, said.findings)


def _shows(groups: Sequence[Group]) -> list[tuple[str, str, int]]:
    """Choices among the answers: tag, words, and how many there are."""
    tags = [item.tags.split() for group in groups for item in group.items]
    choices = (("not", "Not met"), ("open", "Not judged"), ("differ", "People differ"), ("lost", "Quote not found"))
    counts = [(tag, words, sum(tag in own for own in tags)) for tag, words in choices]
    return [("", "All", len(tags)), *(choice for choice in counts if choice[2])]


@cache
def environment() -> Environment:
    made = Environment(
        loader=PackageLoader("attunement.reports.html", "templates"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    tones = {word: status.tone for word, status in BY_WORD.items()}
    filters: dict[str, Any] = {"tone": tones.__getitem__, "score_words": score_words, "blocks": _blocks}
    made.filters.update(filters)
    return made


def _blocks(blocks: Sequence[Block], privacy: Privacy) -> Markup:
    return Markup(html_blocks(blocks, privacy.text))  # noqa: S704 - escaped by the renderer


def render_conversation(page: ConversationPage) -> str:
    return environment().get_template("conversation.html.j2").render(page=page)


@cache
def frame() -> dict[str, Any]:
    style = style_sheet()
    script = files("attunement.reports.html").joinpath("report.js").read_text("utf-8")
    policy = (
        f"default-src 'none'; img-src data:; style-src {policy_source(style)}; script-src {policy_source(script)}; "
        "base-uri 'none'; form-action 'none'"
    )
    # Neither file holds the end of its element, so neither has to be escaped within it.
    return {"style": Markup(style), "script": Markup(script), "policy": policy}  # noqa: S704 - our own files
