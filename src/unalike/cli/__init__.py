"""The command line: `unalike run`, `resume`, `compare`, `list`, `inspect`, `reproduce`."""

from __future__ import annotations

import os
import sys

import typer

from ..errors import UnalikeError
from .compare import compare
from .options import with_experiment
from .reproduce import reproduce
from .run import resume, run
from .screen import errors, print_json
from .show import inspect_data, list_names

app = typer.Typer(
    help="Federated learning for clients that are not alike.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("run")(with_experiment(run))
app.command("resume")(resume)
app.command("compare")(with_experiment(compare))
app.command("list")(list_names)
app.command("inspect")(inspect_data)
app.command("reproduce")(reproduce)


def main() -> None:
    """Run the command line; a user's mistake is one sentence and exit code 2, Ctrl-C is exit code 130."""
    try:
        app()
    except UnalikeError as error:
        if "--json" in sys.argv:
            print_json({"error": str(error)})
        else:
            errors.print(f"[bold red]error:[/bold red] {error}", soft_wrap=True, highlight=False, markup=True)
        sys.exit(2)
    except KeyboardInterrupt:
        errors.print("interrupted; what is finished is saved, go on with `unalike resume FOLDER`.")
        sys.exit(130)
    except BrokenPipeError:
        os._exit(0)
