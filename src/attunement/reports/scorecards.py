"""Scorecards, the gate's decision and one conversation as blocks.

Sentences come first, then tables. Quoted words of a conversation are underlined between ⟦ and ⟧, followed by the items
that quote them, so that they can be found without color as well. Below the turns is each item with everybody's answer,
reasons, and what became of each citation.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations

from rich.console import Console
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text as Line

from attunement.conversations import Identity
from attunement.evidence import CitationStatus, Finding, Speaker
from attunement.instruments import Instrument, Item, Scores
from attunement.reports import wording
from attunement.reports.blocks import (
    Block,
    Bullets,
    Cell,
    Column,
    Document,
    LabelRow,
    LabelRows,
    Phrase,
    Row,
    Section,
    Table,
    Text,
    Tone,
    Words,
    texts,
)
from attunement.reports.conversation import Place, Question, Region, Said, View
from attunement.reports.gate import STOPPED, THROUGH, UNDECIDED, WORDS, Decision, Kind
from attunement.reports.numbers import NONE, pluralize, score_words, share_words
from attunement.reports.overview import Overview, RaterScores, Tally
from attunement.reports.render_terminal import QUIET, draw, draw_blocks, heading
from attunement.reports.rule_check import fact_lines, pointer_words
from attunement.reports.sanitize import MARKS, for_terminal, in_a_line
from attunement.reports.wording import VERDICTS, Answer
from attunement.scoring import Flips, Scorecard, Slot, Verdict
from attunement.signals.facts import facts
from attunement.signals.measured import in_a_line as measured
from attunement.signals.pointers import PointerKind, country_of

_MOST_SYSTEMS, _MOST_NAMES, _MOST_POINTERS = 8, 5, 20
_MOST_ITEMS = 4  # named behind quoted words; more would bury the words


# Scorecards


def overview_document(shown: Overview, *, reworded: Sequence[str] = (), notes: Sequence[str] = ()) -> Document:
    """The scorecards of a study. `reworded` are items that were never asked in the instrument's wording.

    `notes` come before the first rater: what a reader must know to take the right one for theirs.
    """
    instrument, threshold = shown.instrument, shown.instrument.scoring.threshold
    mark = "This instrument has no pass mark: it reports flags, not an overall score."
    changed = [wording.reworded_words(reworded)] if reworded else []
    blocks: list[Block] = [*texts([*changed, *notes], Tone.OPEN)]
    if not shown.raters:
        number = pluralize(shown.conversations, "conversation")
        blocks.append(Text(f"{number}. None of them is judged with this instrument."))
    if shown.rule_check.read:
        found: list[Block] = [*texts(shown.rule_check.sentences())]
        if shown.rule_check.pointers:
            found += [Text("Look at:", Tone.STRONG), Bullets(list(shown.rule_check.lines(_MOST_POINTERS)))]
        blocks.append(Section("Rule check", found))
    # Where all judges together decide, theirs is the list to read; --rater has those of each.
    together = bool(shown.raters) and shown.raters[0].who.repeat is None
    for scores in shown.raters:
        who, tally = scores.who, scores.tally
        title = wording.together_words(scores.members, who.kind)
        if who.repeat is not None:
            repeat = who.repeat if who.rater in shown.repeats.again else None
            title = wording.rater_words(who.rater, repeat=repeat, kind=who.kind)
        brief = together and who.repeat is not None
        made = list(_rater(instrument, scores, tally, brief=brief))
        if scores.combined:
            made.insert(0, Text(wording.combination_words(instrument, scores.combined), Tone.QUIET))
        blocks.append(Section(title, made))
    blocks += _flips(shown)
    if shown.cautions:
        blocks.append(Bullets([Phrase(caution, Tone.QUIET) for caution in shown.cautions]))
    title = f"{instrument.title} ({instrument.id} {instrument.version})"
    return Document(title, blocks, mark if threshold is None else f"Pass mark {score_words(threshold)}.")


def _rater(instrument: Instrument, scores: RaterScores, tally: Tally, *, brief: bool) -> Iterator[Block]:
    yield Text(counts_words(instrument, tally))
    if not brief and 1 < len(scores.systems) <= _MOST_SYSTEMS:
        systems = sorted(scores.systems.items())
        yield Bullets([f"{system}: {counts_words(instrument, own)}" for system, own in systems])
    if not brief and scores.absent:
        yield Text(f"Without any rating: {names(scores.absent)}.", Tone.OPEN)
    for entry in instrument.gate:
        if entry.fails_at is not None:
            given = {score: number for score, number in tally.given(entry.item).items() if isinstance(score, int)}
            low = sum(number for score, number in given.items() if score <= entry.fails_at)
            text = f"Replies with {entry.item} of {entry.fails_at} or less: {share_words(low, sum(given.values()))}."
            yield Text(text, Tone.UNSAFE if low else Tone.NONE)
    if brief:
        return
    if isinstance(instrument.scale, Scores):
        yield _levels(instrument, instrument.scale, tally)
    if scores.cards:
        yield _cards(instrument, scores)
    if scores.left_out:
        most = len(scores.cards) + scores.left_out
        yield Text(f"{scores.left_out:,} more; --limit {most} shows all.", Tone.QUIET)
    if watched := [card for card in scores.cards if card.needs_person]:
        yield Text("Needs a person:", Tone.STRONG)
        yield Bullets([in_a_line(f"{card.conversation}: {_reasons(card)}", 400) for card in watched])
    yield from _not_met(instrument, tally)
    present = {card.verdict for card in scores.cards}
    if meanings := [(VERDICTS[verdict], words) for verdict, words in wording.MEANINGS.items() if verdict in present]:
        yield LabelRows([LabelRow(*meaning) for meaning in meanings])


def counts_words(instrument: Instrument, tally: Tally) -> str:
    """The counts in sentences; `unsafe` and `safety not judged` never share one number."""
    verdicts = tally.verdicts
    said = [f"{pluralize(tally.conversations, 'conversation')}."]
    if tally.not_judged:
        said.append(f"Not judged: {tally.not_judged:,}.")
    if tally.absent == tally.conversations:
        return " ".join(said)
    always: tuple[Verdict, ...] = ()
    if instrument.scoring.threshold is None:
        always = Verdict.FLAGGED, Verdict.SAFETY_NOT_JUDGED
    else:
        said.append(f"Pass: {share_words(tally.passed, tally.conversations)}.")
        if verdicts[Verdict.FAIL]:
            said.append(f"Fail: {verdicts[Verdict.FAIL]:,}.")
        missing = verdicts[Verdict.SAFETY_MISSING]
        said.append(f"Rejected: {verdicts[Verdict.UNSAFE]:,} unsafe, {missing:,} safety not judged.")
    said += [
        f"{VERDICTS[verdict].words}: {verdicts[verdict]:,}."
        for verdict in (*always, Verdict.INCOMPLETE, Verdict.NO_FLAG)
        if verdict in always or verdicts[verdict]
    ]
    if tally.needs_person:
        said.append(f"Needs a person: {tally.needs_person:,}.")
    return " ".join(said)


def _cards(instrument: Instrument, scores: RaterScores) -> Table:
    threshold = instrument.scoring.threshold
    columns = [Column("Conversation", width=24), Column("Verdict", width=18)]
    columns += [Column("Score", width=22)] if threshold is not None else []
    columns.append(Column("Lowest" if isinstance(instrument.scale, Scores) else "Not met"))
    rows: list[Row] = []
    for card in scores.cards:
        name = [in_a_line(card.conversation.id)]
        system = [Phrase(in_a_line(card.conversation.system), Tone.QUIET)] if len(scores.systems) > 1 else []
        person = [Phrase("needs a person", Tone.STRONG)] if card.needs_person else []
        cells: list[Cell] = [[*name, *system], [wording.verdict_phrase(card), *person]]
        if threshold is not None:
            score: list[Words] = [wording.score_with_range(card, threshold)]
            if (uncontested := score_words(card.uncontested)) != score_words(card.score):
                score.append(Phrase(f"{uncontested} without contested", Tone.QUIET))
            cells.append(score)
        rows.append(Row([*cells, _failed(instrument, card)]))
    return Table(columns, rows)


def _failed(instrument: Instrument, card: Scorecard) -> list[Words]:
    """What was not met, safety on a line of its own; for scores the lowest safety score with its turn."""
    found: list[Words] = []
    if not isinstance(instrument.scale, Scores):
        items = dict.fromkeys(slot.item for slot in card.failed)
        for gate, tone in ((True, Tone.UNSAFE), (False, Tone.NONE)):
            if own := ", ".join(item for item in items if (item in instrument.gate_ids) == gate):
                found.append(Phrase(own, tone))
        if disputed := dict.fromkeys(slot.item for slot in card.disputed):
            found.append(Phrase(f"disputed: {', '.join(disputed)}", Tone.QUIET))
        return found
    for entry in instrument.gate:
        outcomes = ((slot, outcome.value) for slot, outcome in card.outcomes.items() if slot.item == entry.item)
        scores = [(slot, score) for slot, score in outcomes if isinstance(score, int)]
        if scores:
            slot, score = min(scores, key=lambda pair: pair[1])
            low = entry.fails_at is not None and score <= entry.fails_at
            where = f", turn {slot.turn}" if slot.turn and len(scores) > 1 else ""
            found.append(Phrase(f"{entry.item} {score}{where}", Tone.UNSAFE if low else Tone.NONE))
    return found


def _levels(instrument: Instrument, scale: Scores, tally: Tally) -> Table:
    """How often each score was given. Counts, because a mean hides the replies that matter."""
    titles = [*map(str, scale.answers), "not judged"]
    rows: list[Row] = []
    for item in instrument.items:
        count = tally.given(item.id)
        numbers = [*(count[int(score)] for score in scale.answers), count[Answer.NOT_JUDGED]]
        rows.append(Row([item.id, *(f"{number:,}" if number else NONE for number in numbers)]))
    return Table([Column("Replies with a score of"), *(Column(title, numeric=True) for title in titles)], rows)


def _reasons(card: Scorecard) -> str:
    return "; ".join(dict.fromkeys(wording.reason_words(spoken.finding) for spoken in card.needs_person))


def _not_met(instrument: Instrument, tally: Tally) -> Iterator[Table]:
    """Each criterion that was not met somewhere, with its title: the legend of the table and where to begin."""
    counts = ((item, tally.given(item.id)) for item in instrument.items)
    found = [(item, count[Answer.NOT_MET], count[Answer.MET]) for item, count in counts if count[Answer.NOT_MET]]
    # Safety first, then what is missed most often.
    found.sort(key=lambda row: (row[0].id not in instrument.gate_ids, -row[1]))
    rows: list[Row] = []
    for item, missed, met in found:
        labels = "".join(f" ({label.words})" for label in _labels(instrument, item))
        tone = Tone.UNSAFE if item.id in instrument.gate_ids else Tone.NONE
        rows.append(Row([f"{missed:,} of {missed + met:,}", item.id, f"{item.title}{labels}"], tone))
    if rows:
        yield Table([Column("Not met", numeric=True), Column("Item"), Column("Title")], rows)


def _flips(shown: Overview) -> Iterator[Section]:
    asked = [(f"{rater}, asked again", items) for rater, items in shown.repeats.again.items()]
    asked += [("all judges", shown.repeats.between)] if shown.repeats.between else []
    rows = [
        Row([f"{item.id} {item.title}", *(_same(items.get(item.id)) for _, items in asked)])
        for item in shown.instrument.items
        if any(items[item.id].differing for _, items in asked if item.id in items)
    ]
    if asked:
        columns = [Column("Item"), *(Column(title, numeric=True) for title, _ in asked)]
        rates = texts(shown.repeats.sentences(shown.instrument))
        how = "How many questions got the same answer each time, for items where some did not. Errors are no answers."
        alike = "Everybody gave the same answers. Errors are no answers."
        table = [Text(how, Tone.QUIET), Table(columns, rows)] if rows else [Text(alike, Tone.QUIET)]
        yield Section("Same answer", [*rates, *table])


def _same(count: Flips | None) -> str:
    return share_words(count.compared - count.differing, count.compared) if count else NONE


# The gate

_OUTCOMES = {THROUGH: Tone.MET, STOPPED: Tone.NOT_MET, UNDECIDED: Tone.OPEN}


def decision_document(decision: Decision, instrument: Instrument | None) -> Document:
    """What the gate decides, why, the counts behind it, and what all that does not show."""
    blocks: list[Block] = [Text(decision.accepted, Tone.STRONG)] if decision.accepted else []
    points: list[Cell] = []
    for reason in decision.reasons:
        tone = _OUTCOMES[reason.exit_code] if reason.exit_code else Tone.NONE
        point: list[Words] = [Phrase(reason.text, Tone.UNSAFE if reason.kind is Kind.UNSAFE else tone)]
        point += [Phrase(names(reason.conversations), Tone.QUIET)] if reason.conversations else []
        points.append(point)
    blocks.append(Text(WORDS[decision.exit_code], _OUTCOMES[decision.exit_code]))
    blocks += [Bullets(points)] if points else []
    if instrument:
        blocks.append(Text(counts_words(instrument, decision.tally)))
    if decision.notes:
        blocks.append(Section("How far this goes", [Bullets(decision.notes)]))
    return Document("", blocks)


def names(conversations: Sequence[Identity]) -> str:
    shown = ", ".join(in_a_line(str(identity), 80) for identity in conversations[:_MOST_NAMES])
    more = len(conversations) - _MOST_NAMES
    return f"{shown} and {more:,} more" if more > 0 else shown


# One conversation

_FINE = frozenset(
    {
        CitationStatus.FOUND,
        CitationStatus.UNCITED,
        CitationStatus.ABSENT,
        CitationStatus.CRITERION,
        CitationStatus.UNQUOTED,
    }
)
_SPEAKERS: tuple[tuple[Speaker, str], ...] = (("user", "Person"), ("assistant", "Assistant"))


def draw_view(shown: View, console: Console, *, every: bool = False) -> None:
    """One conversation: verdicts, what was said, and what is not met or in dispute; with `every` all items."""
    conversation, instrument = shown.conversation, shown.instrument
    about = f"{pluralize(len(conversation.turns), 'turn')} · {instrument.title} ({instrument.id} {instrument.version})"
    blocks: list[Block] = [*_pointers(shown)]
    if not shown.cards.all:
        blocks.insert(0, Text("Not judged with this instrument yet.", Tone.OPEN))
    else:
        blocks.append(Section("Verdicts", list(_verdicts(shown))))
        if isinstance(instrument.scale, Scores):
            blocks.append(_scores(shown, every=every))
    draw(Document(str(conversation.identity), blocks, about), console)
    console.print()
    console.print(heading("What was said"))
    if shown.regions:
        marks = f"Quoted words are between {MARKS[0]} and {MARKS[1]}, with the items that quote them; "
        console.print(f"{marks}≈ marks words that are quoted almost word for word.", style=QUIET)
    for number, turn in enumerate(conversation.turns, start=1):
        grid = Grid.grid(padding=(0, 2, 0, 0))
        grid.add_column(width=9, style=QUIET)
        grid.add_column(ratio=1, overflow="fold")
        for (speaker, label), message in zip(_SPEAKERS, turn, strict=True):
            if message:
                grid.add_row(label, marked(message, shown.regions.get(Place(number, speaker), [])))
        console.print(f"\nTurn {number}", style="bold")
        console.print(Padding(grid, (0, 0, 0, 2)))
    if shown.questions:
        title = "What was answered" if every else "Not met, not judged, or in dispute"
        draw_blocks([Section(title, list(_questions(shown, every=every)))], console)


def marked(message: str, regions: list[Region]) -> Line:
    """A message with its quoted words marked; the rest is shown as it is."""
    text, shown = Line(overflow="fold"), for_terminal(message)
    at = 0
    for region in regions:
        text.append(shown[at : region.start]).append(MARKS[0], "bold")
        text.append(shown[region.start : region.end], "underline")
        more = f"+{len(region.items) - _MOST_ITEMS}" if len(region.items) > _MOST_ITEMS else ""
        items = ",".join(region.items[:_MOST_ITEMS])
        text.append(f"{MARKS[1]}{'' if region.exact else '≈'}{items}{more}", "bold")
        at = region.end
    return text.append(shown[at:])


def _all_cards(shown: View) -> tuple[Scorecard, ...]:
    return (shown.cards.panel, *shown.cards.all) if shown.cards.panel else shown.cards.all


def _who(shown: View, card: Scorecard) -> str:
    if card.repeat is None:
        return wording.together_words(card.members, card.kind)
    repeated = sum(other.rater == card.rater for other in shown.cards.all) > 1
    return wording.rater_words(card.rater, repeat=card.repeat if repeated else None, kind=card.kind)


def _pointers(shown: View) -> Iterator[Block]:
    found = [spoken.finding for spoken in shown.cards.pointers if spoken.finding.rule != PointerKind.NOT_ENGLISH]
    if len(found) < len(shown.cards.pointers):
        yield Text("Rule check: not English, not looked at.", Tone.STRONG)
    if found:
        yield Text("The rule check points to:", Tone.STRONG)
        yield Bullets([pointer_words(finding) for finding in found])
        yield Text(measured(), Tone.QUIET)
    yield Text("Counted:", Tone.STRONG)
    counts = facts(shown.conversation.turns, country_of(shown.conversation.metadata))
    yield Bullets(list(fact_lines(counts)))


def _verdicts(shown: View) -> Iterator[Block]:
    """A row for each rater, then how the combined verdict came about and what a person must look at."""
    instrument, threshold = shown.instrument, shown.instrument.scoring.threshold
    columns = [Column("Rater"), Column("Verdict")] + [Column("Score")] * (threshold is not None)
    rows: list[Row] = []
    for card in _all_cards(shown):
        score = [] if threshold is None else [wording.score_with_range(card, threshold)]
        left_open = [f"{pluralize(len(card.open), 'question')} without an answer"] if card.open else []
        rows.append(
            Row([_who(shown, card), wording.verdict_phrase(card), *score, [*_failed(instrument, card), *left_open]])
        )
    yield Table([*columns, Column("Lowest" if isinstance(instrument.scale, Scores) else "Not met")], rows)
    deciding = shown.cards.deciding
    if threshold is not None:
        contested = deciding if any(item.validity.contested for item in instrument.items) else None
        without = f" Without contested items the score is {score_words(contested.uncontested)}." if contested else ""
        yield Text(f"The pass mark is {score_words(threshold)}.{without}")
    if deciding and deciding.parts:
        yield Text(wording.combination_words(instrument, deciding))
    for card in _all_cards(shown):
        if card.needs_person:
            according = f", according to {_who(shown, card)}" if len(shown.cards.all) > 1 else ""
            yield Text(f"Needs a person{according}: {_reasons(card)}.", Tone.STRONG)


def _scores(shown: View, *, every: bool) -> Table:
    """Each reply with all its scores, side by side; of several raters their panel's, unless everything is asked for."""
    items, deciding = shown.instrument.items, shown.cards.deciding
    cards = [deciding] if deciding and not every else _all_cards(shown)
    rows: list[Row] = []
    for turn in dict.fromkeys(question.slot.turn for question in shown.questions):
        for card in cards:
            who = _who(shown, card) if card.repeat is not None else "together"
            scores = [_score(shown.instrument, item, card, Slot(turn, item.id)) for item in items]
            rows.append(Row([str(turn or ""), who, *scores]))
    columns = [Column("Turn", numeric=True), Column("Rater"), *(Column(item.id, numeric=True) for item in items)]
    return Table(columns, rows)


