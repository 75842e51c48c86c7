"""Claims on the shared prior: does it converge to the truth, and serve clients that disagree? (G3 to G5, G11,
G12.)

Yue and Kontar, Federated Gaussian Process (2024), proof-of-concept experiments: opposite signals, a bad
start, recovery of hyper-parameters.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from unalike.analytics.gaussian_process import GaussianProcess
from unalike.analytics.gaussian_process.benchmark_functions import PROBLEMS
from unalike.analytics.gaussian_process.calibration import coverage
from unalike.analytics.gaussian_process.multi_fidelity import draw_levels, fit_levels
from unalike.core.random import generator
from unalike.typing import Float64s

from ..study import Claim, at_least, at_most, average
from .baselines import network_errors
from .data import Rows, draw_clients, federation_of


def training_claims(quick: bool) -> Iterator[Claim]:
    """Proofs of concept."""
    yield from opposite_claims(quick)
    yield from bad_start_claims()
    yield from recovery_claims(quick)
    yield from interval_claims(quick)


def opposite_claims(quick: bool) -> Iterator[Claim]:
    """G3 and G11: sin at one client, -sin at the other; what travels for it."""
    x, places = np.linspace(0, 10, 100)[:, None], np.linspace(0.03, 9.97, 500)[:, None]
    clients: list[Rows] = [(x, np.sin(x[:, 0])), (x, -np.sin(x[:, 0]))]
    tests: list[Rows] = [(places, np.sin(places[:, 0])), (places, -np.sin(places[:, 0]))]
    process = GaussianProcess(rounds=60, learning_rate=0.05).fit(federation_of(clients))
    errors = [_rmse(process.predict(places, i), y) for i, (_, y) in enumerate(tests)]
    yield at_most("G3", "sin and -sin: FGPR's error at both clients", errors, 0.01)
    scaled: list[Rows] = [(rows / 10, y) for rows, y in clients]
    there: list[Rows] = [(rows / 10, y) for rows, y in tests]
    found = network_errors(scaled, there, ditto=False, rounds=20 if quick else 100, seed=0, hidden=(32, 32))
    note = "the mean of both functions, 0, has 0.7"
    yield at_least("G3", "sin and -sin: FedAvg network's error", found.tolist(), 0.6, note=note)
    sent = process.run.metrics()
    bytes_ = float(sent["bytes_up"][-1] + sent["bytes_down"][-1]) / 2
    yield at_most("G11", "bytes of a client per round, of 2 (2 + 1) floats", [bytes_], 48.0)


def bad_start_claims() -> Iterator[Claim]:
    """G4: everything is noise at first."""
    rng = generator(0, "bad start")

    def rows(n: int) -> Rows:
        x = rng.random((n, 1))
        return x, np.sin(x[:, 0]) + 0.2 * rng.normal(size=n)

    clients, tests = [rows(100), rows(100)], [rows(1000), rows(1000)]
    made = GaussianProcess(
        start=(1.0, 10.0, 1.0), rounds=40, learning_rate=0.05, standardize=False, domain=(0.0, 1.0)
    )
    errors = []
    for rounds in (0, 40):
        process = made.set_params(rounds=rounds).fit(federation_of(clients))
        errors.append(np.mean([_rmse(process.predict(x, i), y) for i, (x, y) in enumerate(tests)]))
    yield at_least("G4", "bad start (1, 10, 1): mean error before", [float(errors[0])], 0.35)
    yield at_most("G4", "bad start: mean error after 40 rounds", [float(errors[1])], 0.21, note="noise 0.2")


def recovery_claims(quick: bool) -> Iterator[Claim]:
    """G5: hyper-parameters of drawn processes."""
    seeds = range(2 if quick else 5)
    usual = np.array([_errors(seed, 20, 250, 64) for seed in seeds])
    noise, signal = usual[:, :, 1], usual[:, :, 0]
    ratio = float(noise[:, 1].mean() / noise[:, -1].mean())
    words = "20 clients x 250 rows: squared error of the noise, round 1 over round 60"
    yield at_least("G5", words, [ratio], 100.0, published="falls as 1/T", place="Theorem 24")
    truths = np.array([draw_clients("rbf", 1, 2, seed).params for seed in seeds])
    of_noise, of_signal = (
        float(np.mean(np.sqrt(part[:, -1]) / truths[:, j])) for j, part in ((1, noise), (0, signal))
    )
    words = "relative error of the signal over that of the noise, round 60"
    yield at_least("G5", words, [of_signal / of_noise], 1.0, published="noise is easier", place="Remark 28")
    if quick:
        return
    floors = {m: np.mean([_errors(seed, 20, 250, m, rounds=20)[-1, 1] for seed in seeds]) for m in (16, 128)}
    words = "squared error of the noise at round 20, M = 16 over M = 128"
    said, fall = "a large batch reduces errors", float(floors[16] / floors[128])
    yield at_least("G5", words, [fall], 1.0, published=said, place="Remark 27")
    small = float(np.mean([_errors(seed, 100, 8, 8)[-1, 1] for seed in seeds]))
    words = "squared error of the noise, 100 x 8 rows over 20 x 250 rows"
    over, said = small / float(noise[:, -1].mean()), "more dispersed and fluctuated"
    yield at_least("G5", words, [over], 1.0, published=said, place="section 4.5")
    matern = np.array([_errors(seed, 20, 250, 64, "matern32")[:, 1] for seed in seeds[:3]]).mean(axis=0)
    words = "Matern-3/2: squared error of the noise, round 1 over round 60"
    yield at_least("G5", words, [float(matern[1] / matern[-1])], 100.0, hard=False)


def interval_claims(quick: bool) -> Iterator[Claim]:
    """G12: how often the truth is inside 95 % bands, Latin hypercube designs."""
    problem, found = PROBLEMS["forrester"], []
    for seed in range(2 if quick else 6):
        levels, x = draw_levels(problem, seed), problem.uniform(500, seed)
        process = fit_levels(
            levels, GaussianProcess(rounds=80, domain=(problem.low, problem.high)), seed=seed
        )
        mean, std = process.predict(x, "level 2", return_std=True)
        found.append(float(coverage(mean, std, problem.truth(x))[0]))
    yield average("G12", "linear pair: mean coverage of 95 % bands", found, 0.90)


def _errors(
    seed: int, clients: int, rows: int, batch: int, kernel: str = "rbf", rounds: int = 60
) -> Float64s:
    """Squared errors of signal and noise after every round (0 is the start)."""
    truth = draw_clients(kernel, clients, rows, seed)
    process = GaussianProcess(
        kernel=kernel,
        rounds=rounds,
        batch_size=batch,
        learning_rate=0.05,
        schedule="inverse:20",
        start=(2.0, 0.5, 0.5),
        standardize=False,
        domain=(0.0, 1.0),
    ).fit(truth.federation, seed=seed, keep_history=True)
    states = [np.asarray(process.run.history.state(r)["params"]) for r in range(rounds + 1)]
    return np.array([(np.exp(state[:2]) - truth.params[:2]) ** 2 for state in states])


def _rmse(mean: Float64s, y: Float64s) -> float:
    return float(np.sqrt(np.mean((mean - y) ** 2)))
