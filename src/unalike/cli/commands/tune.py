"""`unalike tune`: find each method's settings on validation rows, then compare the methods on test rows."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomli_w
import typer
from rich.markup import escape

from ...errors import ConfigError
from ...experiments.config import Experiment
from ..messages import say_data
from ..screen import LiveRounds, console, print_json, show_rows, stderr
from .compare import named, show_comparison
from .run import free_folder

if TYPE_CHECKING:
    from ...experiments.tune import Trial


def tune_methods(
    experiment: Experiment,
    algorithms: str = typer.Option(
        "fedavg,fedavg+,fedem,ditto,local", help="Algorithms, separated by commas."
    ),
    budget: int = typer.Option(12, min=1, help="Trials of every method."),
    search: str = typer.Option("quasi-random", help="How settings are chosen: quasi-random or random."),
    rates: str = typer.Option("0.003162,1", help="Smallest and largest learning rate to try."),
    choose: str = typer.Option(
        "best",
        help="Which trial is chosen: best, or fairest:POINTS, the least spread over clients among those at "
        "most so many points below the best mean over clients.",
    ),
    seeds: int = typer.Option(3, min=1, help="Seeds of the comparison with the chosen settings."),
    out: Path | None = typer.Option(
        None,
        help="Folder for the chosen experiments, runs and report.",
        show_default="runs/tuning, or with the next free number",
    ),
    overwrite: bool = typer.Option(False, "--overwrite", help="Replace runs that are already in the folder."),
    quiet: bool = typer.Option(False, "--quiet", help="No progress bar."),
    json: bool = typer.Option(False, "--json", help="Print the answer as JSON."),
) -> None:
    """Give every method the same number of trials on validation rows, then compare the best on test rows.

    The chosen settings of a method are written to OUT/METHOD.toml, ready for `unalike run`.

    Example: unalike tune --algorithms fedavg,fedem,ditto --budget 12 --data digits --partition dirichlet:0.3
    --clients 50
    """
    names = named(algorithms)
    from ...experiments.build import check
    from ...experiments.compare import Materials, check_metric, check_variants, compare_experiments
    from ...experiments.tune import (
        applied,
        at_the_edge,
        check_choice,
        final_federation,
        search_space,
        tune,
        without_validation,
    )
    from ...experiments.variations import check_options, variant
    from ...report import report_tuning

    check_choice(choose)
    variants = {name: variant(experiment, name) for name in names}
    check_options(experiment, list(variants))
    for chosen in variants.values():
        check(chosen)
    out = out or free_folder("tuning")
    federation = final_federation(experiment)
    say_data(experiment, federation, quiet or json)
    decisive = check_metric(None, experiment, federation)
    tested = range(experiment.seed, experiment.seed + seeds)
    check_variants(variants, Materials(final_federation), tested, out, overwrite)
    with LiveRounds(quiet or json) as progress:
        progress.expect(len(variants) * budget)
        trials = tune(
            variants,
            budget=budget,
            search=search,
            rates=_pair(rates),
            choose=choose,
            observer=progress,
            announce=progress.rename,
        )
        best = {
            name: without_validation(applied(variants[name], found[0].settings))
            for name, found in trials.items()
        }
        progress.expect(len(best) * seeds)
        finals = compare_experiments(
            best,
            tested,
            out=out,
            overwrite=overwrite,
            observer=progress,
            announce=progress.rename,
            federation_of=final_federation,
        )
    for name, chosen in best.items():
        kept = {k: v for k, v in chosen.model_dump().items() if v is not None}
        (out / f"{name}.toml").write_text(tomli_w.dumps(kept), encoding="utf-8")
    answer = finals.answer(decisive)
    report = report_tuning(
        out / "report.html",
        answer,
        trials,
        finals.curves,
        experiment.model_dump(),
        federation.description,
    )
    if json:
        print_json({"rows": answer.table(), "trials": _listed(trials), "report": str(report)})
        return
    for name, found in trials.items():
        skipped = [trial for trial in found if trial.skipped]
        if skipped:
            stderr.print(f"{name}: {len(skipped)} of {len(found)} trials were skipped: {skipped[0].skipped}")
        if math.isnan(found[0].score):
            stderr.print(f"all trials of {name} diverged; try smaller learning rates with --rates.")
        for edge in at_the_edge(found, search_space(variants[name], _pair(rates))):
            stderr.print(f"{name}: the best {edge}; there may be better beyond it (--rates, --set).")
    show_rows([_chosen(found) for found in trials.values()], f"{choose} on validation rows")
    show_comparison(answer)
    console.print(f"Open [bold]{escape(str(report))}[/bold] in a browser for all trials.", soft_wrap=True)


def _pair(words: str) -> tuple[float, float]:
    try:
        low, high = (float(word) for word in words.split(","))
    except ValueError:
        raise ConfigError(f"--rates {words!r} is not of the form smallest,largest.") from None
    return low, high


def _chosen(found: list[Trial]) -> dict[str, Any]:
    trial = found[0]
    own = {k: v for k, v in trial.settings.items() if k != "learning_rate"}
    return {
        "method": trial.method,
        "trials": sum(not one.skipped for one in found),
        "validation": trial.score,
        "spread": trial.spread,
        "learning rate": trial.settings["learning_rate"],
        "own settings": ", ".join(f"{k} {v:.4g}" for k, v in own.items()),
    }


def _listed(trials: dict[str, list[Trial]]) -> list[dict[str, Any]]:
    return [
        {
            "method": t.method,
            "score": t.score,
            "mean": t.mean,
            "spread": t.spread,
            "skipped": t.skipped,
            **t.settings,
        }
        for found in trials.values()
        for t in found
    ]
