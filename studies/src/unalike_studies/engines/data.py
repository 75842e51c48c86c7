"""Experiments that run on every engine: three methods on a few digits."""

from __future__ import annotations

from typing import Any

from unalike.experiments.config import Experiment, make_experiment

METHODS: dict[str, dict[str, Any]] = {
    "fedavg": {},
    "scaffold": {"per_round": 2},
    "fedem": {"options": {"components": 2}},
}
ROUNDS, CLIENTS = 4, 3


def build_experiment(name: str, engine: str = "local") -> Experiment:
    """One of the experiments."""
    work = {"model": "linear", "steps": 2, "batch_size": 8, "learning_rate": 0.2}
    plan = {"rounds": ROUNDS, "seed": 5, "evaluate_every": 0, "checkpoint_every": 1}
    return make_experiment({**work, **plan, "algorithm": name, "engine": engine, **METHODS[name]})
