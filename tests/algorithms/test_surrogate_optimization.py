"""Is descent on surrogates FedEM and FedAvg where it should be, and are bad surrogates found out?"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from unalike import ConfigError
from unalike.algorithms import FedAvg, FedEM, LocalWork, Optimizer
from unalike.algorithms.d_fedem import DFedEM
from unalike.algorithms.shared.surrogates import Averaging, MixtureBound, Quadratic
from unalike.algorithms.surrogate_optimization import DecentralizedSurrogate, SurrogateOptimizer
from unalike.core import pytrees
from unalike.models import Task, linear
from unalike.theory.mixtures.surrogate_check import check_surrogate, whole_client
from unalike.topology.gossip import Gossip

from . import naive

WORK = LocalWork(epochs=1, batch_size=3)


@pytest.fixture(scope="module")
def federation():
    return naive.federation([5, 8, 3], test=[2, 2, 2])


def rows(seed=0, count=12):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(count, 2)), rng.integers(0, 2, count)


def penalized():
    return Task.classification(linear(input_shape=(2,), outputs=2), 2, l2=0.1)


def test_the_bound_of_a_mixture_has_fedem_s_iterates(federation):
    runs = [
        naive.train(federation, naive.task(), algorithm, 3)
        for algorithm in (
            SurrogateOptimizer(surrogate=MixtureBound(2), work=WORK),
            FedEM(components=2, work=WORK),
        )
    ]
    assert pytrees.largest_difference(*(run.state for run in runs)) < 1e-6
    assert pytrees.largest_difference(*(run.memories.tensors() for run in runs)) < 1e-6
    np.testing.assert_allclose(*(run.evaluate()["loss"] for run in runs), atol=1e-6)


@pytest.mark.exact
def test_the_objective_as_its_own_surrogate_is_fedavg(federation):
    one, other = (
        naive.train(federation, naive.task(), algorithm, 3).state["params"]
        for algorithm in (SurrogateOptimizer(surrogate=Averaging(), work=WORK), FedAvg(work=WORK))
    )
    assert pytrees.largest_difference(one, other) == 0


def test_full_steps_of_one_over_the_smoothness_on_a_parabola_are_gradient_steps(federation):
    """The parabola's minimum, from w0, is one gradient step of length 1 / smoothness, however many follow."""
    work = LocalWork(steps=3, batch_size=0)
    majorant = SurrogateOptimizer(surrogate=Quadratic(4.0), work=work, optimizer=Optimizer("sgd", 0.25))
    once = FedAvg(work=LocalWork(steps=1, batch_size=0), optimizer=Optimizer("sgd", 0.25))
    one, other = (
        naive.train(federation, naive.task(), algorithm, 2).state["params"] for algorithm in (majorant, once)
    )
    assert pytrees.largest_difference(one, other) < 1e-6


def test_without_a_server_the_bound_of_a_mixture_is_d_fedem(federation):
    one, other = (
        naive.train(federation, naive.task(), algorithm, 2, timing=Gossip("path")).state
        for algorithm in (
            DecentralizedSurrogate(surrogate=MixtureBound(2), work=WORK),
            DFedEM(components=2, work=WORK),
        )
    )
    assert pytrees.largest_difference(one, other) < 1e-6


@pytest.mark.parametrize("surrogate", [MixtureBound(2), Averaging(), Quadratic(9.0)])
def test_shipped_surrogates_keep_every_promise(surrogate):
    """The softmax loss is smooth with half the largest eigenvalue of x x' (and the intercept), below 9."""
    assert check_surrogate(surrogate, penalized(), *rows(), points=6).broken() == []


def test_a_parabola_that_is_too_flat_is_found_out():
    broken = check_surrogate(Quadratic(0.01), penalized(), *rows(), points=3).broken()
    assert len(broken) == 1
    assert "lies above the objective" in broken[0]


@dataclass(frozen=True)
class Reversed(MixtureBound):
    """A mixture's bound with the divergence the wrong way round, and weights that are not the best."""

    def distance(self, old, new):
        return super().distance(new, old)

    def best(self, task, anchor, shared, data):
        return self.first()


def test_a_wrong_private_step_is_found_out():
    report = check_surrogate(Reversed(2), penalized(), *rows(), points=6)
    words = " ".join(report.broken())
    assert "lowers it by the distance" in words
    assert "better than the best" in words


def test_the_gradient_of_the_gap_has_the_sign_that_differences_give():
    """d/d theta_m of the divergence of q from the posterior p is (q_m - p_m) times the loss's gradient."""
    task, surrogate = Task.classification(linear(input_shape=(2,), outputs=2), 2), MixtureBound(2)
    with jax.enable_x64(True):
        data = whole_client(*(part[:1] for part in rows()))
        theta, weights = surrogate.init(task, jax.random.key(1)), {"weights": jnp.array([0.3, 0.7])}
        q = jnp.array([[0.8, 0.2]])

        def gap(w, m):
            changed = [{**one, "w": w} if k == m else one for k, one in enumerate(theta)]
            above = surrogate.value(task, q, changed, weights, data)
            return above - surrogate.objective(task, changed, weights, data)

        p = surrogate.build(task, theta, weights, data)
        for m in (0, 1):
            own = theta[m]["w"]
            slope = jax.grad(lambda w, m=m: task.loss({**theta[m], "w": w}, data.all_rows()))(own)
            step = 1e-6 * jnp.ones_like(own)
            differences = (gap(own + step, m) - gap(own - step, m)) / 2e-6
            assert float(differences) == pytest.approx(float(((q - p)[0, m] * slope).sum()), abs=1e-8)


def test_negative_steps_are_refused():
    with pytest.raises(ConfigError, match="private_steps"):
        SurrogateOptimizer(private_steps=-1)
