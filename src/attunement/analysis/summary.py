"""The whole analysis of a table of ratings: people with people, judges with people, judges with judges.

One `Agreement` has what is known about every item; the command line, reports, pages and Python programs all show it.
`study_agreement` makes it from a study, `table_agreement` from any other table, `analyse_agreement` from a
`RatingsTable`.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from attunement.analysis.failures import POINTERS, QUESTION_MARKS, WORD_COUNT, people_recall
from attunement.analysis.judge_agreement import baselines
from attunement.analysis.judge_result import Citations, ItemContext, JudgeResult, judge_result
from attunement.analysis.ratings_file import FileColumns, Source, read_ratings
from attunement.analysis.ratings_table import (
    AnswerState,
    ItemMatrix,
    RatedItem,
    RatingsTable,
    collect_ratings,
    declare_failures,
)
from attunement.analysis.reliability import Reliability, Retest, reliability, retest, severity
from attunement.conversations.statistics import words
from attunement.errors import InputError
from attunement.evidence import CitationStatus
from attunement.instruments import Instrument
from attunement.ratings import RaterKind
from attunement.signals.pointers import PointerKind, country_of, pointers
from attunement.statistics.correlation import ICC, icc
from attunement.statistics.estimates import Mean, Rate, alike
from attunement.statistics.kappa import PairwiseKappa, judge_kappa
from attunement.statistics.results import Undefined
from attunement.statistics.tables import Bools, Floats, Ints
from attunement.store import Study
from attunement.store.queries import judges_evidence
from attunement.store.samples import latest_sample, versions_tried_on_certify

NA, NO_ANSWER = "does not apply", "no answer"


class JudgePair(NamedTuple):
    first: str
    second: str
    agreement: PairwiseKappa | Undefined


class PeopleDetails(NamedTuple):
    icc: ICC | Undefined  # ICC(2,k): how reliable the mean of a unit's raters is
    severity: dict[str, Mean | Undefined]  # each person's answers minus those of the others
    retest: Retest | Undefined  # all people together, each compared with their own earlier answers
    recall: Rate | Undefined | None  # of one person's failures, those that another found; None where none are declared


class ItemAgreement(NamedTuple):
    item: RatedItem
    conversations: int  # those that people rated, or where there are no people those that judges rated
    units: int
    answers: dict[str, int]
    """How often each answer was given, by people or where there are none by judges; NA and no answer among them."""
    people: Reliability
    judges: tuple[JudgeResult, ...]  # and the panels of several judges
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
    counts: Mapping[str, Floats] | None = None  # for each unit what trivial judges count: see `text_counts`
    citations: Mapping[tuple[str, str], Citations] | None = None
    weights: Floats | None = None  # for each conversation one over its probability of being drawn


class AgreementOptions(NamedTuple):
    """Whom and what to look at; without a choice all of it."""

    judges: tuple[str, ...] = ()
    people: tuple[str, ...] = ()  # by name, or by anything that is known of them, such as a profession
    items: tuple[str, ...] = ()
    by: str | None = None  # also for each part: `system`, or a name in the conversations' metadata
    fails: tuple[str, ...] = ()  # what is a failure, where it is not what the instrument's gate says
    cluster: str | None = None  # what to treat as dependent instead of conversations: `system`, or a metadata field
    full: bool = False  # whether to compute what only a full report shows


def study_agreement(study: Study, instrument: Instrument, options: AgreementOptions | None = None) -> Agreement:
    """How far people and judges agree in a study, on the items of one instrument.

    Where a sample was drawn for people, figures rest on it, and on its test part where it was split.

    Raises:
        InstrumentError: There is no such item.
        InputError: Nobody fits the options, or no conversation has the column.
    """
    options = options or AgreementOptions()
    for name in options.items:
        instrument.item(name)
    sample = ratings_of_sample(study, instrument.id, collect_ratings(study, instrument))
    quoted = citations(study, instrument) if options.full else None
    found = _with_parts(sample.table, options, StudyContext(text_counts(study, sample.table), quoted, sample.weights))
    return replace(found, notes=(*sample.notes, *found.notes))


def table_agreement(source: Source, columns: FileColumns, options: AgreementOptions | None = None) -> Agreement:
    """How far raters agree in a table of ratings: files, a data frame, or rows with named fields.

    Raises:
        InputError: The table cannot be read as `columns` says, or nobody fits the options.
    """
    options = options or AgreementOptions()
    ratings = read_ratings(source, columns)
    known = [each.id for each in ratings.items]
    for name in options.items:
        if name not in known:
            raise InputError(f"the table has no item {name!r}; it has {', '.join(known[:12])}")
    return _with_parts(ratings, options, StudyContext())


def _with_parts(ratings: RatingsTable, options: AgreementOptions, context: StudyContext) -> Agreement:
    ratings = declare_failures(ratings, options.fails)
    people, judges = chosen(ratings, options.people, options.judges)
    pieces = _parts(ratings, options.by) if options.by else {}
    whole, *others = (
        analyse_agreement(
            piece, people, judges, items=options.items, context=context, full=options.full, cluster=options.cluster
        )
        for piece in (ratings, *pieces.values())
    )
    return replace(whole, parts=tuple(replace(part, part=name) for name, part in zip(pieces, others, strict=True)))


def chosen(
    ratings: RatingsTable, people: Sequence[str], judges: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The people and the judges who are meant.

    People are chosen by name, or by anything that is known about them, such as a profession; judges by name. Without a
    choice all of them are meant.

    Raises:
        InputError: Nobody fits.
    """
    wanted, found = {name.casefold() for name in people}, list[str]()
    for rater in ratings.raters:
        known: list[Any] = [rater.name]
        for value in rater.settings.values():
            known += value if isinstance(value, list) else [value]
        fits = not people or wanted & {str(each).casefold() for each in known}
        if rater.name in ratings.people and fits:
            found.append(rater.name)
    if people and not found:
        raise InputError(
            f"nobody fits --people {', '.join(people)}; there are {', '.join(ratings.people[:8]) or 'no people'}"
        )
    for name in judges:
        if name not in ratings.judges:
            raise InputError(f"there is no judge {name!r}; there are {', '.join(ratings.judges[:8]) or 'none'}")
    return tuple(found), tuple(name for name in ratings.judges if not judges or name in judges)


