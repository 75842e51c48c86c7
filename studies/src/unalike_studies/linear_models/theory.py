"""Claims on linear models that are identities: rounds against formulas."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from unalike.analytics.design import Design
from unalike.analytics.fitting import fit_rounds, linear_task
from unalike.analytics.hierarchical import HM1
from unalike.analytics.hierarchical.expectation_propagation import ExpectationPropagation
from unalike.analytics.hierarchical.natural_parameters import Natural
from unalike.analytics.hierarchical.sites import NormalSite
from unalike.core.precision import precision
from unalike.typing import Float64s

from ..study import Claim, at_least, at_most
from .data import correlated_devices, with_noise
from .full_batch import Spectra, hm1_models


def theory_claims(quick: bool) -> Iterator[Claim]:
    """LM1, LM2 and LM5."""
    yield from gradient_claims()
    yield from closed_form_claims()
    yield from covariance_claims(quick)
    yield from conjugate_claims()


def gradient_claims() -> Iterator[Claim]:
    """LM1: a round with one full step moves along the gradient of the log posterior."""
    design, _ = correlated_devices(5, 3, 0.8, 0.5, 10, 25, 0.4, 0)
    rate, noise = 0.02, 0.25
    settings = {"learning_rate": rate, "batch_size": 0, "local_steps": 1, "noise": noise, "in_loop": False}
    before, after = (HM1(rounds=rounds, **settings).fit(design) for rounds in (1, 2))  # type: ignore[arg-type]
    gradient = _differences(design, before.params, before.device_covariance, noise)
    expected = -rate * noise / design.federation.train.sizes[:, None] * gradient
    gap = float(np.abs(after.params - before.params - expected).max() / np.abs(expected).max())
    words = "HM1: one full step is -rate noise / n times the gradient of L (relative gap)"
    yield at_most("LM1", words, [gap], 1e-5, note="gradient by differences")


def closed_form_claims() -> Iterator[Claim]:
    """LM1: the closed form that this study computes many settings with is the estimator."""
    design, _ = correlated_devices(8, 4, 0.8, 0.5, 10, 25, 0.4, 0)
    settings = {"learning_rate": 0.002, "batch_size": 0, "local_steps": 7, "start": "zeros", "in_loop": False}
    found = HM1(rounds=9, damping=0.5, shrinkage="printed", **settings).fit(design)  # type: ignore[arg-type]
    fast = hm1_models(Spectra.of(design, summed=True), 9, 7, 0.002, 0.5, 0.002, np.zeros((8, 4)))
    words = "HM1: the study's closed form of full steps is the estimator (largest gap)"
    yield at_most("LM1", words, [float(np.abs(found.params - fast).max())], 1e-9)


def covariance_claims(quick: bool) -> Iterator[Claim]:
    """LM2: the covariance of devices stays regular."""
    design, _ = correlated_devices(100, 7, 0.5, 1.0, 20, 20, 1.0, 0)
    for damping in (0.1, 1.0) if quick else (0.1, 0.5, 0.9, 1.0):
        model = HM1(rounds=20 if quick else 100, damping=damping, batch_size=0).fit(design)
        covariance = model.device_covariance
        floor = (1e-6 if damping >= 0.5 else 1e-8) * np.trace(covariance) / 100
        least = float(np.linalg.eigvalsh(covariance)[0] + floor)
        uneven = float(np.abs(covariance - covariance.T).max())
        words = f"HM1, damping {damping:g}: least eigenvalue of the floored covariance"
        yield at_least("LM2", words, [least], 1e-12, note="100 devices, 7 coefficients")
        yield at_most("LM2", f"HM1, damping {damping:g}: asymmetry", [uneven], 0.0)


def conjugate_claims() -> Iterator[Claim]:
    """LM5: products of normal densities, and one exact round where variances are known."""
    with precision(double=True):
        import jax.numpy as jnp

        one, two = (Natural.of(jnp.array([m]), jnp.array([[v]])) for m, v in ((1.0, 2.0), (3.0, 4.0)))
        both = one.times(two)
        found = np.array([both.shift[0], both.precision[0, 0], both.mean[0], both.covariance[0, 0]])
    gap = float(np.abs(found - [1.25, 0.75, 5 / 3, 4 / 3]).max())
    yield at_most("LM5", "N(1, 2) times N(3, 4): shift, precision, mean, variance", [gap], 1e-12)
    design = with_noise(np.full((10, 2), 0.2), np.full(10, 12), 1.0, 0, 0.0, 0)
    site = NormalSite(2, known_log_variance=(np.log(0.5),) * 2)
    method = ExpectationPropagation(
        site=site, prior_mean=(0.0, 0.0), prior_variance=(1.0, 1.0), damping=1.0, rounds=1, noise=1.0
    )
    run = fit_rounds(design, linear_task(design), method, 1)
    exact = _conjugate(design, 0.5)
    gap = max(
        float(np.abs(np.asarray(a) - b).max()) for a, b in zip(run.state["posterior"], exact, strict=True)
    )
    words = "known variances: one undamped round is the exact posterior (largest gap)"
    yield at_most("LM5", words, [gap], 1e-8)


def _conjugate(design: Design, variance: float) -> tuple[Float64s, Float64s]:
    width = len(design.terms)
    shift, total = np.zeros(width), np.eye(width)
    for i in range(len(design)):
        x, y = design.client(i)
        inverse = np.linalg.inv(np.eye(len(y)) + variance * x @ x.T)
        shift, total = shift + x.T @ inverse @ y, total + x.T @ inverse @ x
    return shift, total


def _objective(design: Design, models: Float64s, covariance: Float64s, noise: float) -> float:
    """Minus twice the log posterior of HM1, up to a constant."""
    fit = sum(
        float(np.sum((y - x @ model) ** 2)) / noise
        for model, (x, y) in zip(models, map(design.client, range(len(models))), strict=True)
    )
    return fit + float(np.trace(models.T @ np.linalg.solve(covariance, models)))


def _differences(design: Design, models: Float64s, covariance: Float64s, noise: float) -> Float64s:
    gradient = np.zeros_like(models)
    for index in np.ndindex(*models.shape):
        step = np.zeros_like(models)
        step[index] = 1e-5
        up, down = (_objective(design, models + sign * step, covariance, noise) for sign in (1, -1))
        gradient[index] = (up - down) / 2e-5
    return gradient
