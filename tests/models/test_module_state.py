"""What becomes of a state, and of a model that has none?"""

import jax.numpy as jnp
import pytest

from unalike import ConfigError
from unalike.models import Stateful
from unalike.models.module_state import check_floats, mean_state, real_rows

OLD, START = Stateful(1.0, {"var": jnp.asarray(4.0)}), Stateful(1.0, {"var": jnp.asarray(4.0)})


@pytest.mark.parametrize(("weight", "mean"), [(1.0, 0.5), (2.0, 0.5), (0.5, 2.25)])
def test_a_mean_of_states_stays_between_them(weight, mean):
    """Weights that sum to less than one keep some of the old state; more than one is scaled to one."""
    total, start = (Stateful(None, {"var": weight * jnp.asarray(v)}) for v in (0.5, 4.0))
    new = mean_state(Stateful(7.0, {"var": jnp.asarray(-9.0)}), OLD, total, start, weight)
    assert new.weights == 7.0
    assert float(new.state["var"]) == pytest.approx(mean)


def test_models_without_state_are_left_alone():
    assert mean_state({"w": 1.0}, {"w": 2.0}, {"w": 3.0}, {"w": 4.0}) == {"w": 1.0}


def test_what_has_no_average_and_what_cannot_be_told_apart_is_refused():
    with pytest.raises(ConfigError, match="not made of floats"):
        check_floats({"count": jnp.zeros((), int)})
    with pytest.raises(ConfigError, match="sees 12 rows where the mini-batch has 4"):
        real_rows(jnp.ones(4), jnp.ones((12, 3)))
