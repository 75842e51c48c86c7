"""Is FGPR federated averaging of hyper-parameters, and does nothing but them travel?"""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from unalike.algorithms.shared.optimizers import Optimizer
from unalike.analytics.design import Design
from unalike.analytics.fitting import fit_rounds
from unalike.analytics.gaussian_process.fgpr import FGPR, PROCESS_TASK
from unalike.analytics.gaussian_process.kernels import Kernel
from unalike.analytics.gaussian_process.likelihood import negative_log_likelihood
from unalike.core.precision import precision
from unalike.data import Federation
from unalike.errors import ConfigError, DataError
from unalike.participation import Multinomial

KERNEL = Kernel("rbf")
DESCENT = FGPR(kernel=KERNEL, local_steps=1, batch_size=0, optimizer=Optimizer("sgd", 0.05))


def waves(sizes=(30,), seed=0, noise=0.2):
    rng = np.random.default_rng(seed)
    owners = np.repeat(np.arange(len(sizes)), sizes)
    x = rng.random((len(owners), 1))
    return Federation.from_owners(x, np.sin(6 * x[:, 0]) + noise * rng.normal(size=len(x)), owners)


def fit(federation, method, rounds, **training):
    design = Design.of(federation, intercept=False)
    design = replace(design, federation=design.federation.with_importance("data"))
    with threadpool_limits(1, "blas"):  # as the estimator does
        return fit_rounds(design, PROCESS_TASK, method, rounds, **training)


def descend(x, y, rounds, rate=0.05):
    """Plain gradient descent on the log parameters of one client."""
    with precision(double=True):
        u = jnp.asarray(DESCENT.start_vector())
        for _ in range(rounds):
            found = negative_log_likelihood(KERNEL, u, jnp.asarray(x), jnp.asarray(y), jnp.ones(len(y)))
            u = u - rate * jnp.clip(found.gradient / len(y), -10, 10)
        return np.asarray(u)


def test_one_client_with_all_rows_and_one_step_is_gradient_descent():
    alone = waves()
    run = fit(alone, DESCENT, 20)
    np.testing.assert_allclose(run.state["params"], descend(*alone.train.client(0), 20), rtol=1e-10)


def test_clients_with_the_same_rows_are_one_client():
    x, y = waves().train.client(0)
    same = Federation.from_owners(np.tile(x, (3, 1)), np.tile(y, 3), np.repeat([0, 1, 2], len(y)))
    run = fit(same, DESCENT, 10)
    np.testing.assert_allclose(run.state["params"], descend(x, y, 10), rtol=1e-6)  # weights are single


def test_clients_count_by_their_rows():
    unequal = waves((30, 10))
    moved = np.asarray(fit(unequal, DESCENT, 1).state["params"]) - DESCENT.start_vector()
    alone = [descend(*unequal.train.client(i), 1) - DESCENT.start_vector() for i in (0, 1)]
    np.testing.assert_allclose(moved, 0.75 * alone[0] + 0.25 * alone[1], rtol=1e-6)


def test_the_plain_engine_finds_the_same():
    method = FGPR(kernel=KERNEL, batch_size=16)
    unequal = waves((30, 10, 1))
    ours = fit(unequal, method, 3).state["params"]
    np.testing.assert_allclose(fit(unequal, method, 3, engine="debug").state["params"], ours, rtol=1e-6)


def test_a_step_sees_as_many_different_rows_as_asked_for():
    method, real = FGPR(batch_size=8), jnp.array([1.0] * 20 + [0.0] * 5)
    chosen = np.asarray(method._draw(jax.random.key(0), real))
    assert len(set(chosen.tolist())) == 8
    assert chosen.max() < 20
    few = np.asarray(method._draw(jax.random.key(0), jnp.array([1.0] * 3 + [0.0] * 9)))
    assert set(range(3)) < set(few.tolist())


@pytest.mark.parametrize(("ard", "inputs", "floats"), [(False, 1, 3), (True, 4, 6)])
def test_a_message_is_the_hyper_parameters_and_nothing_else(ard, inputs, floats):
    rng = np.random.default_rng(0)
    rows = Federation.from_owners(rng.random((20, inputs)), rng.normal(size=20), np.repeat([0, 1], 10))
    run = fit(rows, FGPR(kernel=Kernel("rbf", inputs, ard)), 1)
    metrics = run.metrics()
    assert metrics["bytes_up"][-1] == metrics["bytes_down"][-1] == 2 * 8 * floats


def test_noise_of_ones_own_stays_at_home_and_is_found():
    quiet, loud = waves((60,), 1, 0.05), waves((60,), 2, 0.8)
    both = Federation.from_owners(
        np.vstack([quiet.train.x, loud.train.x]),
        np.concatenate([quiet.train.y, loud.train.y]),
        np.repeat([0, 1], 60),
    )
    method = FGPR(kernel=KERNEL, personal_noise=True, optimizer=Optimizer("adam", 0.1))
    run = fit(both, method, 40)
    noise = np.exp(run.memories.gather(np.arange(2))[0]["noise"])
    assert noise[0] < 0.15 < 0.5 < noise[1]
    assert run.metrics()["bytes_up"][-1] == 2 * 8 * 2
    assert np.exp(run.state["params"][KERNEL.noise]) == pytest.approx(0.1)


