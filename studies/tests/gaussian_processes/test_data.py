"""Are the study's rows what they should be, and is nothing read that is not there?"""

import numpy as np
import pytest

from unalike.core.random import generator
from unalike.errors import DataError
from unalike_studies.gaussian_processes.baselines import polynomial_values, pooled_polynomial
from unalike_studies.gaussian_processes.data import (
    GRAVITY,
    arm_rows,
    draw_clients,
    read_arm,
    read_engines,
    wearing_engines,
)
from unalike_studies.gaussian_processes.levels import ALONE, FEDERATED, TABLE
from unalike_studies.gaussian_processes.small_claims import matern_claims, theorem_claims
from unalike_studies.gaussian_processes.theory import coverage_claims, function_claims, value_claims


def test_drawn_processes_have_their_variance():
    truth = draw_clients("rbf", 200, 20, 0)
    y = truth.federation.train.y
    signal, noise, _ = truth.params
    assert np.mean(y**2) == pytest.approx(signal**2 + noise**2, rel=0.3)


def test_engines_live_as_long_as_they_should_and_wear_out():
    engines = wearing_engines(0, 20)
    assert all(128 <= len(y) <= 362 and x[0, 0] == pytest.approx(1 / 362) for x, y in engines)
    assert np.mean([y[-20:].mean() - y[:20].mean() for _, y in engines]) > 1


def test_an_arm_at_rest_holds_its_weight():
    x, torque = arm_rows(5, generator(0, "arm"))
    q1, q2, v1, v2, a1, a2 = x.T
    inertia = (3 + 2 * np.cos(q2)) * a1 + (1 + np.cos(q2)) * a2 - np.sin(q2) * (2 * v1 * v2 + v2**2)
    np.testing.assert_allclose(torque - inertia, GRAVITY * (2 * np.cos(q1) + np.cos(q1 + q2)))


def test_the_pooled_polynomial_is_least_squares():
    x = np.linspace(0, 1, 30)[:, None]
    curve = pooled_polynomial([(x[:10], x[:10, 0] ** 3), (x[10:], x[10:, 0] ** 3)], 3)
    np.testing.assert_allclose(polynomial_values(curve, x), x[:, 0] ** 3, atol=1e-12)


def test_without_files_there_is_nothing_and_damaged_ones_are_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("UNALIKE_DATA", str(tmp_path))
    assert read_engines(2) is None
    assert read_arm() is None
    (tmp_path / "cmapss").mkdir()
    (tmp_path / "cmapss" / "train_FD001.txt").write_text("1 2 three\n")
    (tmp_path / "sarcos_inv_test.mat").write_bytes(b"nothing")
    for read in (lambda: read_engines(2), read_arm):
        with pytest.raises(DataError, match="cannot be read"):
            read()


def test_claims_without_training_hold():
    assert all(claim.holds for part in (value_claims, function_claims, coverage_claims) for claim in part())
    small = (matern_claims, theorem_claims)
    assert all(claim.holds for part in small for claim in part())
    assert all(cells[FEDERATED] < cells[ALONE] for cells in TABLE.values())