def _score(instrument: Instrument, item: Item, card: Scorecard, slot: Slot) -> Words:
    outcome = card.outcomes.get(slot)
    if outcome is None:
        return NONE
    if not isinstance(outcome.value, int):
        return Phrase("not judged", Tone.OPEN)
    doubt = "!" if any(spoken.slot == slot for spoken in card.needs_person) else ""
    return Phrase(f"{outcome.value}{doubt}", wording.answer_phrase(instrument, item, outcome).tone)


def _questions(shown: View, *, every: bool) -> Iterator[Block]:
    instrument, turn = shown.instrument, None
    questions = [question for question in shown.questions if every or in_question(instrument, question)]
    for question in questions:
        if question.slot.turn != turn:
            turn = question.slot.turn
            yield Text(f"Reply in turn {turn}", Tone.STRONG)
        yield _item_section(instrument, question.item, [LabelRows(list(_answers(shown, question, every=every)))])
    if left_out := len(shown.questions) - len(questions):
        yield Text(
            f"{pluralize(left_out, 'more answer is', 'more answers are')} good or not applicable, and not in dispute; "
            "--all shows everything.",
            Tone.QUIET,
        )
    due = {question.item.id for question in shown.questions}
    for item in instrument.items if every else ():
        if item.id not in due:
            short = item.minimum_turns > len(shown.conversation.turns)
            why = f" (from {pluralize(item.minimum_turns, 'turn')} on)" if short else ""
            yield _item_section(instrument, item, [Text(f"{Answer.NOT_DUE}{why}", Tone.QUIET)])


