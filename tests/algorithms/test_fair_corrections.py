"""Do fair methods keep the weights that samplers and timings give?"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from unalike.algorithms import LocalWork, algorithm_registry
from unalike.core.pytrees import largest_difference
from unalike.participation import Multinomial
from unalike.timing import timing_registry

from . import naive

SIZES = [6, 9, 4, 5]
WORK = LocalWork(epochs=1, batch_size=3, shuffle=False)
NEUTRAL = {"gifair": {"rho": 0.0}, "q-ffl": {"q": 0.0}, "term": {"t": 0.0}, "afl": {"lam_rate": 0.0}}
"""Settings at which a fair method is FedAvg."""


@cache
def trained(name, world):
    method = algorithm_registry.make(name, work=WORK, **NEUTRAL.get(name, {}))
    options = {"participation": Multinomial(per_round=2)} if world == "sampled" else {"timing": late()}
    return naive.train(naive.federation(SIZES), naive.task(), method, 4, **options).state["params"]


def late():
    return timing_registry.make("fedfix:0.5", hardware="spread:80")


@pytest.mark.parametrize("world", ["sampled", "late"])
@pytest.mark.parametrize("name", NEUTRAL)
def test_neutral_settings_are_fedavg_whoever_takes_part_and_whenever(name, world):
    plain, fair = trained("fedavg", world), trained(name, world)
    assert largest_difference(plain, fair) < 2e-6
    assert np.abs(naive.flat(plain)).max() > 0.05


@pytest.mark.parametrize("name", ["gifair", "q-ffl", "term", "term-group"])
def test_a_step_of_half_the_weight_goes_half_as_far(federation, task, name):
    """Weights that do not sum to one are a timing's will, which no method may undo."""
    method = algorithm_registry.make(name, work=WORK)
    grouped, everyone = replace(federation, groups=("a", "b", "a", "b")), np.array(SIZES) / sum(SIZES)
    whole, half = (
        naive.flat(
            naive.train(
                grouped, task, method, 1, participation=naive.Fixed([0, 1, 2, 3], weights=part * everyone)
            ).state["params"]
        )
        for part in (1.0, 0.5)
    )
    assert np.allclose(half, whole / 2, atol=1e-6)
    assert np.abs(whole).max() > 0.01
