"""Does everyone mix in every round, with the right matrix, and again the same when asked again?"""

from itertools import islice

import numpy as np
import pytest

from unalike import ConfigError
from unalike.timing import Clients
from unalike.topology import graph_of, mixing_of
from unalike.topology.gossip import Gossip


def matrices(timing, clients=6, seed=1, first=0, rounds=3):
    timing.begin(Clients(np.full(clients, 1 / clients), seed))
    return [step.weights for step in islice(timing.steps(None, first), rounds)]


def test_every_client_works_every_round_from_the_newest_model():
    timing = Gossip("ring")
    timing.begin(Clients(np.full(4, 0.25)))
    for number, step in zip((2, 3), timing.steps(None, 2), strict=False):
        assert step.number == number
        assert step.fresh
        assert step.time == number + 1
        assert step.clients.tolist() == [0, 1, 2, 3]


def test_a_fixed_graph_gives_the_same_matrix_in_every_round():
    one, two, _ = matrices(Gossip("erdos-renyi:0.5"))
    assert (one == two).all()
    assert (one == mixing_of("metropolis", graph_of("erdos-renyi:0.5", 6, 1))).all()


def test_a_redrawn_graph_changes_and_depends_on_the_round_alone():
    timing = Gossip("erdos-renyi:0.5", redraw=True)
    straight, late = matrices(timing), matrices(timing, first=2, rounds=1)
    assert (straight[0] != straight[1]).any()
    assert (straight[2] == late[0]).all()


def test_given_matrices_take_turns():
    one, other = np.eye(3), np.eye(3)
    one[:2, :2] = other[1:, 1:] = 0.5
    used = matrices(Gossip(matrices=[one, other]), clients=3)
    assert (used[0] == one).all()
    assert (used[1] == other).all()
    assert (used[2] == one).all()


def test_a_function_of_the_round_draws_with_its_own_randomness():
    def draw(number, rng):
        return mixing_of("metropolis", graph_of("erdos-renyi:0.9", 5, int(rng.integers(1000))))

    timing = Gossip(matrices=draw)
    assert all((a == b).all() for a, b in zip(matrices(timing, 5), matrices(timing, 5), strict=True))


def test_useless_matrices_are_refused():
    with pytest.raises(ConfigError, match="do not connect"):
        matrices(Gossip(matrices=np.eye(3)), clients=3)
    with pytest.raises(ConfigError, match="is of 3 clients, but there are 4"):
        matrices(Gossip(matrices=np.full((3, 3), 1 / 3)), clients=4)
    with pytest.raises(ConfigError, match="symmetric"):
        matrices(Gossip(matrices=lambda number, rng: [[0.5, 0.5], [0.4, 0.6]]), clients=2)
