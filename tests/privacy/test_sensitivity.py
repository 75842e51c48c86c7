"""Is noise calibrated to what a client can really change, with weights, drawn cohorts, rejected uploads?"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from unalike.aggregation.tally import empty_tally
from unalike.core import pytrees
from unalike.participation import RoundContext, sampler_registry
from unalike.privacy.accountant import Ledger
from unalike.privacy.central import CentralPrivacy
from unalike.timing import Step

SILENT, CLIP, SIZE = 1e-12, 0.5, 400
START = {"w": jnp.zeros(SIZE)}


def released(changes, weights, accepted, noise=SILENT, key=0):
    """What the server goes on with: clipped changes of some clients, weighed, and noise."""
    rule = CentralPrivacy(CLIP, noise, Ledger(len(weights)))
    tally = empty_tally(START)
    for change, weight, good in zip(changes, weights, accepted, strict=True):
        upload = pytrees.scale(good, rule.receive({"w": jnp.asarray(change)}, START).upload)
        tally = tally.add(upload, {}, weight, weight, good)
    heaviest = np.float32(np.abs(weights).max())
    return np.asarray(rule.finish(tally, heaviest, jax.random.key(key)).aggregate(START).total["w"])


@pytest.fixture
def changes():
    return 10 * np.random.default_rng(0).normal(size=(4, SIZE)).astype(np.float32)


@pytest.mark.parametrize("weights", [[0.25] * 4, [0.7, 0.1, 0.1, 0.1], [1.5, 0.5, 0.0, 0.2]])
def test_a_client_s_part_moves_the_sum_by_its_weight_times_the_norm_and_the_account_charges_that(
    changes, weights
):
    weights, everyone = np.array(weights), np.ones(4)
    ledger = Ledger(4)
    step = Step(0, np.arange(4), np.zeros(4), weights)
    CentralPrivacy(CLIP, 2.0, ledger).observe(step, {"accepted": everyone})
    deviation = 2.0 * CLIP * weights.max()
    for i in range(4):
        silent = changes.copy()
        silent[i] = 0
        moved = np.linalg.norm(released(changes, weights, everyone) - released(silent, weights, everyone))
        assert moved == pytest.approx(CLIP * weights[i], rel=1e-4, abs=1e-6)
        assert ledger.charges[i] == pytest.approx((moved / deviation) ** 2, rel=1e-3, abs=1e-9)


def test_where_uploads_are_rejected_noise_grows_as_the_others_weights_do(changes):
    weights, some = np.array([0.4, 0.2, 0.2, 0.2]), np.array([1.0, 1.0, 0.0, 0.0])
    silent = changes.copy()
    silent[0] = 0
    moved = np.linalg.norm(released(changes, weights, some) - released(silent, weights, some))
    assert moved == pytest.approx(CLIP * 0.4 / 0.6, rel=1e-4)  # two of four weigh what all should have
    noise = released(changes, weights, some, 3.0, 1) - released(changes, weights, some)
    assert noise.std() == pytest.approx(3.0 * moved, rel=4 / np.sqrt(2 * SIZE))


@pytest.mark.parametrize("sampling", ["uniform", "md", "fedavg-renormalized", "clustered-size"])
def test_a_drawn_client_is_charged_once_by_its_weight_among_those_that_were_drawn(sampling):
    importance = np.array([0.5, 0.2, 0.1, 0.1, 0.05, 0.05])
    who, ledger = sampler_registry.make(sampling, per_round=3), Ledger(6)
    who.check(6, 20)
    expected = np.zeros(6)
    for number in range(20):
        clients, weights, *_ = who.cohort(RoundContext(number, importance, 3))
        assert len(set(clients.tolist())) == len(clients)  # or a client would move the sum by two weights
        step = Step(number, clients, np.zeros(len(clients)), weights)
        CentralPrivacy(CLIP, 2.0, ledger).observe(step, {"accepted": np.ones(len(clients))})
        expected[clients] += (weights / weights.max() / 2.0) ** 2
    np.testing.assert_allclose(ledger.charges, expected)


def test_nothing_is_charged_where_nothing_was_accepted():
    ledger = Ledger(2)
    step = Step(0, np.arange(2), np.zeros(2), np.ones(2))
    CentralPrivacy(CLIP, 2.0, ledger).observe(step, {"accepted": np.zeros(2)})
    assert ledger.releases == 0
