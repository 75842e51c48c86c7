"""Is the bound of inducing points a bound, exact with all rows, and made of sums over clients?"""

import jax.numpy as jnp
import numpy as np
import pytest

from unalike.analytics.gaussian_process.kernels import Kernel
from unalike.analytics.gaussian_process.posterior import Posterior
from unalike.core.precision import precision
from unalike.errors import ConfigError
from unalike_studies.gaussian_processes.sparse import fit_sparse, sparse_bound, sparse_sums

KERNEL = Kernel("matern32")
PARAMS = KERNEL.vector(1.2, 0.3, 0.4)


def rows(n=30, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.random((n, 1))
    return x, np.sin(7 * x[:, 0]) + 0.3 * rng.normal(size=n)


def bound(places, clients):
    sums = [sparse_sums(KERNEL, PARAMS, places, x, y, np.ones(len(y))) for x, y in clients]
    total = sum(sums[1:], sums[0])
    with precision(double=True):
        given = type(total)(*map(jnp.asarray, total))
        return float(sparse_bound(KERNEL, jnp.asarray(PARAMS), jnp.asarray(places), given))


def test_it_is_exact_with_all_rows_and_a_bound_with_some():
    x, y = rows()
    exact = Posterior(KERNEL, PARAMS, x, y).loss()
    assert bound(x, [(x, y)]) == pytest.approx(exact, abs=1e-4)
    gaps = [bound(x[:m], [(x, y)]) - exact for m in (3, 8, 20)]
    assert gaps[0] > gaps[1] > gaps[2] > 0


def test_sums_of_clients_add_up():
    x, y = rows()
    parts = [(x[:10], y[:10]), (x[10:], y[10:])]
    assert bound(x[:8], parts) == pytest.approx(bound(x[:8], [(x, y)]), rel=1e-12)


def test_a_fit_predicts_almost_what_a_process_of_all_rows_does():
    clients = [rows(40, seed) for seed in (0, 1)]
    found = fit_sparse(KERNEL, clients, 25)
    x, y = (np.concatenate([part[j] for part in clients]) for j in (0, 1))
    places = np.linspace(0.05, 0.95, 50)[:, None]
    exact = Posterior(KERNEL, found.params, x, y).predict(places).mean
    assert np.abs(found.predict(places) - exact).max() < 0.1
    assert np.sqrt(np.mean((found.predict(places) - np.sin(7 * places[:, 0])) ** 2)) < 0.2
    with pytest.raises(ConfigError, match="at least one"):
        fit_sparse(KERNEL, clients, 0)
