"""Checks of the assumptions of the unlearning bound for a training.

A model's distance from the one without a client never grows in local work if every gradient step is
non-expansive: losses are convex and L-smooth, steps are plain ones and not longer than
:func:`~unalike.trust.unlearning.sensitivity.longest_step`. For softmax regression L is at most half the
largest mean square of rows in any direction (for batches, of any single row), plus the weight of the L2 term.
Clipped gradients and clipped changes are no gradients of a convex loss: the bound fails with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from ..data import Federation
from ..data.importance import SIMILARITY
from ..data.loader import is_own_data
from ..data.sources.source import SCALED_TOGETHER
from ..data.table_clients import WAYS
from ..training.unlearning_history import declared_convexity, proximal_weight
from ..trust.unlearning.certificate import Assumption
from ..trust.unlearning.sensitivity import MODES, Mode, longest_step
from ..typing import Float64s
from .build import make_algorithm
from .config import DEFAULT_ROUNDS, Experiment
from .remaining_rows import is_fitted_here

PLAIN_SUM = (None, "weighted-sum")
"""Words for the weighted mean of uploads as they come."""


class Curvature(NamedTuple):
    """Between which bounds the curvature of every client's loss lies, without the L2 term."""

    least: float
    most: float


def training_assumptions(experiment: Experiment, federation: Federation, mode: Mode) -> list[Assumption]:
    """What the ledger's bound rests on, and what of it holds here."""
    convex = experiment.spec("model").name == "linear"
    known = curvature(experiment, federation) if convex else None
    found = [
        Assumption(
            "local losses are convex", convex, "" if convex else "the bound is a heuristic for networks"
        ),
        plain_steps(experiment),
        plain_mean(experiment),
        _short_steps(experiment, known),
    ]
    if experiment.batch_size != 0:
        found.append(Assumption("mini-batches would have been the same without the client", None))
    if mode == "reference":
        why = "a drawn client counts less than it weighed; the bound does not hold"
        found.append(Assumption(MODES[mode], False, why))
    elif mode == "realized":
        found.append(Assumption("the other clients would have been drawn in the same rounds", None))
    return [*found, *_check_declared_convexity(experiment, known)]


def assumptions_on(
    experiment: Experiment, remaining: Federation, trained: Federation, mode: Mode
) -> list[Assumption]:
    """:func:`training_assumptions` on all clients whose local work a bound compares; of those that are not
    among the `remaining` ones only the verdict is told."""
    found = training_assumptions(experiment, remaining, mode)
    every = training_assumptions(experiment, trained, mode)
    why = "not so for a client that took part and was forgotten, with or before this one"
    return [
        here if here.holds == there.holds else Assumption(here.what, there.holds, why)
        for here, there in zip(found, every, strict=True)
    ]


def plain_steps(experiment: Experiment) -> Assumption:
    """Whether clients take plain gradient steps."""
    what = "clients take plain gradient steps"
    if experiment.clip is not None:
        return Assumption(what, False, "clipped gradients can push models apart; leave out clip")
    plain = experiment.optimizer == "sgd" and not experiment.momentum
    return Assumption(what, plain, "" if plain else "momentum and adaptive steps are outside the proof")


def plain_mean(experiment: Experiment) -> Assumption:
    """Whether the server takes the weighted mean of uploads as they come."""
    what = "the server takes the weighted mean of all uploads as they are"
    if experiment.aggregator not in PLAIN_SUM:
        why = f"{experiment.aggregator} changes them, which can push models apart; leave out the aggregator"
        return Assumption(what, False, why)
    if experiment.monitor is not None:
        return Assumption(what, False, "whom a monitor leaves out may depend on the client")
    return Assumption(what, True)


def coding_assumptions(experiment: Experiment, federation: Federation) -> list[Assumption]:
    """What must hold of rows and weights so that nothing of forgotten clients is in them."""
    found = []
    if experiment.importance == SIMILARITY:
        what = "what clients weigh against each other does not depend on the forgotten ones"
        found = [Assumption(what, False, "importance = similarity compares each client with all others")]
    what = "how columns and labels are coded does not depend on rows of forgotten clients"
    if experiment.engine == "flower":
        why = "nodes code them; a file of means and words in which a forgotten node counts must be made again"
        return [*found, Assumption(what, None, why)]
    if experiment.prepare is not None and experiment.prepare not in WAYS:
        return [*found, Assumption(what, None, f"{experiment.prepare} was given and is not fitted again")]
    if not is_own_data(experiment.data) and experiment.spec("data").name in SCALED_TOGETHER:
        why = "its columns are standardized with the rows of all clients; give tables of the clients"
        return [*found, Assumption(what, False, why)]
    if federation.preparation is None:
        return [*found, Assumption(what, True)]
    if is_fitted_here(experiment):
        return [*found, Assumption(what, True, "columns were coded again without them")]
    why = "rows were coded before they had clients; give a table with a client column, or one for each client"
    return [*found, Assumption(what, False, why)]


