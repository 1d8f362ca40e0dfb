"""Draw scorecards, one conversation and the gate's decision on a terminal.

Sentences come first, then tables. Words always stand beside signs and colours, so that nothing is lost without them,
and nothing in anybody's text is read as markup or as a command to the terminal.

Quoted words stand underlined between ⟦ and ⟧, with the items that quote them behind, so that they can be found without
colour as well. Below the turns stands each item with everybody's answer, reasons, and what became of each citation.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
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
from attunement.reports.conversation import Place, Question, Region, Said, View
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

_MOST_SYSTEMS = 8
_MOST_NAMES = 5


class _Output(Console):
    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def open_console() -> Console:
    """A console on standard output that never fails for a character which the terminal does not have."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # pyright: ignore[reportUnknownMemberType]
    return _Output(highlight=False, markup=False, emoji=False)


# Scorecards


def draw_overview(
    shown: Overview, console: Console, *, reworded: Sequence[str] = (), notes: Sequence[str] = ()
) -> None:
    """Print all sheets of a study. `reworded` are items that were never asked in the instrument's wording.

    `notes` are said before the first sheet: what a reader must know to take the right one for theirs.
    """
    instrument = shown.instrument
    console.print(line(f"{instrument.title} ({instrument.id} {instrument.version})", "bold"))
    threshold = instrument.scoring.threshold
    if threshold is None:
        console.print("This instrument has no pass mark: it reports flags, not an overall score.", style=QUIET)
    else:
        console.print(f"Pass mark {score_words(threshold)}.", style=QUIET)
    if reworded:
        console.print(line(wording.reworded_words(reworded), STYLES[Tone.OPEN]))
    for note in notes:
        console.print(line(note, STYLES[Tone.OPEN]))
    if not shown.raters:
        console.print(
            f"\n{pluralize(shown.conversations, 'conversation')}. None of them is judged with this instrument."
        )
    _draw_rule_check(shown.rule_check, console)
    # Where all judges together decide, theirs is the list to read; --rater has those of each.
    together = shown.raters[0].who.repeat is None if shown.raters else False
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


_MOST_POINTERS = 20  # Pointers that are listed on a terminal


def _draw_rater(shown: Overview, scores: RaterScores, console: Console, *, brief: bool) -> None:
    instrument = shown.instrument
    console.print()
    console.print(heading(_rater_title(shown, scores)))
    console.print(summary(instrument, scores.tally))
    if 1 < len(scores.systems) <= _MOST_SYSTEMS and not brief:
        for system, tally in sorted(scores.systems.items()):
            console.print(Padding(line(f"{system}: ").append_text(summary(instrument, tally)), (0, 0, 0, 2)))
    if scores.absent and not brief:
        console.print(line(f"Not judged are {names(scores.absent)}.", STYLES[Tone.OPEN]))
    for entry in instrument.gate:
        if entry.fails_at is not None:
            console.print(_too_low(entry.item, entry.fails_at, scores.tally))
    if brief:
        return
    if isinstance(instrument.scale, Scores):
        console.print()
        console.print(_levels(instrument, instrument.scale, scores.tally))
    if scores.cards:
        console.print()
        console.print(_cards(instrument, scores, narrow=console.width < _WIDE))
    if scores.left_out:
        console.print(
            f"{scores.left_out:,} more; --limit {len(scores.cards) + scores.left_out} shows all.", style=QUIET
        )
    _draw_needs_person(scores.cards, console)
    _draw_not_met(instrument, scores.tally, console)
    console.print()
    for verdict in _meanings(scores.cards):
        words = VERDICTS[verdict]
        console.print(Text.assemble((words.words, STYLES[words.tone]), f" – {wording.MEANINGS[verdict]}"), style=QUIET)


def _rater_title(shown: Overview, scores: RaterScores) -> str:
    who = scores.who
    if who.repeat is None:
        return wording.together_words(scores.members, who.kind)
    return wording.rater_words(
        who.rater, repeat=who.repeat if who.rater in shown.repeats.again else None, kind=who.kind
    )


def _too_low(item: str, fails_at: int, tally: Tally) -> Text:
    scores = {score: number for score, number in tally.given(item).items() if isinstance(score, int)}
    low = sum(number for score, number in scores.items() if score <= fails_at)
    text = f"Replies with {item} of {fails_at} or less: {share_words(low, sum(scores.values()))}."
    return line(text, STYLES[Tone.UNSAFE] if low else "")


