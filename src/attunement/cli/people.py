"""`attune plan`, `annotate` and `review`: the work of people."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from attunement.cli import options
from attunement.cli.options import ServeOptions, option, pluralize, say, spread
from attunement.errors import InputError
from attunement.output import check_output
from attunement.settings import InputOptions

if TYPE_CHECKING:
    from attunement.annotation.projects import Setup
    from attunement.instruments import Instrument
    from attunement.store import Study
    from attunement.store.projects import Project, Settings
    from attunement.store.samples import Sample

_RATERS = 3
_ANNOTATE, _REVIEW = ServeOptions(), ServeOptions(port=8767)
_SPLITS = {"develop": "dev", "certify": "test"}
"""The names of a sample's splits, by the words that studies store."""


@spread
def annotate(
    study: options.StudyArgument,
    instrument: Annotated[
        str | None, option("The instrument that people rate with.", "--instrument", "-i", metavar="ID|FILE")
    ] = None,
    raters: Annotated[int | None, option("How many people rate (by default 3).", min=1, max=500)] = None,
    per_unit: Annotated[int | None, option("How many of them rate each unit (by default 3, or all).", min=1)] = None,
    units: Annotated[
        int | None,
        option("How many replies or conversations are rated: from the sample of attune plan, or at random.", min=1),
    ] = None,
    ids: Annotated[
        Path | None, option("A list of units instead, one per line: ID, SYSTEM/ID or ID#TURN.", metavar="FILE")
    ] = None,
    setup: Annotated[
        Path | None,
        option("A YAML file with the setup.", "--setup", "-s", metavar="FILE"),
    ] = None,
    conversations: Annotated[
        list[str] | None,
        option("Conversations to add to the study first; repeatable.", "--conversations", "-c", metavar="FILE"),
    ] = None,
    system: options.SystemOption = None,
    escalation: Annotated[
        str | None, option("What to do if a person in a transcript may be in danger.", metavar="TEXT")
    ] = None,
    new_round: Annotated[
        bool, option("Start again, with the same people and the current version of the instrument.", "--new-round")
    ] = False,
    new_links: Annotated[bool, option("Give everybody a new link; the old ones stop working.", "--new-links")] = False,
    serving: ServeOptions = _ANNOTATE,
) -> None:
    """Open the web pages where people rate conversations.

    People rate blind and with the same instrument as the judges. The first run draws the units, assigns them to the
    raters and prints one link for each rater and one for the coordinator. Later runs continue where people left off,
    and old links still work. Submitted answers are saved as ratings in the study.

    Example: attune annotate chats.study.db --instrument empathy-v2 --raters 3 --units 100
    """
    from attunement.annotation.projects import Setup, load_setup
    from attunement.store import Study
    from attunement.web.app import serve

    made = load_setup(setup) if setup else Setup()
    given = {"instrument": instrument, "raters": raters, "units": units, "ids": _lines(ids) if ids else None}
    settings = {**made.settings, **_without_none({"per_unit": per_unit, "escalation": escalation})}
    made = made.model_copy(update={**_without_none(given), "settings": settings})
    where = serving.public_address()
    with Study(study, create=bool(conversations)) as opened:
        if conversations:
            reading = InputOptions(system=system).read(conversations)
            options.save_conversations(reading, opened)
            say(*options.what_was_read(reading))
        project, is_new = _project(opened, made, new_round=new_round)
        links = _links(opened, project, where, everybody=is_new or new_links, close_old=new_links)
        options.print_links(links, "Anyone with a link can use it: send each link only to its rater.")
        serve(opened, address=where, **serving.listening)


def _without_none(given: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if value is not None}


def _project(study: "Study", setup: "Setup", *, new_round: bool) -> tuple["Project", bool]:
    """The project to continue or a new one, and whether it is new."""
    from attunement.annotation import projects
    from attunement.annotation.sampling import choose_units, listed_units, units_named
    from attunement.instruments.lint import checked
    from attunement.store.projects import Role, latest_project, members

    if setup.instrument is None:
        raise InputError("name the instrument: --instrument empathy-v2, or a file of your own")
    asked = checked(setup.instrument)
    before = latest_project(study, asked.id)
    if before is not None and not new_round:
        projects.same_instrument(before, asked)
        if setup.raters or setup.units or setup.ids:
            raise InputError(
                f"people already rate with {before} in {study.place}: leave out --raters, --units and other setup "
                f"options to continue, or start again with --new-round"
            )
        return _with_settings(study, before, setup.settings), False
    earlier = [member.name for member in members(study, before, Role.RATER)] if before else []
    names = setup.raters or earlier or _RATERS
    names = names if isinstance(names, list) else [f"rater {number}" for number in range(1, names + 1)]
    settings = _checked_language(projects.settings_of({"per_unit": min(_RATERS, len(names)), **setup.settings}))
    if setup.ids:
        chosen = listed_units(study, asked, setup.ids)
    else:
        chosen = choose_units(study, asked, setup.units, seed=settings.seed)
    gold = [
        projects.GoldUnit(unit, entry.answers) for entry in setup.gold for unit in units_named(study, asked, entry.unit)
    ]
    project = projects.create(study, asked, chosen.units, names, settings, gold=gold, members_of=before)
    say(
        f"Set up {project}: {pluralize(len(chosen.units), 'unit')} ({chosen.source}), "
        f"{pluralize(len(names), 'rater')}, {settings.per_unit} for each unit."
    )
    return project, True


