"""Set up a project for raters, and change it while people rate: add raters or units, or let a rater leave.

A project belongs to one version of an instrument. A changed instrument needs a new round, so that ratings of two
wordings are never mixed. Every change is logged.

Started work is never reassigned. A unit that is given to another rater stays in the first list as withdrawn.
"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from attunement.annotation.assignment import deal, fair_share, schedule
from attunement.annotation.sampling import choose_more_units
from attunement.annotation.tasks import answers_of
from attunement.annotation.training import WorkedExample, attention_examples, calibration_examples
from attunement.conversations.crisis_lines import crisis_lines
from attunement.errors import InputError
from attunement.instruments import Instrument, Value
from attunement.ratings import Round
from attunement.store import Study
from attunement.store import projects as store
from attunement.store.projects import (
    Assignment,
    AssignmentState,
    Member,
    MemberState,
    Project,
    ProjectState,
    Role,
    Settings,
    Transaction,
    UnitKey,
)
from attunement.yaml_files import read_yaml

COORDINATOR = "coordinator"  # the name of the first coordinator, who is added with the project
_LONGEST_NAME = 200  # characters: longer than any name, and short enough for one line


class GoldEntry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    unit: str
    answers: dict[str, Value] = Field(min_length=1)


class Setup(BaseModel):
    """The content of a setup file: everything that is too long for the command line. All keys are optional."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    instrument: str | None = None
    raters: Annotated[int, Field(ge=1, le=500)] | list[str] | None = None  # how many, or their names
    units: int | None = Field(default=None, ge=1)
    ids: list[str] = []  # the units by name, instead of a sample
    gold: list[GoldEntry] = []
    settings: dict[str, Any] = {}  # see `Settings`


def load_setup(path: Path) -> Setup:
    """Read a setup file.

    Raises:
        InputError: It cannot be read, or has an unknown key or a wrong value.
    """
    try:
        return Setup.model_validate(read_yaml(path, yaml.SafeLoader, InputError) or {})
    except ValidationError as error:
        raise InputError(f"{path}: {_first_problem(error)}") from error


def settings_of(given: dict[str, Any]) -> Settings:
    """The given settings, with defaults for the others.

    Raises:
        InputError: One is unknown, or out of range.
    """
    try:
        settings = Settings.model_validate(given)
    except ValidationError as error:
        raise InputError(f"invalid settings: {_first_problem(error)}") from error
    countries = crisis_lines().countries
    if settings.country is not None and settings.country not in countries:
        known = ", ".join(sorted(countries))
        raise InputError(f"invalid settings: country: there are no crisis lines for it; known are {known}")
    return settings


_PROBLEMS = {
    "extra_forbidden": "is not known; correct or remove it",
    "model_type": "must be keys with values",
    "dict_type": "must be keys with values",
    "list_type": "must be a list",
    "string_type": "must be text",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "bool_parsing": "must be true or false",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
}


def _first_problem(error: ValidationError) -> str:
    """The first problem, in words for people who do not use Python."""
    problem = error.errors(include_url=False)[0]
    if problem["loc"][:1] == ("raters",):  # a union, for which pydantic reports each type in turn
        return "raters: must be a number from 1 to 500, or a list of names"
    where = ".".join(str(part) for part in problem["loc"]) or "the file"
    words = _PROBLEMS.get(problem["type"], f"{problem['msg'][0].lower()}{problem['msg'][1:]}")
    return f"{where}: {words.format(**problem.get('ctx', {}))}"


class GoldUnit(NamedTuple):
    """A unit of the study with answers that are known to be right."""

    unit: UnitKey
    answers: Mapping[str, Value]


