"""The whole analysis of a study or a table: people with people, judges with people, judges with judges.

One `Agreement` has what is known about every item. `analyse_agreement` makes it from a ratings table; `parts` for
each value of a column, such as the language.

`study_agreement` and `file_agreement` are what the command line, the reports and Python programs call.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from attunement.analysis.judge_agreement import (
    WORD_COUNT,
    Citations,
    baselines,
    citations,
    ratings_of_sample,
    text_counts,
)
from attunement.analysis.ratings_file import FileColumns, read_ratings
from attunement.analysis.ratings_table import AnswerState, ItemMatrix, RatedItem, RatingsTable, collect_ratings
from attunement.analysis.reliability import Reliability, Retest, reliability, retest
from attunement.analysis.trust import ItemContext, JudgeBehavior, TrustCard, trust_card
from attunement.errors import InputError
from attunement.instruments import Instrument
from attunement.statistics.bootstrap import clustered_interval
from attunement.statistics.correlation import ICC, icc
from attunement.statistics.kappa import PairwiseKappa, judge_kappa, people_kappa, people_kappa_statistic
from attunement.statistics.results import Interval, Undefined
from attunement.statistics.tables import Floats
from attunement.store import Study


class JudgePair(NamedTuple):
    first: str
    second: str
    agreement: PairwiseKappa | Undefined


class PeopleDetails(NamedTuple):
    icc: ICC | Undefined  # ICC(2,k): how reliable the mean of a unit's raters is
    interval: Interval | Undefined  # of how far single raters agree
    retest: Retest | Undefined  # all people together, each compared with their own earlier answers


class ItemAgreement(NamedTuple):
    item: RatedItem
    conversations: int  # those that people rated, or where there are no people those that judges rated
    units: int
    answers: dict[str, int]
    """How often each answer was given, by people or where there are none by judges; NA and no answer among them."""
    people: Reliability
    people_kappa: PairwiseKappa | Undefined  # how far any two people agree
    cards: tuple[TrustCard, ...]  # one a judge
    baselines: dict[str, PairwiseKappa | Undefined]  # how far the trivial judges agree with people
    details: PeopleDetails | None
    judge_pairs: tuple[JudgePair, ...]
    judge_retests: dict[str, Retest]  # judges that were asked again, also where no person rated


@dataclass(frozen=True)
class Agreement:
    """What is known about all items, and what it rests on."""

    items: tuple[ItemAgreement, ...]
    people: tuple[str, ...]
    judges: tuple[str, ...]
    left_out: Counter[str]
    notes: tuple[str, ...] = ()
    part: str = ""  # which part of the conversations this is; empty for all of them
    conversations: int = 0
    professions: Mapping[str, int] = field(default_factory=Counter[str])
    """What the people say they are by profession, and how many are so; those who said nothing are not counted."""
    parts: tuple["Agreement", ...] = field(default=())


class StudyContext(NamedTuple):
    counts: Mapping[str, Floats] | None = None  # for each unit what trivial judges count: see `baselines.text_counts`
    citations: Mapping[tuple[str, str], Citations] | None = None
    weights: Floats | None = None  # for each conversation one over its probability of being drawn


NA, NO_ANSWER = "does not apply", "no answer"


def chosen(
    gathered: RatingsTable, people: Sequence[str], judges: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The people and the judges who are meant.

    People are chosen by name, or by anything that is known of them, such as a profession; judges by name. Without a
    choice all of them are meant.

    Raises:
        InputError: Nobody fits.
    """
    found = tuple(
        who.name
        for who in gathered.raters
        if who.name in gathered.people
        and (not people or any(_fits(wanted, who.name, who.settings) for wanted in people))
    )
    if people and not found:
        raise InputError(
            f"nobody fits --people {', '.join(people)}; there are {', '.join(gathered.people[:8]) or 'no people'}"
        )
    for name in judges:
        if name not in gathered.judges:
            raise InputError(f"there is no judge {name!r}; there are {', '.join(gathered.judges[:8]) or 'none'}")
    return found, tuple(name for name in gathered.judges if not judges or name in judges)


def _fits(wanted: str, name: str, settings: Mapping[str, Any]) -> bool:
    known: list[Any] = [name]
    for value in settings.values():
        known += value if isinstance(value, list) else [value]
    return wanted.casefold() in {str(each).casefold() for each in known}


