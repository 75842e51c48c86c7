"""Does the example of an own method keep what a step's clients weigh?"""

import importlib.util
import sys
from pathlib import Path

import jax
import numpy as np
import pytest
from scipy.optimize import brentq

import unalike
from unalike import FedAvg, LocalWork, Optimizer
from unalike.core import pytrees
from unalike.participation import Poisson
from unalike.timing import Asynchronous, FedBuff, FixedTimes, Synchronous

from .training.test_one_loop import scalar_quadratics

WORK = {"work": LocalWork(steps=1, batch_size=0), "optimizer": Optimizer("sgd", 0.01)}
OPTIMA = np.array([1.0, 1.5, 2.0, 4.0])
FEDERATION, TASK = scalar_quadratics(*OPTIMA)


@pytest.fixture(scope="module")
def method():
    path = Path(__file__).parent.parent / "examples" / "own_algorithm.py"
    spec = importlib.util.spec_from_file_location("own_algorithm", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module.LossWeighted


def trained(algorithm, rounds=12, **options):
    return unalike.train(FEDERATION, TASK, algorithm, rounds=rounds, evaluate_every=0, devices=1, **options)


OPTIONS = {
    "an unbiased sampler whose weights do not sum to one": lambda: {"participation": Poisson(per_round=2)},
    "corrected weights": lambda: {"timing": Asynchronous(hardware=FixedTimes([1, 2, 3, 4]))},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_without_a_power_of_the_loss_it_is_federated_averaging(method, options):
    own, average = (trained(algorithm, **options()) for algorithm in (method(q=0.0, **WORK), FedAvg(**WORK)))
    assert pytrees.largest_difference(own.state["params"], average.state["params"]) < 1e-6


def model(run):
    return float(jax.tree.leaves(run.state["params"])[0].item())


def fair_optimum(q, importance):
    """Where the pulls of clients that count by their loss to the power q cancel, found by bisection."""
    pull = lambda x: (importance * np.abs(x - OPTIMA) ** (2 * q) * (x - OPTIMA)).sum()  # noqa: E731
    return brentq(pull, OPTIMA.min(), OPTIMA.max())


TIMES = FixedTimes([1, 1, 1, 4])
TIMINGS = {
    "synchronous": lambda: Synchronous(),
    "asynchronous": lambda: Asynchronous(hardware=TIMES),
    "fedbuff": lambda: FedBuff(2, hardware=TIMES),
}


@pytest.mark.parametrize("timing", TIMINGS)
def test_whoever_reports_when_the_fair_optimum_is_the_same(method, timing):
    """Also where one client reports at a time: its loss must not cancel, nor may its corrected weight."""
    small = {**WORK, "optimizer": Optimizer("sgd", 0.003)}  # results in turn make the model swing, a little
    run = trained(method(q=1.0, **small), 5000, timing=TIMINGS[timing]())
    found, equal = model(run), np.full(4, 0.25)
    assert found == pytest.approx(fair_optimum(1.0, equal), abs=0.03)
    assert abs(found - OPTIMA.mean()) > 0.1


def test_without_corrected_weights_quick_clients_pull_the_fair_optimum_to_themselves(method):
    timing = Asynchronous(hardware=TIMES, weights="identical")
    run = trained(method(q=1.0, **WORK), 4000, timing=timing)
    assert model(run) < fair_optimum(1.0, np.full(4, 0.25)) - 0.1
