"""Is pFedMe the method of its paper, and is the mean of the simple variant really the mean of all models?"""

import numpy as np
import pytest

from unalike.algorithms import FedAvg, Local, LocalWork, Optimizer
from unalike.algorithms.pfedme import PFedMe, PFedMeSimple
from unalike.errors import ConfigError

from . import naive
from .personalized import (
    IMPORTANCE,
    RATE,
    WORK,
    assert_agrees,
    average,
    descend,
    memory_of,
    same_model,
    simulate,
    trained,
)

LAM, ETA, STEPS = 1.5, 0.4, 3


def follow(theta, batches):
    """The paper's local rounds: inner steps on every batch, then the copy follows."""
    copy = personal = theta
    for batch in batches:
        personal = descend(personal, [batch] * STEPS, anchor=copy, mu=LAM)
        copy = copy - ETA * LAM * (copy - personal)
    return copy, personal


def test_two_rounds_and_a_newcomer_equal_the_paper():
    expected = simulate(
        lambda theta, own, batches: follow(theta, batches),
        lambda theta, batches: follow(theta, batches)[1],
        server=lambda theta, ups, cohort: 0.4 * theta + 0.6 * average(theta, ups, cohort),
    )
    run = trained(PFedMe(work=WORK, lam=LAM, eta=ETA, steps=STEPS, beta=0.6))
    assert_agrees(run, expected)
    for client, own in expected.memories.items():
        assert np.allclose(naive.flat(memory_of(run, client)["params"]), own, atol=1e-5)


def test_one_inner_step_on_one_batch_is_fedavg_with_the_product_of_the_rates():
    """theta = w - rate g, so w - eta lam (w - theta) = w - (eta lam rate) g."""
    work = LocalWork(steps=1, batch_size=0)
    mine = trained(PFedMe(work=work, lam=LAM, eta=ETA, steps=1))
    plain = trained(FedAvg(work=work, optimizer=Optimizer("sgd", ETA * LAM * RATE)))
    assert same_model(mine.state["params"], plain.state["params"], atol=1e-6)


def test_a_copy_that_follows_all_the_way_is_the_personal_model():
    run = trained(PFedMe(work=WORK, lam=4.0, eta=1.0, steps=STEPS))
    models = [naive.flat(memory_of(run, client)["params"]) for client in (1, 3)]
    assert np.allclose(
        naive.flat(run.state["params"]), np.average(models, axis=0, weights=IMPORTANCE[[1, 3]]), atol=1e-6
    )


def simple(lam):
    models = {}

    def mean_of_all(theta, uploads, cohort):
        models.update(zip(cohort, uploads, strict=True))
        return np.average(list(models.values()), axis=0, weights=IMPORTANCE[list(models)])

    def near(theta, own, batches):
        return (descend(own, batches, anchor=theta, mu=lam),) * 2

    return simulate(near, lambda theta, batches: near(theta, theta, batches)[0], server=mean_of_all)


def test_the_simple_variant_pulls_to_the_mean_of_all_models_also_of_absent_clients():
    run, expected = trained(PFedMeSimple(work=WORK, lam=0.7)), simple(0.7)
    assert_agrees(run, expected)
    models = {i: naive.flat(memory_of(run, i)["params"]) for i in (0, 1, 3)}
    assert np.allclose(
        naive.flat(run.state["params"]),
        np.average(list(models.values()), axis=0, weights=IMPORTANCE[list(models)]),
        atol=1e-6,
    )
    assert float(run.state["share"]) == pytest.approx(IMPORTANCE[[0, 1, 3]].sum())


def test_without_a_pull_simple_personal_models_are_trained_alone():
    free, alone = trained(PFedMeSimple(work=WORK, lam=0.0)), trained(Local(work=WORK))
    for client in (0, 1):  # those that started from the same model
        assert same_model(memory_of(free, client)["params"], memory_of(alone, client)["params"], atol=1e-7)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: PFedMe(lam=-1.0), "lam must not be negative"),
        (lambda: PFedMe(eta=-1.0), "eta must not be negative"),
        (lambda: PFedMe(steps=-1), "steps must not be negative"),
        (lambda: PFedMe(beta=0.0), r"beta must be positive, but is 0\.0\."),
        (lambda: PFedMeSimple(lam=-0.1), "lam must not be negative"),
    ],
)
def test_bad_settings_are_refused_in_words(make, words):
    with pytest.raises(ConfigError, match=words):
        make()
