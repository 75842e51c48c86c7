"""Is every forgotten client hidden by the noise on the way to the present model, whatever comes later?"""

from types import SimpleNamespace

import numpy as np
import pytest

from unalike.errors import ConfigError
from unalike.experiments.forget_plan import plan_restart
from unalike.trust.unlearning.calibration import Budget, gaussian_delta
from unalike.trust.unlearning.oracle import Node
from unalike.trust.unlearning.sensitivity import Ledger

EPSILON, DELTA = 1.0, 0.01
RATIO = Budget(EPSILON, DELTA, 1.0).ratio
CLIENTS, ROUNDS = 5, 6


class FakeRun:
    """Ledgers of branches as given; nothing is trained."""

    path, terms = "run", SimpleNamespace(mode="full")

    def __init__(self, *increments):
        self.increments = dict(enumerate(increments))
        self.kept = {branch: len(each) for branch, each in self.increments.items()}
        self.log = SimpleNamespace(requests=[], nodes=(), sigmas={}, forgotten=())

    def ledger(self, branch):
        table = self.increments[branch][: self.kept[branch]]
        share = np.full(table.shape, 1 / CLIENTS)
        return Ledger(table * (1 - share) / share, share, np.full(CLIENTS, 1 / CLIENTS))

    def branch(self, number):
        return SimpleNamespace(states=lambda: list(range(self.kept[number] + 1)))

    def forget(self, clients, sigma, rule="max", increments=None):
        budget = Budget(EPSILON, DELTA, sigma)
        found = plan_restart(self, clients, budget, rule)
        log, number = self.log, len(self.log.requests) + 1
        done = SimpleNamespace(
            number=number, names=[str(c) for c in clients], clients=clients, budget=budget, rule=rule,
            noises=found.noises,
        )  # fmt: skip
        log.requests.append(done)
        log.nodes, log.sigmas[number] = found.nodes, sigma
        log.forgotten = (*log.forgotten, *clients)
        restart = found.nodes[-1]
        for branch in range(restart.branch + 1, number):
            self.increments.pop(branch, None)
        self.kept[restart.branch] = restart.round
        if increments is not None:
            grown = np.array(increments, float)
            grown[:, list(log.forgotten)] = 0
            self.increments[number], self.kept[number] = grown, len(grown)
        return found

    def true_delta(self, client, epsilon):
        """The delta of all noises on the way, exactly: Gaussian mechanisms compose to one whose squared ratio
        is the sum of theirs."""
        ratios = [
            self.ledger(node.branch).sensitivity("full")[node.round, client] / sigma
            for node, sigma in zip(self.log.nodes, self.noises(), strict=True)
        ]
        return gaussian_delta(epsilon, float(np.linalg.norm(ratios)))

    def path_delta(self, client):
        """The delta of one noise, after everything that is held of a client has come together."""
        nodes, noises = self.log.nodes, self.noises()
        held = [self.ledger(node.branch).sensitivity("full")[node.round, client] for node in nodes]
        last = max((k for k, one in enumerate(held) if one > 0), default=0)
        return gaussian_delta(EPSILON, sum(held) / max(noises[last:]))

    def noises(self):
        started = [*(node.branch for node in self.log.nodes[1:]), len(self.log.requests)]
        return [self.log.sigmas[branch] for branch in started]


def steps(*each):
    """The same sensitivity added in every round, for every client."""
    return np.tile(each, (ROUNDS, 1))


def test_a_smaller_noise_that_would_uncover_somebody_is_refused_by_name():
    """Client 0 is hidden in (0, 6) by a large noise; client 1, forgotten later, would replace it by a small
    one at a model that still holds much of client 0."""
    run = FakeRun(steps(1.0, 1e-4, 0.0, 0.0, 0.0))
    run.forget([0], 20.0, increments=steps(0.0, 1.0, 0.0, 0.0, 0.0))
    assert run.log.nodes == (Node(0, 6),)
    run.increments[0][:, 1] = 10.0  # as if the node held too much of client 1
    run.increments[0][:3, 1] = 1e-4
    with pytest.raises(ConfigError, match=r"uncover 0, .*--sigma 20.0 or more"):
        run.forget([1], 0.01)
    assert run.forget([1], 20.0).nodes[-1].branch == 0
    assert run.true_delta(0, EPSILON) <= DELTA


def test_a_small_noise_of_before_does_not_hide_who_is_forgotten_now():
    """The node (0, 1) was given noise that hides client 0, of whom it holds nothing, but not client 1."""
    run = FakeRun(steps(0.0, 0.5, 0.0, 0.0, 0.0))
    run.forget([0], 1e-3, increments=steps(0.0, 0.1, 0.0, 0.0, 0.0))
    found = run.forget([1], 5.0)
    assert found.nodes == (Node(0, int(5 * RATIO / 0.5)),)
    assert run.true_delta(1, found.noises * EPSILON) <= DELTA


def test_by_the_rule_path_the_last_noise_hides_all():
    run = FakeRun(steps(0.0, 0.5, 0.0, 0.0, 0.0))
    run.forget([0], 1e-3, increments=steps(0.0, 0.1, 0.0, 0.0, 0.0))
    found = run.forget([1], 100.0, rule="path")
    assert found.nodes == (Node(0, 6), Node(1, 6))
    assert found.noises == 1
    assert found.held.sum() <= RATIO * 100.0


def test_a_group_counts_its_noises_together():
    """Each client of the group is in one training only, but the group is in both."""
    first, second = steps(0.0, 0.01, 0.0, 0.0, 0.0), steps(0.0, 0.0, 0.01, 0.0, 0.0)
    for rule, noises in (("group", 2), ("max", 1)):
        run = FakeRun(first.copy())
        run.forget([0], 1.0, increments=second)
        assert run.forget([1, 2], 1.0, rule=rule).noises == noises


@pytest.mark.parametrize("seed", range(100))
def test_random_requests_keep_everybody_hidden(seed):
    """With noises of any size: who is refused is told a sigma that will do, and after every request each
    forgotten client is hidden as its certificate says."""
    rng = np.random.default_rng(seed)
    grow = lambda: rng.random((ROUNDS, CLIENTS)) * 10 ** rng.uniform(-3, 0.5, CLIENTS)  # noqa: E731
    run = FakeRun(grow())
    for client in rng.permutation(CLIENTS)[:4].tolist():
        rule = str(rng.choice(["max", "path", "group"]))
        sigma = float(10 ** rng.uniform(-3, 1.5))
        try:
            run.forget([client], sigma, rule, grow())
        except ConfigError as error:
            needed = float(str(error).split("--sigma ")[1].split(" ")[0])
            run.forget([client], needed, rule, grow())
        for request in run.log.requests:
            (gone,) = request.clients
            if request.rule == "path":
                assert run.path_delta(gone) <= DELTA * (1 + 1e-9)
                continue
            spent = request.noises * EPSILON
            assert run.true_delta(gone, spent) <= request.noises * DELTA * (1 + 1e-9)
