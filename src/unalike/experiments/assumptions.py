"""Which assumptions of the unlearning bound hold for a training?

A model's distance from the one without a client never grows in local work if every gradient step is
non-expansive: losses are convex and L-smooth, and the step size is at most 2 / L. For softmax regression
L is at most half the largest mean square of rows in any direction (for batches, of any single row), plus the
weight of the L2 term.
"""

from __future__ import annotations

import numpy as np

from ..data import Federation
from ..trust.unlearning.certificate import Assumption
from ..trust.unlearning.sensitivity import MODES, Mode
from .config import Experiment


def training_assumptions(experiment: Experiment, federation: Federation, mode: Mode) -> list[Assumption]:
    """What the ledger's bound rests on, and what of it holds here."""
    convex = experiment.spec("model").name == "linear"
    found = [
        Assumption(
            "local losses are convex", convex, "" if convex else "the bound is a heuristic for networks"
        ),
        plain_steps(experiment),
        _short_steps(experiment, federation, convex),
    ]
    if experiment.batch_size != 0:
        found.append(Assumption("mini-batches would have been the same without the client", None))
    if mode == "reference":
        why = "a drawn client counts less than it weighed; the bound does not hold"
        found.append(Assumption(MODES[mode], False, why))
    elif mode == "realised":
        found.append(Assumption("the other clients would have been drawn in the same rounds", None))
    ledger = experiment.spec("ledger")
    if ledger is not None and ledger.arguments:
        found.append(Assumption("losses are as strongly convex as was declared", None))
    return found


def plain_steps(experiment: Experiment) -> Assumption:
    """Whether clients take plain gradient steps."""
    plain = experiment.optimizer == "sgd" and not experiment.momentum
    why = "" if plain else "momentum and adaptive steps are outside the proof"
    return Assumption("clients take plain gradient steps", plain, why)


def _short_steps(experiment: Experiment, federation: Federation, convex: bool) -> Assumption:
    rate = experiment.learning_rate
    if experiment.engine == "flower":  # rows stay with the nodes
        return Assumption("step sizes are at most 2 / L", None, "only the nodes could check it")
    if not convex or not federation.classes or not len(federation.train.x):
        return Assumption("step sizes are at most 2 / L", None)
    bound = softmax_smoothness(federation, experiment.batch_size == 0) + experiment.l2
    return Assumption(
        "step sizes are at most 2 / L", bool(rate <= 2 / bound), f"{rate:g} against {2 / bound:.4g} here"
    )


def softmax_smoothness(federation: Federation, full_batches: bool) -> float:
    """A bound on the smoothness L of every client's cross-entropy of a linear model with intercept."""
    split = federation.train
    rows = np.concatenate([split.x.reshape(len(split.x), -1), np.ones((len(split.x), 1))], axis=1)
    if not full_batches:
        return 0.5 * float((rows.astype(np.float64) ** 2).sum(axis=1).max())
    each = [rows[a:b] for a, b in zip(split.offsets[:-1], split.offsets[1:], strict=True) if b > a]
    return 0.5 * max(float(np.linalg.norm(part, 2)) ** 2 / len(part) for part in each)
