"""Does the example of an own method keep what a step's clients weigh?"""

import importlib.util
import sys
from pathlib import Path

import pytest

import unalike
from unalike import FedAvg, LocalWork, Optimizer
from unalike.core import pytrees
from unalike.participation import Poisson
from unalike.timing import Asynchronous, FixedTimes

from .training.test_one_loop import scalar_quadratics

WORK = {"work": LocalWork(steps=1, batch_size=0), "optimizer": Optimizer("sgd", 0.01)}
FEDERATION, TASK = scalar_quadratics(1.0, 1.5, 2.0, 4.0)


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


def test_a_result_moves_the_model_by_as_much_as_it_weighs(method):
    """One client reports at a time, so its loss cancels and its step's weight is all there is."""
    slow = FixedTimes([1, 1, 1, 4])
    corrected, plain = (
        trained(method(q=2.0, **WORK), 200, timing=Asynchronous(hardware=slow, weights=weights))
        for weights in ("corrected", "identical")
    )
    average = trained(FedAvg(**WORK), 200, timing=Asynchronous(hardware=slow))
    assert pytrees.largest_difference(corrected.state["params"], average.state["params"]) < 1e-5
    assert pytrees.largest_difference(plain.state["params"], corrected.state["params"]) > 0.05
