"""Advice on client availability: the bounds of weighting strategies, with measured constants.

A strategy's weights q make training quick or slow (the optimization error) and lead it to an objective with
weights p in proportion to pi q (the bias error); for condition number kappa (Rodio, Faticanti, Marfoq, Neglia
and Leonardi, "Federated Learning under Heterogeneous and Correlated Client Availability", 2023)

    F(w) - F*  <=  2 kappa^2 (optimization error + bias error).

Both errors are bounded with what was measured on these clients, for steps eta_1 / t^0.6 with the first that
is best for each strategy. The bias itself is measured, too. One term of the optimization error grows with the
number of joint states of availability, 2^n for n independent clients, and hides all others where there are
many: totals are given with it and without.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import NamedTuple

import numpy as np

from ..core.random import generator
from ..errors import ConfigError
from ..participation import (
    AdaFed,
    Availability,
    CAFed,
    Known,
    MoreAvailable,
    RoundContext,
    Strategy,
    Unbiased,
)
from ..participation.strategies.base import AvailabilityContext
from ..participation.strategies.bias import (
    bias_bound,
    bias_bound_by_variation,
    biased_importance,
    chi_square,
    total_bound,
    total_variation,
)
from ..theory.availability.mixing_rate import independent_constant, independent_modulus, mixing_rate
from ..theory.availability.optimization_error import (
    Constants,
    OptimizationBound,
    largest_first_rate,
    optimization_bound,
)
from ..typing import ClientIds, Document, Float64s
from .measure_availability import BiasedOptimum, LossFacts

DECAY, RATES, DRAWS = 0.6, 41, 4000
"""How steps fall, how many first ones are tried over four powers of ten, and rounds that are drawn where
weights depend on who is there."""


class Population(NamedTuple):
    """How the measured clients come and go."""

    active: Float64s
    correlation: Float64s
    chains: ClientIds
    """Clients with the same number come and go together."""
    assumed: bool
    """Whether they are only taken to be independent two-state chains."""

    @classmethod
    def of(cls, availability: Availability, clients: ClientIds) -> Population:
        """Some clients of an availability."""
        alone = np.arange(len(availability.active))
        chains = alone if availability.chains is None else availability.chains
        known = availability.chains is not None
        return cls(
            availability.active[clients], availability.correlation[clients], chains[clients], not known
        )

    def mixing(self, weights: Float64s) -> dict[str, float]:
        """States, mixing rate and constant of the chains that anybody with weight follows."""
        moving = (weights > 0) & (self.active > 0) & (self.active < 1)
        _, first = np.unique(self.chains[moving], return_index=True)
        active, correlation = self.active[moving][first], self.correlation[moving][first]
        return {
            "states": 2.0 ** len(active),
            "mixing_rate": mixing_rate(independent_modulus(correlation)),
            "mixing_constant": independent_constant(active),
        }


@dataclass(frozen=True, kw_only=True)
class StrategyBound:
    """What is known of one strategy."""

    strategy: str
    kept: int
    """Clients with a weight."""
    reach: float
    """pi' q, what weights sum to on average."""
    chi_square: float
    """Of what clients should count and what they do; infinite where somebody never counts."""
    learning_rate: float
    """The first step, the best for the bound."""
    optimization: OptimizationBound
    bias: float
    """Measured: how much higher the loss is at the optimum of what is minimized."""
    bias_bound: float | None
    """The smaller of both bounds; None where losses are not strongly convex."""
    total: float | None
    total_without_states: float | None
    """As if availability had mixed from the first round on."""

    def as_dict(self) -> Document:
        """Ready for JSON, where nothing is infinite."""
        terms = {**self.optimization._asdict(), "total": self.optimization.total}
        found = {**asdict(self), "optimization": terms}
        return {name: None if value == math.inf else value for name, value in found.items()}


@dataclass(frozen=True)
class AvailabilityAdvice:
    """All strategies side by side, what was measured, and what was not."""

    clients: int
    rounds: int
    measured: Mapping[str, float]
    strategies: tuple[StrategyBound, ...]
    notes: tuple[str, ...]

    def __getitem__(self, name: str) -> StrategyBound:
        return {one.strategy: one for one in self.strategies}[name]

    def as_dict(self) -> Document:
        """Everything, ready for JSON."""
        strategies = [one.as_dict() for one in self.strategies]
        return {**asdict(self), "measured": dict(self.measured), "strategies": strategies}


def advise_availability(
    facts: LossFacts,
    population: Population,
    *,
    rounds: int = 200,
    local_steps: int = 5,
    bias_weight: float = 1.0,
    seed: int = 0,
) -> AvailabilityAdvice:
    """The bounds of unbiased weights, more-available, AdaFed and CA-Fed."""
    if not (population.active > 0).any():
        raise ConfigError("there is nothing to advise: none of these clients is ever there.")
    weights = strategy_weights(facts, population, bias_weight, seed)
    optima = {name: facts.optimum_of(biased_importance(population.active, q)) for name, q in weights.items()}
    models = [*facts.visited, facts.optimum, *(found.model for found in optima.values())]
    shared = Constants(
        smoothness=facts.smoothness,
        noise=facts.noise,
        slope=facts.steepest(models),
        spread=0.0,  # of each strategy its own
        heterogeneity=facts.gap,
        diameter=facts.diameter(models),
        local_steps=local_steps,
    )
    spreads = {name: facts.spread(models, found.model) for name, found in optima.items()}
    bounds = tuple(
        _bound(name, q, facts, population, optima[name], replace(shared, spread=spreads[name]), rounds)
        for name, q in weights.items()
    )
    measured = {
        "smoothness": facts.smoothness,
        "convexity": facts.convexity,
        "gradient_variance": float(facts.noise.max()),
        "slope": shared.slope,
        "spread": max(spreads.values()),
        "heterogeneity": facts.gap,
        "diameter": shared.diameter,
    }
    return AvailabilityAdvice(len(facts.minima), rounds, measured, bounds, _notes(facts, population, bounds))


