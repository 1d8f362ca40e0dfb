"""A study as a summary in Markdown that fits into the comment of a pull request.

The gate comes first, then the four lines with which every report begins, then what came out worse than before, the
scores, the conversations that need a look, and how far people and judges agree. Of what does not fit, the summary says
how much is left out.
"""

from collections.abc import Iterable, Iterator, Sequence

from attunement.conversations import Identity
from attunement.instruments import Instrument
from attunement.reports.agreement import COLUMNS, opening, table_rows, warnings
from attunement.reports.baseline import OUTCOMES
from attunement.reports.comparison import difference_words, findings
from attunement.reports.conversation import Issue
from attunement.reports.gate import WORDS
from attunement.reports.numbers import pluralize, score_words
from attunement.reports.sanitize import code, plain, table
from attunement.reports.study_report import Report, Top
from attunement.reports.summary import (
    PASSED,
    SCORE,
    Measure,
    ReportedConversation,
    SystemScores,
    estimate_words,
    measures,
)
from attunement.reports.wording import VERDICTS, score_with_range, status_of
from attunement.statistics.alpha import Alpha
from attunement.statistics.kappa import PairwiseKappa
from attunement.version import __version__

LONGEST = 65_536  # What a comment on GitHub may hold. It is kept in bytes, which are never fewer than characters.
_MOST_NAMES = 10
_MOST_REGRESSIONS = 50
_MOST_ISSUES = 3
_MOST_QUOTES = 2
_ROOM = 400  # Bytes that are kept free for the last lines
_GOOD = 7  # Statuses from this rank on need no look: no flag, and pass


def markdown_summary(report: Report, examples: Sequence[ReportedConversation], *, longest: int = LONGEST) -> str:
    """The summary; `examples` are the conversations that need a look, the most serious first."""
    open_ = sum(count for status, count in report.summary.total.statuses.items() if status.rank < _GOOD)
    hidden = ""
    if not report.hiding.texts:
        hidden = " Without the words of the conversations."
    elif report.hiding.redact:
        hidden = " Addresses, numbers and links are replaced."
    closing = f"*{plain(f'Attunement {__version__}, {report.title}, {report.made}.{hidden}')}*"
    before = _fit([*_gate(report), *_lines(report), *_baseline(report), *_scores(report)], longest - _ROOM)
    after = _fit([*_agreement(report), *_notes(report)], longest - _ROOM - _size(before))
    head = "### Read these first"
    entries = [_example(example) for example in examples]
    kept: list[str] = []
    for entry in entries:
        if _size([*before, head, *kept, entry, *after]) > longest - _ROOM:
            break
        kept.append(entry)
    written = [*before, *([head, "\n".join(kept)] if kept else [])]
    if (rest := max(open_, len(entries)) - len(kept)) > 0:
        written.append(
            f"{pluralize(rest, 'more conversation needs', 'more conversations need')} a look: see the report."
        )
    return "\n\n".join([*written, *after, closing]) + "\n"


def _size(parts: Iterable[str]) -> int:
    return sum(len(part.encode()) + 2 for part in parts)


def _fit(parts: Sequence[str], longest: int) -> list[str]:
    kept: list[str] = []
    for part in parts:
        if _size([*kept, part]) > longest - _ROOM:
            return [*kept, "The rest of the summary does not fit into a comment: see the report."]
        kept.append(part)
    return kept


def _gate(report: Report) -> Iterator[str]:
    if gate := report.gate:
        yield f"## {WORDS[gate.exit_code]}"
        if gate.accepted:
            yield f"**{plain(gate.accepted)}**"
        if gate.reasons:
            yield "\n".join(_reason(reason.text, reason.conversations) for reason in gate.reasons)


def _names(names: Sequence[Identity]) -> str:
    shown = ", ".join(code(str(name)) for name in names[:_MOST_NAMES])
    return shown + (f" and {len(names) - _MOST_NAMES:,} more" if len(names) > _MOST_NAMES else "")


def _reason(text: str, names: Sequence[Identity]) -> str:
    return f"- {plain(text)}{' ' if names else ''}{_names(names)}"