def summary(instrument: Instrument, tally: Tally) -> Text:
    """The counts in sentences; `unsafe` and `safety not judged` never share one number."""
    verdicts = tally.verdicts
    text = Text(f"{pluralize(tally.conversations, 'conversation')}.")
    if tally.absent:
        text.append(f" Not judged: {tally.absent:,}.", STYLES[Tone.OPEN])
    if tally.absent == tally.conversations:
        return text
    if instrument.scoring.threshold is None:
        parts = [(verdict, VERDICTS[verdict].words) for verdict in (Verdict.FLAGGED, Verdict.SAFETY_NOT_JUDGED)]
        for verdict, words in parts:
            text.append(" ").append_text(_count(f"{words}: {verdicts[verdict]:,}", verdict, verdicts[verdict])).append(
                "."
            )
    else:
        text.append(f" Pass: {share_words(tally.passed, tally.conversations)}." if tally.conversations else "")
        if verdicts[Verdict.FAIL]:
            text.append(" ").append_text(_count(f"Fail: {verdicts[Verdict.FAIL]:,}", Verdict.FAIL, 1)).append(".")
        unsafe, unjudged = verdicts[Verdict.UNSAFE], verdicts[Verdict.SAFETY_MISSING]
        text.append(" Rejected: ").append_text(_count(f"{unsafe:,} unsafe", Verdict.UNSAFE, unsafe)).append(", ")
        text.append_text(_count(f"{unjudged:,} safety not judged", Verdict.SAFETY_MISSING, unjudged)).append(".")
    for verdict in (Verdict.INCOMPLETE, Verdict.NOT_JUDGED, Verdict.NO_FLAG):
        if verdicts[verdict]:
            words = f"{VERDICTS[verdict].words}: {verdicts[verdict]:,}"
            text.append(" ").append_text(_count(words, verdict, 1)).append(".")
    if tally.needs_person:
        text.append(f" Needs a person: {tally.needs_person:,}.", "bold")
    return text


def _count(words: str, verdict: Verdict, number: int) -> Text:
    return Text(words, STYLES[VERDICTS[verdict].tone] if number else "")


_WIDE = 110  # From this width on the system has a column of its own
_NAME, _SYSTEM = 24, 16  # The widest that these columns get


def _cards(instrument: Instrument, scores: RaterScores, *, narrow: bool) -> Table:
    threshold = instrument.scoring.threshold
    several = len(scores.systems) > 1
    # All columns but one have fixed widths, because rich lets a table with least widths grow beyond the terminal.
    table = plain_table()
    names = [card.conversation.id for card in scores.cards]
    table.add_column("Conversation", overflow="fold", width=_width("Conversation", names, _NAME))
    if several and not narrow:
        table.add_column("System", overflow="fold", width=_width("System", scores.systems, _SYSTEM))
    table.add_column("Verdict", width=18)
    if threshold is not None:
        table.add_column("Score", width=22)
    table.add_column("Lowest" if isinstance(instrument.scale, Scores) else "Not met")
    for card in scores.cards:
        name, system = line(in_a_line(card.conversation.id)), line(in_a_line(card.conversation.system), QUIET)
        verdict = phrase(wording.verdict_phrase(card))
        if card.needs_person:
            verdict.append("\nneeds a person", "bold")
        cells = [name, system, verdict] if several and not narrow else [name, verdict]
        if several and narrow:
            cells[0] = Text("\n").join((name, system))
        if threshold is not None:
            score = line(wording.score_with_range(card, threshold))
            if (uncontested := score_words(card.uncontested)) != score_words(card.score):
                score.append(f"\n{uncontested} w/o contested", QUIET)
            cells.append(score)
        table.add_row(*cells, _failed(instrument, card))
    return table


def _width(title: str, names: Iterable[str], widest: int) -> int:
    return min(max(cell_len(for_terminal(name)) for name in (title, *names)), widest)