def analyse_agreement(
    ratings: RatingsTable,
    people: Sequence[str] | None = None,
    judges: Sequence[str] | None = None,
    *,
    items: Sequence[str] = (),
    context: StudyContext | None = None,
    full: bool = False,
    cluster: str | None = None,
) -> Agreement:
    """All that is known about the agreement of these people and judges.

    Args:
        ratings: The ratings.
        people: Those who count as people here; by default all people.
        judges: The judges to compare with them; by default all judges.
        items: Only these items, by id.
        context: What is known in addition to the ratings.
        full: Whether to compute what only a full report shows.
        cluster: What to treat as dependent instead of conversations, such as their scenario.
    """
    people = ratings.people if people is None else tuple(people)
    judges = ratings.judges if judges is None else tuple(judges)
    clusters = np.arange(len(ratings.conversations))
    if cluster:
        values = _column(ratings, cluster)
        clusters = np.unique(values, return_inverse=True)[1].astype(np.int64)
    found = [
        _item(ratings, number, people, judges, context or StudyContext(), clusters, full=full)
        for number, item in enumerate(ratings.items)
        if not items or item.id in items
    ]
    professions = [rater.settings.get("profession") for rater in ratings.raters if rater.name in people]
    notes = [f"Intervals treat conversations with the same {cluster} as dependent."] if cluster else []
    return Agreement(
        items=tuple(found),
        people=people,
        judges=judges,
        left_out=ratings.left_out,
        notes=(*notes, *ratings.notes),
        conversations=len(np.unique(ratings.unit_conversation[ratings.unit])),
        professions=Counter(str(profession) for profession in professions if profession),
    )


