"""Is the norm of every client measured, and is nothing else changed by it?"""

import jax
import numpy as np
import pytest

import unalike
from unalike.aggregation.norm_bound import NormBound
from unalike.algorithms import FedAdam, Optimizer, Scaffold
from unalike.errors import ConfigError
from unalike.privacy.central import central_dp
from unalike.trust.unlearning.measured_uploads import MeasuredUploads

from .federations import federation, method, train


class Seen:
    """Keeps everything that it is shown."""

    def __init__(self):
        self.rounds, self.states = [], []

    def begin(self, done, state):
        self.states.append(jax.tree.map(np.asarray, state))

    def keep(self, step, report, state):
        self.rounds.append((step, {k: np.asarray(v) for k, v in report.items()}))
        self.states.append(jax.tree.map(np.asarray, state))


def flat(tree):
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(tree)])


@pytest.mark.parametrize("per_round", [None, 3])
@pytest.mark.parametrize("inner", [None, NormBound(0.05)])
def test_the_trained_model_and_the_traffic_are_the_same_with_and_without(per_round, inner):
    given = federation()
    plain = train(given, per_round=per_round, aggregator=inner, evaluate_every=1)
    measured = MeasuredUploads() if inner is None else MeasuredUploads(inner)
    seen = train(given, per_round=per_round, aggregator=measured, keeper=Seen(), evaluate_every=1)
    assert flat(plain.message).tobytes() == flat(seen.message).tobytes()
    for name in ("bytes_up", "bytes_down"):
        np.testing.assert_array_equal(plain.metrics()[name], seen.metrics()[name])


def test_the_norm_says_how_far_the_server_would_have_gone_without_a_client():
    """Against trainings of a single round without that client."""
    given, keeper = federation(), Seen()
    train(given, rounds=1, aggregator=MeasuredUploads(), keeper=keeper)
    step, report = keeper.rounds[0]
    for c in range(len(given)):
        who = unalike.participation.Remaining(unalike.participation.Full(), [c])
        without = train(given.without_rows([c]), rounds=1, participation=who)
        moved = np.linalg.norm(flat(without.message) - flat(keeper.states[1]["params"]))
        share = step.weights[c]
        assert share / (1 - share) * report["deviation"][c] == pytest.approx(moved, rel=1e-4)


def test_every_engine_measures_the_same():
    given, keepers = federation(), {"local": Seen(), "debug": Seen()}
    for engine, keeper in keepers.items():
        train(given, rounds=3, per_round=3, aggregator=MeasuredUploads(), keeper=keeper, engine=engine)
    for (_, ours), (_, theirs) in zip(*(keeper.rounds for keeper in keepers.values()), strict=True):
        np.testing.assert_allclose(ours["deviation"], theirs["deviation"], rtol=1e-4)


@pytest.mark.parametrize("other", [Scaffold(), FedAdam(), method(server_optimizer=Optimizer("sgd", 1.5))])
def test_methods_that_do_more_than_average_are_refused(other):
    with pytest.raises(ConfigError, match="unlearning"):
        train(federation(), algorithm=other, aggregator=MeasuredUploads())


def test_aggregators_that_add_noise_are_refused():
    with pytest.raises(ConfigError, match="weighted mean"):
        MeasuredUploads(central_dp(1.0, 1.0, clients=3))
