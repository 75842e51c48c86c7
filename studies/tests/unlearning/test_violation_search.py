"""Does the bound hold wherever a certificate says so, and would the search see it if it did not?"""

from itertools import product

import jax
import numpy as np
import pytest

import unalike
from unalike.experiments.assumptions import curvature, training_assumptions
from unalike.experiments.build import make_algorithm, make_federation, make_task
from unalike.experiments.config import make_experiment
from unalike.experiments.forget_plan import open_run
from unalike.experiments.run import run_experiment
from unalike.participation import Full, Remaining
from unalike.training.train import train
from unalike.trust.unlearning.certificate import label_of
from unalike.trust.unlearning.sensitivity import longest_step
from unalike_studies.unlearning.violation_search import (
    Combination,
    certified_combinations,
    refuted_combinations,
    search,
)

SEEDS = dict(zip(refuted_combinations(), [6, 59, 339, 22, 3, 17, 2, 19], strict=True))
"""A problem for each wrong condition on which it fails."""


@pytest.mark.parametrize("combination", certified_combinations(), ids=lambda one: one.name)
def test_no_violation_where_the_bound_is_certified(combination):
    assert search(combination, 4, first=1000) <= 1 + 1e-6


def proven_combinations():
    """All that settings with a proof can be combined to; the discount needs a server rate of one, and softmax
    regression is strongly convex by its L2 term only."""
    words = "proximal", "ridge", "discounted", "grouped"
    for losses, rate, *yes in product(("quadratic", "softmax"), (1.0, 0.5), *[(False, True)] * len(words)):
        found = Combination(losses, server_rate=rate, **dict(zip(words, yes, strict=True)))
        if not found.discounted or (rate == 1 and (losses == "quadratic" or found.ridge)):
            yield found


@pytest.mark.parametrize("combination", proven_combinations(), ids=lambda one: one.name)
def test_no_violation_in_any_combination_that_is_called_proven(combination):
    assert combination.label == "proven"
    assert search(combination, 2, first=2000) <= 1 + 1e-6


@pytest.mark.parametrize("name", SEEDS)
def test_wrong_conditions_are_found_out(name):
    combination = refuted_combinations()[name]
    assert search(combination, 1, first=SEEDS[name]) > 1 + 1e-4


def rows(regression):
    rng = np.random.default_rng(0)
    data = {f"c{i}": (rng.normal(size=(20, 2)), rng.normal(size=20) if regression else np.arange(20) % 2)
            for i in range(3)}  # fmt: skip
    return unalike.Federation.from_clients(data, test_fraction=0.0)


@pytest.mark.parametrize("combination", certified_combinations(), ids=lambda one: one.name)
def test_certificates_are_called_what_the_search_says(combination):
    """With steps as long as the search takes them; a little longer, and they are heuristics."""
    federation = rows(combination.losses == "quadratic")
    words = {"model": "linear", "unlearning": "full", "steps": 2, "batch_size": 0}
    words |= {"batch_size": 4} if combination.batches else {}
    words |= {"per_round": 2} if combination.sampled else {}
    words |= {"l2": 0.2} if combination.ridge else {}
    words |= {"server_learning_rate": combination.server_rate} if combination.server_rate != 1 else {}
    mu = 0.3 if combination.proximal else 0.0
    words |= {"algorithm": "fedprox", "options": {"mu": mu}} if combination.proximal else {}
    mode = "realized" if combination.sampled else "full"
    known = curvature(make_experiment(words), federation)
    convexity = known.least if combination.discounted else 0.0
    words |= {"ledger": f"{mode}:{convexity!r}"} if combination.discounted else {}
    ridge = words.get("l2", 0.0)
    longest = longest_step(known.most + ridge, convexity + ridge if combination.discounted else 0.0, mu)
    for rate, label in ((0.999 * longest, combination.label), (1.001 * longest, "heuristic")):
        given = make_experiment({**words, "learning_rate": rate})
        assert label_of(training_assumptions(given, federation, mode)) == label


@pytest.mark.parametrize(
    "words", [{"clip": 0.1}, {"aggregator": "norm-bound:0.1"}, {"importance": "similarity"}]
)
def test_what_has_no_proof_is_a_heuristic(words):
    from unalike.experiments.assumptions import coding_assumptions

    given = make_experiment(
        {"model": "linear", "batch_size": 0, "learning_rate": 1e-3, "data": "x.csv", **words}
    )
    federation = rows(False)
    found = [*training_assumptions(given, federation, "full"), *coding_assumptions(given, federation)]
    assert label_of(found) == "heuristic"


def test_the_ledger_of_a_run_bounds_the_distance_to_the_run_without_a_client(tmp_path):
    """FedProx on softmax regression, by the product itself, with the longest step that is proven."""
    words = {"data": "digits", "samples": 120, "clients": 4, "partition": "classes:3", "model": "linear"}
    words |= {"algorithm": "fedprox", "options": {"mu": 0.5}, "unlearning": "full", "rounds": 6, "steps": 4}
    words |= {"batch_size": 0, "test_fraction": 0.0}
    federation = make_federation(make_experiment(words))
    known = curvature(make_experiment(words), federation)
    experiment = make_experiment({**words, "learning_rate": longest_step(known.most, 0.0, 0.5)})
    run_experiment(experiment, tmp_path / "run").folder.close()
    opened = open_run(tmp_path / "run", read_only=True)
    bounds = opened.ledger(0).sensitivity("full")
    task = make_task(experiment, federation)
    gone = 1
    without = train(
        federation.without_rows([gone]), task, make_algorithm(experiment), rounds=6, seed=0,
        participation=Remaining(Full(), [gone]), keep_history=True,
    )  # fmt: skip
    for n in range(1, 7):
        ours = opened.branch(0).parameters(n)
        theirs = jax.tree.leaves(without.history.state(n)["params"])
        ours = [ours[name] for name in sorted(ours)]
        gap = np.sqrt(
            sum(
                float(((np.asarray(a) - np.asarray(b)) ** 2).sum()) for a, b in zip(ours, theirs, strict=True)
            )
        )
        assert gap <= bounds[n, gone] * (1 + 1e-4)
    assert gap > 0.1 * bounds[6, gone]
