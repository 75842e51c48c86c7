"""Is GIFAIR the algorithm of its paper, round by round, and FedAvg where lam is zero?"""

from dataclasses import replace

import numpy as np
import pytest

from unalike import ConfigError
from unalike.algorithms import FedAvg, FedAvgPlus, Gifair, GifairPer, GifairPlus, LocalWork
from unalike.core.pytrees import largest_difference

from . import naive

SIZES = [6, 9, 4, 5]
WORK = LocalWork(epochs=2, batch_size=3, shuffle=False)
COHORTS = ([0, 1, 2, 3], [1, 3], [0, 2, 3], [0, 1])
IMPORTANCE = np.array(SIZES) / sum(SIZES)
TWO = ("a", "b", "a", "b")


@pytest.fixture(scope="module")
def grouped(federation):
    return replace(federation, groups=TWO)


def naive_multipliers(losses, groups, rho):
    """1 + lam r_k / (p_k |A|), with every sum written out."""
    members = {g: [k for k in range(len(SIZES)) if groups[k] == g] for g in set(groups)}
    means = {g: np.mean([losses[k] for k in ks]) for g, ks in members.items()}
    sizes = [len(members[groups[k]]) for k in range(len(SIZES))]
    lam = rho * min(IMPORTANCE * sizes) / (len(members) - 1)
    scores = [sum(np.sign(means[groups[k]] - other) for other in means.values()) for k in range(len(SIZES))]
    return [1 + lam * r / (p * n) for r, p, n in zip(scores, IMPORTANCE, sizes, strict=True)]


def naive_gifair(federation, groups, rho, cohorts, exact=False, rate=0.1):
    """The common model, every client's own model and last loss after each round; with `exact`, losses of the
    common model are collected in a round before each training."""
    theta, losses = naive.zeros(), [np.log(naive.CLASSES)] * len(SIZES)
    own = [theta] * len(SIZES)
    for number, cohort in enumerate(cohorts):
        counts = naive_multipliers(losses, groups, rho)
        asking = exact and number % 2 == 0
        for k in cohort:
            x, y = federation.train.client(k)
            batches = [] if asking else naive.in_order(len(x), 3, 2)
            own[k] = naive.descend(theta, x, y, batches, rate * counts[k])
            if asking or not exact:
                losses[k] = naive.loss(own[k], x, y)
        theta = np.average([own[k] for k in cohort], axis=0, weights=IMPORTANCE[cohort])
        yield theta, list(own), list(losses)


def check_against_naive(run, expected):
    for number, (theta, _, losses) in enumerate(expected, start=1):
        state = run.history.state(number)
        assert np.allclose(naive.flat(state["params"]), theta, atol=2e-5)
        assert np.allclose(state["losses"], losses, atol=2e-5)
    assert np.abs(theta).max() > 0.1


@pytest.mark.parametrize("groups", [TWO, ("0", "1", "2", "3")])
def test_partial_participation_equals_the_paper(federation, task, groups):
    method = Gifair(work=WORK, rho=0.9, individual=groups != TWO)
    clients, participation = replace(federation, groups=TWO), naive.Fixed(*COHORTS)
    run = naive.train(clients, task, method, 4, participation=participation)
    check_against_naive(run, list(naive_gifair(federation, groups, 0.9, COHORTS)))


def test_exact_ranks_use_the_common_model(grouped, task):
    everyone = [[0, 1, 2, 3]] * 4
    run = naive.train(grouped, task, Gifair(work=WORK, rho=0.9, exact=True), 4)
    check_against_naive(run, list(naive_gifair(grouped, TWO, 0.9, everyone, exact=True)))


def test_personal_models_are_those_that_were_trained(grouped, task):
    run = naive.train(grouped, task, GifairPer(work=WORK, rho=0.9), 4, participation=naive.Fixed(*COHORTS))
    expected = list(naive_gifair(grouped, TWO, 0.9, COHORTS))
    check_against_naive(run, expected)
    kept, fresh = run.memories.gather(np.arange(len(SIZES)))
    assert not fresh.any()
    for k, theta in enumerate(expected[-1][1]):
        mine = {name: leaf[k] for name, leaf in kept["params"].items()}
        assert np.allclose(naive.flat(mine), theta, atol=2e-5)