def create(
    study: Study,
    instrument: Instrument,
    units: Sequence[UnitKey],
    raters: Sequence[str],
    settings: Settings,
    *,
    gold: Sequence[GoldUnit] = (),
    members_of: Project | None = None,
) -> Project:
    """Start a project: save its units and members and assign the work.

    Each unit goes to `settings.per_unit` raters, and every rater gets the units with known answers in `gold`. Raters
    of the same name in `members_of`, an earlier round, are the same people.

    Raises:
        InputError: There is nothing to rate, too few raters, or a name is invalid or used twice.
    """
    raters = [valid_name(name) for name in raters]
    if not units:
        raise InputError("nothing to rate: the sample is empty")
    if len(set(raters)) < len(raters) or COORDINATOR in raters:
        raise InputError(f"each rater needs a different name, and {COORDINATOR!r} is taken")
    if len(raters) < settings.per_unit:
        raise InputError(f"each unit needs {settings.per_unit} raters, but there are only {len(raters)}")
    for known in gold:
        for item, answer in known.answers.items():
            if answer not in answers_of(instrument, instrument.item(item)):
                raise InputError(f"the known answer {answer!r} for {item} is not on the scale of {instrument.id}")
    study.save_instrument(instrument)
    with study.writing() as connection:
        project = store.insert_project(connection, instrument, settings)
        plan = {"units": len(units), "raters": raters, "settings": settings.model_dump()}
        store.log_event(connection, project, "created", content=plan)
        earlier = (
            {} if members_of is None else {member.name: member for member in store.members_in(connection, members_of)}
        )
        added = [
            store.insert_member(connection, project, Role.RATER, name, same_as=earlier.get(name)) for name in raters
        ]
        store.insert_member(connection, project, Role.COORDINATOR, COORDINATOR)
        _assign_all(connection, project, units, gold, [member.key for member in added])
    return project


def _assign_all(
    connection: Transaction, project: Project, units: Sequence[UnitKey], gold: Sequence[GoldUnit], raters: Sequence[int]
) -> None:
    settings, instrument = project.settings, project.instrument
    seed = f"{settings.seed}/{project.name}/{project.number}"

    def insert_examples(round: Round, examples: Sequence[WorkedExample]) -> list[int]:
        return [
            store.insert_unit(
                connection, project, round, example=worked.name, answers={worked.item.id: worked.example.answer}
            )
            for worked in examples
        ]

    examples = calibration_examples(instrument, settings.calibration, seed=f"{seed}/calibration")
    practice = [(unit, Round.CALIBRATION) for unit in insert_examples(Round.CALIBRATION, examples)]
    share = round(len(units) * settings.per_unit / len(raters))
    checks = attention_examples(instrument, settings.attention, share, examples, seed=f"{seed}/attention")
    attention = insert_examples(Round.ATTENTION, checks)
    known = [store.insert_unit(connection, project, Round.GOLD, entry.unit, answers=entry.answers) for entry in gold]
    keys = [store.insert_unit(connection, project, Round.MAIN, unit) for unit in units]
    for number, (member, own) in enumerate(deal(keys, raters, settings.per_unit, seed=seed).items()):
        entries = schedule(
            own,
            seed=f"{seed}/{number}",
            repeats=settings.repeats,
            gap=settings.gap,
            gold=known,
            attention=attention,
        )
        store.insert_assignments(connection, project, member, [*practice, *entries])


def valid_name(name: str) -> str:
    """The name of a member, stripped and checked.

    Raises:
        InputError: It is empty or too long, or has characters that are not printable, such as a line break.
    """
    name = name.strip()
    if not name or len(name) > _LONGEST_NAME or not name.isprintable():
        raise InputError(
            f"a name is empty, longer than {_LONGEST_NAME} characters, or has non-printable characters: enter another "
            f"one"
        )
    return name


def same_instrument(project: Project, instrument: Instrument) -> None:
    """Raise an error if the instrument has changed since the project began.

    Raises:
        InputError: It was changed in the meantime.
    """
    if project.instrument.hash != instrument.hash:
        raise InputError(
            f"people rate with {project.name} as of {project.at[:10]}, and it has changed since. Ratings of two "
            f"wordings cannot be mixed: continue with the old file, or start again with the new one (--new-round)"
        )