def _with_settings(study: "Study", project: "Project", given: dict[str, Any]) -> "Project":
    """The project with the settings that can be changed while people rate."""
    from attunement.annotation.projects import change, settings_of

    now = project.settings.model_dump()
    settings = _checked_language(settings_of({**now, **given}))
    new = {name: value for name, value in settings.model_dump().items() if value != now[name]}
    fixed = sorted(new.keys() & {"per_unit", "repeats", "gap", "calibration", "attention", "seed"})
    if fixed:
        raise InputError(
            f"people already rate with {project} in {study.place}, so {', '.join(fixed)} can no longer be changed: "
            f"restore the old value, or start again with --new-round"
        )
    return change(study, project, None, **new) if new else project


def _checked_language(settings: "Settings") -> "Settings":
    from attunement.web.site import load_catalogue

    language = settings.language
    load_catalogue(language)
    is_file = language.endswith((".yaml", ".yml"))
    return settings.model_copy(update={"language": str(Path(language).resolve())}) if is_file else settings


def _links(study: "Study", project: "Project", address: str, *, everybody: bool, close_old: bool) -> Iterator[str]:
    from attunement.annotation import access
    from attunement.annotation.tasks import lacks_escalation
    from attunement.store.projects import MemberState, Role, members

    for member in members(study, project):
        if member.state is MemberState.LEFT or not (everybody or member.role is Role.COORDINATOR):
            continue
        if close_old:
            access.revoke(study, project, member)
        yield f"{member.name}: {address}/enter/{access.issue(study, project, member)}"
    if not everybody:
        yield "The raters' links from before still work; --new-links creates new ones."
    if lacks_escalation(study, project):
        yield (
            "Raters cannot begin yet. The transcripts may be from real people, so the coordinator must first enter "
            "what to do if one of them may be in danger (on the coordinator's page, or with --escalation)."
        )


def _lines(path: Path) -> list[str]:
    from attunement.yaml_files import read_text

    lines = [line.strip() for line in read_text(path, InputError).splitlines() if line.strip()]
    if not lines:
        raise InputError(f"{path} lists no units: write one per line, as ID, SYSTEM/ID or ID#TURN")
    return lines


@spread
def review(
    study: options.StudyArgument,
    reviewer: Annotated[
        list[str] | None, option("Name of a reviewer; repeatable.", "--reviewer", "-r", metavar="NAME")
    ] = None,
    instrument: options.StudyInstrumentOption = None,
    new_links: Annotated[bool, option("Create new links; the old ones stop working.", "--new-links")] = False,
    serving: ServeOptions = _REVIEW,
) -> None:
    """Open the web pages where reviewers check a judge.

    Reviewers read what a judge found, confirm or overrule it, and sign off. The command prints one link for each
    reviewer and serves the pages until it is stopped. Nobody has to rate first. Reviewers see judges' answers, so
    raters who must stay blind should not review. Decisions are shown next to the judge's verdict; attune gate
    --with-reviews takes them into account.

    Example: attune review chats.study.db --reviewer "Ada Berg"
    """
    from attunement.annotation import access
    from attunement.annotation.review import review_desk, reviewers
    from attunement.store import Study, chosen_instrument
    from attunement.web.app import serve

    where = serving.public_address()
    with Study(study) as opened:
        project = review_desk(opened, chosen_instrument(opened, instrument))
        links: list[str] = []
        for member in reviewers(opened, project, reviewer or []):
            if new_links:
                access.revoke(opened, project, member)
            links.append(f"{member.name}: {where}/enter/{access.issue(opened, project, member)}")
        options.print_links(links, "Anyone with a link can use it: send each link only to its reviewer.")
        serve(opened, address=where, **serving.listening)


