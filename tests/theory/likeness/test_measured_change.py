"""Is a change between two graphs measured as it was made?"""

import numpy as np
import pytest

from unalike.core.random import generator
from unalike.errors import ConfigError
from unalike.theory.similarity.measured_change import compare_networks
from unalike.theory.similarity.simulation import random_weights


def test_an_independent_redraw_is_fitted_and_lies_between_its_bounds():
    rng = generator(0, "networks")
    (old,), (new,) = random_weights(80, 6, 0.7, 1, rng), random_weights(80, 5.4, 0.7 * np.sqrt(1.5), 1, rng)
    change = compare_networks(old, new)
    assert change.network.epsilon == pytest.approx(0.1, abs=0.02)
    assert change.network.delta == pytest.approx(0.5, abs=0.15)
    told = change.as_dict()
    for name in ("squared_deviation", "absolute_deviation"):
        lower, upper = told[name]["corrected"]
        assert 0.97 * lower < told[name]["measured"] < upper


def test_nothing_moves_where_nothing_changes():
    (same,) = random_weights(10, 6, 0.7, 1, generator(1, "networks"))
    change = compare_networks(same, same)
    assert (change.squared_deviation, change.absolute_deviation, change.network.epsilon) == (0, 0, 0)
    assert change.as_dict()["probability_of_less"] == {"printed": 0.5, "corrected": 0.5}


def test_other_clients_or_equal_ones_are_refused():
    (some,) = random_weights(5, 6, 0.7, 1, generator(2, "networks"))
    with pytest.raises(ConfigError, match="same clients"):
        compare_networks(some, some[:4, :4])
    with pytest.raises(ConfigError, match="equally alike"):
        compare_networks(1 - np.eye(4), 1 - np.eye(4))
