"""`attune correct`: what a system's score is once the judge's error is accounted for."""

from typing import Annotated

import typer

from attunement.cli.studies import JsonOption, MarkdownOption, ScoringOption, StudyArgument
from attunement.errors import InputError


def correct(
    study: StudyArgument,
    instrument: ScoringOption = None,
    rater: Annotated[
        str, typer.Option(metavar="NAME|panel", help="Which judge is corrected, where there are several.")
    ] = "panel",
    save_calibrator: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Keep in the study what the judge's scores mean on people's scale.", show_default=False
        ),
    ] = None,
    calibrator: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Put the judge's scores on people's scale with a calibrator that was kept before; NAME@2 is its "
            "second version. For conversations that people did not rate.",
            show_default=False,
        ),
    ] = None,
    calibrator_from: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="OTHER", help="The study that holds the calibrator, if another.", show_default=False
        ),
    ] = None,
    as_markdown: MarkdownOption = False,
    as_json: JsonOption = False,
) -> None:
    """Say what people would think of each system, when they rated a random sample and a judge rated everything.

    The mean score or the pass rate by the judge alone, by people alone, and corrected: the judge's, with its error
    taken out as far as the people's sample shows it. It needs a sample drawn with attune plan; what people chose to
    rate themselves corrects nothing.

    Example: attune correct chats.study.db --save-calibrator spring
    """
    from attunement.reports import correction as report
    from attunement.reports.correction_scope import apply_calibrator, correct_study
    from attunement.reports.correction_scope import save_calibrator as save
    from attunement.study import Study
    from attunement.study.calibrators import find_calibrator

    if as_json and as_markdown:
        raise InputError("choose one of --json and --markdown")
    if calibrator and save_calibrator:
        raise InputError("--save-calibrator makes a calibrator and --calibrator uses one; choose one of them")
    if calibrator_from and not calibrator:
        raise InputError("--from says where a --calibrator is; name the calibrator too")
    with Study(study) as opened:
        if calibrator:
            with Study(calibrator_from or study) as holder:
                kept = find_calibrator(holder, calibrator)
            page = report.calibration_page(apply_calibrator(opened, kept, instrument, rater))
        else:
            found = correct_study(opened, instrument, rater)
            page = report.correction_page(found, save(opened, found, save_calibrator) if save_calibrator else None)
    if as_json:
        import json

        typer.echo(json.dumps(page.record, indent=2))
    elif as_markdown:
        typer.echo(report.markdown(page), nl=False)
    else:
        from attunement.reports.terminal import open_console

        report.draw(page, open_console())
