"""How does one conversation look on a terminal, with the quoted words marked in its turns?

Quoted words stand underlined between ⟦ and ⟧, with the items that quote them behind, so that they can be found without
colour as well. Below the turns stands each item with everybody's answer, reasons, and what became of each citation.
"""

from collections.abc import Iterator

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from attunement.evidence import Finding, Speaker, Standing
from attunement.instruments import Instrument, Item, Scores
from attunement.reports import wording
from attunement.reports.conversation import Place, Question, Region, Said, View
from attunement.reports.legible import MARKS, in_a_line, legible
from attunement.reports.rule_check import fact_lines, pointer_words
from attunement.reports.terminal import QUIET, STYLES, bullets, heading, line, phrase, plain_table
from attunement.reports.wording import Tone, counted
from attunement.scoring import Scorecard, Slot
from attunement.signals.facts import facts
from attunement.signals.measured import in_a_line as figures
from attunement.signals.pointers import country_of

_SPEAKERS: tuple[tuple[Speaker, str], ...] = (("user", "Person"), ("assistant", "Assistant"))
_HELD = frozenset({Standing.FOUND, Standing.UNCITED, Standing.ABSENT, Standing.CRITERION, Standing.UNQUOTED})


_MOST_ITEMS = 4
"""Items named behind quoted words; more would bury the words."""


def draw_view(shown: View, console: Console) -> None:
    """Print one conversation with its verdicts, its turns and its answers."""
    conversation, instrument = shown.conversation, shown.instrument
    console.print(line(str(conversation.identity), "bold"))
    about = f"{counted(len(conversation.turns), 'turn')} · {instrument.title} ({instrument.id} {instrument.version})"
    console.print(line(about, QUIET))
    if not shown.cards.all:
        console.print("\nNot judged with this instrument yet.", style=STYLES[Tone.OPEN])
    _draw_pointers(shown, console)
    for card in (shown.cards.panel, *shown.cards.all) if shown.cards.panel else shown.cards.all:
        console.print()
        _draw_card(shown, card, console)
    if shown.cards.all and isinstance(instrument.scale, Scores):
        console.print()
        console.print(_scores(shown))
        if any(card.needs_person for card in shown.cards.all):
            console.print("! a person must look before this counts as good", style=QUIET)
    console.print()
    console.print(heading("What was said"))
    if shown.regions:
        console.print(
            f"Quoted words stand between {MARKS[0]} and {MARKS[1]}, with the items that quote them; "
            "≈ marks words that are quoted nearly.",
            style=QUIET,
        )
    _draw_turns(shown, console)
    if shown.questions:
        console.print()
        console.print(heading("What was answered"))
        _draw_questions(shown, console)


def _draw_card(shown: View, card: Scorecard, console: Console) -> None:
    instrument, threshold = shown.instrument, shown.instrument.scoring.threshold
    console.print(Text.assemble(line(_who(shown, card), "bold"), "  ", phrase(wording.verdict_phrase(card))))
    facts: list[str] = []
    if threshold is not None:
        facts.append(f"Score {wording.score_with_range(card, threshold)}, pass mark {wording.score_words(threshold)}.")
        if any(item.validity.contested for item in instrument.items):
            facts.append(f"Without contested items {wording.score_words(card.uncontested)}.")
    if card.open:
        facts.append(f"No answer: {counted(len(card.open), 'question')}.")
    if facts:
        console.print(Padding(line(" ".join(facts)), (0, 0, 0, 2)))
    means = [
        f"{instrument.categories.get(category, category)} {wording.score_words(mean)}"
        for category, mean in card.categories.items()
    ]
    if means:
        console.print(Padding(line(" · ".join(means), QUIET), (0, 0, 0, 2)))
    if card.needs_person:
        reasons = dict.fromkeys(wording.reason_words(spoken.finding) for spoken in card.needs_person)
        console.print(Padding(line(f"Needs a person: {'; '.join(reasons)}.", "bold"), (0, 0, 0, 2)))


def _scores(shown: View) -> Table:
    """Each reply with all its scores, side by side."""
    table = plain_table()
    table.add_column("Turn", justify="right")
    table.add_column("Rater")
    for item in shown.instrument.items:
        table.add_column(line(item.id), justify="right")
    cards = (shown.cards.panel, *shown.cards.all) if shown.cards.panel else shown.cards.all
    for turn in dict.fromkeys(question.slot.turn for question in shown.questions):
        for card in cards:
            cells = [_score(shown.instrument, item, card, Slot(turn, item.id)) for item in shown.instrument.items]
            table.add_row(str(turn or ""), line(_who(shown, card) if card.repeat is not None else "together"), *cells)
    return table


def _score(instrument: Instrument, item: Item, card: Scorecard, slot: Slot) -> Text:
    outcome = card.outcomes.get(slot)
    if outcome is None:
        return Text("–")
    if not isinstance(outcome.value, int):
        return Text("not judged", STYLES[Tone.OPEN])
    doubt = "!" if any(spoken.slot == slot for spoken in card.needs_person) else ""
    return Text(f"{outcome.value}{doubt}", STYLES[wording.answer_phrase(instrument, item, outcome).tone])


