"""What do the lines at the top of a report say?

Their order is fixed: what was read, safety, who checked the judge, and only then verdicts.
"""

from collections.abc import Sequence
from typing import NamedTuple

from attunement.reports.html.charts import System, percent
from attunement.reports.html.figures import Figures
from attunement.reports.html.gathering import NOT_ENGLISH, POINTER
from attunement.reports.html.listing import Filter, Listing, Row
from attunement.reports.html.sections import Checked
from attunement.reports.html.statuses import ALARMING, UNJUDGED
from attunement.reports.html.text import Hiding
from attunement.reports.wording import counted
from attunement.signals.measured import in_a_line

_LINKED = 5
"""Unsafe conversations that are named in the line about safety."""
_MOST_NAMED = 4
"""Systems whose shares are named in the line about verdicts."""

_UNCHECKED = Checked("Not checked against people.")
_NO_JUDGE = Checked("There is no judge: people rated the conversations themselves.")


class Top(NamedTuple):
    """The four lines."""

    conversations: int
    not_judged: int
    unsafe: int
    unsafe_rows: list[Row]
    according: str
    safety_not_judged: int
    crisis: int
    crisis_na: int
    pointed: int
    """Conversations with a pointer of the rule check."""
    not_english: int
    """Conversations that the rule check did not look at."""
    checked: Checked
    sign_off: str
    judges: str
    verdict: str
    shares: list[tuple[str, str]]
    """The share that passes by system, in words, where there are a few."""
    hint: str = ""
    """What to do next, where nothing can be said yet."""

    @property
    def nobody_judged(self) -> bool:
        """Whether there are conversations and not one of them was judged."""
        return 0 < self.conversations == self.not_judged

    @property
    def measured(self) -> str:
        """How often pointers were right when that was measured."""
        return in_a_line()

    @property
    def by_system(self) -> str:
        """The shares in one line."""
        return ", ".join(f"{name} {share}" for name, share in self.shares)


def top_lines(
    figures: Figures,
    systems: Sequence[System],
    listing: Listing,
    hiding: Hiding,
    checked: Checked | None,
    sign_off: str,
) -> Top:
    """The lines about a study that was counted; `checked` is None where no analysis says who checked the judge."""
    total, statuses = figures.total, figures.total.statuses
    linked = [placed.row for status in ALARMING for placed in listing.rows(Filter(status=status.word), most=_LINKED)]
    names = [hiding.text(name) for name in figures.members]
    return Top(
        conversations=total.tally.conversations,
        not_judged=total.unanswered,
        unsafe=sum(statuses[status] for status in ALARMING),
        unsafe_rows=linked[:_LINKED],
        according=_according(figures),
        safety_not_judged=statuses[UNJUDGED],
        crisis=figures.crisis,
        crisis_na=figures.crisis_na,
        pointed=figures.flags[POINTER],
        not_english=figures.flags[NOT_ENGLISH],
        checked=checked or (_NO_JUDGE if figures.by_people else _UNCHECKED),
        sign_off=sign_off,
        judges=f"{len(names):,} people" if figures.by_people and len(names) > _MOST_NAMED else _and(names),
        verdict=_verdict_sentence(figures),
        shares=_shares(figures, systems),
        hint=_hint(figures),
    )


def _and(names: Sequence[str]) -> str:
    return " and ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else "".join(names)


def _hint(figures: Figures) -> str:
    """What to do where nothing was judged."""
    total = figures.total
    if not total.tally.conversations:
        return "There is nothing in this study yet: attune judge takes conversations in and asks about them."
    if total.unanswered < total.tally.conversations:
        return ""
    if figures.judges:
        return "No question got an answer. The same attune judge again asks what is missing."
    return "Nobody was asked on this instrument yet: attune judge asks a judge, attune annotate asks people."


def _according(figures: Figures) -> str:
    if figures.by_people:
        return "people"
    return "the judges" if len(figures.members) > 1 else "the judge"


def _verdict_sentence(figures: Figures) -> str:
    """What comes between "According to JUDGE," and the name of the instrument."""
    total = figures.total
    if not total.passed.whole:
        return ""
    if figures.instrument.scoring.threshold is None:
        flagged = sum(total.statuses[status] for status in ALARMING)
        are = "is" if flagged == 1 else "are"
        whole = total.tally.conversations - total.statuses[UNJUDGED]
        return f"{flagged:,} of {counted(whole, 'conversation')} {are} flagged on"
    if total.passed.whole == 1:
        return f"the conversation {'passes' if total.passed.part else 'does not pass'}"
    share = percent(total.passed.part, total.passed.whole)
    return f"{share} {'of the conversations' if share.endswith('%') else 'conversations'} pass"


def _shares(figures: Figures, systems: Sequence[System]) -> list[tuple[str, str]]:
    """The share that passes for each of a few systems."""
    if figures.instrument.scoring.threshold is None or not 1 < len(systems) <= _MOST_NAMED:
        return []
    shares = [(system.name, figures.systems[system.name].passed) for system in systems]
    return [(name, percent(share.part, share.whole)) for name, share in shares if share.whole]
