"""Devices and published numbers of the study of linear models.

X. Yue, "Federated Data Analytics: Theory and Application" (dissertation, University of Michigan, 2023),
chapter 3. Where the text leaves a distribution open, the choice is said at the function.
"""

from __future__ import annotations

import numpy as np

from unalike.analytics.design import Design
from unalike.core.random import generator
from unalike.data import Federation, Split
from unalike.data.sources.files import local
from unalike.data.tables import load_tables
from unalike.typing import Float64s, Int64s

TABLE_3_1 = {"I": (0.081, 0.094), "II": (0.050, 0.056), "III": (0.044, 0.072), "IV": (0.035, 0.035)}
"""A-RMSE of HM1 and of separate fits, by case."""
TABLE_3_2 = {"I": (0.055, 0.880, 0.095), "II": (0.062, 0.875, 0.101), "III": (0.088, 0.891, 0.115)}
"""A-RMSE, correct and false inclusion of the lasso, by case."""
TABLE_3_4 = {
    2: {"HM1": 0.270, "Ditto": 0.281, "Separate": 0.299, "FedAvg": 0.450, "Dis-Ridge": 0.552},
    3: {"HM1": 0.218, "Ditto": 0.220, "Separate": 0.223, "FedAvg": 0.303, "Dis-Ridge": 0.288},
    7: {"HM1": 0.369, "Ditto": 0.388, "Separate": 0.405, "FedAvg": 0.628, "Dis-Ridge": 0.605},
    8: {"HM1": 0.267, "Ditto": 0.289, "Separate": 0.307, "FedAvg": 0.395, "Dis-Ridge": 0.390},
}
"""A-RMSE on turbofan engines by sensor."""
STUDENTS = {"lasso": (0.825, 0.820), "ridge": (0.817, 0.815)}
"""A-RMSE of federated and of central penalized regressions (table 3.3)."""
POPULATION_MEAN = np.array([1.0, 3.0, 0.5, 2.0])
POPULATION_VARIANCE = np.array([1.17, 2.35, 2.52, 0.67])
DEGREE = 6


def with_noise(
    models: Float64s, sizes: Int64s, noise: float, tests: int, test_noise: float, seed: int
) -> Design:
    """Devices with standard normal inputs and these coefficients."""
    rng = generator(seed, "linear models rows")

    def rows(counts: Int64s, deviation: float) -> Split:
        owners = np.repeat(np.arange(len(counts)), counts)
        x = rng.normal(size=(len(owners), models.shape[1]))
        y = np.einsum("nd,nd->n", x, models[owners]) + deviation * rng.normal(size=len(owners))
        return Split(x, y, np.concatenate([[0], np.cumsum(counts)]))

    many = np.full(len(sizes), tests)
    federation = Federation(rows(sizes, noise), rows(0 * sizes, noise), rows(many, test_noise), None)
    return Design.of(federation, intercept=False)


def correlated_devices(
    devices: int, width: int, rho: float, noise: float, poor: int, rich: int, share: float, seed: int
) -> tuple[Design, Float64s]:
    """Devices whose coefficients have correlation rho, of whom the first ones have few rows."""
    covariance = (1 - rho) * np.eye(devices) + rho
    models = _matrix_normal(covariance, width, seed)
    sizes = np.where(np.arange(devices) < share * devices, poor, rich)
    return with_noise(models, sizes, noise, 0, 0.0, seed), models


def hm1_case(case: str, seed: int) -> tuple[Design, Float64s, Int64s]:
    """A case of table 3.1, its coefficients, and the devices that are judged. Random covariances have random
    eigenvectors and eigenvalues U(1, 10); test responses have no noise in cases II to IV."""
    if case == "I":
        models = _matrix_normal(np.array([[1, 0.7], [0.7, 1]]), 5, seed)
        return with_noise(models, np.array([20, 200]), 0.05, 1000, 0.0, seed), models, np.array([0])
    sizes = {"II": np.where(np.arange(100) < 30, 40, 275), "III": np.full(100, 20), "IV": np.full(100, 200)}[
        case
    ]
    rng = generator(seed, "random covariance")
    basis = np.linalg.qr(rng.normal(size=(100, 100)))[0]
    models = _matrix_normal((basis * rng.uniform(1, 10, 100)) @ basis.T, 8, seed)
    judged = np.arange(30 if case == "II" else 100)
    return with_noise(models, sizes, 0.1, 1000, 0.0, seed), models, judged


