"""What a study knows about how it was made: counts, dates, settings and samples, for a methods section.

Nothing is guessed: what the study does not contain is None or empty.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from sqlalchemy import Select, func, select

from attunement.instruments import Instrument
from attunement.ratings import RaterKind, Round, State
from attunement.scoring import is_signals
from attunement.store import schema
from attunement.store.rows import from_json
from attunement.store.samples import Sample, latest_sample
from attunement.store.schema import hand_outs, handed_units, sample_frame
from attunement.store.study import Study


class ConversationCounts(NamedTuple):
    """What was rated."""

    systems: dict[str, int]
    origins: dict[str, int]
    fewest_turns: int
    most_turns: int

    @property
    def number(self) -> int:
        """How many conversations there are."""
        return sum(self.systems.values())


class RaterActivity(NamedTuple):
    """What one rater did with this instrument."""

    name: str
    kind: RaterKind
    settings: Mapping[str, Any]
    conversations: int  # of the main round
    rounds: Counter[str]
    states: Counter[str]  # outcomes of the main round
    repeats: int  # how often the same was asked, at most
    first: str
    last: str
    in_project: bool  # whether the ratings were made in Attunement's own pages


class JudgeAnswers(NamedTuple):
    """What the server of a judge said of itself."""

    models: tuple[str, ...]
    prompts: int  # different ones that it read, with any instrument


class Project(NamedTuple):
    """Work of people in Attunement's pages."""

    number: int
    instrument: str  # hash
    at: str
    settings: Mapping[str, Any]
    raters: int
    held: int
    left: int
    practice: tuple[int, int]  # how many passed the worked examples, of those who finished them
    states: Counter[str]  # assignments by what became of them
    units: Counter[str]  # by the round they were given out for


class ExportedUnits(NamedTuple):
    """Units that were rated elsewhere."""

    format: str
    at: str
    units: int


class StudyFacts(NamedTuple):
    """Everything a methods section can rest on."""

    instrument: Instrument
    talks: ConversationCounts
    raters: tuple[RaterActivity, ...]
    answers: dict[str, JudgeAnswers]
    sample: Sample | None
    drawn_from: int  # how many conversations the sample was drawn from
    projects: tuple[Project, ...]
    handed_out: tuple[ExportedUnits, ...]
    together: int  # conversations that at least two people rated in the main round

    def of(self, kind: RaterKind) -> list[RaterActivity]:
        """The raters of this kind who rated in the main round."""
        return [rater for rater in self.raters if rater.kind is kind and rater.conversations]


def study_facts(study: Study, instrument: Instrument) -> StudyFacts:
    """Read what the study knows, with a handful of queries whatever its size."""
    talk, sample = schema.conversations.c, latest_sample(study, instrument.id)
    frame = select(func.count()).where(sample_frame.c.sample == (sample.key if sample else 0))
    ((fewest, most),) = study.all(select(func.min(talk.turn_count), func.max(talk.turn_count)))
    systems, origins = _counts(study, select(talk.system)), _counts(study, select(talk.origin))
    return StudyFacts(
        instrument=instrument,
        talks=ConversationCounts(dict(sorted(systems.items())), origins, fewest or 0, most or 0),
        raters=tuple(_raters(study, instrument)),
        answers=_answers(study),
        sample=sample,
        drawn_from=study.all(frame)[0][0],
        projects=tuple(_projects(study, instrument)),
        handed_out=_handed_out(study, instrument),
        together=_together(study, instrument),
    )


def _counts(study: Study, query: Select[Any]) -> Counter[str]:
    """How many rows have each value of the query's only column."""
    return Counter(dict(study.all(query.add_columns(func.count()).group_by(query.selected_columns[0]))))


def _asked(instrument: Instrument) -> Any:
    return schema.ratings.c.item_hash.in_(instrument.item_hashes.values())


