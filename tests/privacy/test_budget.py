"""Is the noise as small as a budget allows, and does training end before a budget is exceeded?"""

import numpy as np
import pytest

import unalike
from unalike.experiments.build_privacy import central_words, check_privacy, make_local_privacy
from unalike.experiments.config import Experiment, make_experiment
from unalike.experiments.run import run_experiment
from unalike.privacy.accounting import Ledger, gaussian_epsilon
from unalike.privacy.noise_calibration import release_noise, smallest_noise

accounting = pytest.importorskip("dp_accounting")

SMALL = {"clients": 4, "samples": 120, "model": "linear", "evaluate_every": 0}


def direct_epsilon(noise, delta, releases=1):
    """What the package says of that many Gaussian releases, asked without anything of ours."""
    accountant = accounting.rdp.RdpAccountant()
    accountant.compose(accounting.GaussianDpEvent(noise), releases)
    return accountant.get_epsilon(delta)


@pytest.mark.parametrize("noise", [0.6, 1.0, 3.0, 20.0])
@pytest.mark.parametrize("releases", [1, 7, 50])
def test_the_account_is_that_of_the_package_used_directly(noise, releases):
    ledger = Ledger(2, 1e-6)
    for _ in range(releases):
        ledger.charge(np.array([0]), np.array([1 / noise]))
    assert ledger.epsilon() == pytest.approx(direct_epsilon(noise, 1e-6, releases), rel=1e-6)


def test_the_account_of_a_client_that_weighs_half_is_that_of_twice_the_noise():
    ledger = Ledger(1, 1e-5)
    for _ in range(5):
        ledger.charge(np.array([0]), np.array([0.5 / 1.2]))
    assert ledger.epsilon() == pytest.approx(direct_epsilon(2.4, 1e-5, 5), rel=1e-6)


@pytest.mark.parametrize(("epsilon", "delta", "releases"), [(0.5, 1e-5, 10), (3.0, 1e-5, 50), (8.0, 1e-7, 1)])
def test_the_chosen_noise_keeps_the_budget_and_a_little_less_would_not(epsilon, delta, releases):
    noise = release_noise(epsilon, delta, releases)
    assert direct_epsilon(noise, delta, releases) <= epsilon < direct_epsilon(0.999 * noise, delta, releases)


def test_a_budget_that_no_noise_keeps_is_refused():
    with pytest.raises(unalike.ConfigError, match="no noise is enough for epsilon 1"):
        smallest_noise(lambda noise: 2.0, 1.0)


def test_a_release_beyond_the_budget_is_not_afforded_and_not_counted():
    noise = 2.0
    ledger = Ledger(2, budget=gaussian_epsilon(noise / np.sqrt(3), 1e-5))
    one = np.array([0]), np.array([1 / noise])
    assert [ledger.affords(*one) for _ in range(4)] == [True, True, True, False]
    assert ledger.affords(np.array([1]), one[1])  # the other client has spent nothing
    assert ledger.charges.tolist() == [0, 0]


def spent(run, column="epsilon"):
    values = run.metrics()[column]
    return values[~np.isnan(values)]


@pytest.mark.parametrize("column", ["epsilon", "local_epsilon"])
def test_noise_for_the_planned_rounds_uses_the_whole_budget_and_no_more(column):
    words = {"central_dp": "1"} if column == "epsilon" else {"local_dp": "1"}
    run = run_experiment(make_experiment({**SMALL, **words, "rounds": 6, "epsilon": 2.0}))
    values = spent(run, column)
    assert run.rounds == 6
    assert len(values) == 6
    assert (np.diff(values) > 0).all()
    assert 1.999 < values[-1] <= 2.0


@pytest.mark.parametrize("words", [{"central_dp": "1,4"}, {"local_dp": "1,0.9,1e-5"}])
def test_training_ends_before_the_budget_is_exceeded(words):
    described = {**SMALL, **words, "rounds": 40}
    column = "epsilon" if "central_dp" in words else "local_epsilon"
    free = spent(run_experiment(make_experiment(described)), column)
    budget = (free[9] + free[10]) / 2
    run = run_experiment(make_experiment({**described, "epsilon": float(budget)}))
    assert run.rounds == 10
    assert spent(run, column)[-1] == pytest.approx(free[9])
    (event,) = [event for event in run.events() if event["kind"] == "round refused"]
    assert f"above epsilon {budget:g} at delta 1e-05" in event["reason"]


def test_a_run_that_spent_its_budget_cannot_be_resumed_into_spending_more(tmp_path):
    described = make_experiment({**SMALL, "central_dp": "1,4", "rounds": 40, "epsilon": 3.0})
    first = run_experiment(described, tmp_path / "run")
    done = first.rounds
    again = run_experiment(described, first.folder, resume=True)
    assert done == again.rounds < 40
    assert spent(again)[-1] <= 3.0


def test_clients_that_are_drawn_less_often_leave_some_of_the_budget():
    described = make_experiment({**SMALL, "per_round": 2, "central_dp": "1", "rounds": 8, "epsilon": 2.0})
    assert spent(run_experiment(described))[-1] < 2.0


def test_the_same_seed_gives_the_same_noise_and_the_option_is_the_aggregator():
    runs = [
        run_experiment(make_experiment({**SMALL, "rounds": 2, "seed": seed, **words}))
        for seed, words in (
            (3, {"central_dp": "0.5,1.5"}),
            (3, {"aggregator": "central-dp:0.5,1.5"}),
            (4, {"central_dp": "0.5,1.5"}),
        )
    ]
    one, same, other = (np.concatenate([np.ravel(leaf) for leaf in run.message.values()]) for run in runs)
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"epsilon": 3.0}, "say who adds it"),
        ({"delta": 1e-5}, "delta belongs to a privacy budget"),
        ({"central_dp": "1", "local_dp": "1", "epsilon": 3.0}, "one epsilon cannot be the budget of"),
        ({"central_dp": "1,1", "aggregator": "median"}, "leave out the other one"),
    ],
)
def test_words_that_do_not_go_together_are_refused(settings, words):
    with pytest.raises(unalike.ConfigError, match=words):
        check_privacy(Experiment(**settings))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"central_dp": "1"}, "'1' is not of the form CLIP,NOISE"),
        ({"central_dp": "1,1,1e-6", "delta": 1e-5}, "delta is said twice, as 1e-06 and as 1e-05"),
        ({"central_dp": "1", "epsilon": 1.0, "until": 9.0}, "say how many rounds to train"),
    ],
)
def test_words_of_central_privacy_that_mean_nothing_are_refused(settings, words):
    with pytest.raises(unalike.ConfigError, match=words):
        central_words(Experiment(**settings))


def test_words_of_local_privacy_that_mean_nothing_are_refused():
    with pytest.raises(unalike.ConfigError, match="'1' is not of the form CLIP,EPSILON,DELTA"):
        make_local_privacy(Experiment(local_dp="1"))


def test_a_server_keeps_the_words_it_was_given_and_chooses_noise_that_it_was_not():
    from unalike.deploy.protection import Protection

    assert Protection.of(Experiment(), False, "1,0.8") == Protection(False, "1,0.8")
    chosen = Protection.of(Experiment(epsilon=3.0, rounds=10), True, "1")
    clip, noise, delta = map(float, chosen.central.split(","))
    assert (clip, delta, chosen.budget) == (1.0, 1e-5, 3.0)
    assert direct_epsilon(noise, delta, 10) <= 3.0
    with pytest.raises(unalike.ConfigError, match="say its clipping norm"):
        Protection.of(Experiment(epsilon=3.0), False, None)
