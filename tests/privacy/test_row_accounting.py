"""Does the account of DP-SGD say what the package says, for the worst client, and keep its budget?"""

import numpy as np
import pytest

import unalike
from unalike.aggregation.base import WeightedSum
from unalike.deploy.server import check_servable
from unalike.experiments.config import make_experiment
from unalike.experiments.run import run_experiment
from unalike.privacy.row_accounting import RowAccount, RowLedger, sampled_epsilon, worst_pairs
from unalike.timing import Step

accounting = pytest.importorskip("dp_accounting")

GRID = 1e-3
"""Parts by which accounts on two grids of privacy losses may differ: ours is coarser, and no finer one is
needed."""
SMALL = {"clients": 4, "samples": 300, "partition": "dirichlet:0.5", "model": "linear", "evaluate_every": 0}


def direct_epsilon(rate, noise, steps, delta, accountant=None):
    accountant = accountant or accounting.pld.PLDAccountant()
    event = accounting.PoissonSampledDpEvent(rate, accounting.GaussianDpEvent(noise))
    accountant.compose(accounting.SelfComposedDpEvent(event, steps))
    return accountant.get_epsilon(delta)


@pytest.mark.parametrize(("rate", "noise", "steps"), [(0.01, 1.0, 300), (0.2, 4.0, 50), (1.0, 3.0, 5)])
def test_the_account_is_that_of_the_package_used_directly_and_below_that_of_moments(rate, noise, steps):
    found = sampled_epsilon(rate, noise, steps, 1e-5)
    assert found == pytest.approx(direct_epsilon(rate, noise, steps, 1e-5), rel=2 * GRID)
    assert found < direct_epsilon(rate, noise, steps, 1e-5, accounting.rdp.RdpAccountant())


def hockey_stick(rate, noise, epsilon):
    """The exact delta of one step, by integration: a row that is added, and one that is left out."""
    x = np.linspace(-12 * noise, 1 + 12 * noise, 400_001)
    without, shifted = (np.exp(-((x - m) ** 2) / (2 * noise**2)) for m in (0.0, 1.0))
    scale = (x[1] - x[0]) / (noise * np.sqrt(2 * np.pi))
    mixed = (1 - rate) * without + rate * shifted
    return max(
        np.maximum(a - np.exp(epsilon) * b, 0).sum() * scale for a, b in ((mixed, without), (without, mixed))
    )


@pytest.mark.parametrize(("rate", "noise"), [(0.1, 1.0), (0.5, 0.6), (0.02, 0.3), (0.9, 8.0)])
def test_one_step_costs_never_less_than_the_exact_curve_and_hardly_more(rate, noise):
    epsilon = sampled_epsilon(rate, noise, 1, 1e-5)
    assert hockey_stick(rate, noise, epsilon) <= 1e-5 * (1 + 1e-6)
    assert hockey_stick(rate, noise, epsilon * 0.99) > 1e-5


def test_training_from_python_records_what_the_command_records():
    words = {**SMALL, "rounds": 2, "seed": 1, "algorithm": "dp-sgd"}
    run = run_experiment(make_experiment(words))
    setting = run.setting
    again = unalike.train(
        setting.federation, setting.task, setting.algorithm, rounds=2, seed=1, evaluate_every=0
    )
    spent = run.metrics()["row_epsilon"][1:]
    assert len(spent) == 2
    np.testing.assert_array_equal(again.metrics()["row_epsilon"][1:], spent)
    stream = unalike.MemoryStream("constant:4")
    with pytest.raises(unalike.ConfigError, match="leave out stream"):
        unalike.train(setting.federation, setting.task, setting.algorithm, rounds=1, stream=stream)


def test_being_drawn_rarely_costs_less_and_with_all_rows_it_is_the_gaussian_account():
    from unalike.privacy.accountant import gaussian_epsilon

    epsilons = [sampled_epsilon(rate, 1.5, 40, 1e-5) for rate in (0.05, 0.2, 1.0)]
    assert epsilons == sorted(epsilons)
    assert epsilons[0] < 0.2 * epsilons[2]
    assert epsilons[2] == pytest.approx(gaussian_epsilon(1.5 / np.sqrt(40), 1e-5), rel=1e-6)