def analyse_agreement(
    gathered: RatingsTable,
    people: Sequence[str] | None = None,
    judges: Sequence[str] | None = None,
    *,
    items: Sequence[str] = (),
    beside: StudyContext | None = None,
    full: bool = False,
) -> Agreement:
    """All that is known about the agreement of these people and judges.

    Args:
        gathered: The ratings.
        people: Those who count as people here; by default all people.
        judges: The judges to hold against them; by default all judges.
        items: Only these items, by id.
        beside: What is known beside the ratings.
        full: Whether to compute what only a full report shows.
    """
    who = _Who(
        gathered.people if people is None else tuple(people), gathered.judges if judges is None else tuple(judges)
    )
    made = [
        _item(gathered, number, who, beside or StudyContext(), full=full)
        for number, item in enumerate(gathered.items)
        if not items or item.id in items
    ]
    there = len(np.unique(gathered.unit_conversation[gathered.unit]))
    said = [rater.settings.get("profession") for rater in gathered.raters if rater.name in who.people]
    stated = Counter(str(profession) for profession in said if profession)
    return Agreement(tuple(made), *who, gathered.left_out, gathered.notes, conversations=there, professions=stated)


def parts(gathered: RatingsTable, column: str) -> dict[str, RatingsTable]:
    """The ratings of each value of a column: `system`, or anything in the conversations' metadata.

    Raises:
        InputError: No conversation has it.
    """
    if column == "system":
        values = [talk.identity.system for talk in gathered.conversations]
    else:
        known = dict.fromkeys(name for talk in gathered.conversations for name in talk.metadata)
        if column not in known and gathered.conversations:
            raise InputError(f"no conversation has {column!r}; there are {', '.join(['system', *known][:12])}")
        values = [_shown(talk.metadata.get(column)) for talk in gathered.conversations]
    every = np.array(values, dtype=np.object_)
    return {value: gathered.of_conversations(every == value) for value in sorted(set(values))}


def _shown(value: Any) -> str:
    return "not stated" if value is None or value == "" else str(value)


class _Who(NamedTuple):
    people: tuple[str, ...]
    judges: tuple[str, ...]


def _item(gathered: RatingsTable, number: int, who: _Who, beside: StudyContext, *, full: bool) -> ItemAgreement:
    sheet = gathered.item_matrix(number)
    people = sheet.columns(who.people)
    scale = sheet.item.scale
    standing = reliability(people.values, sheet.conversation, scale)
    around = _around(gathered, sheet, people, beside)
    cards = [
        trust_card(sheet, people, judge, standing, around, _habits(gathered, number, judge, beside) if full else None)
        for judge in who.judges
        if (sheet.states[:, sheet.column_of(judge)] != AnswerState.NOT_ASKED).any()
    ]
    asked = people if (people.states != AnswerState.NOT_ASKED).any() else sheet.columns(who.judges)
    rated = (asked.states != AnswerState.NOT_ASKED).any(axis=1)
    single = people_kappa(people.values, ordered=scale.ordered)
    return ItemAgreement(
        item=sheet.item,
        conversations=len(np.unique(sheet.conversation[rated])),
        units=int(rated.sum()),
        answers=_answers(asked),
        people=standing,
        people_kappa=single,
        cards=tuple(cards),
        baselines={
            name: judge_kappa(answers, people.values, ordered=scale.ordered) for name, answers in around.rivals.items()
        },
        details=_people_details(gathered, number, people, single) if full else None,
        judge_pairs=_pairs(sheet, who.judges) if full else (),
        judge_retests=_judges_again(gathered, number, who.judges),
    )


def _answers(sheet: ItemMatrix) -> dict[str, int]:
    scale = sheet.item.scale
    counts = {word: int((sheet.values == value).sum()) for value, word in zip(scale.values, scale.words, strict=True)}
    missing = np.isin(sheet.states, [AnswerState.ABSTAINED, AnswerState.ERROR])
    more = {NA: int((sheet.states == AnswerState.NA).sum()), NO_ANSWER: int(missing.sum())}
    return counts | {word: count for word, count in more.items() if count}


def _around(gathered: RatingsTable, sheet: ItemMatrix, people: ItemMatrix, beside: StudyContext) -> ItemContext:
    counts = {name: count[sheet.units] for name, count in (beside.counts or {}).items()}
    rivals = baselines(counts, people.values, sheet.item.scale)
    names = [talk.identity.system for talk in gathered.conversations]
    systems, of_talk = np.unique(np.array(names, dtype=np.str_), return_inverse=True)
    weights = None if beside.weights is None else beside.weights[sheet.conversation]
    return ItemContext(
        rivals, counts.get(WORD_COUNT), of_talk.astype(np.int64)[sheet.conversation], tuple(systems.tolist()), weights
    )


