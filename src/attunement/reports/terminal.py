"""Draw scorecards, one conversation and the gate's decision on a terminal.

Sentences come first, then tables. Words always accompany signs and colors, so that nothing is lost without them, and
nothing in anybody's text is read as markup or as a command to the terminal.

Quoted words are underlined between ⟦ and ⟧, followed by the items that quote them, so that they can be found without
color as well. Below the turns is each item with everybody's answer, reasons, and what became of each citation.
"""

import sys
from collections.abc import Collection, Iterable, Sequence
from io import TextIOWrapper

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from attunement.conversations import Identity
from attunement.evidence import CitationStatus, Finding, Speaker
from attunement.instruments import Instrument, Item, Scores
from attunement.reports import wording
from attunement.reports.blocks import Phrase, Tone
from attunement.reports.conversation import Place, Region, Said, View
from attunement.reports.gate import STOPPED, THROUGH, UNDECIDED, WORDS, Decision, Kind
from attunement.reports.numbers import pluralize, score_words, share_words
from attunement.reports.overview import Overview, RaterScores, Tally
from attunement.reports.render_terminal import QUIET, SIGNS, STYLES, bullets, heading, line, phrase, plain_table
from attunement.reports.rule_check import RuleCheck, fact_lines, pointer_words
from attunement.reports.sanitize import MARKS, for_terminal, in_a_line
from attunement.reports.wording import VERDICTS, Answer
from attunement.scoring import Flips, Scorecard, Slot, Verdict
from attunement.signals.facts import facts
from attunement.signals.measured import in_a_line as measured
from attunement.signals.pointers import PointerKind, country_of

_MOST_SYSTEMS, _MOST_NAMES, _MOST_POINTERS = 8, 5, 20
_MOST_ITEMS = 4  # named behind quoted words; more would bury the words
_WIDE = 110  # from this width on the system has a column of its own
_NAME, _SYSTEM = 24, 16  # the widest that these columns get