def _who(shown: View, card: Scorecard) -> str:
    if card.repeat is None:
        return wording.together_words(card.members, card.kind)
    repeated = sum(other.rater == card.rater for other in shown.cards.all) > 1
    repeat = card.repeat if repeated else None
    return wording.rater_words(card.rater, repeat=repeat, kind=card.kind)


def _draw_turns(shown: View, console: Console) -> None:
    for number, turn in enumerate(shown.conversation.turns, start=1):
        console.print()
        console.print(f"Turn {number}", style="bold")
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(width=9, style=QUIET)
        grid.add_column(ratio=1, overflow="fold")
        for (speaker, label), message in zip(_SPEAKERS, turn, strict=True):
            if message:
                grid.add_row(label, marked(message, shown.regions.get(Place(number, speaker), [])))
        console.print(Padding(grid, (0, 0, 0, 2)))


def marked(message: str, regions: list[Region]) -> Text:
    """A message with its quoted words marked; the rest is shown as it is."""
    text, said = Text(overflow="fold"), legible(message)
    at = 0
    for region in regions:
        text.append(said[at : region.start])
        text.append(MARKS[0], "bold")
        text.append(said[region.start : region.end], "underline")
        more = f"+{len(region.items) - _MOST_ITEMS}" if len(region.items) > _MOST_ITEMS else ""
        items = ",".join(region.items[:_MOST_ITEMS])
        text.append(f"{MARKS[1]}{'' if region.exact else '≈'}{items}{more}", "bold")
        at = region.end
    return text.append(said[at:])


def _draw_questions(shown: View, console: Console) -> None:
    turn: int | None = None
    for question in shown.questions:
        if question.slot.turn != turn:
            turn = question.slot.turn
            console.print()
            console.print(f"Reply in turn {turn}", style="bold")
        console.print()
        console.print(_title(shown.instrument, question.item))
        if question.together and shown.cards.panel:
            words = wording.answer_phrase(shown.instrument, question.item, question.together)
            console.print(Padding(Text.assemble("together: ", phrase(words)), (0, 0, 0, 2)))
        for said in question.answers:
            for part in _said(shown, question, said):
                console.print(part)
    due = {question.item.id for question in shown.questions}
    for item in shown.instrument.items:
        if item.id not in due:
            console.print()
            console.print(_title(shown.instrument, item))
            short = item.minimum_turns > len(shown.conversation.turns)
            why = f" (from {counted(item.minimum_turns, 'turn')} on)" if short else ""
            console.print(Padding(line(f"{wording.Answer.NOT_DUE}{why}", QUIET), (0, 0, 0, 2)))


def _draw_pointers(shown: View, console: Console) -> None:
    """What the rule check points to, and what can be counted."""
    if shown.cards.pointers:
        console.print("\nThe rule check points to:", style="bold")
        console.print(bullets(line(pointer_words(spoken.finding)) for spoken in shown.cards.pointers))
        console.print(line(figures(), QUIET))
    conversation = shown.conversation
    console.print("\nCounted:", style="bold")
    found = facts(conversation.turns, country_of(conversation.metadata))
    console.print(bullets(line(fact) for fact in fact_lines(found)))


def _title(instrument: Instrument, item: Item) -> Text:
    notes = [
        word
        for word, holds in (("safety", item.id in instrument.gate_ids), ("contested", item.validity.contested))
        if holds
    ]
    title = Text.assemble(line(item.id, QUIET), "  ", line(item.title, "bold"))
    return title.append(f"  ({', '.join(notes)})", QUIET) if notes else title


def _said(shown: View, question: Question, said: Said) -> Iterator[Padding]:
    words = wording.answer_phrase(shown.instrument, question.item, said.outcome, said.card.rater)
    head = phrase(words)
    if len(shown.cards.all) > 1:
        head = Text.assemble(line(f"{_who(shown, said.card)}: "), head)
    yield Padding(head, (0, 0, 0, 2))
    rating = said.rating
    if rating and rating.detail and rating.outcome.error:
        yield Padding(line(in_a_line(rating.detail, 300), QUIET), (0, 0, 0, 4))
    if rating and rating.reasoning:
        yield Padding(line(rating.reasoning), (0, 0, 0, 4))
    if said.findings:
        yield Padding(bullets(_finding(finding) for finding in said.findings), (0, 0, 0, 2))
    for rule in said.rules:
        yield Padding(line(f"! {wording.rule_finding_words(rule)}", "bold"), (0, 0, 0, 4))
    if rating:
        for mark in sorted(rating.marks):
            yield Padding(line(f"note: {wording.MARKS[mark]}", QUIET), (0, 0, 0, 4))


def _finding(finding: Finding) -> Text:
    """A citation and what became of it."""
    text = Text(overflow="fold")
    if finding.quote:
        text.append(f"“{in_a_line(finding.quote)}”: ")
    held = finding.standing in _HELD
    text.append(legible(wording.finding_words(finding)), QUIET if held else STYLES[Tone.NOT_MET])
    if finding.nearest:
        text.append(f" “{in_a_line(finding.nearest)}”")
    return text