def plan(
    study: options.StudyArgument,
    draw: Annotated[
        int | None, option("Draw N conversations at random for people to rate.", metavar="N", min=1)
    ] = None,
    by: Annotated[
        list[str] | None,
        option("Draw by stratum: system, verdict, origin or a metadata column; repeatable.", metavar="COLUMN"),
    ] = None,
    all_flagged: Annotated[
        bool, option("Include every conversation that a judge flagged, and draw N of the others.", "--all-flagged")
    ] = False,
    test: Annotated[float, option("Share of the test split; 0 makes no split.", min=0, max=1)] = 0.5,
    seed: Annotated[int, option("The same seed draws the same sample.", min=0, max=2**31 - 1)] = 0,
    name: Annotated[str | None, option("Name of the sample (by default a number).")] = None,
    extend: Annotated[str | None, option("Add N more to this sample, drawn in the same way.", metavar="SAMPLE")] = None,
    output: Annotated[
        Path | None, option("Also write the drawn ids to a .txt or .csv file.", "--output", "-o", metavar="FILE")
    ] = None,
    precision: Annotated[
        float | None,
        option("Half-width of the intervals: points of the scale, or a share (0.05 is 5 percentage points)."),
    ] = None,
    raters: Annotated[int, option("How many people rate each conversation.", min=2)] = 2,
    instrument: options.AskedOption = None,
    force: options.ForceOption = False,
) -> None:
    """Plan how many ratings you need, or draw a sample.

    Without --draw it only prints the numbers: how many conversations give a mean of a given precision, and how many
    give a verdict with a chance of 80 % on people's agreement, on a judge's recall, and on two systems.

    With --draw it saves a sample in the study: at random by conversation, each with its probability, split into dev (to
    tune a judge on) and test (for the numbers you report). A sample is never overwritten. --extend makes a larger one
    that contains it; probabilities stay right because it draws within the strata of the first draw, and conversations
    that were added since form strata of their own.

    Example: attune plan chats.study.db --all-flagged --draw 100 --by system -o ids.csv
    """
    from attunement import api
    from attunement.store import Study

    if precision is not None and not precision > 0:
        raise InputError("--precision is the half-width of an interval, so it must be above 0")
    if draw is None and (by or all_flagged or extend or name or output):
        raise InputError("give the number of conversations with --draw")
    if extend and (by or all_flagged):
        raise InputError("--extend uses the design of the first draw: leave out --by and --all-flagged")
    if output is not None:
        _check(output, force=force)
    with Study(study) as opened:
        asked = asked_instrument(opened, instrument)
        if draw is None:
            options.print_output(api.plan(opened, asked, precision=precision, raters=raters))
            return
        from attunement.annotation.sampling import draw_sample, extend_sample

        if extend:
            sample = extend_sample(opened, asked, extend, draw, name=name)
        else:
            sample = draw_sample(
                opened, asked, draw, by=by or (), all_flagged=all_flagged, certify=test or None, seed=seed, name=name
            )
        if output is not None:
            _write(opened, sample, output)
        say(*_drawn(sample, opened.place, output))


def asked_instrument(study: "Study", name: str | None) -> "Instrument":
    from attunement.instruments.lint import checked
    from attunement.store import chosen_instrument

    known = study.instruments()
    if name is None and not known:
        raise InputError(f"nothing is rated in {study.place} yet: name the instrument with --instrument")
    if name is None or any(name in {entry.id, entry.hash} for entry in known):
        return chosen_instrument(study, name)
    return checked(name)


def _drawn(sample: "Sample", place: str, output: Path | None) -> Iterator[str]:
    splits = [drawn.split for drawn in sample.units.values()]
    split = ", ".join(f"{splits.count(stored):,} to {shown}" for stored, shown in _SPLITS.items() if stored in splits)
    yield (
        f"Drew {len(sample.units):,} conversations for {sample.instrument} (seed {sample.seed}) and saved them as "
        f"{sample.name} in {place}{f', with those of {extended}' if (extended := sample.design['extends']) else ''}"
        f"{f': {split}' if split else ''}."
    )
    if split:
        yield (
            "Tune a judge on dev only. attune agree and attune correct count test only; with --test 1 all of a sample "
            "counts."
        )
    for stratum, counts in sample.design["strata"].items():
        share = counts["drawn"] / counts["there"]
        yield f"  {stratum}: {counts['drawn']:,} of {counts['there']:,} (probability {share:.3g})"
    if output is not None:
        yield f"Wrote their ids to {output}."


def _check(output: Path, *, force: bool) -> None:
    """Raise an error for a file that cannot be written, before the sample is saved."""
    if output.suffix.lower() not in {".txt", ".csv"}:
        raise InputError(f"{output}: ids are written to a .txt or a .csv file")
    if not output.parent.is_dir():
        raise InputError(f"{output} cannot be written: the folder {output.parent} does not exist")
    check_output(output, force=force)


def _write(study: "Study", sample: "Sample", output: Path) -> None:
    from attunement.output import replacing
    from attunement.store.export import Column, Export, write

    names = {summary.key: summary.identity for page in study.summaries(1000) for summary in page}
    if output.suffix.lower() == ".txt":
        with replacing(output) as stream:
            for key in sample.units:
                stream.write(f"{names[key]}\n".encode("utf-8", "surrogatepass"))
        return
    columns = [Column("system"), Column("id"), Column("stratum"), Column("probability", "number"), Column("split")]
    records = (
        {**names[key]._asdict(), **drawn._asdict(), "split": _SPLITS.get(drawn.split or "")}
        for key, drawn in sample.units.items()
    )
    write(Export(columns, records), output, "csv")
