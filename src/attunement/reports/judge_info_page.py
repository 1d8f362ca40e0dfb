"""How does what is known about a judge read: sentences and tables, the same on a terminal and in Markdown?"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from attunement.reports.agreement_wording import NONE, figure
from attunement.reports.judge_info import ItemInfo, JudgeInfo, ModelInfo, SignalsInfo
from attunement.reports.wording import Phrase, Tone
from attunement.signals.validity import Agreement, Count, Counts, Figure, Rater, Verdict

VERDICTS = {
    Verdict.VALID: Phrase("valid", Tone.MET),
    Verdict.WEAK: Phrase("weak", Tone.NA),
    Verdict.NOT_VALID: Phrase("not valid", Tone.NOT_MET),
    Verdict.NOT_MEASURED: Phrase("not measured", Tone.OPEN),
}
MEANINGS = {
    Verdict.VALID: "its interval lies above the best trivial judge and reaches what one person reaches with another",
    Verdict.WEAK: "its interval lies above the best trivial judge only",
    Verdict.NOT_VALID: "its interval does not lie above the best trivial judge",
    Verdict.NOT_MEASURED: "there are no people's ratings of it, or none could be computed",
}


@dataclass(frozen=True)
class Grid:
    """A table: its title, its columns, its rows, and what is to be said about it."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    remarks: Sequence[str] = ()
    figures: bool = True
    """Whether all columns but the first hold figures."""


@dataclass(frozen=True)
class Section:
    """A part of the page; the verdict stands first where there is one."""

    title: str
    verdict: Phrase | None = None
    said: Sequence[str] = ()
    grids: Sequence[Grid] = field(default_factory=list[Grid])
    level: int = 2


def page(info: JudgeInfo, *, kinds: bool = False) -> list[Section]:
    """What is to be shown.

    Args:
        info: What is known.
        kinds: Whether counts on our own sentences are also given for each kind of cue and harm.
    """
    return _signals(info, kinds=kinds) if isinstance(info, SignalsInfo) else [_model(info)]


def _signals(info: SignalsInfo, *, kinds: bool) -> list[Section]:
    sections = [_opening(info), _detectors(info, kinds=kinds)]
    shown = dict.fromkeys((counts.id for counts in info.detectors), "above")
    for instrument, items in groupby(info.items, key=lambda entry: entry.instrument):
        sections.append(Section(instrument))
        sections += [_item(entry, shown, kinds=kinds) for entry in items]
    if info.others:
        said = ["The trained scorer gives these levels as well; no item of a built-in instrument rests on them."]
        sections.append(Section("What else was measured", None, said, [_agreement(each) for each in info.others]))
    sections.append(Section("Where the trained networks come from", None, info.attribution))
    return sections


def _opening(info: SignalsInfo) -> Section:
    said = [
        "Rules, counts and small trained networks: no LLM, no key, no connection. It can raise a safety flag and never "
        "clears one. What it has no valid way to know, it does not answer.",
        info.reads,
        *info.cautions,
        "Figures: kappa is agreement beyond chance and order is Spearman's rank correlation, each with single people "
        "(0 is chance, 1 is perfect); n is the number of answers, and the brackets say from where to where the figure "
        "may lie (95 %, clustered). Word count and question marks are judges that only count, in the direction and "
        "with the shares of answers that suit them best.",
    ]
    rows = [[VERDICTS[verdict].words, MEANINGS[verdict], _listed(info, verdict)] for verdict in Verdict]
    grid = Grid("In short", ("Verdict", "Meaning", "Items"), rows, figures=False)
    return Section("signals: the embedded judge", None, said, [grid], level=1)


def _listed(info: SignalsInfo, verdict: Verdict) -> str:
    return ", ".join(entry.item for entry in info.items if entry.verdict is verdict) or NONE


def _detectors(info: SignalsInfo, *, kinds: bool) -> Section:
    said = [
        "They stand behind CQ8, CQ9, helpfulness and safety. What they miss matters most, so recall comes first. They "
        "find cues, harmful words and resources; whether a reply was good enough is another question, answered below."
    ]
    grids = [_counts(each, kinds=kinds) for each in info.detectors]
    return Section("The crisis, harm and resource detectors", None, said, grids)


