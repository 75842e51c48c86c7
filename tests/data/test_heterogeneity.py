"""Numbers that say how unlike clients are."""

import json

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon

from unalike.data import Federation, describe, load
from unalike.data.heterogeneity import mean_divergence


def test_divergence_agrees_with_scipy():
    histograms = np.random.default_rng(0).dirichlet(np.full(5, 0.3), 8)
    pairs = [jensenshannon(histograms[i], histograms[j], base=2) ** 2 for i in range(8) for j in range(i)]
    assert mean_divergence(histograms) == pytest.approx(np.mean(pairs))


def test_divergence_is_nothing_when_all_are_alike_and_one_bit_when_nobody_shares():
    assert mean_divergence(np.tile([0.2, 0.8], (5, 1))) == pytest.approx(0, abs=1e-12)
    assert mean_divergence(np.eye(4)) == pytest.approx(1)
    assert mean_divergence(np.eye(1)) == 0


def test_divergence_grows_as_alpha_falls():
    values = [
        describe(load("digits", partition=f"dirichlet:{a}", clients=20))["label_divergence"]
        for a in (100, 1, 0.1)
    ]
    assert values[0] < values[1] < values[2]


def test_facts_are_json_and_right():
    federation = load("digits", partition="classes:3", clients=10, validation_fraction=0.1)
    facts = json.loads(json.dumps(describe(federation)))
    assert facts["clients"] == 10
    assert facts["classes_per_client"] == 3
    assert sum(facts["rows"].values()) == 1797
    assert (
        facts["rows_per_client"]["min"]
        <= facts["rows_per_client"]["median"]
        <= facts["rows_per_client"]["max"]
    )
    assert facts["input_shape"] == [8, 8, 1]


def test_a_regression_has_no_label_facts():
    assert "label_divergence" not in describe(load("diabetes", clients=4))


def test_many_clients_are_sampled():
    owners = np.arange(20_000)
    federation = Federation.from_owners(np.zeros((20_000, 1)), owners % 4, owners)
    assert describe(federation)["label_divergence"] == pytest.approx(0.75, abs=0.03)