def _parts(ratings: RatingsTable, column: str) -> dict[str, RatingsTable]:
    """The ratings of each value of a column of the conversations."""
    every = _column(ratings, column)
    return {value: ratings.of_conversations(every == value) for value in sorted(set(every.tolist()))}


def _column(ratings: RatingsTable, column: str) -> "np.ndarray[Any, np.dtype[np.str_]]":
    """For each conversation its system, or what its metadata say.

    Raises:
        InputError: No conversation has it.
    """
    if column == "system":
        return np.array([each.identity.system for each in ratings.conversations], dtype=np.str_)
    known = dict.fromkeys(name for each in ratings.conversations for name in each.metadata)
    if column not in known and ratings.conversations:
        raise InputError(f"no conversation has {column!r}; there are {', '.join(['system', *known][:12])}")
    found = [each.metadata.get(column) for each in ratings.conversations]
    return np.array(["not stated" if value is None or value == "" else str(value) for value in found], dtype=np.str_)


def _item(
    ratings: RatingsTable,
    number: int,
    people: tuple[str, ...],
    judges: tuple[str, ...],
    context: StudyContext,
    clusters: Ints,
    *,
    full: bool,
) -> ItemAgreement:
    matrix = ratings.item_matrix(number)
    conversations = matrix.conversation
    matrix = replace(matrix, conversation=clusters[conversations])
    item, ordered = matrix.item, matrix.item.scale.ordered
    by_people = matrix.columns(people)
    status = reliability(by_people.values, matrix.conversation, item.scale)
    counts = {name: count[matrix.units] for name, count in (context.counts or {}).items()}
    systems = np.unique([each.identity.system for each in ratings.conversations] or [""], return_inverse=True)[1]
    about = ItemContext(
        baselines=baselines(counts, by_people.values, item.scale) if judges else {},
        counts=counts,
        system=systems.astype(np.int64)[conversations],
        weights=None if context.weights is None else context.weights[conversations],
    )
    answers = {judge: ratings.runs(number, judge, matrix.units) for judge in judges}
    answers = {judge: runs for judge, runs in answers.items() if (runs[1] != AnswerState.NOT_ASKED).any()}
    retests = {judge: retest(values, ordered=ordered) for judge, (values, _) in answers.items()}
    found: list[JudgeResult] = []
    for judge, runs in answers.items():
        more = (retests[judge], (context.citations or {}).get((judge, item.id))) if full else None
        found.append(judge_result(by_people, judge, runs, status, about, more=more))
    for name, runs in _panels(item, list(answers.values())).items():
        found.append(judge_result(by_people, name, runs, status, about, panel=True))
    asked = by_people if (by_people.states != AnswerState.NOT_ASKED).any() else matrix.columns(judges)
    rated = (asked.states != AnswerState.NOT_ASKED).any(axis=1)
    return ItemAgreement(
        item=item,
        conversations=len(np.unique(conversations[rated])),
        units=int(rated.sum()),
        answers=_answers(asked),
        people=status,
        judges=tuple(found),
        details=_people_details(ratings, number, by_people) if full else None,
        judge_pairs=tuple(
            JudgePair(one, other, judge_kappa(answers[one][0][:, 0], answers[other][0][:, :1], ordered=ordered))
            for one, other in (combinations(answers, 2) if full else ())
        ),
        judge_retests={judge: found for judge, found in retests.items() if isinstance(found, Retest)},
    )