def _short_steps(experiment: Experiment, known: Curvature | None) -> Assumption:
    """Whether no step is longer than the proof allows."""
    mu = proximal_weight(make_algorithm(experiment))
    convexity = declared_convexity(experiment.ledger)
    what = "step sizes are at most 2 / L"
    if mu or convexity is not None:
        terms = ["L", *(["c"] if convexity is not None else []), *(["2 mu"] if mu else [])]
        what = f"step sizes are at most 2 / ({' + '.join(terms)})"
    if experiment.engine == "flower":  # rows stay with the nodes
        return Assumption(what, None, "only the nodes could check it")
    if known is None:
        return Assumption(what, None)
    fading = 0.0 if convexity is None else convexity + experiment.l2
    longest = longest_step(known.most + experiment.l2, fading, mu)
    rate = experiment.learning_rate * _largest_factor(experiment)
    return Assumption(what, bool(rate <= longest), f"{rate:g} against {longest:.4g} here")


def _largest_factor(experiment: Experiment) -> float:
    """The largest multiple of the learning rate that the schedule takes."""
    rounds = jnp.arange(max(experiment.rounds_to_train or DEFAULT_ROUNDS, 1))
    return float(jnp.max(make_algorithm(experiment).optimizer.factor(rounds)))  # type: ignore[attr-defined]


def _check_declared_convexity(experiment: Experiment, known: Curvature | None) -> Sequence[Assumption]:
    """Whether losses are as strongly convex as was declared beside the L2 term."""
    convexity = declared_convexity(experiment.ledger)
    if convexity is None:
        return []
    what = f"losses without the L2 term are {convexity:g}-strongly convex, as was declared"
    if convexity == 0:
        return [Assumption(what, True)]
    if known is None:
        return [Assumption(what, None)]
    why = f"they are {known.least:.4g}-strongly convex at least"
    if known.least < convexity:
        why += "; declare no more, and add what is missing by l2"
    return [Assumption(what, bool(convexity <= known.least), why)]


def curvature(experiment: Experiment, federation: Federation) -> Curvature | None:
    """The curvature of every client's loss of a linear model, where the rows are here to compute it from."""
    if experiment.engine == "flower" or not len(federation.train.x):
        return None
    full = experiment.batch_size == 0
    if federation.classes:  # adding the same to all outputs changes nothing: not strongly convex
        return Curvature(0.0, softmax_smoothness(federation, full))
    return Curvature(*squared_error_curvature(federation, full))


def softmax_smoothness(federation: Federation, full_batches: bool) -> float:
    """A bound on the smoothness L of every client's cross-entropy of a linear model with intercept."""
    return 0.5 * max(_largest_square(part) for part in _design(federation, full_batches))


def squared_error_curvature(federation: Federation, full_batches: bool) -> tuple[float, float]:
    """Bounds on the curvature of every client's half squared error of a linear model with intercept; batches
    leave no lower bound but 0."""
    parts = _design(federation, full_batches)
    most = max(_largest_square(part) for part in parts)
    if not full_batches:
        return 0.0, most
    return min(_smallest_square(part) for part in parts), most


def _design(federation: Federation, full_batches: bool) -> list[Float64s]:
    """The rows, with a one for the intercept, that gradients are means over: a client's, or single ones."""
    split = federation.train
    flat = split.x.reshape(len(split.x), -1).astype(np.float64)
    rows = np.concatenate([flat, np.ones((len(flat), 1))], axis=1)
    if not full_batches:
        longest = int(np.argmax((rows**2).sum(axis=1)))
        return [rows[longest : longest + 1]]
    return [rows[a:b] for a, b in zip(split.offsets[:-1], split.offsets[1:], strict=True) if b > a]


def _largest_square(rows: Float64s) -> float:
    return float(np.linalg.norm(rows, 2)) ** 2 / len(rows)


def _smallest_square(rows: Float64s) -> float:
    if len(rows) < rows.shape[1]:
        return 0.0
    return float(np.linalg.svd(rows, compute_uv=False)[-1]) ** 2 / len(rows)