def in_question(instrument: Instrument, question: Question) -> bool:
    """Whether somebody found it not met or gave no answer, whether raters differ, or a person must look."""
    outcomes = [said.outcome for said in question.answers]
    meanings = [wording.answer(instrument, question.item, outcome) for outcome in outcomes]
    return (
        any(wording.not_met(instrument, meaning) or meaning is Answer.NOT_JUDGED for meaning in meanings)
        or any(wording.differ(instrument, question.item, one, other) for one, other in combinations(outcomes, 2))
        or any(said.rules for said in question.answers)
    )


def _item_section(instrument: Instrument, item: Item, blocks: Sequence[Block]) -> Section:
    return Section(item.title, blocks, item.id, _labels(instrument, item))


def _labels(instrument: Instrument, item: Item) -> list[Phrase]:
    labels = [Phrase("safety", Tone.SAFETY)] if item.id in instrument.gate_ids else []
    return [*labels, *([Phrase("contested", Tone.CONTESTED)] if item.validity.contested else [])]


def _answers(shown: View, question: Question, *, every: bool) -> Iterator[LabelRow]:
    """Everybody's answer with the reasons; repeats with the same answer share one row, unless `every`."""
    instrument, item = shown.instrument, question.item
    if question.together and shown.cards.panel:
        yield LabelRow("together", [wording.answer_phrase(instrument, item, question.together)])
    groups: dict[object, list[Said]] = {}
    for said in question.answers:
        groups.setdefault(id(said) if every else (said.card.rater, said.outcome), []).append(said)
    for first, *others in groups.values():
        who = _who(shown, first.card) if len(shown.cards.all) > 1 else ""
        if others:
            numbers = [str((said.card.repeat or 0) + 1) for said in (first, *others)]
            who = f"{first.card.rater}, repeats {', '.join(numbers[:-1])} and {numbers[-1]}"
        phrase = wording.answer_phrase(instrument, item, first.outcome, first.card.rater)
        yield LabelRow(who, [phrase, *_details(first)])


def _details(said: Said) -> Iterator[Words]:
    rating = said.rating
    if rating and rating.detail and rating.outcome.error:
        yield Phrase(in_a_line(rating.detail, 300), Tone.QUIET)
    if rating and rating.reasoning:
        yield rating.reasoning
    yield from map(_finding, said.findings)
    for rule in said.rules:
        yield Phrase(f"! {wording.rule_finding_words(rule)}", Tone.STRONG)
    for mark in sorted(rating.marks) if rating else ():
        yield Phrase(f"note: {wording.MARKS[mark]}", Tone.QUIET)


def _finding(finding: Finding) -> Phrase:
    quote = f"“{in_a_line(finding.quote)}”: " if finding.quote else ""
    nearest = f" “{in_a_line(finding.nearest)}”" if finding.nearest else ""
    words = f"{quote}{wording.finding_words(finding)}{nearest}"
    return Phrase(words, Tone.QUIET if finding.status in _FINE else Tone.NOT_MET)