def _panels(item: RatedItem, judges: Sequence[tuple[Floats, Ints]]) -> dict[str, tuple[Floats, Ints]]:
    """Rules that combine several judges' answers, with all their runs: what each would answer.

    A unit without a value of every judge has none in a mean or a majority; any failing answer is enough for `any`.
    """
    if len(judges) < 2:
        return {}
    values, states = (np.concatenate(parts, axis=1) for parts in zip(*judges, strict=True))
    without = np.where(states == AnswerState.VALUE, AnswerState.NOT_ASKED, states)
    state = np.where((states == AnswerState.ERROR).any(axis=1), AnswerState.ERROR, without.max(axis=1))
    complete = np.all([~np.isnan(each).all(axis=1) for each, _ in judges], axis=0)
    found: dict[str, Floats] = {}
    if item.scale.ordered:
        high = item.fails is not None and np.isfinite(item.fails[0]) and item.fails[0] > item.scale.values[0]
        some = ~np.isnan(values).all(axis=1)
        worst = np.full(len(values), np.nan)
        worst[some] = (np.nanmax if high else np.nanmin)(values[some], axis=1)
        # One failing answer decides; otherwise what an absent judge would have said is not known.
        worst = np.where(complete | item.failing(worst), worst, np.nan)
        mean = np.full(len(values), np.nan)
        mean[complete] = np.mean([_row_means(each[complete]) for each, _ in judges], axis=0)
        if len(item.scale.values) > 2:
            found = {f"panel: {'highest' if high else 'lowest'}": worst, "panel: mean": mean}
        elif len(item.scale.values) == 2:
            least, most = item.scale.values[0], item.scale.values[-1]
            half = least if not high else most  # a tie counts as the worse answer
            middle = (least + most) / 2
            majority = np.where(mean == middle, half, np.where(mean > middle, most, least))
            name = "panel: any fails" if item.is_gate else "panel: lowest"
            found = {name: worst, "panel: majority": np.where(complete, majority, np.nan)}
    elif complete.any():
        counts = np.column_stack([(values == value).sum(axis=1) for value in item.scale.values])
        majority = np.array(item.scale.values)[counts.argmax(axis=1)]
        clear = (counts == counts.max(axis=1, keepdims=True)).sum(axis=1) == 1
        found = {"panel: majority": np.where(complete & clear, majority, np.nan)}
    return {
        name: (made[:, None], np.where(np.isnan(made), state, AnswerState.VALUE).astype(np.int64)[:, None])
        for name, made in found.items()
    }


def _row_means(values: Floats) -> Floats:
    return np.nanmean(values, axis=1)


def _answers(matrix: ItemMatrix) -> dict[str, int]:
    scale = matrix.item.scale
    counts = {word: int((matrix.values == value).sum()) for value, word in zip(scale.values, scale.words, strict=True)}
    missing = np.isin(matrix.states, [AnswerState.ABSTAINED, AnswerState.ERROR])
    more = {NA: int((matrix.states == AnswerState.NA).sum()), NO_ANSWER: int(missing.sum())}
    return counts | {word: count for word, count in more.items() if count}


def _people_details(ratings: RatingsTable, number: int, people: ItemMatrix) -> PeopleDetails:
    ordered = people.item.scale.ordered
    answers = [ratings.repeated_answers(number, rater.name)[0] for rater in people.raters]
    widest = max((each.shape[1] for each in answers), default=0)
    padded = [np.pad(each, ((0, 0), (0, widest - each.shape[1])), constant_values=np.nan) for each in answers]
    own = retest(np.vstack(padded), ordered=ordered) if padded else Undefined("there are no people")
    mean = icc(people.values, 2, average=True) if ordered else Undefined("the answers have no order")
    strict = severity(people.values, people.conversation) if ordered else []
    item = people.item
    recall = people_recall(item, people.values, people.states, people.conversation) if item.is_gate else None
    return PeopleDetails(mean, dict(zip([who.name for who in people.raters], strict, strict=False)), own, recall)


# What a study knows in addition to its ratings


_QUESTION = "?\uff1f\u061f"  # question marks of the Latin, Chinese and Arabic scripts


