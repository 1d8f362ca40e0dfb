"""What a study knows about how it was made: counts, dates, settings and samples, for a methods section.

Nothing is guessed: what the study does not contain is None or empty.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
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
    conversations: int
    """Of the main round."""
    rounds: Counter[str]
    states: Counter[str]
    """Outcomes of the main round."""
    repeats: int
    """How often the same was asked, at most."""
    first: str
    last: str
    in_project: bool
    """Whether the ratings were made in Attunement's own pages."""


class JudgeAnswers(NamedTuple):
    """What the server of a judge said of itself."""

    models: tuple[str, ...]
    prompts: int
    """How many different prompts it read, with any instrument."""


class Project(NamedTuple):
    """Work of people in Attunement's pages."""

    number: int
    instrument: str
    """The hash of the instrument."""
    at: str
    settings: Mapping[str, Any]
    raters: int
    held: int
    left: int
    practice: tuple[int, int]
    """How many passed the worked examples, of those who finished them."""
    states: Counter[str]
    """Assignments by what became of them."""
    units: Counter[str]
    """Units by the round they were given out for."""


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
    drawn_from: int
    """How many conversations the sample was drawn from."""
    projects: tuple[Project, ...]
    handed_out: tuple[ExportedUnits, ...]
    together: int
    """Conversations that at least two people rated in the main round."""

    def of(self, kind: RaterKind) -> list[RaterActivity]:
        """The raters of this kind who rated in the main round."""
        return [rater for rater in self.raters if rater.kind is kind and rater.conversations]


def study_facts(study: Study, instrument: Instrument) -> StudyFacts:
    """Read what the study knows, with a handful of queries whatever its size."""
    sample = latest_sample(study, instrument.id)
    with study.reading() as connection:

        def rows(query: Select[Any]) -> Sequence[Any]:
            return connection.execute(query).all()

        frame = (
            select(func.count()).select_from(sample_frame).where(sample_frame.c.sample == (sample.key if sample else 0))
        )
        return StudyFacts(
            instrument=instrument,
            talks=_talks(rows),
            raters=_raters(rows, instrument),
            answers=_answers(rows),
            sample=sample,
            drawn_from=int(rows(frame)[0][0]),
            projects=_projects(rows, instrument),
            handed_out=_handed_out(rows, instrument),
            together=_together(rows, instrument),
        )


def _talks(rows: Any) -> ConversationCounts:
    talk = schema.conversations.c
    systems: dict[str, int] = dict(rows(select(talk.system, func.count()).group_by(talk.system)))
    origins: dict[str, int] = dict(rows(select(talk.origin, func.count()).group_by(talk.origin)))
    fewest, most = rows(select(func.min(talk.turn_count), func.max(talk.turn_count)))[0]
    return ConversationCounts(dict(sorted(systems.items())), origins, fewest or 0, most or 0)


def _asked(instrument: Instrument) -> Any:
    return schema.ratings.c.item_hash.in_(instrument.item_hashes.values())


def _raters(rows: Any, instrument: Instrument) -> tuple[RaterActivity, ...]:
    rating, rater = schema.ratings.c, schema.raters.c
    counted = (
        select(
            rating.rater, rating.round, rating.state, func.count(), func.min(rating.at), func.max(rating.at),
            func.max(rating.repeat),
        )
        .where(_asked(instrument))
        .group_by(rating.rater, rating.round, rating.state)
    )  # fmt: skip
    talks = (
        select(rating.rater, func.count(rating.conversation.distinct()))
        .where(_asked(instrument), rating.round == Round.MAIN)
        .group_by(rating.rater)
    )
    conversations: dict[int, int] = dict(rows(talks))
    members = {key for (key,) in rows(select(schema.members.c.rater).where(schema.members.c.rater.is_not(None)))}
    by_rater: dict[int, list[Any]] = {}
    for row in rows(counted):
        by_rater.setdefault(row[0], []).append(row)
    found: list[RaterActivity] = []
    for key, name, kind, settings in rows(
        select(rater.key, rater.name, rater.kind, rater.settings).order_by(rater.key)
    ):
        own = by_rater.get(key)
        if not own or is_signals(name):
            continue
        rounds, states = Counter[str](), Counter[str]()
        for _, round, state, number, *_ in own:
            rounds[round] += number
            states[state] += number if round == Round.MAIN else 0
        dates = [date for row in own for date in (row[4], row[5]) if date]
        found.append(
            RaterActivity(
                name=name,
                kind=RaterKind(kind),
                settings=from_json(settings),
                conversations=conversations.get(key, 0),
                rounds=rounds,
                states=states,
                repeats=max(row[6] for row in own) + 1,
                first=min(dates, default=""),
                last=max(dates, default=""),
                in_project=key in members,
            )
        )
    return tuple(found)