def change(study: Study, project: Project, by: Member | None, **changes: Any) -> Project:
    """Change settings of a running project; what is assigned already stays as it is."""
    settings = Settings.model_validate({**store.state_of(study, project).settings.model_dump(), **changes})
    with study.writing() as connection:
        store.update(connection, project, settings=settings.model_dump_json())
        store.log_event(connection, project, "settings", member=by, content=changes)
    return project._replace(settings=settings)


def set_state(study: Study, project: Project, state: ProjectState, by: Member | None) -> Project:
    """Pause or resume a project. Raters may finish the unit that they have open."""
    with study.writing() as connection:
        store.update(connection, project, state=state)
        store.log_event(connection, project, "state", member=by, content={"state": state})
    return project._replace(state=state)


def invite(study: Study, project: Project, role: Role, name: str, *, by: Member | None = None) -> Member:
    """Add a member to the project. A new rater takes over a fair share of the units that the others have not started.

    Raises:
        InputError: The name is invalid, or taken.
    """
    name = valid_name(name)
    with study.writing() as connection:
        if name in {member.name for member in store.members_in(connection, project)}:
            raise InputError(f"this project already has a member named {name!r}: enter another name")
        waiting = _waiting(connection, project)
        member = store.insert_member(connection, project, role, name, by=by)
        if role is Role.RATER:
            taken = fair_share(
                {rater: [entry.unit.key for entry in own] for rater, own in waiting.items()},
                seed=_seed(project, "add", member.key),
            )
            for rater, unit in taken:
                _withdraw(connection, project, [entry for entry in waiting[rater] if entry.unit.key == unit], by)
                repeats = store.assignments_where(
                    connection, member=rater, unit=unit, round=Round.REPEAT, state=AssignmentState.OPEN
                )
                _withdraw(connection, project, repeats, by)
            _extend_lists(connection, project, {member.key: [unit for _, unit in taken]}, by, newcomer=True)
    return member


def add_units(study: Study, project: Project, count: int, *, by: Member | None = None) -> int:
    """Add units that are not in the project yet, drawn at random; returns how many were added.

    Raises:
        InputError: The study has fewer, or there are too few raters for them.
    """
    with study.reading() as connection:
        units = store.units_in(connection, project)
    known = [UnitKey(unit.conversation, unit.turn) for unit in units if unit.conversation is not None]
    seed = f"{project.settings.seed}/more/{len(known)}"
    return extend(study, project, choose_more_units(study, project.instrument, known, count, seed=seed), by=by)


def extend(study: Study, project: Project, units: Sequence[UnitKey], *, by: Member | None = None) -> int:
    """Add units at the end of the raters' lists, except those that are in the project already.

    Returns how many were added.
    """
    with study.writing() as connection:
        known = {(unit.conversation, unit.turn) for unit in store.units_in(connection, project)}
        new = [unit for unit in dict.fromkeys(units) if unit not in known]
        if new:
            keys = [store.insert_unit(connection, project, Round.MAIN, unit) for unit in new]
            load = {member: len(own) for member, own in _waiting(connection, project).items()}
            dealt = deal(keys, list(load), project.settings.per_unit, seed=_seed(project, "extend", keys[0]), load=load)
            _extend_lists(connection, project, dealt, by)
            store.log_event(connection, project, "extended", member=by, content={"units": len(new)})
    return len(new)


def reassign(study: Study, project: Project, member: Member, *, leaving: bool = False, by: Member | None = None) -> int:
    """Give a rater's open units to other raters who do not have them.

    With `leaving` the rater's links stop working as well. Returns how many units were reassigned.

    Raises:
        InputError: Nobody else can take one of them; then nothing changes.
    """
    with study.writing() as connection:
        own = store.assignments_where(connection, member=member.key, state=AssignmentState.OPEN)
        _withdraw(connection, project, own, by)
        moved = _hand_over(connection, project, own, by)
        if leaving:
            store.update(connection, member, state=MemberState.LEFT)
            store.log_event(connection, project, "left", member=by, content={"rater": member.name})
    return moved