def _habits(gathered: RatingsTable, number: int, judge: str, beside: StudyContext) -> JudgeBehavior:
    answers, _ = gathered.repeated_answers(number, judge)
    found = (beside.citations or {}).get((judge, gathered.items[number].id))
    return JudgeBehavior(retest(answers, ordered=gathered.items[number].scale.ordered), found)


def _judges_again(gathered: RatingsTable, number: int, judges: Sequence[str]) -> dict[str, Retest]:
    found: dict[str, Retest] = {}
    for judge in judges:
        result = retest(gathered.repeated_answers(number, judge)[0], ordered=gathered.items[number].scale.ordered)
        if isinstance(result, Retest):
            found[judge] = result
    return found


def _people_details(
    gathered: RatingsTable, number: int, people: ItemMatrix, single: PairwiseKappa | Undefined
) -> PeopleDetails:
    ordered = people.item.scale.ordered
    interval: Interval | Undefined
    if isinstance(single, PairwiseKappa):
        interval = clustered_interval(people_kappa_statistic(people.values, ordered=ordered), people.conversation)
    else:
        interval = single
    answers = [gathered.repeated_answers(number, who.name)[0] for who in people.raters]
    widest = max((each.shape[1] for each in answers), default=0)
    padded = [np.pad(each, ((0, 0), (0, widest - each.shape[1])), constant_values=np.nan) for each in answers]
    own = retest(np.vstack(padded), ordered=ordered) if padded else Undefined("there are no people")
    mean = icc(people.values, 2, average=True) if ordered else Undefined("the answers have no order")
    return PeopleDetails(mean, interval, own)


def _pairs(sheet: ItemMatrix, judges: Sequence[str]) -> tuple[JudgePair, ...]:
    ordered = sheet.item.scale.ordered
    return tuple(
        JudgePair(
            first,
            second,
            judge_kappa(
                sheet.values[:, sheet.column_of(first)], sheet.values[:, [sheet.column_of(second)]], ordered=ordered
            ),
        )
        for first, second in combinations(judges, 2)
    )


class AgreementOptions(NamedTuple):
    """Whom and what to look at; without a choice all of it."""

    judges: tuple[str, ...] = ()
    people: tuple[str, ...] = ()  # by name, or by anything that is known of them, such as a profession
    items: tuple[str, ...] = ()
    by: str | None = None  # also for each part: `system`, or a name in the conversations' metadata
    full: bool = False  # whether to compute what only a full report shows


def study_agreement(study: Study, instrument: Instrument, options: AgreementOptions | None = None) -> Agreement:
    """How far people and judges agree in a study, on the items of one instrument.

    Where a sample was drawn for people, figures rest on it, and on its `certify` part where it was split.

    Raises:
        InstrumentError: There is no such item.
        InputError: Nobody fits the options, or no conversation has the column.
    """
    options = options or AgreementOptions()
    for name in options.items:
        instrument.item(name)
    rests = ratings_of_sample(study, instrument.id, collect_ratings(study, instrument))
    quoted = citations(study, instrument) if options.full else None
    beside = StudyContext(text_counts(study, rests.table), quoted, rests.weights)
    found = _summarised(rests.table, options, beside)
    return replace(found, notes=(*rests.notes, *found.notes))


def file_agreement(path: Path, reading: FileColumns, options: AgreementOptions | None = None) -> Agreement:
    """How far raters agree in a table of ratings.

    Raises:
        InputError: The table cannot be read as `reading` says, or nobody fits the options.
    """
    options = options or AgreementOptions()
    gathered = read_ratings(path, reading)
    known = [each.id for each in gathered.items]
    for name in options.items:
        if name not in known:
            raise InputError(f"{path} has no item {name!r}; it has {', '.join(known[:12])}")
    return _summarised(gathered, options, StudyContext())


def _summarised(gathered: RatingsTable, options: AgreementOptions, beside: StudyContext) -> Agreement:
    people, judges = chosen(gathered, options.people, options.judges)
    pieces: Mapping[str, RatingsTable] = parts(gathered, options.by) if options.by else {}
    found, *made = (
        analyse_agreement(piece, people, judges, items=options.items, beside=beside, full=options.full)
        for piece in (gathered, *pieces.values())
    )
    return replace(found, parts=tuple(replace(part, part=name) for name, part in zip(pieces, made, strict=True)))