# Weights ---------------------------------------------------------------------------------------------------


def strategy_weights(
    facts: LossFacts, population: Population, bias_weight: float = 1.0, seed: int = 0
) -> dict[str, Float64s]:
    """The weights of every strategy whenever a client is there: their means, where they change."""
    told = facts.values(facts.visited[-1])
    turn = RoundContext(0, facts.importance, ask=lambda _, clients: told[clients])
    everyone = np.ones(len(told), np.bool_)
    situation = AvailabilityContext(turn, everyone, Known(population.active, population.correlation))
    strategies: dict[str, Strategy] = {
        "unbiased": Unbiased(),
        "more-available": MoreAvailable(),
        "adafed": AdaFed(),
        f"ca-fed:{bias_weight:g}": CAFed(bias_weight, minima=facts.minima, groups=population.chains),
    }
    found = {name: strategy.weights(situation) for name, strategy in strategies.items()}
    found["adafed"] = normalized_weights(situation.fair_weights, population, seed)
    reachable = {name: np.where(population.active > 0, weights, 0.0) for name, weights in found.items()}
    return {name: weights for name, weights in reachable.items() if weights.any()}


def normalized_weights(fair: Float64s, population: Population, seed: int = 0) -> Float64s:
    """The mean weight of a client that is there if the weights of all that are there sum to one."""
    chains, place = np.unique(population.chains, return_inverse=True)
    first = np.array([np.flatnonzero(place == chain)[0] for chain in range(len(chains))])
    luck = generator(seed, "who is there").random((DRAWS, len(chains)))
    here = (luck < population.active[first])[:, place]
    total = here @ np.where(population.active > 0, fair, 0.0)
    share = here.T @ np.divide(1.0, total, out=np.zeros(DRAWS), where=total > 0)
    return fair * share / np.maximum(here.sum(axis=0), 1)


# Bounds ----------------------------------------------------------------------------------------------------


def _bound(
    name: str,
    weights: Float64s,
    facts: LossFacts,
    population: Population,
    found: BiasedOptimum,
    constants: Constants,
    rounds: int,
) -> StrategyBound:
    # Gamma of the theorem belongs to the optimum of all, in its proof to that of F_B: the larger is safe.
    known = replace(
        constants,
        heterogeneity=max(constants.heterogeneity, found.gap),
        **population.mixing(weights),  # type: ignore[arg-type]
    )
    first, errors = best_rates(population.active, weights, known, rounds)
    biased = biased_importance(population.active, weights)
    condition = facts.smoothness / facts.convexity if facts.convexity else math.inf
    lasting = _bias(facts.importance, biased, condition, constants.heterogeneity, found.gap)
    totals = [
        None if lasting is None or math.isinf(condition) else total_bound(error, lasting, condition)
        for error in (errors.total, errors.total - errors.states)
    ]
    return StrategyBound(
        strategy=name,
        kept=int((weights > 0).sum()),
        reach=float(population.active @ weights),
        chi_square=chi_square(facts.importance, biased),
        learning_rate=first,
        optimization=errors,
        bias=found.bias,
        bias_bound=lasting,
        total=totals[0],
        total_without_states=totals[1],
    )


def best_rates(
    active: Float64s, weights: Float64s, constants: Constants, rounds: int
) -> tuple[float, OptimizationBound]:
    """The first step of eta_1 / t^0.6 with the least bound, its term of joint states left out, and the
    bound."""
    longest = largest_first_rate(constants.smoothness, constants.local_steps, float(weights.sum()))
    falling = np.arange(1, rounds + 1) ** -DECAY
    tried = [
        (first, optimization_bound(active, weights, constants, first * falling))
        for first in (longest * np.geomspace(1e-4, 1.0, RATES)).tolist()
    ]
    return min(tried, key=lambda pair: pair[1].total - pair[1].states)


def _bias(
    importance: Float64s, biased: Float64s, condition: float, gap: float, gap_there: float
) -> float | None:
    """The smaller of both bounds on the bias error."""
    if math.isinf(condition):
        return 0.0 if total_variation(importance, biased) < 1e-12 else None
    by_chi_square = bias_bound(importance, biased, condition, gap)
    return min(by_chi_square, bias_bound_by_variation(importance, biased, condition, gap_there))


def _notes(facts: LossFacts, population: Population, bounds: tuple[StrategyBound, ...]) -> tuple[str, ...]:
    """What was not measured."""
    notes = [
        "gradients and losses (D, H) are the largest that were seen, and models are taken to stay in the "
        "smallest ball around the optimum that holds all of them: elsewhere they may be larger",
        "adafed's weights change with who is there: the bound is that of their means",
        "ca-fed is judged by whom it keeps after the training that was looked at: it chooses anew each round",
    ]
    if population.assumed:
        notes.append("clients are taken to be independent two-state chains, which this availability is not")
    never = float(facts.importance[population.active == 0].sum())
    if never:
        notes.append(f"clients with {never:.1%} of the importance are never there: no weights reach them")
    if not facts.convexity:
        notes.append("losses are not strongly convex (l2 is 0): bias has no bound, and neither has the total")
    if len(bounds) < 4:
        notes.append("a strategy that nobody would have a weight with is left out")
    return tuple(notes)