def test_nothing_drawn_costs_nothing_and_no_noise_costs_everything():
    assert sampled_epsilon(0.0, 1.0, 9, 1e-5) == sampled_epsilon(0.1, 1.0, 0, 1e-5) == 0.0
    assert sampled_epsilon(0.1, 0.0, 1, 1e-5) == float("inf")


def test_the_worst_client_is_among_the_pairs_that_are_looked_at():
    rng = np.random.default_rng(0)
    rates, steps = rng.choice([0.02, 0.05, 0.1, 0.3], 12), rng.integers(1, 60, 12)
    ledger = RowLedger(rates, steps, 1.2)
    ledger.charge(np.arange(12))
    everyone = [sampled_epsilon(q, 1.2, int(t), 1e-5) for q, t in zip(rates, steps, strict=True)]
    assert ledger.epsilon() == pytest.approx(max(everyone))
    assert len(worst_pairs(rates, steps)) <= 4


def test_a_client_pays_for_its_own_rounds_only():
    ledger = RowLedger(np.array([0.1, 0.1]), np.array([10, 10]), 1.0)
    account = RowAccount(WeightedSum(), {"row_epsilon": ledger})
    for number in range(3):
        step = Step(number, np.array([0]), np.zeros(1), np.ones(1))
        columns, _ = account.observe(step, {"accepted": np.ones(1)})
    assert ledger.rounds.tolist() == [3, 0]
    assert columns["row_epsilon"] == pytest.approx(direct_epsilon(0.1, 1.0, 30, 1e-5), rel=GRID)
    restored = RowAccount(WeightedSum(), {"row_epsilon": RowLedger(ledger.rates, ledger.steps, 1.0)})
    restored.restore(account.state())
    assert restored.ledgers["row_epsilon"].epsilon() == ledger.epsilon()


def test_a_run_records_the_epsilon_of_its_worst_client_s_rows():
    described = make_experiment({**SMALL, "algorithm": "dp-sgd", "rounds": 2, "batch_size": 8})
    run = run_experiment(described)
    sizes = run.setting.federation.train.sizes
    clients = [direct_epsilon(min(1, 8 / n), 1.0, 2 * -(-int(n) // 8), 1e-5) for n in sizes if n]
    assert run.metrics()["row_epsilon"][-1] == pytest.approx(max(clients), rel=GRID)


@pytest.mark.parametrize("algorithm", ["dp-sgd", "werm-dp-sgd"])
def test_a_budget_chooses_the_noise_of_rows(algorithm):
    described = make_experiment({**SMALL, "algorithm": algorithm, "rounds": 3, "epsilon": 4.0, "delta": 1e-4})
    run = run_experiment(described)
    columns = ["row_epsilon", *(["reference_epsilon"] if algorithm == "werm-dp-sgd" else [])]
    assert run.rounds == 3
    for column in columns:
        assert 3.99 < run.metrics()[column][-1] <= 4.0


def test_training_ends_before_rows_have_spent_more_than_the_budget():
    settings = {**SMALL, "algorithm": "dp-sgd", "rounds": 8, "options": {"noise": 1.0}}
    free = run_experiment(make_experiment(settings)).metrics()["row_epsilon"]
    budget = float(free[3] + free[4]) / 2
    run = run_experiment(make_experiment({**settings, "epsilon": budget}))
    assert run.rounds == 3
    assert "row_epsilon" in next(e["reason"] for e in run.events() if e["kind"] == "round refused")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            {"algorithm": "dp-sgd", "central_dp": "1", "epsilon": 2.0},
            "cannot be the budget of central_dp and of",
        ),
        ({"algorithm": "dp-sgd", "stream": "constant:5"}, "leave out stream"),
        ({"algorithm": "fedavg", "reference_fraction": 0.5}, "no use for reference rows"),
    ],
)
def test_what_cannot_be_counted_is_refused(settings, words):
    with pytest.raises(unalike.ConfigError, match=words):
        run_experiment(make_experiment({**SMALL, "rounds": 1, **settings}))


def test_noise_from_the_seed_is_not_for_real_clients():
    with pytest.raises(unalike.ConfigError, match="draws its noise from the seed, which real clients know"):
        check_servable(make_experiment({"algorithm": "dp-sgd"}), 3)