def _failed(instrument: Instrument, card: Scorecard) -> Text:
    if not isinstance(instrument.scale, Scores):
        items = dict.fromkeys(slot.item for slot in card.failed)
        return Text(", ").join(line(item, STYLES[_tone(instrument, item)]) for item in items)
    found: list[Text] = []
    for entry in instrument.gate:
        scores = [
            (outcome.value, slot)
            for slot, outcome in card.outcomes.items()
            if slot.item == entry.item and isinstance(outcome.value, int)
        ]
        if scores:
            score, slot = min(scores, key=lambda pair: pair[0])
            low = entry.fails_at is not None and score <= entry.fails_at
            where = f", turn {slot.turn}" if slot.turn and len(scores) > 1 else ""
            found.append(line(f"{entry.item} {score}{where}", STYLES[Tone.UNSAFE] if low else ""))
    return Text("; ").join(found)


def _tone(instrument: Instrument, item: str) -> Tone:
    return Tone.UNSAFE if item in instrument.gate_ids else Tone.NOT_MET


def _levels(instrument: Instrument, scale: Scores, tally: Tally) -> Table:
    table = plain_table()
    table.add_column("Replies with a score of")
    for score in scale.answers:
        table.add_column(str(score), justify="right")
    table.add_column("not judged", justify="right")
    for item in instrument.items:
        count = tally.given(item.id)
        scores = [count[int(score)] for score in scale.answers]
        open_ = count[Answer.NOT_JUDGED]
        cells = [line(item.id), *(Text(f"{number:,}" if number else "–") for number in scores)]
        cells.append(Text(f"{open_:,}" if open_ else "–", STYLES[Tone.OPEN] if open_ else ""))
        table.add_row(*cells)
    return table


def _draw_needs_person(cards: Sequence[Scorecard], console: Console) -> None:
    watched = [card for card in cards if card.needs_person]
    if not watched:
        return
    console.print("\nNeeds a person:", style="bold")
    for card in watched:
        reasons = dict.fromkeys(wording.reason_words(spoken.finding) for spoken in card.needs_person)
        console.print(bullets([line(in_a_line(f"{card.conversation}: {'; '.join(reasons)}", 400))]))


def _draw_not_met(instrument: Instrument, tally: Tally, console: Console) -> None:
    rows: list[tuple[int, Item, int]] = []
    for item in instrument.items:
        count = tally.given(item.id)
        if missed := count[Answer.NOT_MET]:
            rows.append((missed, item, missed + count[Answer.MET]))
    if not rows:
        return
    table = plain_table()
    table.add_column("Not met", justify="right")
    table.add_column("Item")
    table.add_column("Title")
    # Safety first, then what is missed most often.
    for missed, item, applied in sorted(rows, key=lambda row: (row[1].id not in instrument.gate_ids, -row[0])):
        safety = " (safety)" if item.id in instrument.gate_ids else ""
        contested = " (contested)" if item.validity.contested else ""
        cells = (f"{missed:,} of {applied:,}", item.id, f"{item.title}{safety}{contested}")
        table.add_row(*(line(cell, STYLES[Tone.UNSAFE] if safety else "") for cell in cells))
    console.print()
    console.print(table)


def _meanings(cards: Sequence[Scorecard]) -> Iterator[Verdict]:
    present = {card.verdict for card in cards}
    return (verdict for verdict in Verdict if verdict in present and verdict in wording.MEANINGS)


def _draw_flips(shown: Overview, console: Console) -> None:
    columns = [(f"{rater}, asked again", items) for rater, items in shown.repeats.again.items()]
    if shown.repeats.between:
        columns.append(("all judges", shown.repeats.between))
    if not columns:
        return
    console.print()
    console.print(heading("Same answer"))
    console.print("How many questions got the same answer each time. Errors are no answers.", style=QUIET)
    table = plain_table()
    table.add_column("Item")
    for title, _ in columns:
        table.add_column(line(in_a_line(title, 40)), justify="right", overflow="fold")
    for item in shown.instrument.items:
        counts = [items.get(item.id) for _, items in columns]
        if any(counts):
            table.add_row(line(f"{item.id} {item.title}"), *(_same(count) for count in counts))
    console.print(table)


def _same(count: Flips | None) -> Text:
    if count is None:
        return Text("–")
    return Text(share_words(count.compared - count.differing, count.compared))


# The gate

_OUTCOMES = {THROUGH: Tone.MET, STOPPED: Tone.NOT_MET, UNDECIDED: Tone.OPEN}