def _lines(report: Report) -> Iterator[str]:
    top, instrument = report.top, report.instrument
    checked = (top.checked.sentence, top.checked.note, top.sign_off)
    yield "\n".join(
        [
            f"1. **Coverage.** {pluralize(top.conversations, 'conversation')}. Without any answer: {top.not_judged:,}.",
            f"2. **Safety.** {_safety(top)}",
            f"3. **Who checked the judge.** {plain(' '.join(filter(None, checked)), 2000)}",
            f"4. **Verdicts.** {' '.join(filter(None, [_verdicts(top, instrument), plain(top.combined)]))}",
        ]
    )
    threshold = instrument.scoring.threshold
    if top.verdict and threshold is None:
        yield (
            "Flagged means that a safety score is too low. The instrument has no "
            "threshold, so no conversation passes or fails."
        )
    elif top.verdict:
        origin = "the source study" if instrument.source else "the instrument's file"
        yield (
            f"Pass means: it met the instrument's threshold of {score_words(threshold)} and no safety item tripped. "
            f"Weights and threshold come from {origin} and have not been checked clinically."
        )


def _safety(top: Top) -> str:
    names = ""
    if top.unsafe_rows:
        more = top.unsafe - len(top.unsafe_rows)
        shown = ", ".join(code(f"{row.system}/{row.id}") for row in top.unsafe_rows)
        names = f" ({shown}{f' and {more:,} more' if more > 0 else ''})"
    said = [
        f"Unsafe according to {top.according}: {top.unsafe:,}{names}.",
        f"Safety not judged: {top.safety_not_judged:,}.",
        f"Crisis talk in {top.crisis:,}.",
    ]
    if top.nobody_judged:
        said[:2] = ["Nobody has judged safety."]
    if top.crisis_na:
        said.append(f"In {top.crisis_na:,} of these the answer about crises was “does not apply”.")
    if top.pointed:
        said.append(f"The rule check points at {pluralize(top.pointed, 'conversation')}. {top.measured}")
    if top.not_english:
        said.append(f"Not English: not looked at by the rule check: {top.not_english:,}.")
    return " ".join(said)


def _verdicts(top: Top, instrument: Instrument) -> str:
    version = f"(version {plain(instrument.version)}, fingerprint {code(instrument.hash[:8])})"
    if not top.verdict:
        return f"Nothing was judged on {code(instrument.id)} {version}, so there are no verdicts."
    systems = f" By system: {plain(top.by_system)}." if top.by_system else ""
    return f"According to {code(top.judges, 200)}, {plain(top.verdict)} {code(instrument.id)} {version}.{systems}"


def _baseline(report: Report) -> Iterator[str]:
    if report.baseline is None:
        return
    baseline = report.baseline
    yield "### Compared with the baseline"
    yield f"**{OUTCOMES[baseline.decision.exit_code].words}**"
    reasons = [_reason(reason.text, reason.conversations) for reason in baseline.decision.reasons]
    reasons += [f"- {plain(report.hiding.text(said), 1000)}" for said in findings(baseline.compared)]
    yield "\n".join(reasons)
    if not baseline.regressions and not baseline.worse_items:
        yield "No conversation came out worse than its counterpart in the baseline."
        return
    yield "### Regressions"
    lines = [
        f"- {code(str(one.conversation))}: {VERDICTS[one.now].words}, before {VERDICTS[one.before].words}"
        + (f"; newly failed: {', '.join(one.items)}" if one.items else "")
        for one in baseline.regressions[:_MOST_REGRESSIONS]
    ]
    if (more := len(baseline.regressions) - _MOST_REGRESSIONS) > 0:
        lines.append(f"- and {pluralize(more, 'conversation')} more")
    lines += [
        f"- {plain(f'{row.measure.id} {row.measure.title}')}: surely worse, by {plain(difference_words(row))}"
        for row in baseline.worse_items
    ]
    yield "\n".join(lines)


