"""`unalike compare`: the same experiment with several algorithms over several seeds, in one table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import typer
from numpy.typing import NDArray
from rich.markup import escape

from ..config import Experiment
from ..data import Federation
from ..errors import ConfigError, unknown
from ..experiment import check, make_federation, make_task, run_experiment
from ..report import report_comparison
from ..run import Run
from ..runs import compare as compare_results
from ..runs import higher_is_better, summarise_clients
from .screen import LiveRounds, console, print_json, show_rows


def compare(
    experiment: Experiment,
    algorithms: str = typer.Option(
        "fedavg,fedprox,scaffold,local,fedavg+", help="Algorithms, separated by commas."
    ),
    seeds: int = typer.Option(
        3, min=1, help="Seeds; data, partition, start and participation change with each."
    ),
    baseline: str | None = typer.Option(
        None, help="The algorithm that others are tested against.", show_default="the first"
    ),
    metric: str | None = typer.Option(
        None, help="The metric that decides.", show_default="test accuracy, or RMSE"
    ),
    out: Path = typer.Option(
        Path("runs/comparison"), help="Folder for one run folder per algorithm and seed, and the report."
    ),
    overwrite: bool = typer.Option(False, "--overwrite", help="Replace runs that are already in the folder."),
    quiet: bool = typer.Option(False, "--quiet", help="No progress bar."),
    json: bool = typer.Option(False, "--json", help="Print the table as JSON."),
) -> None:
    """Train several algorithms on the same clients and say which is better, with intervals and paired tests.

    Example: unalike compare --algorithms fedavg,fedprox --seeds 3 --data digits --partition dirichlet:0.3
    --clients 50
    """
    names = [name.strip() for name in algorithms.split(",") if name.strip()]
    variants = {name: _variant(experiment, name) for name in names}
    if not variants:
        raise ConfigError("name at least one algorithm, such as --algorithms fedavg,fedprox.")
    if baseline is not None and baseline not in variants:
        raise unknown("baseline", baseline, variants)
    for variant in variants.values():
        check(variant)
    results: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    curves: dict[str, list[dict[str, NDArray[Any]]]] = {name: [] for name in names}
    clients: dict[str, NDArray[np.float64]] = {}
    with LiveRounds(quiet or json) as progress:
        for seed in range(experiment.seed, experiment.seed + seeds):
            federation = make_federation(experiment.model_copy(update={"seed": seed}))
            _check_metric(metric, federation)
            task = make_task(experiment, federation)
            for name, variant in variants.items():
                progress.rename(f"{name}, seed {seed}")
                chosen = variant.model_copy(update={"seed": seed})
                folder = out / f"{name}-seed{seed}"
                run = run_experiment(
                    chosen, folder, federation=federation, task=task, overwrite=overwrite, observer=progress
                )
                results[name].append({"seed": float(seed), **_finals(run)})
                curves[name].append(run.metrics())
                clients.setdefault(name, run.client_metrics()[_metric(run)])
    decisive = metric or next(m for m in ("test_accuracy", "test_rmse") if m in results[names[0]][0])
    answer = compare_results(results, decisive, baseline, clients)
    report = report_comparison(out / "report.html", answer, curves, experiment.model_dump())
    if json:
        print_json(
            {
                "metric": decisive,
                "baseline": answer.baseline,
                "best": answer.best,
                "rows": answer.table(),
                "report": str(report),
            }
        )
        return
    show_rows(answer.readable(), f"{decisive} over {seeds} seeds")
    console.print(
        f"Open [bold]{escape(str(report))}[/bold] in a browser for curves and clients.", soft_wrap=True
    )


def _variant(experiment: Experiment, algorithm: str) -> Experiment:
    """The experiment with another algorithm; its own options go only to the algorithm they were meant for."""
    options = experiment.options if algorithm == experiment.algorithm else {}
    return experiment.model_copy(update={"algorithm": algorithm, "options": options})


def _check_metric(metric: str | None, federation: Federation) -> None:
    """Whether every run will have the metric that decides, before any of them is trained."""
    if not len(federation.test.y):
        raise ConfigError("a comparison needs test rows; choose a test_fraction above 0.")
    known = ("test_loss", "test_accuracy" if federation.classes else "test_rmse", "bottom_decile", "worst")
    if metric is not None and metric not in known:
        raise unknown("metric", metric, known)


def _metric(run: Run) -> str:
    return "test_accuracy" if run.setting.federation.classes else "test_rmse"


def _finals(run: Run) -> dict[str, float]:
    columns, name = run.client_metrics(), _metric(run)
    spread = summarise_clients(columns[name], columns["test_samples"], higher_is_better(name))
    last = {
        key: float(values[~np.isnan(values)][-1])
        for key, values in run.metrics().items()
        if key.startswith("test_")
    }
    return {**last, "bottom_decile": spread["bottom_decile"], "worst": spread["worst"]}