def draw_decision(decision: Decision, instrument: Instrument | None, caveats: Sequence[str], console: Console) -> None:
    if decision.accepted:
        console.print(line(decision.accepted, "bold"))
    console.print(phrase(Phrase(WORDS[decision.exit_code], _OUTCOMES[decision.exit_code])))
    for reason in decision.reasons:
        tone = (
            Tone.UNSAFE
            if reason.kind is Kind.UNSAFE
            else _OUTCOMES[reason.exit_code]
            if reason.exit_code
            else Tone.NONE
        )
        said = line(reason.text, STYLES[tone])
        if reason.conversations:
            said.append(f"\n{names(reason.conversations)}", QUIET)
        console.print(bullets([said], sign=SIGNS.get(tone, "-")))
    if instrument:
        console.print()
        console.print(summary(instrument, decision.tally))
    if caveats:
        console.print("\nHow far this goes:", style="bold")
        console.print(bullets(line(note) for note in caveats))


def names(conversations: Sequence[Identity]) -> str:
    shown = ", ".join(in_a_line(str(identity), 80) for identity in conversations[:_MOST_NAMES])
    more = len(conversations) - _MOST_NAMES
    return f"{shown} and {more:,} more" if more > 0 else shown


_SPEAKERS: tuple[tuple[Speaker, str], ...] = (("user", "Person"), ("assistant", "Assistant"))
_HELD = frozenset(
    {
        CitationStatus.FOUND,
        CitationStatus.UNCITED,
        CitationStatus.ABSENT,
        CitationStatus.CRITERION,
        CitationStatus.UNQUOTED,
    }
)


_MOST_ITEMS = 4  # Items named behind quoted words; more would bury the words


def draw_view(shown: View, console: Console) -> None:
    conversation, instrument = shown.conversation, shown.instrument
    console.print(line(str(conversation.identity), "bold"))
    about = f"{pluralize(len(conversation.turns), 'turn')} · {instrument.title} ({instrument.id} {instrument.version})"
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
        facts.append(f"Score {wording.score_with_range(card, threshold)}, pass mark {score_words(threshold)}.")
        if any(item.validity.contested for item in instrument.items):
            facts.append(f"Without contested items {score_words(card.uncontested)}.")
    if card.open:
        facts.append(f"No answer: {pluralize(len(card.open), 'question')}.")
    if facts:
        console.print(Padding(line(" ".join(facts)), (0, 0, 0, 2)))
    means = [
        f"{instrument.categories.get(category, category)} {score_words(mean)}"
        for category, mean in card.categories.items()
    ]
    if means:
        console.print(Padding(line(" · ".join(means), QUIET), (0, 0, 0, 2)))
    if card.needs_person:
        reasons = dict.fromkeys(wording.reason_words(spoken.finding) for spoken in card.needs_person)
        console.print(Padding(line(f"Needs a person: {'; '.join(reasons)}.", "bold"), (0, 0, 0, 2)))


def _scores(shown: View) -> Table:
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
    text, said = Text(overflow="fold"), for_terminal(message)
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
            why = f" (from {pluralize(item.minimum_turns, 'turn')} on)" if short else ""
            console.print(Padding(line(f"{wording.Answer.NOT_DUE}{why}", QUIET), (0, 0, 0, 2)))


def _draw_pointers(shown: View, console: Console) -> None:
    found = [spoken.finding for spoken in shown.cards.pointers if spoken.finding.rule != PointerKind.NOT_ENGLISH]
    if len(found) < len(shown.cards.pointers):
        console.print("\nRule check: not English, not looked at.", style="bold")
    if found:
        console.print("\nThe rule check points to:", style="bold")
        console.print(bullets(line(pointer_words(finding)) for finding in found))
        console.print(line(measured(), QUIET))
    conversation = shown.conversation
    console.print("\nCounted:", style="bold")
    counts = facts(conversation.turns, country_of(conversation.metadata))
    console.print(bullets(line(fact) for fact in fact_lines(counts)))


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
    text = Text(overflow="fold")
    if finding.quote:
        text.append(f"“{in_a_line(finding.quote)}”: ")
    held = finding.status in _HELD
    text.append(for_terminal(wording.finding_words(finding)), QUIET if held else STYLES[Tone.NOT_MET])
    if finding.nearest:
        text.append(f" “{in_a_line(finding.nearest)}”")
    return text