def _answers(rows: Any) -> dict[str, JudgeAnswers]:
    answer, rater = schema.answers.c, schema.raters.c
    prompts = select(rater.name, func.count(answer.prompt.distinct())).where(answer.rater == rater.key)
    models = select(rater.name, answer.model).where(answer.rater == rater.key, answer.model.is_not(None)).distinct()
    named: dict[str, list[str]] = {}
    for name, model in rows(models):
        named.setdefault(name, []).append(model)
    return {
        name: JudgeAnswers(tuple(sorted(named.get(name, ()))), number)
        for name, number in rows(prompts.group_by(rater.name))
    }


def _together(rows: Any, instrument: Instrument) -> int:
    rating, rater = schema.ratings.c, schema.raters.c
    several = (
        select(rating.conversation)
        .where(rating.rater == rater.key, rater.kind == RaterKind.PERSON)
        .where(rating.round == Round.MAIN, rating.state.in_([State.VALUE, State.NA]), _asked(instrument))
        .group_by(rating.conversation)
        .having(func.count(rating.rater.distinct()) > 1)
    )
    return int(rows(select(func.count()).select_from(several.subquery()))[0][0])


def _projects(rows: Any, instrument: Instrument) -> tuple[Project, ...]:
    table = schema.projects.c
    found: list[Project] = []
    for key, number, mark, at, settings in rows(
        select(table.key, table.number, table.instrument, table.at, table.settings)
        .where(table.name == instrument.id, table.number > 0)  # in number 0 people review and do not rate
        .order_by(table.number)
    ):
        member, assigned, unit, event = schema.members.c, schema.assignments.c, schema.project_units.c, schema.events.c
        members = rows(select(member.state).where(member.project == key, member.role == "rater"))
        states = Counter(state for (state,) in members)
        results: dict[int, bool] = {}
        for who, content in rows(
            select(event.member, event.content)
            .where(event.project == key, event.kind == "calibrated")
            .order_by(event.key)
        ):
            results[who] = bool(from_json(content).get("passed"))
        found.append(
            Project(
                number=number,
                instrument=mark,
                at=at,
                settings=from_json(settings),
                raters=len(members),
                held=states["held"],
                left=states["left"],
                practice=(sum(results.values()), len(results)),
                states=_counts(rows, select(assigned.state, func.count()).where(assigned.project == key)),
                units=_counts(rows, select(unit.round, func.count()).where(unit.project == key)),
            )
        )
    return tuple(found)


def _counts(rows: Any, query: Any) -> Counter[str]:
    """The counts of a query, by its first column."""
    return Counter(dict(rows(query.group_by(query.selected_columns[0]))))


def _handed_out(rows: Any, instrument: Instrument) -> tuple[ExportedUnits, ...]:
    query = (
        select(hand_outs.c.format, hand_outs.c.at, func.count(handed_units.c.token))
        .select_from(hand_outs.outerjoin(handed_units, handed_units.c.hand_out == hand_outs.c.key))
        .where(hand_outs.c.instrument == instrument.hash)
        .group_by(hand_outs.c.key, hand_outs.c.format, hand_outs.c.at)
        .order_by(hand_outs.c.key)
    )
    return tuple(ExportedUnits(*row) for row in rows(query))
