"""Is the noise as small as a budget allows, and does training end before a budget is exceeded?"""

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

import unalike
from unalike.experiments.build_privacy import central_words, check_privacy, make_local_privacy
from unalike.experiments.config import Experiment, make_experiment
from unalike.experiments.run import run_experiment
from unalike.privacy.accountant import Ledger, gaussian_epsilon
from unalike.privacy.noise_calibration import release_noise, smallest_noise

pytest.importorskip("dp_accounting")

SMALL = {"clients": 4, "samples": 120, "model": "linear", "evaluate_every": 0}


def direct_epsilon(noise, delta, releases=1):
    """The root of the exact curve of one Gaussian release with mu = sqrt(releases) / noise."""
    mu = np.sqrt(releases) / noise

    def excess(epsilon):
        near, far = norm.cdf(mu / 2 - epsilon / mu), norm.logcdf(-mu / 2 - epsilon / mu)
        return near - np.exp(epsilon + far) - delta

    return brentq(excess, 0, mu**2 + 10 * mu, xtol=1e-12)


@pytest.mark.parametrize("noise", [0.6, 1.0, 3.0, 20.0])
@pytest.mark.parametrize("releases", [1, 7, 50])
def test_the_account_is_the_exact_curve(noise, releases):
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


@pytest.mark.parametrize("noise", [0.02, 0.5, 1.0, 4.0, 30.0])
def test_gaussian_releases_cost_what_the_exact_curve_says(noise):
    """Delta by integrating what one density has above exp(epsilon) times the other (Balle and Wang, 2018)."""
    epsilon = gaussian_epsilon(noise, 1e-5)
    x = np.linspace(-12 * noise, 1 + 12 * noise, 400_001)

    def delta(epsilon):
        shifted, plain = (-((x - mean) ** 2) / (2 * noise**2) for mean in (1.0, 0.0))
        above = np.exp(shifted) - np.exp(np.minimum(epsilon + plain, 700))
        return np.maximum(above, 0).sum() * (x[1] - x[0]) / (noise * np.sqrt(2 * np.pi))

    assert delta(epsilon) == pytest.approx(1e-5, rel=1e-3)
    releases = Ledger(1)
    for _ in range(9):
        releases.charge(np.array([0]), np.array([1 / (3 * noise)]))
    assert releases.epsilon() == pytest.approx(epsilon, rel=1e-9)


def test_gaussian_releases_cost_less_than_by_their_moments():
    accounting = pytest.importorskip("dp_accounting")
    for noise in (0.3, 1.0, 5.0):
        moments = accounting.rdp.RdpAccountant()
        moments.compose(accounting.GaussianDpEvent(noise))
        assert gaussian_epsilon(noise, 1e-5) < moments.get_epsilon(1e-5)


@pytest.mark.parametrize("epsilon", [0.5, 10.0, 50.0])
def test_a_local_budget_of_any_size_chooses_noise_that_keeps_it(epsilon):
    experiment = make_experiment({**SMALL, "local_dp": "1", "epsilon": epsilon, "rounds": 1})
    spent = run_experiment(experiment).metrics()["local_epsilon"][-1]
    assert 0.999 * epsilon < spent <= epsilon
