"""Are learning rates told to a program, so that many are compiled once, and is nothing else changed?"""

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import jax
import numpy as np
import pytest

import unalike
from unalike import FedAvg, LocalWork, Optimizer
from unalike.algorithms import L2SGD, Ditto, FedAdam, FedProx, Needs, optimizer_names
from unalike.algorithms.shared.optimizers import PLAIN
from unalike.algorithms.shared.wrapper import AlgorithmWrapper
from unalike.engine import traced_rates
from unalike.engine.traced_rates import RatePlace, fill_rates, split_rates

from . import toys

FEDERATION, TASK = toys.federation([3, 6, 2], [2] * 3), toys.logistic_task()
WORK = LocalWork(steps=2, batch_size=2)
RATES = [0.01 * 1.7**k for k in range(10)]


def trained(method, **options):
    """Model and metrics after some rounds."""
    run = unalike.train(FEDERATION, TASK, method, rounds=3, **options)
    return jax.tree.leaves(run.message), run.evaluate()


def assert_same(one, other):
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)


@dataclass(frozen=True, kw_only=True)
class Counted(FedAdam):
    """Counts how often a client is traced."""

    traced: ClassVar[list[str]] = []

    def client(self, task, message, memory, data, key):
        self.traced.append("client")
        return super().client(task, message, memory, data, key)


@dataclass(frozen=True, kw_only=True)
class Written(Counted):
    """The same with its rates written into the program."""

    needs: ClassVar[Needs] = Needs(static_rates=True)


def test_ten_learning_rates_are_compiled_once_and_change_no_result():
    Counted.traced.clear()
    methods = [
        Counted(work=WORK, optimizer=Optimizer("sgd", rate), server_optimizer=Optimizer("adam", 0.1 + rate))
        for rate in RATES
    ]
    told = [trained(method) for method in methods]
    once = len(Counted.traced)
    Counted.traced.clear()
    some = [0, 4, 9]
    for k in some:
        parts = {"optimizer": methods[k].optimizer, "server_optimizer": methods[k].server_optimizer}
        assert_same(told[k], trained(Written(work=WORK, **parts)))
    assert len(Counted.traced) == len(some) * once


@pytest.mark.parametrize("name", optimizer_names())
def test_every_optimizer_can_be_told_its_rate(name):
    """Traced with a rate that has no number, and the step is the one that a number gives."""
    gradient = {"w": np.linspace(-1.0, 2.0, 6, dtype=np.float32).reshape(2, 3)}
    point = {"w": np.ones((2, 3), np.float32)}
    template, rates = split_rates((Optimizer(name, 0.3),))

    def step(rates, point, gradient):
        maker = fill_rates(template, rates)[0].build()
        return maker.update(gradient, maker.init(point), point)[0]

    written = jax.jit(lambda p, g: step((0.3,), p, g))(point, gradient)
    assert_same(jax.jit(step)(rates, point, gradient), written)


def test_a_method_is_split_wherever_it_holds_optimizers():
    inner = FedAdam(optimizer=Optimizer("sgd", 0.5, momentum=0.9), server_optimizer=Optimizer("adam", 0.01))
    template, rates = split_rates(AlgorithmWrapper(inner=inner))
    assert rates == (0.5, 0.01)
    assert template.inner.optimizer.learning_rate == RatePlace(0)
    assert fill_rates(template, rates) == AlgorithmWrapper(inner=inner)
    assert template == split_rates(AlgorithmWrapper(inner=replace(inner, optimizer=inner.optimizer)))[0]


def test_whole_numbers_and_numpy_scalars_are_the_same_rate():
    for rate in (1, np.float32(1.0), np.float64(1.0)):
        assert split_rates(FedAvg(optimizer=Optimizer("sgd", rate)))[1] == (1.0,)


def test_a_server_that_takes_the_average_has_a_program_of_its_own():
    plain, stepping = FedAvg(), FedAvg(server_optimizer=Optimizer("sgd", 0.5))
    assert split_rates(plain)[1] == (0.1,)
    assert split_rates(plain)[0].server_optimizer is PLAIN
    assert split_rates(stepping)[1] == (0.1, 0.5)


def test_a_method_that_declares_it_keeps_its_numbers():
    method = AlgorithmWrapper(inner=L2SGD())
    assert split_rates(method) == (method, ())


def test_a_wrapper_with_other_work_validates_with_numbers():
    """The wrapped method is made anew, and looks at its rate."""
    wrapped = AlgorithmWrapper(inner=FedProx(), work=WORK)
    assert_same(trained(wrapped), trained(FedProx(work=WORK)))


@dataclass(frozen=True, kw_only=True)
class Branching(FedAvg):
    """A user's method that does not know of traced rates."""

    counted: ClassVar[list[float]] = []

    def client(self, task, message, memory, data, key):
        self.counted.append(math.sqrt(self.optimizer.learning_rate))
        small = self.optimizer if self.optimizer.learning_rate < 0.2 else Optimizer("sgd", 0.2)
        return replace(FedAvg(), optimizer=small).client(task, message, memory, data, key)


def test_a_method_that_asks_for_the_number_is_found_out():
    for rate in (0.1, 0.5):
        method = Branching(work=WORK, optimizer=Optimizer("sgd", rate))
        plain = FedAvg(work=WORK, optimizer=Optimizer("sgd", min(rate, 0.2)))
        assert_same(trained(method), trained(plain))
    assert {round(number**2, 6) for number in Branching.counted} == {0.1, 0.5}


def test_an_error_that_is_not_about_rates_stays():
    @dataclass(frozen=True, kw_only=True)
    class Broken(FedAvg):
        def client(self, task, message, memory, data, key):
            return 1 if data.size > 0 else 2

    with pytest.raises(jax.errors.TracerBoolConversionError):
        trained(Broken())


@pytest.mark.exact
@pytest.mark.parametrize("method", [FedAvg, Ditto, FedAdam])
def test_bits_are_those_of_a_rate_that_is_written_into_the_program(method, monkeypatch):
    told = trained(method(work=WORK))
    monkeypatch.setattr(method, "needs", method.needs | Needs(static_rates=True))
    written = trained(method(work=WORK))
    for a, b in zip(jax.tree.leaves(told), jax.tree.leaves(written), strict=True):
        np.testing.assert_array_equal(a, b)


def test_rates_that_were_sent_stay_on_the_devices():
    where = unalike.engine.local.devices.everywhere(unalike.engine.local.devices.mesh())
    assert traced_rates.place_rates((0.1,), where) is traced_rates.place_rates((0.1,), where)
    assert traced_rates.place_rates((0.1,), where)[0].weak_type
