"""How much do clients count where nobody says it?"""

import numpy as np
import pytest

import unalike
from unalike.algorithms import similarity_weights
from unalike.deploy.server import check_servable
from unalike.experiments.build import make_federation
from unalike.experiments.compare import compare_experiments
from unalike.experiments.config import make_experiment
from unalike.experiments.run import run_experiment
from unalike.experiments.variations import variant

TINY = {
    **{"clients": 5, "samples": 200, "partition": "dirichlet:0.3", "model": "linear", "rounds": 3},
    **{"evaluate_every": 0, "batch_size": 0},
}


def importance(**words):
    run = run_experiment(make_experiment({**TINY, **words}))
    return run.setting.federation.importance, run.setting.federation


@pytest.mark.parametrize("algorithm", ["perturbed", "perturbed-permuted"])
@pytest.mark.parametrize("unseen", [0.0, 0.2])
def test_perturbed_gradients_weigh_clients_by_their_similarity_as_published(algorithm, unseen):
    found, federation = importance(algorithm=algorithm, unseen=unseen)
    np.testing.assert_allclose(found, similarity_weights(federation).importance, rtol=1e-9)
    rows, _ = importance(algorithm=algorithm, unseen=unseen, importance="data")
    np.testing.assert_allclose(rows, federation.train.sizes / federation.train.sizes.sum())
    assert np.abs(found - rows).max() > 0.01


@pytest.mark.parametrize("algorithm", ["fedavg", "perturbed-anchor", "fedprox"])
def test_other_methods_weigh_clients_by_their_rows(algorithm):
    found, federation = importance(algorithm=algorithm)
    np.testing.assert_allclose(found, federation.train.sizes / federation.train.sizes.sum())


def test_the_mean_of_what_clients_are_sent_is_the_model_of_all():
    """Lemma 4.3 of the thesis: sum_i p_i u_i = w, with the importances of the command's default."""
    run = run_experiment(make_experiment({**TINY, "algorithm": "perturbed"}))
    p, weights = run.setting.federation.importance, similarity_weights(run.setting.federation)
    mixing = np.asarray(run.setting.algorithm.mixing())
    np.testing.assert_allclose(p @ mixing, p, atol=1e-12)
    np.testing.assert_allclose(weights.importance, p)


def test_a_comparison_gives_every_method_its_own_importances_and_the_same_rows():
    base = make_experiment(TINY)
    seen = {}

    def federation_of(experiment):
        federation = make_federation(experiment)
        seen[experiment.algorithm] = federation
        return federation

    variants = {name: variant(base, name) for name in ("fedavg", "perturbed")}
    trials = compare_experiments(variants, [0], federation_of=federation_of)
    assert trials.same_clients
    assert np.abs(seen["fedavg"].importance - seen["perturbed"].importance).max() > 0.01
    np.testing.assert_array_equal(seen["fedavg"].train.x, seen["perturbed"].train.x)


def test_real_clients_count_by_rows_and_similarities_are_refused():
    with pytest.raises(unalike.ConfigError, match="importance = 'similarity' is not possible"):
        check_servable(make_experiment({**TINY, "importance": "similarity"}))
