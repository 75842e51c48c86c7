"""Are sums over clients exact to 64 bits, on every engine, and does a method that converges end early?"""

from dataclasses import dataclass, replace
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
import pytest

from unalike.algorithms import Algorithm, LocalWork, Needs, Reply
from unalike.analytics.design import Design, check_equal_importance
from unalike.analytics.fitting import fit_rounds, linear_task
from unalike.data import Federation
from unalike.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class CrossProducts(Algorithm):
    """Adds up x'x; counts rounds, and is done after the third."""

    needs: ClassVar[Needs] = Needs(float64=True)
    converges: ClassVar[bool] = True

    def init(self, task, key):
        return {"sum": jnp.zeros((3, 3)), "params": jnp.zeros(3), "round": jnp.zeros((), int)}

    def client(self, task, message, memory, data, key):
        rows = data.all_rows()
        x = rows.x * rows.weight[:, None]
        return Reply(x.T @ x)

    def aggregate(self, task, state, mixed):
        return {**state, "sum": mixed.plain_sum, "round": state["round"] + 1}

    def finished(self, task, state):
        return int(state["round"]) >= 3


ADDING = CrossProducts(work=LocalWork(steps=0))


def made(seed=0):
    rng = np.random.default_rng(seed)
    owners = rng.integers(0, 7, 200)
    return Design.of(Federation.from_owners(rng.normal(size=(200, 2)), rng.normal(size=200), owners))


@pytest.mark.parametrize("engine", ["local", "debug"])  # for ray, see tests/engine/ray
def test_sums_over_clients_of_any_size_have_all_digits(engine):
    design = made()
    run = fit_rounds(design, linear_task(design), ADDING, rounds=1, engine=engine)
    x = design.federation.train.x
    assert x.dtype == np.float64
    np.testing.assert_allclose(np.asarray(run.state["sum"]), x.T @ x, rtol=1e-13)


def test_a_method_that_has_converged_ends_before_its_last_round_also_when_resumed(tmp_path):
    design = made()
    task = linear_task(design)
    run = fit_rounds(design, task, ADDING, rounds=10, out=tmp_path / "run")
    assert run.rounds == 3
    again = fit_rounds(design, task, ADDING, rounds=10, out=tmp_path / "run", resume=True)
    assert again.rounds == 3
    np.testing.assert_array_equal(np.asarray(again.state["sum"]), np.asarray(run.state["sum"]))


def test_nothing_is_double_after_a_double_analysis():
    design = made()
    fit_rounds(design, linear_task(design), ADDING, rounds=1)
    assert jnp.ones(1).dtype == jnp.float32


def test_clients_that_count_differently_are_refused():
    federation = made().federation
    check_equal_importance(federation)
    with pytest.raises(ConfigError, match="equally"):
        check_equal_importance(replace(federation, given_importance=None))
