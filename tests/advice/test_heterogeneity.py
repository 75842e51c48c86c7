"""Does advice on heterogeneity see what clients differ in, and say where its measures disagree?"""

from dataclasses import replace

import jax
import numpy as np
import pytest

from unalike.advice.cohort_similarity import measure_cohorts
from unalike.advice.disagreement import (
    LocalFit,
    angles,
    gradient_diversity,
    measure_disagreement,
    rank_correlation,
)
from unalike.advice.heterogeneity import advise_heterogeneity
from unalike.data import Federation, load
from unalike.data.heterogeneity import mean_divergence, pairwise_divergence
from unalike.data.similarity import measure_similarity
from unalike.data.similarity.misalignment import pairs
from unalike.models import Batch, Task, linear
from unalike.participation import Full, Participation
from unalike.participation.base import Cohort


def digits(partition="iid", clients=12):
    return load("digits", partition=partition, clients=clients, test_fraction=0)


def softmax(federation):
    model = linear(input_shape=federation.input_shape, outputs=federation.classes)
    return Task.classification(model, federation.classes)


def test_alike_clients_need_one_model_and_every_measure_says_so():
    federation = digits()
    advice = advise_heterogeneity(federation, measure_similarity(federation), softmax(federation))
    assert advice.recommended == "fedavg"
    assert [report.name for report in advice.reports] == ["features", "labels", "gradients", "losses"]


def test_every_measure_rises_with_class_imbalance_and_they_agree_on_pairs():
    def measured(knob):
        federation = digits(f"imbalance:{knob},0")
        return advise_heterogeneity(federation, measure_similarity(federation), softmax(federation))

    alike, unlike = measured(0), measured(20)
    for before, after in zip(alike.reports[1:], unlike.reports[1:], strict=True):
        assert after.value > 1.5 * before.value
        assert after.agreement > 0.1
    assert unlike.reports[0].value < 0.8 * alike.reports[0].value
    assert unlike.recommended != "fedavg"


def test_labels_that_messages_do_not_see_are_said_to_disagree():
    federation = digits()
    y = np.where(federation.train.owners % 2 == 0, 0, federation.train.y).astype(np.int32)
    swapped = replace(federation, train=replace(federation.train, y=y))
    advice = advise_heterogeneity(swapped, measure_similarity(swapped))
    assert any("messages do not see labels" in reason for reason in advice.reasons)
    assert advice.recommended == "fedem"


def test_turned_pictures_are_groups_with_the_same_labels():
    federation = digits("imbalance:0,0")
    x = np.array(federation.train.x)
    odd = federation.train.owners % 2 == 1
    x[odd] = np.rot90(x[odd], axes=(1, 2))
    turned = replace(federation, train=replace(federation.train, x=x))
    advice = advise_heterogeneity(turned, measure_similarity(turned))
    assert (advice.recommended, advice.groups) == ("ifca", 2)
    assert any("although labels do not" in reason for reason in advice.reasons)


def test_chance_signs_of_centered_features_are_no_groups():
    federation = load("diabetes", partition="iid", clients=6)
    advice = advise_heterogeneity(federation, measure_similarity(federation))
    assert advice.similarity.unsure_signs > 0
    assert advice.recommended == "fedavg"
    assert "signs by chance" in advice.reasons[0]


def test_one_client_is_told_so():
    alone = Federation.from_owners(np.eye(3), np.arange(3), np.zeros(3, int))
    advice = advise_heterogeneity(alone, measure_similarity(alone), softmax(alone))
    assert advice.recommended == "local"
    assert advice.as_dict()["homogeneity"] is None


# The measures themselves ---------------------------------------------------------------------------------


def test_pairwise_divergence_has_the_mean_that_is_described():
    shares = np.random.default_rng(0).dirichlet(np.ones(5), 9)
    found = pairwise_divergence(shares)
    np.testing.assert_allclose(found, found.T, atol=1e-12)
    np.testing.assert_allclose(np.diag(found), 0, atol=1e-12)
    assert pairs(found).mean() == pytest.approx(mean_divergence(shares))


def test_gradient_diversity_is_one_for_equal_and_n_for_orthogonal_gradients():
    assert gradient_diversity(np.tile([1.0, 2.0], (5, 1))) == pytest.approx(1)
    assert gradient_diversity(np.eye(5)) == pytest.approx(5)
    assert gradient_diversity(np.array([[1.0], [-1.0]])) == np.inf
    np.testing.assert_allclose(angles(np.eye(2)), [[0, 1], [1, 0]])


def test_gradients_and_losses_are_those_of_each_client_alone():
    federation = Federation.from_owners(
        np.random.default_rng(0).normal(size=(12, 3)), np.arange(12) % 2, np.arange(12) // 4, classes=2
    )
    task = softmax(federation)
    fit = LocalFit(rows=4, steps=3, learning_rate=0.1)
    found = measure_disagreement(federation, task, np.arange(3), fit)
    batches = [Batch.of(*federation.train.client(i)) for i in range(3)]
    first, models, gradients = task.init(jax.random.key(0)), [], []
    for batch in batches:
        now = first
        gradients.append(
            np.concatenate([g.ravel() for g in jax.tree.leaves(task.loss_and_gradient(now, batch)[1])])
        )
        for _ in range(fit.steps):
            slope = task.loss_and_gradient(now, batch)[1]
            now = jax.tree.map(lambda p, g: p - fit.learning_rate * g, now, slope)
        models.append(now)
    losses = np.array([[float(task.loss(model, batch)) for batch in batches] for model in models])
    np.testing.assert_allclose(found.losses, losses - np.diag(losses), atol=1e-5)
    np.testing.assert_allclose(found.gradients, angles(np.array(gradients, np.float64)), atol=1e-5)


def test_rank_correlation_knows_order_only():
    table = np.abs(np.subtract.outer(np.arange(5.0), np.array([0, 1, 3, 7, 15.0])))
    table = table + table.T
    assert rank_correlation(table, np.exp(table / 10)) == pytest.approx(1)
    assert np.isnan(rank_correlation(table, np.ones((5, 5))))


# Cohorts -------------------------------------------------------------------------------------------------


class OneKind(Participation):
    """Only the first three clients, of those that are even."""

    def cohort(self, turn):
        return Cohort(np.array([0, 2, 4]), np.full(3, 1 / 3), {"available": np.arange(0, 12, 2)})


def test_a_cohort_of_everyone_is_as_homogeneous_as_everyone():
    federation = digits("imbalance:10,0")
    found = measure_similarity(federation)
    cohorts = measure_cohorts(found, Full(), federation.importance, rounds=3)
    np.testing.assert_allclose(cohorts.cohorts, found.homogeneity)
    assert cohorts.available is None


def test_biased_participation_is_seen():
    federation = digits("iid")
    x = np.array(federation.train.x)
    odd = federation.train.owners % 2 == 1
    x[odd] = np.rot90(x[odd], axes=(1, 2))
    found = measure_similarity(replace(federation, train=replace(federation.train, x=x)))
    cohorts = measure_cohorts(found, OneKind(), federation.importance, rounds=2)
    summary = cohorts.summary()
    assert summary["cohort_mean"] > 1.3 * summary["everyone"]
    assert summary["available_mean"] > 1.3 * summary["everyone"]
