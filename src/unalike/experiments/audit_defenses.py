"""Defenses after training: what strangers see of a finished run with defended predictions.

    memguard:BUDGET            probabilities are changed a little, labels stay; reference rows teach the guard
    distillation:TEMPERATURE   a student is given away that learnt reference rows from the model

Whoever attacks knows the defense: reference models are guarded like the target, each by a guard that knows
its own members.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import jax
import numpy as np

from ..algorithms import FedAvg, Optimizer
from ..core.registry import Registry
from ..data import Federation, Split
from ..engine.row_outputs import model_outputs
from ..errors import ConfigError
from ..privacy.distillation import distil
from ..privacy.memguard import fit_attack, guard
from ..training.run import Run
from ..training.train import train
from ..typing import Array, Bools
from .audit_rows import REFERENCE, TRAINING, AuditRows, run_outputs
from .audit_sets import AuditSets

_LEAST = 1e-12


@dataclass(frozen=True)
class Defense:
    """No defense: strangers see what the run's predictors say."""

    def target_outputs(self, run: Run, sets: AuditSets, rows: AuditRows, seed: int) -> Array:
        """What strangers see of the run, for every row."""
        return run_outputs(run, rows)

    def reference_outputs(self, outputs: Array, inside: Bools) -> Array:
        """What they would see of a reference model that was trained on these rows."""
        return outputs


defense_registry: Registry[Defense] = Registry("defense", "defenses")


@defense_registry.add("memguard")
@dataclass(frozen=True)
class MemGuard(Defense):
    """Change probabilities so that they do not give members away, on average by at most `budget` (0 to 2;
    Jia et al., 2019)."""

    budget: float = 0.5

    def __post_init__(self) -> None:
        if not 0 <= self.budget <= 2:
            raise ConfigError(
                f"the budget of distortion must lie between 0 and 2, such as memguard:0.5, but is "
                f"{self.budget:g}."
            )

    def target_outputs(self, run: Run, sets: AuditSets, rows: AuditRows, seed: int) -> Array:
        _check(run, rows, "memguard")
        members, others = (np.isin(rows.kinds, kind) for kind in (TRAINING, REFERENCE))
        return self._guarded(run_outputs(run, rows), members, others)

    def reference_outputs(self, outputs: Array, inside: Bools) -> Array:
        return self._guarded(outputs, inside, ~inside)

    def _guarded(self, outputs: Array, members: Bools, others: Bools) -> Array:
        """Logits whose probabilities are guarded by a surrogate that knows these members and others."""
        chances = np.asarray(jax.nn.softmax(outputs))
        attack = fit_attack(chances[members], chances[others])
        given = guard(chances, attack, self.budget)
        return np.where(given.changed[:, None], np.log(np.maximum(given.chances, _LEAST)), outputs)


@defense_registry.add("distillation")
@dataclass(frozen=True)
class StudentModel(Defense):
    """Give away a student that learnt the model's probabilities of reference rows, at a `temperature`
    (Shejwalkar and Houmansadr, 2021)."""

    temperature: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.temperature < float("inf"):
            raise ConfigError(
                f"the temperature must be above 0, such as distillation:2, but is {self.temperature:g}."
            )

    def target_outputs(self, run: Run, sets: AuditSets, rows: AuditRows, seed: int) -> Array:
        _check(run, rows, "distillation")
        setting = run.setting
        if setting.algorithm.personalized or run.messages.per_client:
            raise ConfigError(
                f"a student follows one teacher, but clients of {setting.algorithm.name} predict with models "
                "of their own; use memguard."
            )
        assert sets.reference is not None
        learner = FedAvg(work=setting.algorithm.work, optimizer=_optimizer(run))
        pupils = with_training_rows(sets.federation, sets.reference)
        taught = distil(pupils, setting.task, run.message, self.temperature)
        student = train(*taught, learner, rounds=max(run.rounds, 1), seed=seed, evaluate_every=0)
        return model_outputs(setting.task, student.message, rows.x)


def make_defense(words: str | None) -> Defense:
    """The defense that words name, such as "memguard:0.5"; None is none.

    >>> make_defense("distillation:2")
    StudentModel(temperature=2)
    """
    return Defense() if words is None else defense_registry.make(words)


def with_training_rows(federation: Federation, rows: Split) -> Federation:
    """The clients that have some of these rows, with them to train on."""
    whole = replace(federation, train=rows, given_importance=None)
    return whole.subset(np.flatnonzero(rows.sizes))


def _optimizer(run: Run) -> Optimizer:
    return getattr(run.setting.algorithm, "optimizer", Optimizer())


def _check(run: Run, rows: AuditRows, name: str) -> None:
    if not len(rows.of(REFERENCE)):
        raise ConfigError(
            f"{name} learns from reference rows, of which the run has none; train it with "
            "--validation-fraction 0.2, or a method with reference rows of its own."
        )
    if run.setting.task.kind() != "logits" or rows.y.ndim != 1:
        raise ConfigError(f"{name} is for classifications, whose predictions are probabilities.")