def _item(entry: ItemInfo, shown: dict[str, str], *, kinds: bool) -> Section:
    verdict = VERDICTS[entry.verdict]
    words = f"{verdict.words}: {entry.why}" if entry.why else verdict.words
    mapped = " Levels: mapped, not measured." if entry.mapped else ""
    said = [f"How: {entry.how}{mapped}", f"What it does: {entry.conduct}."]
    grids = [_agreement(each) for each in entry.agreements]
    for counts in entry.counts:
        if counts.id not in shown:
            grids.append(_counts(counts, kinds=kinds))
        elif shown[counts.id] != "above":
            said.append(f"Counted for its rule, see {shown[counts.id]}: {counts.source}.")
        shown.setdefault(counts.id, entry.item)
    return Section(f"{entry.item} {entry.title}", Phrase(words, verdict.tone), said, grids, level=3)


def _agreement(found: Agreement) -> Grid:
    ordered = any(rater.order for rater in found.raters)
    median = any(rater.median for rater in found.raters)
    columns = ["Who, against single people", "n", "kappa", *(["order"] if ordered else [])]
    rows = [
        [rater.who, _number(rater), with_span(rater.kappa), *([with_span(rater.order)] if ordered else [])]
        for rater in found.raters
    ]
    remarks = [f"Held against it: {found.reads}. {_decides(found)}", *_beside(found)]
    remarks += [counted(count) for count in found.flags]
    if median:
        said = ", ".join(f"{rater.who} {with_span(rater.median)}" for rater in found.raters if rater.median)
        remarks.append(
            f"As the paper counts it, kappa with the experts' median: {said}. That is not comparable with expert with "
            "expert, which it flatters."
        )
    if found.note:
        remarks.append(_sentence(found.note))
    return Grid(f"{found.source}. People rated: {found.asked}", columns, rows, remarks)


def _number(rater: Rater) -> str:
    return f"{max((each.n for each in (rater.kappa, rater.order) if each), default=0):,}"


def _decides(found: Agreement) -> str:
    by = "kappa" if found.by == "kappa" else "order"
    return f"The verdict is by {by}: {found.verdict}." if found.decides else "No verdict rests on it."


def _beside(found: Agreement) -> Iterator[str]:
    if found.ahead:
        best = f"the best trivial judge ({found.best_trivial})" if found.best_trivial else "chance"
        yield f"Minus {best}: {with_span(found.ahead)}."
    if found.gap:
        yield f"Minus person with person: {with_span(found.gap)}."
    elif found.ahead:
        yield "No two people rated the same, so it is weak at best."


def _counts(found: Counts, *, kinds: bool) -> Grid:
    rows = [
        [count.what, _number_of(count), with_span(count.share)]
        for count in found.counts
        if kinds or not count.what.startswith("seen: ")
    ]
    return Grid(_sentence(found.source)[:-1], ("Counted", "number", "figure"), rows, [found.note] if found.note else [])


def counted(count: Count) -> str:
    """A count in a line."""
    return _sentence(f"{count.what}: {_number_of(count)}, {with_span(count.share)}")


def _number_of(count: Count) -> str:
    return f"{count.share.n:,}" if count.hits is None else f"{count.hits:,} of {count.share.n:,}"


def with_span(found: Figure | None) -> str:
    """A figure with its interval; a dash where there is none."""
    if found is None or found.value is None:
        return NONE
    if found.low is None or found.high is None:
        return figure(found.value)
    return f"{figure(found.value)} [{figure(found.low)}, {figure(found.high)}]"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "."


def _model(info: ModelInfo) -> Section:
    said = [
        "Nothing was measured here: how far it can be believed depends on the model, the items and the conversations.",
        f"To measure it on public data: attune bench kumar2025 --from FOLDER --judge {info.name}",
        "To measure it on your own: let people rate some conversations (attune plan, attune annotate), then run attune "
        "agree.",
        f"Family: {info.family or 'not known from its name'}. Judges favour systems of their own family; do not let "
        "them judge those alone.",
    ]
    if info.dated:
        said.append("Its name is pinned to a date or a version, so it means the same model next month.")
    elif info.hosted:
        said.append("Its name has no date: another model may stand behind it next month. A dated name is better.")
    said.append(_price(info))
    return Section(info.name, VERDICTS[Verdict.NOT_MEASURED], said, level=1)


def _price(info: ModelInfo) -> str:
    if info.price is None:
        return "Price: not on the price list; say it with --price-in and --price-out."
    if not info.price.prompt and not info.price.completion:
        return "Price: nothing, it runs on this machine."
    return (
        f"Price: ${info.price.prompt:g} a million prompt tokens, ${info.price.completion:g} a million reply tokens "
        f"({info.price.source})."
    )