def _raters(study: Study, instrument: Instrument) -> Iterator[RaterActivity]:
    rating, rater, member = schema.ratings.c, schema.raters.c, schema.members.c
    activity = (func.count(), func.min(rating.at), func.max(rating.at), func.max(rating.repeat))
    groups = (rating.rater, rating.round, rating.state)
    talks = select(rating.rater, func.count(rating.conversation.distinct())).where(_asked(instrument))
    conversations = dict[int, int](study.all(talks.where(rating.round == Round.MAIN).group_by(rating.rater)))
    members = {key for (key,) in study.all(select(member.rater).where(member.rater.is_not(None)))}
    by_rater: dict[int, list[Any]] = {}
    for key, *row in study.all(select(*groups, *activity).where(_asked(instrument)).group_by(*groups)):
        by_rater.setdefault(key, []).append(row)
    every = select(rater.key, rater.name, rater.kind, rater.settings).order_by(rater.key)
    for key, name, kind, settings in study.all(every):
        own = by_rater.get(key)
        if not own or is_signals(name):
            continue
        rounds, states = Counter[str](), Counter[str]()
        for round, state, number, *_ in own:
            rounds[round] += number
            states[state] += number if round == Round.MAIN else 0
        yield RaterActivity(
            name=name,
            kind=RaterKind(kind),
            settings=from_json(settings),
            conversations=conversations.get(key, 0),
            rounds=rounds,
            states=states,
            repeats=max(row[5] for row in own) + 1,
            first=min((row[3] for row in own if row[3]), default=""),
            last=max(row[4] for row in own),
            in_project=key in members,
        )


def _answers(study: Study) -> dict[str, JudgeAnswers]:
    answer, rater = schema.answers.c, schema.raters.c
    prompts = select(rater.name, func.count(answer.prompt.distinct())).where(answer.rater == rater.key)
    models = select(rater.name, answer.model).where(answer.rater == rater.key, answer.model.is_not(None)).distinct()
    named: dict[str, list[str]] = {}
    for name, model in study.all(models.order_by(answer.model)):
        named.setdefault(name, []).append(model)
    counts = study.all(prompts.group_by(rater.name))
    return {name: JudgeAnswers(tuple(sorted(named.get(name, ()))), number) for name, number in counts}


def _together(study: Study, instrument: Instrument) -> int:
    rating, rater = schema.ratings.c, schema.raters.c
    several = (
        select(rating.conversation)
        .where(rating.rater == rater.key, rater.kind == RaterKind.PERSON)
        .where(rating.round == Round.MAIN, rating.state.in_([State.VALUE, State.NA]), _asked(instrument))
        .group_by(rating.conversation)
        .having(func.count(rating.rater.distinct()) > 1)
    )
    return study.all(select(func.count()).select_from(several.subquery()))[0][0]


def _projects(study: Study, instrument: Instrument) -> Iterator[Project]:
    table, member, event = schema.projects.c, schema.members.c, schema.events.c
    projects = (
        select(table.key, table.number, table.instrument, table.at, table.settings)
        .where(table.name == instrument.id, table.number > 0)  # in number 0 people review and do not rate
        .order_by(table.number)
    )
    for key, number, mark, at, settings in study.all(projects):
        states = _counts(study, select(member.state).where(member.project == key, member.role == "rater"))
        tries = select(event.member, event.content).where(event.project == key, event.kind == "calibrated")
        results = {who: bool(from_json(content).get("passed")) for who, content in study.all(tries.order_by(event.key))}
        yield Project(
            number=number,
            instrument=mark,
            at=at,
            settings=from_json(settings),
            raters=states.total(),
            held=states["held"],
            left=states["left"],
            practice=(sum(results.values()), len(results)),
            states=_counts(study, select(schema.assignments.c.state).where(schema.assignments.c.project == key)),
            units=_counts(study, select(schema.project_units.c.round).where(schema.project_units.c.project == key)),
        )


def _handed_out(study: Study, instrument: Instrument) -> tuple[ExportedUnits, ...]:
    query = (
        select(hand_outs.c.format, hand_outs.c.at, func.count(handed_units.c.token))
        .select_from(hand_outs.outerjoin(handed_units, handed_units.c.hand_out == hand_outs.c.key))
        .where(hand_outs.c.instrument == instrument.hash)
        .group_by(hand_outs.c.key, hand_outs.c.format, hand_outs.c.at)
        .order_by(hand_outs.c.key)
    )
    return tuple(ExportedUnits(*row) for row in study.all(query))