def test_a_run_is_resumed_to_the_last_digit_and_sampled_clients_do(tmp_path):
    method, unequal = FGPR(kernel=KERNEL, batch_size=16), waves((30, 10, 20))
    options = {"participation": Multinomial(per_round=2), "checkpoint_every": 2}
    whole = fit(unequal, method, 6, **options)
    fit(unequal, method, 4, out=tmp_path / "run", **options)
    again = fit(unequal, method, 6, out=tmp_path / "run", resume=True, **options)
    np.testing.assert_array_equal(again.state["params"], whole.state["params"])


def test_a_step_without_a_factor_is_refused_and_said():
    rows = Federation.from_owners(np.zeros((60, 1)), np.ones(60), np.zeros(60, int))
    bad = FGPR(kernel=KERNEL, start=(1e200, 1e-12, 1.0), bounds=(1e-12, 1e201), batch_size=0)
    run = fit(rows, bad, 2)
    np.testing.assert_array_equal(run.state["params"], bad.start_vector())
    assert any(event["kind"] == "covariance without a factor" for event in run.events())


def test_evaluation_during_training_uses_each_clients_own_rows():
    opposite = Federation.from_clients(
        {
            name: {
                "train": (x := np.linspace(0, 1, 25)[:, None], sign * np.sin(6 * x[:, 0])),
                "test": (x, sign * np.sin(6 * x[:, 0])),
            }
            for name, sign in (("one", 1.0), ("other", -1.0))
        }
    )
    run = fit(opposite, FGPR(kernel=KERNEL), 5)
    assert run.evaluate()["rmse"].max() < 0.05


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"start": (1.0, 2.0)}, "start must be"),
        ({"start": (1.0, 0.0, 1.0)}, "must be positive"),
        ({"bounds": (1.0, 0.1)}, "in order"),
        ({"batch_size": -1}, "not be negative"),
        ({"clip": 0.0}, "clip"),
        ({"scaling": "row"}, "did you mean 'rows'"),
        ({"parametrization": "logs"}, "did you mean 'log'"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, words):
    with pytest.raises(ConfigError, match=words):
        FGPR(**settings)


def test_rows_must_have_the_kernels_inputs():
    with pytest.raises(DataError, match="2 inputs"):
        fit(waves(), FGPR(kernel=Kernel("rbf", 2)), 1)


def test_the_theorys_scaling_divides_signals_by_a_logarithm():
    x, y = waves().train.client(0)
    method = replace(DESCENT, scaling="theory", clip=1e9)
    with precision(double=True):
        found = negative_log_likelihood(
            KERNEL, jnp.asarray(method.start_vector()), jnp.asarray(x), jnp.asarray(y), jnp.ones(30)
        )
        scaled = np.asarray(method._scaled(found, jnp.asarray(30.0)))
    np.testing.assert_allclose(scaled, np.asarray(found.gradient) / [np.log(30), 30, 30])
    assert method.natural
    with pytest.raises(ConfigError, match="leave out parametrization"):
        replace(DESCENT, scaling="theory", parametrization="log")


def natural_steps(federation, rounds, rate):
    """Descent of every client on hyper-parameters themselves, by differences of its likelihood, and their
    mean."""
    theta, sizes = np.array(DESCENT.start), federation.train.sizes
    for _ in range(rounds):
        mean = np.zeros(3)
        for k, share in enumerate(sizes / sizes.sum()):
            x, y = federation.train.client(k)

            def loss(at, x=x, y=y):
                d2 = (x - x.T) ** 2
                c = at[0] ** 2 * np.exp(-d2 / (2 * at[2] ** 2)) + at[1] ** 2 * np.eye(len(y))
                return 0.5 * (y @ np.linalg.solve(c, y) + np.linalg.slogdet(c)[1]) / len(y)

            slope = [(loss(theta + h) - loss(theta - h)) / 2e-5 for h in 1e-5 * np.eye(3)]
            mean += share * (theta - rate * np.clip(slope, -10, 10))
        theta = mean
    return theta


def test_natural_hyper_parameters_are_descended_on_and_averaged_themselves():
    clients = waves((20, 30))
    design = Design.of(clients, intercept=False).federation
    method = replace(DESCENT, parametrization="natural", optimizer=Optimizer("sgd", 0.01))
    run = fit(clients, method, 4)
    np.testing.assert_allclose(np.exp(run.state["params"]), natural_steps(design, 4, 0.01), rtol=1e-4)
    logs = fit(clients, replace(DESCENT, optimizer=Optimizer("sgd", 0.01)), 4)
    assert np.abs(np.exp(logs.state["params"]) - np.exp(run.state["params"])).max() > 1e-3


@pytest.mark.parametrize(("words", "mean"), [("log", np.sqrt(0.1)), ("natural", 0.55)])
def test_the_mean_of_two_lengths(words, mean):
    """Clients that stay where they are, at lengths 0.1 and 1."""
    from unalike.algorithms import Aggregate

    method = replace(DESCENT, parametrization=words)
    with precision(double=True):
        sent = [method._travels(jnp.log(jnp.array([1.0, 0.1, length]))) for length in (0.1, 1.0)]
        start = method.broadcast(PROCESS_TASK, method.init(PROCESS_TASK, jax.random.key(0)))
        mixed = Aggregate((sent[0] + sent[1]) / 2, start, jnp.ones(()), jnp.asarray(2.0), jnp.ones(()))
        after = method.aggregate(PROCESS_TASK, method.init(PROCESS_TASK, jax.random.key(0)), mixed)
    assert float(jnp.exp(after["params"][2])) == pytest.approx(mean, rel=1e-6)