@pytest.mark.exact
@pytest.mark.parametrize("settings", [{"rho": 0.0}, {"lam": 0.0}])
def test_without_lambda_it_is_fedavg_bit_for_bit(grouped, task, settings):
    plain, fair = (
        naive.train(grouped, task, method, 3, per_round=2).state["params"]
        for method in (FedAvg(work=WORK), Gifair(work=WORK, **settings))
    )
    assert largest_difference(plain, fair) == 0


def test_two_numbers_per_client_are_sent_beside_the_model(grouped, task):
    plain, fair = (
        naive.train(grouped, task, method, 1).metrics() for method in (FedAvg(work=WORK), Gifair(work=WORK))
    )
    for way in ("bytes_up", "bytes_down"):
        assert fair[way][-1] - plain[way][-1] == 4 * len(SIZES)


def test_lambda_at_its_maximum_is_refused_before_training(grouped, task):
    largest = min(IMPORTANCE * 2)
    with pytest.raises(ConfigError, match=f"below {largest:.6g}"):
        naive.train(grouped, task, Gifair(work=WORK, lam=largest), 1)


@pytest.mark.parametrize(
    ("method", "settings", "words"),
    [
        (Gifair, {"rho": 1.0}, r"in \[0, 1\)"),
        (Gifair, {"rho": -0.1}, r"in \[0, 1\)"),
        (Gifair, {"lam": -1.0}, "not be negative"),
        (GifairPer, {"exact": True}, "exact already"),
    ],
)
def test_bad_settings_are_refused(method, settings, words):
    with pytest.raises(ConfigError, match=words):
        method(**settings)


def test_fine_tuning_starts_from_the_common_model(grouped, task):
    """Tuned models are those of FedAvg+ where lam is zero, and the common one is not touched by tuning."""
    tuned = [
        naive.train(grouped, task, method, 2).evaluate("train")["loss"]
        for method in (FedAvgPlus(work=WORK), GifairPlus(work=WORK, rho=0.0))
    ]
    assert np.allclose(*tuned, atol=1e-6)
    common = [naive.train(grouped, task, method(work=WORK, rho=0.9), 2) for method in (Gifair, GifairPlus)]
    assert largest_difference(*(run.state["params"] for run in common)) == 0


def test_clients_may_tell_the_loss_that_training_saw(grouped, task):
    """With one step over all rows it is that of the model they were sent, whatever they count."""
    method = Gifair(work=LocalWork(epochs=1, batch_size=0), training_loss=True, rho=0.9)
    run = naive.train(grouped, task, method, 3)
    sent = naive.flat(run.history.state(2)["params"])
    expected = [naive.loss(sent, *grouped.train.client(k)) for k in range(len(SIZES))]
    assert np.allclose(run.state["losses"], expected, atol=2e-5)


def test_losses_of_the_common_model_are_not_seen_in_training():
    with pytest.raises(ConfigError, match="leave out training_loss"):
        Gifair(exact=True, training_loss=True)


def test_nearly_all_of_lam_is_warned_of(grouped, task):
    with pytest.warns(UserWarning, match="while their group is the best"):
        Gifair(rho=0.97).prepare(task, grouped)


def test_groups_that_lam_hardly_reaches_are_named(grouped, task):
    uneven = replace(grouped, groups=("a", "b", "b", "b")).with_importance([0.01, 0.33, 0.33, 0.33])
    with pytest.warns(UserWarning, match=r"the group 'b' count at most 1\.0\d times"):
        Gifair(rho=0.9).prepare(task, uneven)


def test_usual_settings_are_not_warned_of(grouped, task, recwarn):
    Gifair(rho=0.9).prepare(task, grouped)
    Gifair(rho=0.0).prepare(task, grouped)
    assert not [w for w in recwarn if "group" in str(w.message)]