def selection_case(case: str, seed: int) -> tuple[Design, Float64s]:
    """A case of table 3.2 with its coefficients, the same at every device."""
    if case == "III":
        truth, sizes, tests = np.repeat([3.0, 0.0, 3.0], 10), np.full(20, 40), 400
    else:
        truth, tests = np.array([3, 1.5, 0, 0, 2, 0, 0, 0]), 1000
        sizes = np.full(10, 100) if case == "I" else np.array([20, 20] + [200] * 8)
    return with_noise(np.tile(truth, (len(sizes), 1)), sizes, 0.05, tests, 0.05, seed), truth


def population(seed: int, devices: int = 100) -> tuple[Design, Float64s]:
    """Devices drawn from one distribution, with noise of standard deviation 1, which is not published."""
    rng = generator(seed, "population")
    models = POPULATION_MEAN + np.sqrt(POPULATION_VARIANCE) * rng.normal(size=(devices, 4))
    return with_noise(models, np.full(devices, 100), 1.0, 0, 0.0, seed), models


def engine_like(seed: int, engines: int = 60) -> Design:
    """Series that bend upwards with wear, from offsets of each engine's own, over raw cycles."""
    rng = generator(seed, "engine-like series")
    series = []
    for _ in range(engines):
        life = int(rng.integers(128, 363))
        offset, amplitude, bend = rng.normal(0, 0.4), 0.6 * rng.uniform(0.6, 1.4), rng.uniform(0.5, 2)
        time = np.arange(1, life + 1)
        wear = amplitude * np.expm1(bend * time / life) / np.expm1(bend)
        series.append((time / 362, offset + wear + 0.25 * rng.normal(size=life)))
    return polynomials(series, seed)


def polynomials(series: list[tuple[Float64s, Float64s]], seed: int) -> Design:
    """Powers of time up to the sixth; the first 60 % of each series train, a random fifth of them validates,
    the rest tests; responses are standardized by all training parts together."""
    rng = generator(seed, "validation rows")
    parts: dict[str, list[tuple[Float64s, Float64s]]] = {"train": [], "validation": [], "test": []}
    for time, values in series:
        cut = int(0.6 * len(time))
        held = np.isin(np.arange(cut), rng.choice(cut, round(0.2 * cut), replace=False))
        early, late = np.arange(cut), np.arange(cut, len(time))
        for name, rows in (("train", early[~held]), ("validation", early[held]), ("test", late)):
            parts[name].append((time[rows], values[rows]))
    seen = np.concatenate([y for name in ("train", "validation") for _, y in parts[name]])
    splits = {name: _powers(pairs, seen.mean(), seen.std()) for name, pairs in parts.items()}
    return Design.of(Federation(splits["train"], splits["validation"], splits["test"], None), intercept=False)


def turbofan(sensor: int, seed: int) -> Design | None:
    """A sensor of the 100 engines of C-MAPSS FD001; None where the file is not. Time is in units of the
    longest life, since neither its scale nor that of the sensor is published."""
    if local("cmapss/train_FD001.txt") is None:
        return None
    engines = load_tables("cmapss").values()
    longest = max(rows["cycle"].max() for rows in engines)
    return polynomials([(rows["cycle"] / longest, rows[f"sensor{sensor}"]) for rows in engines], seed)


def _powers(pairs: list[tuple[Float64s, Float64s]], mean: float, deviation: float) -> Split:
    x = np.concatenate([np.vander(time, DEGREE + 1, increasing=True) for time, _ in pairs])
    y = (np.concatenate([values for _, values in pairs]) - mean) / deviation
    return Split(x, y, np.concatenate([[0], np.cumsum([len(time) for time, _ in pairs])]))


def _matrix_normal(covariance: Float64s, width: int, seed: int) -> Float64s:
    """Coefficients of all devices, one row each, with this covariance between devices."""
    white = generator(seed, "coefficients").normal(size=(width, len(covariance)))
    return np.asarray((white @ np.linalg.cholesky(covariance).T).T)
