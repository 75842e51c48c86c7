"""Are the published settings repeated, and claims on them decided as they read?"""

from dataclasses import replace

import jax
import numpy as np
import pytest

from unalike.errors import DataError
from unalike.experiments.unlearning_schemes import Forgetting, forget_in_sequence, prefixes, train_branch
from unalike.trust.unlearning.calibration import Budget
from unalike_studies.study import Effort
from unalike_studies.trainings import Trainings
from unalike_studies.unlearning import data, published, races
from unalike_studies.unlearning.data import (
    FASHION,
    MNIST,
    REQUESTS,
    Images,
    make_watermarked_clients,
    network,
)
from unalike_studies.unlearning.published import (
    CLASS_REQUESTS,
    compared_claims,
    last_claim,
    report_claims,
    single_claims,
)
from unalike_studies.unlearning.races import RACED, Races

TINY = replace(MNIST, name="tiny", source="digits", file="tiny.npz", images=2, rate=0.02)


@pytest.fixture
def there(monkeypatch):
    """The file of the tiny benchmark is there."""
    monkeypatch.setattr(races, "require_local", lambda file, where: None)


def results(sifu_rounds, sifu_left):
    numbers = {
        "scratch": (100, 0.0),
        "sifu": (sifu_rounds, sifu_left),
        "fine-tuning": (20, 0.5),
        "fedaccum": (20, 0.1),
    }
    return {
        scheme: [[Forgetting(rounds, 0.0, left, 0.9, None, left, 0.0)] * 3] * 2
        for scheme, (rounds, left) in numbers.items()
    }


@pytest.mark.parametrize(
    ("rounds", "left", "verdicts"),
    [(50, 0.1, [True, True]), (95, 0.1, [False, True]), (50, 0.4, [True, False])],
)
def test_half_the_cost_and_nearer_to_scratch(rounds, left, verdicts):
    claims = list(compared_claims("F", "tiny", results(rounds, left), "", "Figure 5.2", hard=True))
    assert [claim.holds for claim in claims] == [*verdicts, True, True, False, True]
    assert [claim.hard for claim in claims] == [True, True, True, False, False, False]
    assert claims[0].measured == rounds / 100


def test_every_scheme_has_a_line():
    claims = list(report_claims("F", "tiny", results(50, 0.1), "", "Figure 5.2"))
    assert claims[1].measured == "50/50/50 rounds; 10.0/10.0/10.0 %"
    assert not any(claim.hard for claim in claims)


def test_a_single_class_that_is_kept_breaks_the_claim():
    good, bad = results(50, 0.1), results(120, 0.4)
    near, fewer = single_claims("FD.3", "tiny", [*[good] * 9, bad], "")
    assert (near.measured, fewer.measured) == (9.0, 9.0)
    assert not near.holds
    assert all(claim.holds for claim in single_claims("FD.3", "tiny", [good] * 10, ""))


def test_a_model_that_becomes_good_again_breaks_the_claim_on_last():
    reached = Forgetting(509, 0.0, 0.1, 0.93, None, 0.1, 0.05)
    assert not last_claim("F", "MNIST", reached, "reference", 10_000).holds
    assert last_claim("F", "MNIST", reached._replace(rounds=10_000), "realized", 10_000).holds


def test_the_network_of_fashion_mnist_has_as_many_parameters_as_the_authors():
    shapes = jax.eval_shape(network((28, 28, 1)).init, jax.random.key(0))
    assert sum(leaf.size for leaf in jax.tree.leaves(shapes)) == 824_458


def test_settings_are_those_of_the_table():
    """Table D.1; a batch of a hundred is all images of a client."""
    table = [(b.steps, b.batch_size or b.images, b.sigma, b.rate, b.clip) for b in (MNIST, FASHION)]
    assert table == [(10, 100, 0.05, 0.01, 0.5), (5, 20, 0.1, 0.02, 0.5)]
    assert (MNIST.stop, FASHION.stop, data.WATERMARKED_STOP) == (0.93, 0.9, 0.999)
    assert (races.MOST, races.LEAST, races.SEEDS) == (10_000, 50, 10)


def test_clients_of_a_request_share_a_watermark_and_no_class():
    rng = np.random.default_rng(0)
    rows = Images(rng.random((500, 8, 8, 1), np.float32) / 2, rng.integers(0, 10, 500))
    federation = make_watermarked_clients(rows, 20)
    assert (federation.train.sizes == 20).all()
    assert (federation.label_counts() > 0).sum(axis=1).mean() > 4
    marked = []
    for client in range(100):
        x = federation.train.client(client)[0].reshape(20, -1)
        marked.append(frozenset(np.flatnonzero((x == x.max()).all(axis=0))))
    assert {len(places) for places in marked} == {10}
    assert [len({marked[client] for client in request}) for request in REQUESTS] == [1, 1, 1]
    assert len(set(marked)) == 10


def test_schemes_of_a_long_study_are_those_with_all_models_kept(there):
    short = Races(TINY, [REQUESTS[:2]], Effort(share=0.0008, runs=1))
    found, problem = short.results(0, ("sifu", "fedaccum")), short.problem(0)
    assert (problem.rounds, problem.stop_at) == (8, "train_accuracy:0.93,1")
    first = train_branch(problem, problem.start(), replays=prefixes(REQUESTS[:2]))
    for scheme, seeds in found.items():
        budget = Budget(10, 0.01, TINY.sigma, "classic")
        wanted = forget_in_sequence(problem, scheme, REQUESTS[:2], first, budget, "reference")
        assert [one._replace(restart=None) for one in wanted] == seeds[0]


def test_a_figure_resumes_and_says_the_same(there, monkeypatch, tmp_path):
    effort = Effort(Trainings(tmp_path / "kept.jsonl"), 1, 0.0002)
    claims = list(published.sequence_figure("F5.2-tiny", TINY, effort))
    assert len(claims) == len(RACED) + 9 + 2
    assert effort.trainings.finished == effort.trainings.expected == len(RACED) + 2
    assert all("where 10 were published" in claim.note for claim in claims[:-2])
    monkeypatch.setattr(races, "forget_in_sequence", pytest.fail)
    again = Effort(Trainings(tmp_path / "kept.jsonl"), 1, 0.0002)
    assert list(published.sequence_figure("F5.2-tiny", TINY, again)) == claims


def test_watermarks_and_single_classes_are_other_trainings(there, monkeypatch):
    for name in ("MNIST", "FASHION"):
        monkeypatch.setattr(published, name, TINY)
    asked = []

    def numbers(decides, train):
        asked.append((decides["data"], decides["scheme"], str(decides["requests"])))
        return np.ones(6 * len(decides["requests"]))

    effort = Effort(runs=1)
    monkeypatch.setattr(effort.trainings, "numbers", numbers)
    list(published.watermark_claims(effort))
    assert len(set(asked)) == len(RACED)
    list(published.class_claims(effort))
    assert len(set(asked)) == len(RACED) + 3 * len(CLASS_REQUESTS)


def test_without_the_images_it_is_said_what_is_missing(monkeypatch):
    monkeypatch.delenv("UNALIKE_DATA", raising=False)
    for claims in (published.mnist_claims, published.fashion_claims, published.class_claims):
        with pytest.raises(DataError, match=r"mnist\.npz was not found; set UNALIKE_DATA"):
            list(claims(Effort()))
