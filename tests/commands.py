"""A command as a user types it, for tests: what it refuses is raised, so that a test can say why."""

from collections.abc import Callable
from typing import Any

import typer
from typer.testing import CliRunner, Result


def runner(command: Callable[..., Any]) -> Callable[..., Result]:
    """Runs the command with any arguments, on a terminal of 80 columns unless `columns` says otherwise."""
    app = typer.Typer()
    app.command()(command)

    def run(*arguments: object, columns: int = 80) -> Result:
        outcome = CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": str(columns)})
        if isinstance(outcome.exception, Exception) and not isinstance(outcome.exception, SystemExit):
            raise outcome.exception
        return outcome

    return run