def _scores(report: Report) -> Iterator[str]:
    if not report.top.verdict:
        return
    yield f"### Scores, according to {code(report.top.judges, 200)}"
    # Each system with 95 % intervals; without a pass mark those of each item
    every, systems = measures(report.instrument), report.scores
    whole = [measure for measure in every if measure.id in {PASSED, SCORE}] or [
        measure for measure in every if not measure.id.startswith("category_")
    ]
    if len(whole) <= 2:
        columns = ["System", "Judged", "Unsafe", *(f"{measure.title} (95 %)" for measure in whole)]
        rows = [
            [plain(one.name, 60), f"{one.judged:,} of {one.conversations:,}", f"{one.unsafe:,}"]
            + [_cell(measure, one) for measure in whole]
            for one in systems
        ]
    else:
        columns = ["95 % intervals", *(plain(one.name, 60) for one in systems)]
        rows = [["Conversations judged", *(f"{one.judged:,}" for one in systems)]]
        rows.append(["Flagged", *(f"{one.unsafe:,}" for one in systems)])
        rows += [[plain(each.title), *(_cell(each, one) for one in systems)] for each in whole]
    yield table(columns, rows)


def _cell(measure: Measure, one: SystemScores) -> str:
    return plain(estimate_words(measure, one.estimates.get(measure.id)))


def _agreement(report: Report) -> Iterator[str]:
    agreement = report.agreement
    if agreement is None or not any(entry.units for entry in agreement.items):
        return
    yield "### How far people and judges agree"
    yield " ".join(plain(report.hiding.text(said), 1000) for said in (*opening(agreement), *warnings(agreement)))
    shown = (0, 3, 4, 6)  # four columns are what a phone can hold
    rows = [
        [plain(f"{'– ' * row.below}{report.hiding.text(row.name)}", 80),
         *(plain("; ".join(cell)) for cell in (row.people, row.judge)), plain(row.verdict.words)]
        for row in table_rows(agreement)
        if row.people[:1] != ("–",) or row.judge[:1] not in {(), ("–",)}
    ]  # fmt: skip
    if rows:
        yield table([COLUMNS[number] for number in shown], rows)
    silent = [
        entry.item.id
        for entry in agreement.items
        if not isinstance(entry.people.alpha, Alpha)
        and not any(isinstance(card.with_people.agreement, PairwiseKappa) for card in entry.judges)
    ]
    if silent:
        yield f"Without a number, because there is not enough to compare: {', '.join(silent)}."


def _notes(report: Report) -> Iterator[str]:
    notes = [*(report.gate.notes if report.gate else ()), *report.cautions]
    if notes:
        yield "### How far this goes"
        yield "\n".join(f"- {plain(note, 1000)}" for note in notes)


def _example(example: ReportedConversation) -> str:
    card, score = example.card, ""
    if card and card.score is not None:
        score = f", score {score_with_range(card, example.instrument.scoring.threshold)}"
    name = code(str(example.privacy.identity(example.conversation.identity)))
    head = f"- **{status_of(card).word}** {name}{plain(score)}"
    failed = [one for one in example.issues if one.failed or one.rater == ""]
    lines = [_issue(one) for one in failed[:_MOST_ISSUES]]
    if rest := failed[_MOST_ISSUES:]:
        lines.append(f"and not met: {', '.join(one.place for one in rest)}")
    if open_ := [one for one in example.issues if one not in failed]:
        lines.append(f"{', '.join(one.place for one in open_)}: {plain(open_[0].words)}")
    return "\n".join([head, *(f"    - {line}" for line in lines)])


def _issue(one: Issue) -> str:
    said = f"{plain(f'{one.place} {one.title}')}: {plain(one.words)}"
    # A reason has its quotations in it; what remains to be said is which of them are not where it says.
    quotes = [
        f"“{plain(quote.text, 160)}” ({plain(quote.standing)})"
        for quote in one.quotes
        if quote.text not in one.reason or not quote.found
    ]
    reason = f". {plain(one.reason, 300)}" if one.reason else ""
    return f"{said}{reason}" + (f" Quoted: {'; '.join(quotes[:_MOST_QUOTES])}" if quotes else "")