class _Output(Console):
    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def open_console() -> Console:
    """A console on standard output that never fails for a character which the terminal does not have."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # pyright: ignore[reportUnknownMemberType]
    return _Output(highlight=False, markup=False, emoji=False)


def _table(*titles: str | Text, right: Collection[int] = ()) -> Table:
    """An empty table; the columns with the numbers in `right` are aligned right."""
    table = plain_table()
    for number, title in enumerate(titles):
        table.add_column(title, justify="right" if number in right else "left", overflow="fold")
    return table


def _indented(text: Text | Table, by: int = 2) -> Padding:
    return Padding(text, (0, 0, 0, by))


# Scorecards


def draw_overview(
    shown: Overview, console: Console, *, reworded: Sequence[str] = (), notes: Sequence[str] = ()
) -> None:
    """Print the scorecards of a study. `reworded` are items that were never asked in the instrument's wording.

    `notes` come before the first rater: what a reader must know to take the right one for theirs.
    """
    instrument, threshold = shown.instrument, shown.instrument.scoring.threshold
    console.print(line(f"{instrument.title} ({instrument.id} {instrument.version})", "bold"))
    if threshold is None:
        console.print("This instrument has no pass mark: it reports flags, not an overall score.", style=QUIET)
    else:
        console.print(f"Pass mark {score_words(threshold)}.", style=QUIET)
    for note in (*([wording.reworded_words(reworded)] if reworded else []), *notes):
        console.print(line(note, STYLES[Tone.OPEN]))
    if not shown.raters:
        number = pluralize(shown.conversations, "conversation")
        console.print(f"\n{number}. None of them is judged with this instrument.")
    _draw_rule_check(shown.rule_check, console)
    # Where all judges together decide, theirs is the list to read; --rater has those of each.
    together = bool(shown.raters) and shown.raters[0].who.repeat is None
    for scores in shown.raters:
        _draw_rater(shown, scores, console, brief=together and scores.who.repeat is not None)
    _draw_flips(shown, console)
    if shown.cautions:
        console.print()
    for caution in shown.cautions:
        console.print(line(caution, QUIET))


def _draw_rule_check(found: RuleCheck, console: Console) -> None:
    if not found.read:
        return
    console.print()
    console.print(heading("Rule check"))
    for sentence in found.sentences():
        console.print(line(sentence))
    if found.pointers:
        console.print("\nLook at:", style="bold")
        console.print(bullets(map(line, found.lines(_MOST_POINTERS))))


def _draw_rater(shown: Overview, scores: RaterScores, console: Console, *, brief: bool) -> None:
    instrument, tally = shown.instrument, scores.tally
    console.print()
    console.print(heading(_rater_title(shown, scores)))
    console.print(summary(instrument, tally))
    if not brief and 1 < len(scores.systems) <= _MOST_SYSTEMS:
        for system, own in sorted(scores.systems.items()):
            console.print(_indented(line(f"{system}: ").append_text(summary(instrument, own))))
    if not brief and scores.absent:
        console.print(line(f"Not judged are {names(scores.absent)}.", STYLES[Tone.OPEN]))
    for entry in instrument.gate:
        if entry.fails_at is not None:
            console.print(_too_low(entry.item, entry.fails_at, tally))
    if brief:
        return
    if isinstance(instrument.scale, Scores):
        console.print()
        console.print(_levels(instrument, instrument.scale, tally))
    if scores.cards:
        console.print()
        console.print(_cards(instrument, scores, narrow=console.width < _WIDE))
    if scores.left_out:
        most = len(scores.cards) + scores.left_out
        console.print(f"{scores.left_out:,} more; --limit {most} shows all.", style=QUIET)
    _draw_needs_person(scores.cards, console)
    _draw_not_met(instrument, tally, console)
    console.print()
    present = {card.verdict for card in scores.cards}
    for verdict, meaning in wording.MEANINGS.items():
        if verdict in present:
            words = VERDICTS[verdict]
            console.print(Text.assemble((words.words, STYLES[words.tone]), f" – {meaning}"), style=QUIET)


def _rater_title(shown: Overview, scores: RaterScores) -> str:
    who = scores.who
    if who.repeat is None:
        return wording.together_words(scores.members, who.kind)
    repeat = who.repeat if who.rater in shown.repeats.again else None
    return wording.rater_words(who.rater, repeat=repeat, kind=who.kind)


def _too_low(item: str, fails_at: int, tally: Tally) -> Text:
    scores = {score: number for score, number in tally.given(item).items() if isinstance(score, int)}
    low = sum(number for score, number in scores.items() if score <= fails_at)
    text = f"Replies with {item} of {fails_at} or less: {share_words(low, sum(scores.values()))}."
    return line(text, STYLES[Tone.UNSAFE] if low else "")


def summary(instrument: Instrument, tally: Tally) -> Text:
    """The counts in sentences; `unsafe` and `safety not judged` never share one number."""
    verdicts = tally.verdicts
    text = Text(f"{pluralize(tally.conversations, 'conversation')}.")

    def add(before: str, words: str, verdict: Verdict, after: str = ".") -> None:
        text.append(before).append(words, STYLES[VERDICTS[verdict].tone] if verdicts[verdict] else "").append(after)

    def add_count(verdict: Verdict) -> None:
        add(" ", f"{VERDICTS[verdict].words}: {verdicts[verdict]:,}", verdict)

    if tally.absent:
        text.append(f" Not judged: {tally.absent:,}.", STYLES[Tone.OPEN])
    if tally.absent == tally.conversations:
        return text
    if instrument.scoring.threshold is None:
        add_count(Verdict.FLAGGED)
        add_count(Verdict.SAFETY_NOT_JUDGED)
    else:
        text.append(f" Pass: {share_words(tally.passed, tally.conversations)}.")
        if verdicts[Verdict.FAIL]:
            add_count(Verdict.FAIL)
        add(" Rejected: ", f"{verdicts[Verdict.UNSAFE]:,} unsafe", Verdict.UNSAFE, ", ")
        add("", f"{verdicts[Verdict.SAFETY_MISSING]:,} safety not judged", Verdict.SAFETY_MISSING)
    for verdict in (Verdict.INCOMPLETE, Verdict.NOT_JUDGED, Verdict.NO_FLAG):
        if verdicts[verdict]:
            add_count(verdict)
    if tally.needs_person:
        text.append(f" Needs a person: {tally.needs_person:,}.", "bold")
    return text


def _cards(instrument: Instrument, scores: RaterScores, *, narrow: bool) -> Table:
    threshold = instrument.scoring.threshold
    several = len(scores.systems) > 1
    # All columns but one have fixed widths, because rich lets a table with least widths grow beyond the terminal.
    table = plain_table()
    ids = [card.conversation.id for card in scores.cards]
    table.add_column("Conversation", overflow="fold", width=_width("Conversation", ids, _NAME))
    if several and not narrow:
        table.add_column("System", overflow="fold", width=_width("System", scores.systems, _SYSTEM))
    table.add_column("Verdict", width=18)
    if threshold is not None:
        table.add_column("Score", width=22)
    table.add_column("Lowest" if isinstance(instrument.scale, Scores) else "Not met")
    for card in scores.cards:
        name, system = line(in_a_line(card.conversation.id)), line(in_a_line(card.conversation.system), QUIET)
        cells = [Text("\n").join((name, system)) if several and narrow else name]
        cells += [system] if several and not narrow else []
        cells.append(phrase(wording.verdict_phrase(card)))
        if card.needs_person:
            cells[-1].append("\nneeds a person", "bold")
        if threshold is not None:
            cells.append(line(wording.score_with_range(card, threshold)))
            if (uncontested := score_words(card.uncontested)) != score_words(card.score):
                cells[-1].append(f"\n{uncontested} without contested", QUIET)
        table.add_row(*cells, _failed(instrument, card))
    return table


def _width(title: str, texts: Iterable[str], widest: int) -> int:
    return min(max(cell_len(for_terminal(text)) for text in (title, *texts)), widest)


def _failed(instrument: Instrument, card: Scorecard) -> Text:
    """What was not met; for scores the lowest safety score with its turn."""
    if not isinstance(instrument.scale, Scores):
        items = dict.fromkeys(slot.item for slot in card.failed)
        tones = [Tone.UNSAFE if item in instrument.gate_ids else Tone.NOT_MET for item in items]
        return Text(", ").join(line(item, STYLES[tone]) for item, tone in zip(items, tones, strict=True))
    found: list[Text] = []
    for entry in instrument.gate:
        outcomes = ((slot, outcome.value) for slot, outcome in card.outcomes.items() if slot.item == entry.item)
        scores = [(slot, score) for slot, score in outcomes if isinstance(score, int)]
        if scores:
            slot, score = min(scores, key=lambda pair: pair[1])
            low = entry.fails_at is not None and score <= entry.fails_at
            where = f", turn {slot.turn}" if slot.turn and len(scores) > 1 else ""
            found.append(line(f"{entry.item} {score}{where}", STYLES[Tone.UNSAFE] if low else ""))
    return Text("; ").join(found)


def _levels(instrument: Instrument, scale: Scores, tally: Tally) -> Table:
    """How often each score was given. Counts, because a mean hides the replies that matter."""
    titles = ["Replies with a score of", *map(str, scale.answers), "not judged"]
    table = _table(*titles, right=range(1, len(titles)))
    for item in instrument.items:
        count = tally.given(item.id)
        open_ = count[Answer.NOT_JUDGED]
        numbers = [count[int(score)] for score in scale.answers]
        cells = [line(item.id), *(Text(f"{number:,}" if number else "–") for number in numbers)]
        table.add_row(*cells, Text(f"{open_:,}" if open_ else "–", STYLES[Tone.OPEN] if open_ else ""))
    return table


def _draw_needs_person(cards: Sequence[Scorecard], console: Console) -> None:
    """Which conversations a person should look at, and at which words."""
    watched = [card for card in cards if card.needs_person]
    if watched:
        console.print("\nNeeds a person:", style="bold")
        console.print(bullets(line(in_a_line(f"{card.conversation}: {_reasons(card)}", 400)) for card in watched))


def _reasons(card: Scorecard) -> str:
    return "; ".join(dict.fromkeys(wording.reason_words(spoken.finding) for spoken in card.needs_person))


def _draw_not_met(instrument: Instrument, tally: Tally, console: Console) -> None:
    """Each criterion that was not met somewhere, with its title: the legend of the table and where to begin."""
    counts = ((item, tally.given(item.id)) for item in instrument.items)
    rows = [(item, count[Answer.NOT_MET], count[Answer.MET]) for item, count in counts if count[Answer.NOT_MET]]
    if not rows:
        return
    table = _table("Not met", "Item", "Title", right=[0])
    # Safety first, then what is missed most often.
    for item, missed, met in sorted(rows, key=lambda row: (row[0].id not in instrument.gate_ids, -row[1])):
        safety = " (safety)" if item.id in instrument.gate_ids else ""
        contested = " (contested)" if item.validity.contested else ""
        cells = (f"{missed:,} of {missed + met:,}", item.id, f"{item.title}{safety}{contested}")
        table.add_row(*(line(cell, STYLES[Tone.UNSAFE] if safety else "") for cell in cells))
    console.print()
    console.print(table)


def _draw_flips(shown: Overview, console: Console) -> None:
    columns = [(f"{rater}, asked again", items) for rater, items in shown.repeats.again.items()]
    if shown.repeats.between:
        columns.append(("all judges", shown.repeats.between))
    if not columns:
        return
    console.print()
    console.print(heading("Same answer"))
    console.print("How many questions got the same answer each time. Errors are no answers.", style=QUIET)
    table = _table("Item", *(line(in_a_line(title, 40)) for title, _ in columns), right=range(1, len(columns) + 1))
    for item in shown.instrument.items:
        counts = [items.get(item.id) for _, items in columns]
        if any(counts):
            table.add_row(line(f"{item.id} {item.title}"), *map(_same, counts))
    console.print(table)


def _same(count: Flips | None) -> Text:
    return Text(share_words(count.compared - count.differing, count.compared) if count else "–")


# The gate

_OUTCOMES = {THROUGH: Tone.MET, STOPPED: Tone.NOT_MET, UNDECIDED: Tone.OPEN}


def draw_decision(decision: Decision, instrument: Instrument | None, caveats: Sequence[str], console: Console) -> None:
    """Print what the gate decides, why, the counts behind it, and what all that does not show."""
    if decision.accepted:
        console.print(line(decision.accepted, "bold"))
    console.print(phrase(Phrase(WORDS[decision.exit_code], _OUTCOMES[decision.exit_code])))
    for reason in decision.reasons:
        tone = _OUTCOMES[reason.exit_code] if reason.exit_code else Tone.NONE
        tone = Tone.UNSAFE if reason.kind is Kind.UNSAFE else tone
        text = line(reason.text, STYLES[tone])
        if reason.conversations:
            text.append(f"\n{names(reason.conversations)}", QUIET)
        console.print(bullets([text], sign=SIGNS.get(tone, "-")))
    if instrument:
        console.print()
        console.print(summary(instrument, decision.tally))
    if caveats:
        console.print("\nHow far this goes:", style="bold")
        console.print(bullets(map(line, caveats)))


def names(conversations: Sequence[Identity]) -> str:
    shown = ", ".join(in_a_line(str(identity), 80) for identity in conversations[:_MOST_NAMES])
    more = len(conversations) - _MOST_NAMES
    return f"{shown} and {more:,} more" if more > 0 else shown


# One conversation

_SPEAKERS: tuple[tuple[Speaker, str], ...] = (("user", "Person"), ("assistant", "Assistant"))
_FINE = frozenset(
    {
        CitationStatus.FOUND,
        CitationStatus.UNCITED,
        CitationStatus.ABSENT,
        CitationStatus.CRITERION,
        CitationStatus.UNQUOTED,
    }
)


def draw_view(shown: View, console: Console) -> None:
    """Print one conversation with its verdicts, its turns and its answers."""
    conversation, instrument = shown.conversation, shown.instrument
    console.print(line(str(conversation.identity), "bold"))
    about = f"{pluralize(len(conversation.turns), 'turn')} · {instrument.title} ({instrument.id} {instrument.version})"
    console.print(line(about, QUIET))
    if not shown.cards.all:
        console.print("\nNot judged with this instrument yet.", style=STYLES[Tone.OPEN])
    _draw_pointers(shown, console)
    for card in _all_cards(shown):
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
        marks = f"Quoted words are between {MARKS[0]} and {MARKS[1]}, with the items that quote them; "
        console.print(f"{marks}≈ marks words that are quoted nearly.", style=QUIET)
    _draw_turns(shown, console)
    if shown.questions:
        console.print()
        console.print(heading("What was answered"))
        _draw_questions(shown, console)


def _all_cards(shown: View) -> tuple[Scorecard, ...]:
    return (shown.cards.panel, *shown.cards.all) if shown.cards.panel else shown.cards.all


def _draw_pointers(shown: View, console: Console) -> None:
    """What the rule check points to, and what can be counted."""
    found = [spoken.finding for spoken in shown.cards.pointers if spoken.finding.rule != PointerKind.NOT_ENGLISH]
    if len(found) < len(shown.cards.pointers):
        console.print("\nRule check: not English, not looked at.", style="bold")
    if found:
        console.print("\nThe rule check points to:", style="bold")
        console.print(bullets(line(pointer_words(finding)) for finding in found))
        console.print(line(measured(), QUIET))
    console.print("\nCounted:", style="bold")
    counts = facts(shown.conversation.turns, country_of(shown.conversation.metadata))
    console.print(bullets(map(line, fact_lines(counts))))


def _draw_card(shown: View, card: Scorecard, console: Console) -> None:
    instrument, threshold = shown.instrument, shown.instrument.scoring.threshold
    console.print(Text.assemble(line(_who(shown, card), "bold"), "  ", phrase(wording.verdict_phrase(card))))
    sentences: list[str] = []
    if threshold is not None:
        score = wording.score_with_range(card, threshold)
        sentences.append(f"Score {score}, pass mark {score_words(threshold)}.")
        if any(item.validity.contested for item in instrument.items):
            sentences.append(f"Without contested items {score_words(card.uncontested)}.")
    if card.open:
        sentences.append(f"No answer: {pluralize(len(card.open), 'question')}.")
    means = [f"{instrument.categories.get(id, id)} {score_words(mean)}" for id, mean in card.categories.items()]
    lines = [(" ".join(sentences), ""), (" · ".join(means), QUIET)]
    lines += [(f"Needs a person: {_reasons(card)}.", "bold")] if card.needs_person else []
    for text, style in lines:
        if text:
            console.print(_indented(line(text, style)))


def _scores(shown: View) -> Table:
    """Each reply with all its scores, side by side."""
    items = shown.instrument.items
    table = _table("Turn", "Rater", *(line(item.id) for item in items), right=[0, *range(2, len(items) + 2)])
    for turn in dict.fromkeys(question.slot.turn for question in shown.questions):
        for card in _all_cards(shown):
            cells = [_score(shown.instrument, item, card, Slot(turn, item.id)) for item in items]
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
    return wording.rater_words(card.rater, repeat=card.repeat if repeated else None, kind=card.kind)


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
        console.print(_indented(grid))


def marked(message: str, regions: list[Region]) -> Text:
    """A message with its quoted words marked; the rest is shown as it is."""
    text, shown = Text(overflow="fold"), for_terminal(message)
    at = 0
    for region in regions:
        text.append(shown[at : region.start]).append(MARKS[0], "bold")
        text.append(shown[region.start : region.end], "underline")
        more = f"+{len(region.items) - _MOST_ITEMS}" if len(region.items) > _MOST_ITEMS else ""
        items = ",".join(region.items[:_MOST_ITEMS])
        text.append(f"{MARKS[1]}{'' if region.exact else '≈'}{items}{more}", "bold")
        at = region.end
    return text.append(shown[at:])


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
            console.print(_indented(Text.assemble("together: ", phrase(words))))
        for said in question.answers:
            _draw_answer(shown, question.item, said, console)
    due = {question.item.id for question in shown.questions}
    for item in shown.instrument.items:
        if item.id not in due:
            console.print()
            console.print(_title(shown.instrument, item))
            short = item.minimum_turns > len(shown.conversation.turns)
            why = f" (from {pluralize(item.minimum_turns, 'turn')} on)" if short else ""
            console.print(_indented(line(f"{Answer.NOT_DUE}{why}", QUIET)))


def _title(instrument: Instrument, item: Item) -> Text:
    labels = {"safety": item.id in instrument.gate_ids, "contested": item.validity.contested}
    notes = [word for word, holds in labels.items() if holds]
    title = Text.assemble(line(item.id, QUIET), "  ", line(item.title, "bold"))
    return title.append(f"  ({', '.join(notes)})", QUIET) if notes else title


def _draw_answer(shown: View, item: Item, said: Said, console: Console) -> None:
    head = phrase(wording.answer_phrase(shown.instrument, item, said.outcome, said.card.rater))
    if len(shown.cards.all) > 1:
        head = Text.assemble(line(f"{_who(shown, said.card)}: "), head)
    console.print(_indented(head))
    rating = said.rating
    if rating and rating.detail and rating.outcome.error:
        console.print(_indented(line(in_a_line(rating.detail, 300), QUIET), 4))
    if rating and rating.reasoning:
        console.print(_indented(line(rating.reasoning), 4))
    if said.findings:
        console.print(Padding(bullets(map(_finding, said.findings)), (0, 0, 0, 2)))
    for rule in said.rules:
        console.print(_indented(line(f"! {wording.rule_finding_words(rule)}", "bold"), 4))
    for mark in sorted(rating.marks) if rating else ():
        console.print(_indented(line(f"note: {wording.MARKS[mark]}", QUIET), 4))


def _finding(finding: Finding) -> Text:
    """A citation and what became of it."""
    text = Text(overflow="fold")
    if finding.quote:
        text.append(f"“{in_a_line(finding.quote)}”: ")
    style = QUIET if finding.status in _FINE else STYLES[Tone.NOT_MET]
    text.append(for_terminal(wording.finding_words(finding)), style)
    if finding.nearest:
        text.append(f" “{in_a_line(finding.nearest)}”")
    return text