def text_counts(study: Study, ratings: RatingsTable) -> dict[str, Floats]:
    """For each unit what trivial judges count in the replies it is about; empty where there is no text.

    Only units that people rated are counted.
    """
    units: dict[int, list[int]] = {}
    for unit in np.unique(ratings.unit[_by_people(ratings)]).tolist():
        units.setdefault(ratings.conversations[int(ratings.unit_conversation[unit])].key, []).append(unit)
    counts = {name: np.full(len(ratings.unit_turn), np.nan) for name in (WORD_COUNT, QUESTION_MARKS, POINTERS)}
    for key, conversation in study.conversations() if units else ():
        for unit in units.get(key, ()):
            turn = int(ratings.unit_turn[unit])
            turns = conversation.turns[:turn] if turn else conversation.turns
            replies = [each.assistant for each in (turns[-1:] if turn else turns)]
            if any(replies):
                country = country_of(conversation.metadata)
                pointed = pointers(turns, country=country, last_reply=bool(turn))
                counts[WORD_COUNT][unit] = sum(words(reply) for reply in replies)
                counts[QUESTION_MARKS][unit] = sum(reply.count(mark) for reply in replies for mark in _QUESTION)
                counts[POINTERS][unit] = sum(each.kind is PointerKind.CRISIS for each in pointed)
    return {} if np.isnan(counts[WORD_COUNT]).all() else counts


def _by_people(ratings: RatingsTable) -> Bools:
    """For each rating whether a person gave it."""
    person = np.array([rater.kind is RaterKind.PERSON for rater in ratings.raters], dtype=np.bool_)
    return person[ratings.rater]


_THERE = {CitationStatus.FOUND, CitationStatus.UNCITED}
_QUOTED = {
    *_THERE,
    CitationStatus.ELSEWHERE,
    CitationStatus.CLOSE,
    CitationStatus.NOT_FOUND,
    CitationStatus.NO_SUCH_TURN,
}


def citations(study: Study, instrument: Instrument) -> dict[tuple[str, str], Citations]:
    """The quotations of each judge on each item, by the judge's name and the item's id."""
    found: Counter[tuple[str, str]] = Counter()
    quoted: Counter[tuple[str, str]] = Counter()
    for name, item, findings in judges_evidence(study, instrument):
        statuses = [finding["standing"] for finding in findings]
        found[name, item] += sum(status in _THERE for status in statuses)
        quoted[name, item] += sum(status in _QUOTED for status in statuses)
    return {key: Citations(found[key], number) for key, number in quoted.items()}


class SampleRatings(NamedTuple):
    table: RatingsTable
    weights: Floats | None  # for each conversation one over its probability of being drawn; None without a sample
    notes: tuple[str, ...]


def ratings_of_sample(study: Study, instrument: str, ratings: RatingsTable) -> SampleRatings:
    """The part of the ratings that the newest sample for this instrument allows, or all where there is none."""
    sample = latest_sample(study, instrument)
    if sample is None:
        return SampleRatings(ratings, None, ())
    drawn = [sample.units.get(conversation.key) for conversation in ratings.conversations]
    certify = any(entry.split == "certify" for entry in sample.units.values())
    inside = np.array([one is not None and (not certify or one.split == "certify") for one in drawn], dtype=np.bool_)
    chosen = ratings.of_conversations(inside)
    number, every = (len(np.unique(each.unit_conversation[each.unit[_by_people(each)]])) for each in (chosen, ratings))
    what = f"the {'test' if certify else 'drawn'} part of the sample {sample.name!r}"
    if not certify and not number:
        note = f"People have rated nothing of {what} yet; figures rest on all other ratings."
        return SampleRatings(ratings, None, (note,))
    notes = [f"{number:,} of the {every:,} conversations that people rated count here: {what}."]
    if certify:
        runs = versions_tried_on_certify(study, sample)
        notes += [
            f"{judge} was run on it in {count} version{'s' if count > 1 else ''}"
            + ("." if count == 1 else ": the more were tried, the less the best figure says about new conversations.")
            for judge, count in runs.items()
        ]
    weights = np.array([1 / one.probability if one else np.nan for one in drawn], dtype=np.float64)
    if not alike(weights[inside]):
        notes.append(
            "Some of it was drawn more often than the rest: what was missed and false alarms are weighted for that; "
            "agreement and bias are those of the drawn conversations."
        )
    return SampleRatings(chosen, weights, tuple(notes))
