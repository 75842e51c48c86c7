"""`unalike tune`: tune each method on validation rows, then compare the methods on test rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.markup import escape

from ...core.extras import check_extra
from ...errors import ConfigError
from ...experiments.config import Experiment
from ...typing import Row
from ..interrupted import SAME, can_go_on
from ..messages import say_data
from ..screen import LiveRounds, console, print_json, show_rows, stderr
from .compare import show_comparison, split_names
from .run import folders_called

if TYPE_CHECKING:
    from ...experiments.compare import Trials
    from ...experiments.comparison_file import TuningFile
    from ...experiments.tuning_study import Trial
    from ...runs import Comparison


def tune_methods(
    experiment: Experiment,
    algorithms: str = typer.Option(
        "fedavg,fedavg+,fedem,ditto,local", help="Algorithms, separated by commas."
    ),
    budget: int = typer.Option(12, min=1, help="Trials of every method."),
    search: str = typer.Option(
        "quasi-random",
        help="How settings are chosen: quasi-random, random, grid, or tpe, which learns from earlier trials.",
    ),
    rates: str = typer.Option("0.003162,1", help="Smallest and largest learning rate to try."),
    choose: str = typer.Option(
        "best",
        help="Which trial is chosen: best, or fairest:POINTS, the least spread over clients among those at "
        "most so many points below the mean over clients of FedAvg, which is tuned with the same budget.",
    ),
    prune: bool = typer.Option(
        False, "--prune", help="Give up trials that do worse than the median of those before."
    ),
    seeds: int = typer.Option(3, min=1, help="Seeds of the comparison with the chosen settings."),
    jobs: int = typer.Option(
        1, min=1, help="Runs of the comparison to train at a time, each in a process with one core."
    ),
    out: Path | None = typer.Option(
        None,
        help="Folder for trials, the chosen experiments, runs, tables and report; trials and runs that are "
        "there already are read, or go on.",
        show_default="runs/tuning, or with the next free number",
    ),
    overwrite: bool = typer.Option(
        False, "--overwrite", help="Replace trials and runs that are already in the folder."
    ),
    quiet: bool = typer.Option(False, "--quiet", help="No progress bar."),
    json: bool = typer.Option(False, "--json", help="Print the answer as JSON."),
) -> None:
    """Give every method the same number of trials on validation rows, then compare the best on test rows.

    The chosen settings of a method are written to OUT/METHOD.toml, ready for `unalike run`. After Ctrl-C, the
    same command goes on; with --out and a larger budget, only further trials are trained.

    Example: unalike tune --algorithms fedavg,fedem,ditto --budget 12 --data digits --partition dirichlet:0.3
    --clients 50
    """
    names = split_names(algorithms)
    check_extra("optuna", "tune", "unalike tune")
    from ...experiments.build import check
    from ...experiments.compare import Materials, check_metric, check_variants, compare_experiments
    from ...experiments.comparison_file import TUNING, TuningFile, begun, write_asked
    from ...experiments.hyperparameter_candidates import check_search
    from ...experiments.planned_runs import start_changed_again
    from ...experiments.tune import (
        apply_settings,
        check_choice,
        check_validation,
        final_federation,
        tune,
        with_reference,
        without_validation,
    )
    from ...experiments.tuning_study import STUDIES
    from ...experiments.variations import check_options, variant
    from ...runs.configuration import write_config

    check_choice(choose)
    check_search(budget, search, _pair(rates))
    variants = {name: variant(experiment, name) for name in names}
    check_options(experiment, list(variants))
    for chosen in variants.values():
        check(chosen)
    asked = TuningFile(
        algorithms=tuple(names),
        budget=budget,
        search=search,
        rates=_pair(rates),
        choose=choose,
        prune=prune,
        seeds=seeds,
        experiment=experiment,
    )
    out = out or begun(folders_called("tuning"), asked)
    federation = final_federation(experiment)
    say_data(experiment, federation, quiet or json)
    decisive = check_metric(None, experiment, federation)
    tested = range(experiment.seed, experiment.seed + seeds)
    ours = (out / TUNING).exists()  # runs in there have settings that trials have chosen
    check_variants(variants, Materials(final_federation), tested, None if ours else out, overwrite)
    check_validation(experiment)
    if overwrite:
        (out / STUDIES).unlink(missing_ok=True)
    write_asked(out, asked)
    can_go_on(SAME, out)
    with LiveRounds(quiet or json) as progress:
        progress.expect(len(with_reference(variants, choose)) * budget)
        trials = tune(
            variants,
            budget=budget,
            search=search,
            rates=asked.rates,
            choose=choose,
            prune=prune,
            out=out,
            observer=progress,
            announce=progress.rename,
        )
        best = {
            name: without_validation(apply_settings(variants[name], found[0].settings))
            for name, found in trials.items()
        }
        start_changed_again(best, tested, out)
        progress.expect(len(best) * seeds)
        finals = compare_experiments(
            best,
            tested,
            out=out,
            overwrite=overwrite,
            retrain=True,  # trials on other rows or of other code were refused above
            jobs=jobs,
            observer=progress,
            announce=progress.rename,
            federation_of=final_federation,
        )
    for name, chosen in best.items():
        write_config(out / f"{name}.toml", chosen.model_dump())
    conclude(trials, finals, finals.answer(decisive), asked, out, federation.description, json)


def conclude(
    trials: dict[str, list[Trial]],
    finals: Trials,
    answer: Comparison,
    asked: TuningFile,
    out: Path,
    source: str,
    json: bool,
) -> None:
    """Write tables and report, and print what was found."""
    from ...report import report_tuning
    from ...runs.comparison_files import write_comparison

    notes = [*finals.notes(), *answer.untrained()]
    report = report_tuning(
        out / "report.html", answer, trials, finals.curves, asked.experiment.model_dump(), source
    )
    write_comparison(out, answer, notes)
    if json:
        print_json({"rows": answer.table(), "trials": _trial_rows(trials), "report": str(report)})
        return
    for found in trials.values():
        for words in _remarks(found, asked):
            stderr.print(words, soft_wrap=True)
    show_rows([_chosen_row(found) for found in trials.values()], f"{asked.choose} on validation rows")
    show_comparison(answer, notes)
    console.print(f"Open [bold]{escape(str(report))}[/bold] in a browser for all trials.", soft_wrap=True)


def _remarks(found: list[Trial], asked: TuningFile) -> Iterator[str]:
    """What a person should know of a method's trials beside the best."""
    from ...experiments.hyperparameter_candidates import search_space
    from ...experiments.tune import at_the_edge
    from ...experiments.variations import variant

    name = found[0].method
    skipped, pruned = ([t for t in found if getattr(t, why)] for why in ("skipped", "pruned"))
    if skipped:
        yield f"{name}: {len(skipped)} of {len(found)} trials were skipped: {skipped[0].skipped}"
    if pruned:
        yield f"{name}: {len(pruned)} of {len(found)} trials were given up before their last round."
    if math.isnan(found[0].score):
        yield f"all trials of {name} diverged; try smaller learning rates with --rates."
    for edge in at_the_edge(found, search_space(variant(asked.experiment, name), asked.rates)):
        yield f"{name}: the best {edge}; there may be better beyond it (--rates, --set)."


def _pair(words: str) -> tuple[float, float]:
    try:
        low, high = (float(word) for word in words.split(","))
    except ValueError:
        raise ConfigError(f"--rates {words!r} is not of the form smallest,largest.") from None
    return low, high


def _chosen_row(found: list[Trial]) -> Row:
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


def _trial_rows(trials: dict[str, list[Trial]]) -> list[Row]:
    return [
        {
            "method": t.method,
            "score": t.score,
            "mean": t.mean,
            "spread": t.spread,
            "skipped": t.skipped,
            "pruned": t.pruned,
            **t.settings,
        }
        for found in trials.values()
        for t in found
    ]
