"""Does every estimator of the registry keep the contract, and does the check notice one that does not?"""

from dataclasses import dataclass

import numpy as np
import pytest

pytest.importorskip("formulaic")

from unalike.analytics import LinearRegression, analysis_registry
from unalike.analytics.testing import EstimatorError, check_estimator
from unalike.data.survival import signed_times

FITS = {
    "linear": ({}, "y ~ x + sex"),
    "logistic": ({}, "ill ~ x + sex"),
    "mixed": ({}, "y ~ x + sex + (1 + x | client)"),
    "cox": ({}, "time ~ x + sex"),
    "hm1": ({"rounds": 5}, "y ~ x + sex"),
    "hm2": ({}, "y ~ x + sex"),
    "penalized": ({"prior": "ridge"}, "y ~ 0 + x + z"),
    "gp": ({"rounds": 3}, "y ~ x + z"),
}


def made():
    rng, tables = np.random.default_rng(0), {}
    for site in ("north", "south", "west", "east"):
        x, z, sex = rng.normal(size=24), rng.normal(size=24), rng.choice(["f", "m"], 24)
        y = (1 + 0.3 * rng.normal()) * x + 0.5 * (sex == "m") + rng.normal() + 0.5 * rng.normal(size=24)
        ill = np.where(rng.random(24) < 1 / (1 + np.exp(-x)), "yes", "no")
        time = signed_times(rng.exponential(np.exp(-x)), (rng.random(24) < 0.8).astype(float))
        tables[site] = {"x": x, "z": z, "sex": sex, "y": y, "ill": ill, "time": time}
    return tables


def maker(name):
    return lambda: analysis_registry.make(name).set_params(**FITS[name][0])


@pytest.mark.parametrize("name", analysis_registry)
def test_every_analysis_keeps_the_contract(name):
    check_estimator(maker(name), made(), FITS[name][1])


@dataclass(kw_only=True)
class Halved(LinearRegression):
    """Intervals that are half as long as they say, on one side."""

    def conf_int(self, level=0.95):
        ends = super().conf_int(level)
        ends[:, 1] = self.params
        return ends


@dataclass(kw_only=True)
class Shared(LinearRegression):
    """Does not look at whose rows they are."""

    def client_number(self, client):
        return None


@dataclass(kw_only=True)
class Filled(LinearRegression):
    """Predicts zero where a value is missing."""

    def forecast(self, new, client):
        found = super().forecast(new, client)
        return type(found)(np.nan_to_num(found.mean), found.std)


@dataclass(kw_only=True)
class Flattered(LinearRegression):
    """Judges itself too well."""

    def score(self, new, y, client=None):
        return 0.99


@pytest.mark.parametrize(
    ("estimator", "words"),
    [
        (Halved, "symmetric"),
        (Shared, "client 'nobody has this name' must be refused"),
        (Filled, "missing value must have none"),
        (Flattered, "score is 0.99"),
    ],
)
def test_an_estimator_that_breaks_the_contract_is_found_out(estimator, words):
    with pytest.raises(EstimatorError, match=words):
        check_estimator(estimator, made(), "y ~ x + sex")
