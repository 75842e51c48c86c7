"""Do nodes with noise take part in analyses, and in nothing that noise does not cover?"""

import numpy as np
import pytest

pytest.importorskip("flwr")
pytest.importorskip("formulaic")

from unalike.analytics.disclosure import noisy_answers
from unalike.analytics.disclosure.noisy_answers import NoisePolicy
from unalike.analytics.linear.linear_regression import LinearRegression
from unalike.deploy.analysis import RemoteNodes, agree_with_nodes, analyse_nodes
from unalike.deploy.client.noisy_table_node import NoisyTableWorker
from unalike.deploy.secure_sums.server import SecureNodes
from unalike.errors import DataError, RunError
from unalike.runs import RunFolder

from .in_process_nodes import Village
from .test_secure_sums import TABLES

BOUNDS = {"age": (0.0, 100.0), "y": (-10.0, 60.0), "sex": ("f", "m"), "ill": (0.0, 1.0)}
FORMULA = "y ~ age + sex"


@pytest.fixture
def made(tmp_path):
    def nodes(epsilon):
        policy = NoisePolicy(epsilon, 1e-5, 3, BOUNDS)
        folder = tmp_path / f"{epsilon:g}"
        return Village.of({n: NoisyTableWorker(t, folder / n, policy) for n, t in TABLES.items()})

    return nodes


def fitted(village, folder, text=f"linear: {FORMULA}", secure=False):
    nodes = (SecureNodes if secure else RemoteNodes)(village, list(TABLES), 5.0)
    if secure:
        nodes.open()
    agreed = agree_with_nodes(nodes, text.split(":")[-1])
    with RunFolder.create(folder, {"made_by": "test"}) as opened:
        return analyse_nodes(text, village, list(TABLES), opened, agreed=agreed, group=nodes.group or None)


@pytest.mark.parametrize("secure", [False, True])
def test_without_the_noise_least_squares_is_that_of_the_pooled_rows(made, tmp_path, monkeypatch, secure):
    monkeypatch.setattr(noisy_answers, "system_noise", lambda deviation, shape: np.zeros(shape))
    there = fitted(made(1.0), tmp_path / "run", secure=secure)
    here = LinearRegression().fit(TABLES, FORMULA)
    np.testing.assert_allclose(there.params, here.params, rtol=1e-9)
    np.testing.assert_allclose(there.bse, here.bse, rtol=1e-8)
    assert "do NOT include it" in " ".join(there.given.remarks())
    assert "do NOT include it" not in " ".join(here.given.remarks())


def test_more_budget_means_less_error(made, tmp_path, monkeypatch):
    def same_noise(deviation, shape):
        return np.random.default_rng(0).normal(0, deviation, shape)

    monkeypatch.setattr(noisy_answers, "system_noise", same_noise)
    exact = LinearRegression().fit(TABLES, FORMULA).params
    small, large = (fitted(made(e), tmp_path / f"run{e:g}").params for e in (1e5, 1e7))
    assert np.abs(large - exact).max() < 0.1 * np.abs(exact).max()
    assert np.abs(large - exact).max() < np.abs(small - exact).max()


def test_noise_that_leaves_nothing_is_said(made, tmp_path, monkeypatch):
    monkeypatch.setattr(noisy_answers, "system_noise", lambda deviation, shape: np.full(shape, -deviation))
    with pytest.raises(DataError, match="noise"):
        fitted(made(0.1), tmp_path / "run")


def test_a_node_with_noise_refuses_what_noise_does_not_cover(made, tmp_path):
    village = made(10.0)
    with pytest.raises(RunError, match="linear regressions only"):
        fitted(village, tmp_path / "logistic", "logistic: ill ~ age")
    with pytest.raises(RunError, match="linear regressions only"):
        fitted(village, tmp_path / "hm1", "hm1: y ~ age")


def test_the_budget_of_answers_ends(made, tmp_path):
    village = made(1e6)
    fitted(village, tmp_path / "one", "linear: y ~ age")
    fitted(village, tmp_path / "again", "linear: y ~ age")  # the same sums, for nothing
    fitted(village, tmp_path / "two", "linear: y ~ sex")
    fitted(village, tmp_path / "three", "linear: age ~ sex")
    with pytest.raises(RunError, match="budget of this node"):
        fitted(village, tmp_path / "four", "linear: age ~ y")
