"""Models that the study attacks: defenses over their parameters, trained and audited as by a user.

    werm         by the weight of training rows
    adv-reg      by the weight of its attacker
    adv-reg-rt   the same, and the attacker is to be wrong of reference rows, too
    mmd          by the weight of the discrepancy of predictions of both sets
    stopped      werm with all weight on training rows, by passes: what stopping early does
    shared       werm with equal weights, by passes
    dp-sgd       on the training rows alone, once

Reference models are trained for every model anew, until they fit their rows as well as it does.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from unalike.algorithms import MMD, WERM, AdvReg, AdvRegRT, FedAvg, LocalWork, Optimizer
from unalike.algorithms.dp_sgd import DPSGD
from unalike.data import Federation
from unalike.data.reference_rows import split_reference
from unalike.engine.row_outputs import model_outputs
from unalike.experiments.audit import audit_run
from unalike.models import Task
from unalike.privacy.audit.curves import Curve
from unalike.privacy.audit.report_card import ReportCard
from unalike.privacy.row_accounting import sampled_epsilon
from unalike.training.run import Run
from unalike.training.train import train

from .data import FULL, QUICK, Sizes, study_rows, study_task

WEIGHTS = (0.0, 0.25, 0.5, 0.7, 0.9, 0.97, 1.0)
EQUAL = 0.5
LAMS = (0.0, 1.0, 2.0, 3.0)
RT_LAMS = (0.1, 1.0, 3.0)
MMD_LAMS = (1.0, 3.0, 10.0)
STOPPED = (3, 6, 12)
MODELS = 8
PASSES, PRIVATE_PASSES = 40, 10
NOISE, DELTA = 1.0, 1e-5
WORK, OPTIMIZER = LocalWork(epochs=1, batch_size=32), Optimizer("sgd", 0.1)
MMD_WORK, MMD_OPTIMIZER = LocalWork(epochs=1, batch_size=256), Optimizer("sgd", 0.5)
"""Mini-batches have several rows of a class; without weight this is as accurate, and leaks as much."""
SEEDS = (0, 1, 2)


@dataclass(frozen=True)
class Private:
    """A model with noise for every row."""

    card: ReportCard
    epsilon: float | None
    """What the accountant says of a row; None without one."""


@dataclass(frozen=True)
class Draw:
    """One draw of the rows, and what the audit makes of every defense on it."""

    werm: Curve
    adv_reg: Curve
    adv_reg_rt: Curve
    mmd: Curve
    stopped: Curve
    shared: Curve
    gaps: tuple[float, ...]
    """By weight of WERM: training accuracy minus test accuracy, on all rows."""
    private: Private | None


@lru_cache(maxsize=1)
def attack_draws(quick: bool) -> list[Draw]:
    """All draws; noise per row takes its time, so there is one of it."""
    sizes = QUICK if quick else FULL
    return [attack_draw(sizes, seed, private=seed == 0) for seed in (SEEDS[:1] if quick else SEEDS)]


def attack_draw(sizes: Sizes, seed: int, private: bool = False, passes: int = PASSES) -> Draw:
    """Draw rows, and train and audit every defense on them."""
    federation, task = study_rows(sizes, seed), study_task(sizes)
    settings: dict[str, dict[str, tuple[FedAvg, int]]] = {
        "werm weight": {f"{w:g}": (WERM(work=WORK, optimizer=OPTIMIZER, weight=w), passes) for w in WEIGHTS},
        "adv-reg lam": {f"{v:g}": (AdvReg(work=WORK, optimizer=OPTIMIZER, lam=v), passes) for v in LAMS},
        "adv-reg-rt lam": {
            f"{v:g}": (AdvRegRT(work=WORK, optimizer=OPTIMIZER, lam=v), passes) for v in RT_LAMS
        },
        "mmd lam": {f"{v:g}": (MMD(work=MMD_WORK, optimizer=MMD_OPTIMIZER, lam=v), passes) for v in MMD_LAMS},
        "werm 1 rounds": {
            str(n): (WERM(work=WORK, optimizer=OPTIMIZER, weight=1.0), min(n, passes)) for n in STOPPED
        },
        "werm 0.5 rounds": {
            str(n): (WERM(work=WORK, optimizer=OPTIMIZER, weight=EQUAL), min(n, passes)) for n in STOPPED
        },
    }
    runs = {
        name: [_train(federation, task, method, rounds, seed) for method, rounds in points.values()]
        for name, points in settings.items()
    }
    werm, adv_reg, adv_reg_rt, mmd, stopped, shared = (
        Curve(name, tuple(settings[name]), tuple(_audit(run, seed) for run in found))
        for name, found in runs.items()
    )
    gaps = tuple(accuracy_gap(run) for run in runs["werm weight"])
    noisy = _private(federation, task, seed) if private else None
    return Draw(werm, adv_reg, adv_reg_rt, mmd, stopped, shared, gaps, noisy)


def accuracy_gap(run: Run) -> float:
    """How much more often a model is right on its training rows than on test rows."""
    task = run.setting.task
    own = split_reference(run.setting.federation, 0.5).training.train
    right = [
        float((model_outputs(task, run.message, part.x).argmax(1) == part.y).mean())
        for part in (own, run.setting.federation.test)
    ]
    return right[0] - right[1]


def _train(federation: Federation, task: Task, method: FedAvg, rounds: int, seed: int) -> Run:
    return train(federation, task, method, rounds=rounds, seed=seed, evaluate_every=0)


def _audit(run: Run, seed: int) -> ReportCard:
    return audit_run(run, references=MODELS, seed=seed)


def _private(federation: Federation, task: Task, seed: int) -> Private:
    """DP-SGD on the training rows; the reference rows are in no model, and are attacked all the same."""
    training, reference = split_reference(federation, 0.5)
    method = DPSGD(work=WORK, optimizer=OPTIMIZER, noise=NOISE)
    run = _train(training, task, method, PRIVATE_PASSES, seed)
    card = audit_run(run, references=MODELS, seed=seed, reference=reference.train)
    rows = len(training.train.y)
    steps = PRIVATE_PASSES * int(np.ceil(rows / WORK.batch_size))
    return Private(card, sampled_epsilon(WORK.batch_size / rows, NOISE, steps, DELTA))
