"""Training on sparse overlays: more rounds, but less time?

Marfoq, Xu, Neglia and Vidal, "Throughput-Optimal Topology Design for Cross-Silo Federated Learning" (2020).
Softmax regression on twenty Gaussian classes stands in for their image models; the clock is that of the
network with the published sizes and step times. The target is 97 % of the star's best accuracy.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from unalike.advice.topology_race import Finish, race
from unalike.algorithms import LocalWork, Optimizer
from unalike.algorithms.d_fedem import DFedEM
from unalike.algorithms.dpasgd import DPASGD
from unalike.algorithms.push_sum import PushSum
from unalike.data import load
from unalike.models import Task, linear
from unalike.topology import Gossip, OnNetwork, Overlay, connect, consensus_distance, design
from unalike.topology.column_stochastic import pushing
from unalike.training.train import train

from ..study import Claim, at_least, at_most
from .data import quadratics, stationary, uneven_arcs

SEEDS = (1, 2, 3)


def training_claims(quick: bool) -> Iterator[Claim]:
    """T16, and what push-sum and D-FedEM do on the same overlays."""
    for place in ("gaia",) if quick else ("gaia", "aws-na"):
        yield from race_claims(place, SEEDS[:1] if quick else SEEDS)
    yield from push_claims()
    yield from mixture_claims()


def race_claims(place: str, seeds: tuple[int, ...]) -> Iterator[Claim]:
    """Rounds and seconds of a ring against a star, one local step between exchanges."""
    silos = connect(place)
    designs = {name: design(name, silos) for name in ("star:first", "mst", "ring")}
    found = [race(designs, silos, rounds=60, seed=seed) for seed in seeds]
    rounds = [one["ring"].rounds / max(one["star:first"].rounds, 1) for one in found]
    claim, note = f"{place}: rounds of the ring over the star's, s = 1", "Table 2.5 comes to 1.25 on Gaia"
    yield at_most("T16", claim, rounds, 1.3, published="at most 1.2", place="section 2.1.4.5", note=note)
    pace = designs["star:first"].cycle_time(silos) / designs["ring"].cycle_time(silos)
    gains = [_sooner(one, "ring") / pace for one in found]
    words = f"{place}: time to target, star over ring, as a part of the cycle times' ratio"
    yield at_least("T16", words, gains, 0.75, note=f"the ratio is {pace:.2f}")


def _sooner(found: dict[str, Finish], name: str) -> float:
    return found["star:first"].seconds / found[name].seconds if found[name].seconds > 0 else 0.0


def push_claims() -> Iterator[Claim]:
    """Where some are heard more than others, row weights favor them; push-sum does not."""
    silos, arcs = connect("mesh:6", "custom:1e6,10"), uneven_arcs(6)
    overlay, targets = Overlay(arcs, "uneven"), np.array([0, 6.0, 0, 0, 0, 0])
    federation, task = quadratics(targets)
    settings: dict[str, Any] = {"work": LocalWork(steps=1, batch_size=0), "optimizer": Optimizer("sgd", 0.01)}
    options: dict[str, Any] = {"rounds": 1500, "evaluate_every": 0, "devices": 1}
    pushed = train(
        federation, task, PushSum(**settings), timing=OnNetwork(overlay, silos, push=True), **options
    )
    z = np.asarray(pushed.state["params"]["w"])[:, 0, 0] / np.asarray(pushed.state["mass"])
    rows = pushing(overlay.mixing().T).T  # the same parts, but everyone's *row* sums to one
    heard = stationary(rows)
    naive = float(heard @ targets)
    yield at_most(
        "N1", "push-sum on an unbalanced digraph: distance from the mean optimum", [abs(z.mean() - 1)], 0.05
    )
    yield at_least("N1", "what row-stochastic weights would converge to is off by", [abs(naive - 1)], 0.2)


def mixture_claims() -> Iterator[Claim]:
    """D-FedEM goes through the same door: on a complete graph it is FedEM's mean over clients."""
    federation = load("mixture:2,10,0.4,threshold", clients=6, seed=1)
    task = Task.classification(linear(input_shape=(10,), outputs=2), 2)
    settings: dict[str, Any] = {
        "components": 2,
        "work": LocalWork(epochs=1, batch_size=32),
        "optimizer": Optimizer("sgd", 1.0),
    }
    silos = connect("mesh:6", "custom:1e6,10")
    options: dict[str, Any] = {"rounds": 40, "evaluate_every": 0, "seed": 1}
    ring = train(federation, task, DFedEM(**settings), timing=OnNetwork("ring", silos), **options)
    gossip = train(federation, task, DFedEM(**settings), timing=Gossip("complete"), **options)
    apart = [consensus_distance(run.state["params"]) for run in (gossip, ring)]
    yield at_most("N2", "D-FedEM on a complete graph: consensus distance", [apart[0]], 1e-6)
    scores = [float(run.evaluate("test")["accuracy"].mean()) for run in (gossip, ring)]
    words = "D-FedEM: accuracy on a complete graph minus on a ring, points"
    yield at_most("N2", words, [100 * (scores[0] - scores[1])], 5, hard=False)
    plain = train(federation, task, DPASGD(work=settings["work"]), timing=OnNetwork("ring", silos), **options)
    own = float(plain.evaluate("test")["accuracy"].mean())
    yield at_least("N2", "D-FedEM minus DPASGD on the ring, points", [100 * (scores[1] - own)], 0, hard=False)
