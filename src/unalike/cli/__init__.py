"""The command line: `unalike run`, `resume`, `predict`, `export`, `forget`, `audit`, `compare`, `tune`,
`benchmark`, `runs`, `report`, `list`, `inspect`, `advise`, `network`, `statistics`, `analyze`, `reproduce`,
`certs`, `serve`, `join`."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

import typer
from rich.markup import escape

from .. import __version__
from ..core.plugins import load_inherited, take_plugins
from ..errors import DivergenceWarning, UnalikeError
from .commands import advise_availability as _advise_availability  # noqa: F401 - adds itself to `advise`
from .commands import advise_constants as _advise_constants  # noqa: F401 - adds itself to `advise`
from .commands import advise_free_riders as _advise_free_riders  # noqa: F401 - adds itself to `advise`
from .commands import advise_heterogeneity as _advise_heterogeneity  # noqa: F401 - adds itself to `advise`
from .commands import advise_mixture as _advise_mixture  # noqa: F401 - adds itself to `advise`
from .commands import advise_stream as _advise_stream  # noqa: F401 - adds itself to `advise`
from .commands import advise_timing as _advise_timing  # noqa: F401 - adds itself to `advise`
from .commands.advise import advise
from .commands.analyze import analyze
from .commands.audit import audit
from .commands.benchmark import benchmark
from .commands.certs import certs
from .commands.compare import compare
from .commands.export import export
from .commands.forget import forget
from .commands.inspect import inspect_data
from .commands.join import DATA, join
from .commands.list import list_names
from .commands.network import network
from .commands.predict import predict_rows
from .commands.report import report
from .commands.reproduce import reproduce
from .commands.resume import resume
from .commands.run import run
from .commands.runs import runs
from .commands.serve import AT_THE_NODES, serve
from .commands.statistics import statistics
from .commands.tune import tune_methods
from .help import Program, UsageError, build_program
from .interrupted import after_interruption
from .messages import say_warning
from .options import FIELDS, with_experiment
from .screen import console, print_json, stderr

app = Program(
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(asked: bool) -> None:
    if asked:
        console.print(__version__)
        raise typer.Exit


@app.callback()
def start(
    _: bool = typer.Option(
        False, "--version", is_eager=True, callback=_show_version, help="Show the version and stop."
    ),
    _plugin: Path | None = typer.Option(
        None,
        "--plugin",
        help="A Python file of your own, whose methods, samplers, data sets ... can then be named; after any "
        "command, and more than once.",
        show_default="none",
    ),
) -> None:
    """Federated learning for clients that are not alike."""


app.command("run")(with_experiment(run))
app.command("resume")(resume)
app.command("predict")(predict_rows)
app.command("forget")(forget)
app.command("audit")(audit)
app.command("export")(export)
app.command("compare")(with_experiment(compare))
app.command("tune")(with_experiment(tune_methods))
app.command("benchmark")(benchmark)
app.add_typer(runs, name="runs", help="List, compare and clean up past runs.")
app.command("report")(report)
app.command("list")(list_names)
app.add_typer(advise, name="advise", help="Recommend settings for these clients, and explain why.")
app.add_typer(network, name="network", help="Design, compare and draw overlays between silos.")
app.command("inspect")(inspect_data)
app.command("statistics")(statistics)
app.command("analyze")(analyze)
app.command("analyse", hidden=True)(analyze)  # the British spelling, which earlier versions had
app.command("reproduce")(reproduce)
app.command("certs")(certs)
app.command("serve")(with_experiment(serve, without=AT_THE_NODES))
app.command("join")(with_experiment(join, without=tuple(name for name in FIELDS if name not in DATA)))


INTERRUPTED = 130


def main() -> None:
    """Run the command line; a user's mistake is one sentence and exit code 2, Ctrl-C is exit code 130."""
    warnings.showwarning = say_warning
    warnings.simplefilter("ignore", DivergenceWarning)
    try:
        load_inherited()
        sys.argv[1:] = take_plugins(sys.argv[1:])
        code = build_program(app, next(iter(sys.argv[1:]), "")).main(standalone_mode=False) or 0
    except UnalikeError as error:
        code = _refuse(str(error))
    except UsageError as error:
        code = _refuse(error.format_message()) if _for_machines() else error.show() or error.exit_code
    except BrokenPipeError:
        os._exit(0)
    except typer.Abort:
        code = _refuse("nothing was confirmed, so that nothing was done.")
    except OSError as error:
        code = _refuse(_system_sentence(error))
    if code == INTERRUPTED:
        stderr.print(escape(after_interruption()), soft_wrap=True, highlight=False)
    sys.exit(code)


def _refuse(sentence: str) -> int:
    if _for_machines():
        print_json({"error": sentence})
    else:
        stderr.print(f"[bold red]error:[/bold red] {escape(sentence)}", soft_wrap=True, highlight=False)
    return 2


def _system_sentence(error: OSError) -> str:
    """What the operating system refuses: a full disk, a name that is too long, a folder that is gone."""
    place = "" if error.filename is None else f" ({str(error.filename)[:80]})"
    return f"the system refuses: {(error.strerror or str(error)).lower()}{place}."


def _for_machines() -> bool:
    return "--json" in sys.argv
