"""Measured constants of clients' losses, for the commands that advise with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from ..screen import show_rows

if TYPE_CHECKING:
    from ...advice.constants import GradientConstants
    from ...data import Federation
    from ...experiments.config import Experiment

MODEL = typer.Option(None, help="Model that is measured.", show_default="as `unalike run` has it")
L2 = typer.Option(0.0, min=0, help="Weight of half the squared norm of the parameters.")


def measure_constants(
    experiment: Experiment, federation: Federation, learning_rate: float = 0.1, visits: int = 5
) -> GradientConstants:
    """The constants of an experiment's model on these clients."""
    from ...advice.client_losses import ProbeSettings
    from ...advice.measure_constants import measure_gradient_constants
    from ...experiments.build import make_task

    look = ProbeSettings(rounds=visits, learning_rate=learning_rate)
    return measure_gradient_constants(federation, make_task(experiment, federation), look, experiment.seed)


def show_constants(found: GradientConstants, data: str) -> None:
    """A table of what was measured."""
    kind = "proved" if found.smoothness_is_bound else "the largest seen; it may be larger"
    rows = [
        ("L", found.smoothness, f"smoothness, {kind}"),
        ("mu", found.convexity, "strong convexity" if found.convexity else "none: not strongly convex"),
        ("sigma^2", found.gradient_variance, "variance of mini-batch gradients"),
        ("G^2", found.squared_gradient, "largest squared mini-batch gradient"),
        ("Gamma", found.heterogeneity, "least loss of all minus clients' own (R for timings)"),
        ("kappa^2", found.dissimilarity, "how far clients' gradients are apart, with b^2 = 1"),
        *_at_optimum(found),
        ("Delta", found.initial_gap, "first loss minus the least one"),
        ("D0", found.initial_distance, "squared distance of the first model from the optimum"),
        ("Sigma", found.residual, "mean squared mini-batch gradient at the optimum"),
        ("S", found.squared_weights, "sum of squared importances"),
    ]
    table = [{"constant": name, "value": f"{value:.4g}", "what it is": words} for name, value, words in rows]
    show_rows(table, f"{data}: measured on {found.clients:,} clients")


def _at_optimum(found: GradientConstants) -> list[tuple[str, float, str]]:
    """The other pair of kappa^2 and b^2 that fits what was seen."""
    if found.dissimilarity_at_optimum is None:
        return []
    return [
        ("or kappa^2", found.dissimilarity_at_optimum, "how far they are apart at the optimum"),
        ("with b^2", found.dissimilarity_growth, "how that grows with the common gradient, as far as seen"),
    ]
