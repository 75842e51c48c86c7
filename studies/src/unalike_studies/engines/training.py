"""Claims on engines that need training, and processes that die."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from unalike.core.extras import is_installed
from unalike.core.pytrees import largest_difference
from unalike.data import Federation, load
from unalike.experiments.build import make_algorithm, make_task
from unalike.experiments.run import run_experiment
from unalike.training.round_report import RoundReport
from unalike.training.run import Run

from ..study import Claim, at_most
from .data import CLIENTS, METHODS, ROUNDS, build_experiment

WHOLE = ("participants", "rejected", "bytes_up", "bytes_down")
Trained = dict[str, Run]


def training_claims(quick: bool) -> list[Claim]:
    """R-1 to R-3 and F-1 to F-3, as far as Ray and Flower are installed."""
    names = list(METHODS)[: 1 if quick else None]
    federation = load("digits", clients=CLIENTS, partition="dirichlet:0.5", samples=150, seed=1)
    here = {name: _here(federation, name) for name in names}
    claims = []
    for extra, study in (("ray", _on_ray), ("flwr", _between_nodes)):
        if not is_installed(extra):
            claims.append(Claim(extra, f"needs {extra}", None, None, "not installed", False, hard=False))
        else:
            claims.extend(study(federation, here))
    return claims


def _here(federation: Federation, name: str) -> Run:
    return run_experiment(build_experiment(name), federation=federation)


def _same(prefix: str, where: str, here: Trained, there: Trained) -> list[Claim]:
    models = [largest_difference(here[name].state, there[name].state) for name in here]
    wholes = [_largest_gap(here[name], there[name]) for name in here]
    methods, counted = ", ".join(here), "participants, rejected uploads, bytes and correct answers"
    return [
        at_most(f"{prefix}-1", f"models {where} are those of one machine ({methods})", models, 1e-5),
        at_most(f"{prefix}-2", f"{counted} {where}", wholes, 0.0),
    ]


def _largest_gap(one: Run, other: Run) -> float:
    """Of everything that is a whole number."""
    ours, theirs = one.metrics(), other.metrics()
    tests = len(one.setting.federation.test.y)
    gaps = [np.nanmax(np.abs(ours[name] - theirs[name])) for name in WHOLE]
    correct = [np.round(m["test_accuracy"] * tests) for m in (ours, theirs)]
    return float(max(*gaps, np.nanmax(np.abs(correct[0] - correct[1]))))


def _on_ray(federation: Federation, here: Trained) -> list[Claim]:
    there = {name: run_experiment(build_experiment(name, "ray:2"), federation=federation) for name in here}
    claims = _same("R", "on two Ray workers", here, there)
    deaths = [_gap_after_death(federation, name, there[name]) for name in here]
    there.clear()
    return [*claims, at_most("R-3", "a worker that is killed between two rounds changes no bit", deaths, 0.0)]


def _gap_after_death(federation: Federation, name: str, undisturbed: Run) -> float:
    from unalike.engine import RayEngine, Setting
    from unalike.training.train import train

    experiment = build_experiment(name)
    task, algorithm = make_task(experiment, federation), make_algorithm(experiment)
    engine = RayEngine(
        2, setting=Setting(federation, task, algorithm.prepare(task, federation), experiment.seed)
    )

    def kill(report: RoundReport, rounds: int) -> None:
        if report.round == 2:
            engine.pool.ray.kill(engine.pool.actors[0])

    options: dict[str, Any] = {"rounds": ROUNDS, "seed": experiment.seed, "evaluate_every": 0}
    run = train(
        federation, task, algorithm, per_round=experiment.per_round, engine=engine, observer=kill, **options
    )
    happened = [event["kind"] for event in run.events()]
    if happened != ["worker restarted"]:
        return float("inf")
    return largest_difference(undisturbed.state, run.state)


def _between_nodes(federation: Federation, here: Trained) -> list[Claim]:
    from unalike.deploy.local_deployment import local_deployment, train_deployed

    with tempfile.TemporaryDirectory() as name, local_deployment(federation, Path(name) / "certs") as link:
        train = partial(train_deployed, link, clients=CLIENTS)
        there = {method: train(build_experiment(method), out=Path(name) / method) for method in here}
        claims = _same("F", "between Flower nodes with TLS", here, there)
        resumed = [_gap_after_resume(train, method, there[method], Path(name)) for method in here]
        return [*claims, at_most("F-3", "a server that is stopped and resumed changes no bit", resumed, 0.0)]


def _gap_after_resume(train: Callable[..., Run], method: str, undisturbed: Run, folder: Path) -> float:
    def stop(report: RoundReport, rounds: int) -> None:
        if report.round == 3:
            raise SystemError("stopped by the study")

    out = folder / f"{method}-stopped"
    try:
        train(build_experiment(method), out=out, observer=stop)
    except SystemError:
        return largest_difference(
            undisturbed.state, train(build_experiment(method), out=out, resume=True).state
        )
    return float("inf")