def give_skipped(study: Study, project: Project, *, by: Member | None = None) -> int:
    """Give each skipped unit that now has too few raters to another rater; returns how many there were."""
    with study.writing() as connection:
        main: dict[str, Any] = {"project": project.key, "round": Round.MAIN}
        skipped = store.assignments_where(connection, state=AssignmentState.SKIPPED, **main)
        states = [AssignmentState.OPEN, AssignmentState.SUBMITTED]
        counts = store.count_assignments(connection, ["unit"], state=states, **main)
        short = [entry for entry in skipped if counts.get((entry.unit.key,), 0) < project.settings.per_unit]
        return _hand_over(connection, project, short, by)


def _hand_over(connection: Transaction, project: Project, assignments: Sequence[Assignment], by: Member | None) -> int:
    """Give the units of the main round among these assignments to other raters; returns how many there are."""
    units = sorted({entry.unit.key for entry in assignments if entry.round is Round.MAIN})
    if not units:
        return 0
    load = {member: len(own) for member, own in _waiting(connection, project).items()}
    holders: dict[int, set[int]] = {}
    for entry in store.assignments_where(connection, unit=units):
        holders.setdefault(entry.unit.key, set()).add(entry.member)
    if stuck := [unit for unit in units if not load.keys() - holders[unit]]:
        raise InputError(
            f"nobody can take over {len(stuck)} of {len(units)} units, because every other rater already has or had "
            f"them: invite another rater first"
        )
    seed = _seed(project, "reassign", units[0])
    dealt = deal(units, list(load), 1, seed=seed, load=load, taken=holders)
    _extend_lists(connection, project, dealt, by, repeats=False)
    return len(units)


def _extend_lists(
    connection: Transaction,
    project: Project,
    dealt: Mapping[int, Sequence[int]],
    by: Member | None,
    *,
    newcomer: bool = False,
    repeats: bool = True,
) -> None:
    """Append units to raters' lists; a new rater also gets the practice and the units with known answers."""
    names = {member.key: member.name for member in store.members_in(connection, project)}
    rounds: dict[Round, list[int]] = {}
    for unit in store.units_in(connection, project) if newcomer else ():
        rounds.setdefault(unit.round, []).append(unit.key)
    practice = [(unit, Round.CALIBRATION) for unit in rounds.get(Round.CALIBRATION, ())]
    for member, units in dealt.items():
        entries = schedule(
            units,
            seed=_seed(project, "order", member),
            repeats=project.settings.repeats if repeats else 0,
            gap=project.settings.gap,
            gold=rounds.get(Round.GOLD, ()),
            attention=rounds.get(Round.ATTENTION, ()),
        )
        if count := len(practice) + len(entries):
            store.insert_assignments(connection, project, member, [*practice, *entries])
            content = {"to": names[member], "units": count}
            store.log_event(connection, project, "given out", member=by, content=content)


def _withdraw(
    connection: Transaction, project: Project, assignments: Collection[Assignment], by: Member | None
) -> None:
    for entry in assignments:
        store.update(connection, entry, state=AssignmentState.WITHDRAWN)
        store.log_event(connection, project, "withdrawn", member=by, assignment=entry.key)


def _waiting(connection: Transaction, project: Project) -> dict[int, list[Assignment]]:
    """The first-time units that each active rater has not started, by the key of the rater."""
    found: dict[int, list[Assignment]] = {
        member.key: []
        for member in store.members_in(connection, project)
        if member.role is Role.RATER and member.state is MemberState.ACTIVE
    }
    values = {"project": project.key, "state": AssignmentState.OPEN, "round": Round.MAIN, "opened": None}
    for entry in store.assignments_where(connection, **values):
        if entry.member in found:
            found[entry.member].append(entry)
    return found


def _seed(project: Project, what: str, number: int) -> str:
    return f"{project.settings.seed}/{project.name}/{project.number}/{what}/{number}"
