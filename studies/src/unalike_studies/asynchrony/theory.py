"""Claims on asynchronous training that need no training: do late results count as published?

Fraboni, Vidal, Kameni and Lorenzi, "A General Theory for Federated Optimization with Asynchronous and
Heterogeneous Clients Updates" (2023). Clients' times are spread evenly from 1 down to 0.2 (F80), or are all 1
(F0); schedules are exact, and so is training on quadratic losses.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise, product

import numpy as np

from unalike.participation import Multinomial, Uniform
from unalike.theory.asynchrony.objective import (
    Constants,
    PreparedTiming,
    Surrogate,
    constants,
    expected_weights,
    surrogate,
    window,
)
from unalike.theory.asynchrony.planner import (
    TrainingSetup,
    aggregations,
    asynchronous_bound,
    fedfix_bound,
    largest_learning_rate,
    synchronous_bound,
)
from unalike.theory.asynchrony.quadratic import growth, largest_stable_step, simulate, turns
from unalike.timing import (
    Asynchronous,
    Clients,
    ExponentialTimes,
    FedFix,
    FixedTimes,
    Timeline,
    plan_schedule,
)
from unalike.typing import Float64s

from ..study import Claim, at_least, at_most, matches
from .data import equal, policy

INDEPENDENT = "independent program"
"""Where an expectation comes from that neither a document prints nor a formula gives."""
RATES = {10: 21.2806, 20: 41.3080, 50: 101.6107}
"""Aggregations per unit of time of asynchronous FedAvg."""
OLDEST = {10: 24, 20: 44, 50: 108}
"""The age of its oldest results, in versions."""
WINDOWS = {10: 10.90, 20: 24.86, 50: 68.38}
"""The logarithm (to base 10) of its window."""
BIASES = {10: 0.27684, 20: 0.23924, 50: 0.21933}
"""chi-square of its uncorrected weights."""
TRAFFIC = {
    "wait-for-all": (10, 20, 50),
    "FedFix-0.5": (14, 28, 69),
    "FedFix-0.2": (18.83, 34.58, 83),
    "FedBuff-5": (17.28, 36.03, 96.36),
    "FedBuff-10": (10, 31.83, 90.23),
    "async": (21.28, 41.31, 101.61),
}
"""Results per unit of time, for 10, 20 and 50 clients."""
AGES = {"FedFix-0.5": (1, 1, 1), "FedFix-0.2": (4, 4, 4), "FedBuff-5": (3, 7, 20), "FedBuff-10": (0, 3, 9)}
"""The age of the oldest results, for 10, 20 and 50 clients."""


def theory_claims(quick: bool) -> Iterator[Claim]:
    """AS-1 to AS-13."""
    yield from weight_claims()
    yield from example_claims()
    yield from constant_claims(quick)
    yield from count_claims()
    yield from traffic_claims(quick)
    yield from limit_claims()
    yield from bias_claims()
    yield from wobble_claims()
    yield from stability_claims()
    yield from alternating_claims()
    yield from moment_claims()
    yield from memoryless_claims(quick)
    yield from planner_claims()


# Weights and schedules ------------------------------------------------------------------------------------


def weight_claims() -> Iterator[Claim]:
    """Corrected weights are the importances in the long run, whatever these are."""
    shares = np.arange(1.0, 11.0) / 55
    for name in ("wait-for-all", "async", "FedFix-0.5", "FedFix-0.2"):
        exact = [
            _largest_gap(expected_weights(policy(name), Clients(p)), p) for p in (shares, shares[::-1].copy())
        ]
        yield at_most("AS-1", f"largest |q - p|, {name}, corrected, in closed form", exact, 1e-12)
    for name in ("async", "FedFix-0.5", "FedBuff-5", "FedBuff-3"):
        schedule = plan_schedule(policy(name), Clients(shares), until=1000)
        counted = Timeline(schedule.steps[len(schedule.steps) // 4 :], 10).expected_weights
        yield at_most(
            "AS-1", f"the same, {name}, counted up to T = 1000", [_largest_gap(counted, shares)], 1e-3
        )
    three = FixedTimes([2, 3, 4])
    for timing in (Asynchronous(hardware=three), FedFix(1, hardware=three)):
        clients = Clients(np.array([0.5, 0.3, 0.2]))
        length = window(timing, clients) or 0
        gaps = _window_gaps(plan_schedule(timing, clients, steps=4 * length), length, clients.importance)
        name = type(timing).__name__
        yield at_most(
            "AS-1", f"q - p over every window of {length} steps, {name}, times 2, 3, 4", gaps, 1e-12
        )


def _largest_gap(expected: Float64s | None, importance: Float64s) -> float:
    return math.inf if expected is None else float(np.abs(expected - importance).max())


def _window_gaps(schedule: Timeline, length: int, importance: Float64s) -> list[float]:
    """The largest |q - p| in each window after the first."""
    starts = range(length, len(schedule.steps) - length + 1)
    windows = (Timeline(schedule.steps[n : n + length], schedule.clients) for n in starts)
    return [float(np.abs(part.expected_weights - importance).max()) for part in windows]


def example_claims() -> Iterator[Claim]:
    """Three clients of times 2, 3 and 4; and clients that are all alike."""
    three, clients = Asynchronous(hardware=FixedTimes([2, 3, 4])), equal(3)
    schedule = plan_schedule(three, clients, until=120)
    length = float(window(three, clients) or 0)
    yield matches("AS-2", "window of times 2, 3, 4", length, 13, 0, derivation="equation (4.35)")
    weights = {int(step.clients[0]): float(step.weights[0]) for step in schedule.steps}
    gap = max(abs(weights[i] - d) for i, d in enumerate((13 / 18, 13 / 12, 13 / 9)))
    yield at_most("AS-2", "weights 13/18, 13/12, 13/9", [gap], 1e-12)
    oldest = float(schedule.staleness.max())
    yield matches("AS-2", "oldest result", oldest, 4, 0, derivation=INDEPENDENT)
    for count in (10, 50):
        alike = Asynchronous(hardware="equal")
        planned = plan_schedule(alike, equal(count), until=20)
        found = (window(alike, equal(count)), int(planned.staleness.max()), len(planned.steps) // 20)
        wanted = (count, count - 1, count)
        yield Claim(
            "AS-3",
            f"F0, {count} clients: window, oldest result, aggregations per time",
            "W = M, tau = M - 1",
            str(wanted),
            str(found),
            found == wanted,
            place="section 4.4.1",
            derivation="with equation (4.39)",
        )


def constant_claims(quick: bool) -> Iterator[Claim]:
    """The table of constants of asynchronous FedAvg on F80."""
    for count in (10, 20) if quick else (10, 20, 50):
        timing, clients = policy("async"), equal(count)
        until = 200 if count < 50 or not quick else 50
        known = constants(timing, clients, plan_schedule(timing, clients, until=until))
        weights = PreparedTiming(timing, clients).policy.weighing.fixed
        rate = aggregations(timing, clients, 10**6) / 10**6
        for words, value, reference, tolerance, derivation in (
            ("sum of 1/tau, {} clients", rate, RATES[count], 1e-4, "equation (4.39)"),
            ("largest weight, {} clients", weights.max(), RATES[count] / count, 1e-4, "equation (4.36)"),
            ("largest over smallest weight, {}", weights.max() / weights.min(), 5, 1e-9, "times 0.2 to 1"),
            ("oldest result, {}", known.staleness, OLDEST[count], 0, INDEPENDENT),
            (
                "log10 of the window, {}",
                math.log10(known.window or 1),
                WINDOWS[count],
                5e-3,
                "equation (4.35)",
            ),
        ):
            yield matches("AS-4", words.format(count), value, reference, tolerance, derivation=derivation)


def count_claims() -> Iterator[Claim]:
    """How many aggregations fit in a time."""
    for count in (10, 20, 50):
        names = ("wait-for-all", "FedFix-0.5", "async")
        sync, fixed, late = (aggregations(policy(name), equal(count), 100) for name in names)
        words, rate = f"aggregations in T = 100, waiting for {count}", RATES[count]
        yield matches("AS-5", words, sync, 100, 1, derivation="Table 4.2")
        words = f"FedFix-0.5 over that, {count} clients"
        yield matches("AS-5", words, fixed / sync, 2, 0.01, place="section 4.5.2")
        words = f"async over that, {count} clients"
        yield matches("AS-5", words, late / sync, rate, count / 100, derivation="equation (4.39)")
    for name in ("wait-for-all", "FedFix-0.5", "async"):
        counted = len(plan_schedule(policy(name), equal(10), until=37).steps)
        formula = aggregations(policy(name), equal(10), 37)
        words = f"aggregations in T = 37, {name}, counted"
        yield matches("AS-5", words, counted, formula, 0, derivation="Table 4.2")


def _steady_rate(schedule: Timeline) -> float:
    """Results per unit of time after the first quarter."""
    first = len(schedule.steps) // 4
    results = sum(len(step.clients) for step in schedule.steps[first + 1 :])
    return results / (schedule.steps[-1].time - schedule.steps[first].time)


def traffic_claims(quick: bool) -> Iterator[Claim]:
    """Results per unit of time, the age of the oldest, windows and biases, by policy."""
    time = 100 if quick else 200
    for place, count in enumerate((10, 20) if quick else (10, 20, 50)):
        for name, known in TRAFFIC.items():
            schedule = plan_schedule(policy(name, weights="identical"), equal(count), until=time)
            rate = _steady_rate(schedule)
            edge = 0.005 * known[place]  # what is known was counted, with the start
            words = f"results per time, {name}, {count} clients"
            yield matches("AS-11", words, rate, known[place], edge, derivation=INDEPENDENT)
            if name in AGES:
                oldest = float(schedule.staleness.max())
                words = f"oldest result, {name}, {count} clients"
                yield matches("AS-11", words, oldest, AGES[name][place], 0, derivation=INDEPENDENT)
    for name, steps in (("FedFix-0.5", 2), ("FedFix-0.2", 60), ("FedFix-0.8", 2)):
        length = float(window(policy(name), equal(10)) or 0)
        yield matches("AS-11", f"window of {name}", length, steps, 0, derivation="lcm of section 4.4.4")


# Quadratic losses -----------------------------------------------------------------------------------------


def limit_claims() -> Iterator[Claim]:
    """A wide window is waiting for all; half a one on equal clients is waiting with steps twice as long."""
    optima, clients = np.random.default_rng(0).normal(size=(10, 3)), Clients(np.arange(1.0, 11.0) / 55)
    for wide in (1.0, 1.5):
        waiting = simulate(plan_schedule(policy("wait-for-all"), clients, steps=50), optima, 0.3)
        fixed = simulate(plan_schedule(policy(f"FedFix-{wide}"), clients, steps=50), optima, 0.3)
        gap = float(np.abs(waiting.models - fixed.models).max())
        yield at_most("AS-6", f"FedFix-{wide} differs from waiting for all on F80 by", [gap], 0.0)
    twice = simulate(plan_schedule(policy("wait-for-all", "equal"), clients, steps=50), optima, 0.6)
    half = simulate(plan_schedule(policy("FedFix-0.5", "equal"), clients, steps=100), optima, 0.3)
    gap = float(np.abs(twice.models - half.models[1::2]).max())
    yield at_most("AS-6", "FedFix-0.5 on F0 differs from waiting with steps twice as long by", [gap], 0.0)


def bias_claims() -> Iterator[Claim]:
    """Ten clients with optima 0 (the slowest) to 9: where policies end."""
    cases = (
        ("async", "identical", 5.9635),
        ("async", "corrected", 4.5),
        ("FedFix-0.5", "identical", 37.5 / 7),
        ("FedFix-0.5", "corrected", 4.5),
        ("FedBuff-5", "identical", 5.85),
        ("FedBuff-5", "corrected", 4.5),
    )
    for name, weights, known in cases:
        timing = policy(name, weights=weights)
        schedule = plan_schedule(timing, equal(10), until=1000)
        # A start at the true optimum, so that what is seen is where it settles and not where it began.
        settled = simulate(schedule, np.arange(10.0), 0.01, start=4.5).settled
        predicted = surrogate(timing, equal(10)).optimum(np.arange(10.0))
        yield matches(
            "AS-7",
            f"where {name} with {weights} weights settles",
            float(settled[0]),
            known,
            0.02,
            note=f"its weights predict {predicted[0]:.4f}",
            derivation=INDEPENDENT if known == 5.85 else "optimum of problem (4.10)",
        )


def wobble_claims() -> Iterator[Claim]:
    """What is left of the error shrinks with the step."""
    schedule = plan_schedule(policy("async"), equal(10), until=1000)
    found = {phi: simulate(schedule, np.arange(10.0), phi, start=4.5) for phi in (0.001, 0.01, 0.05)}
    offsets = {phi: float(path.settled[0]) - 4.5 for phi, path in found.items()}
    wobbles = {phi: float(path.wobble[0]) for phi, path in found.items()}
    for phi, offset, wobble in ((0.001, 0.0008, 0.004), (0.01, 0.0077, 0.040), (0.05, 0.037, 0.198)):
        words = f"offset at step {phi}"
        yield matches("AS-8", words, offsets[phi], offset, 0.1 * offset, derivation=INDEPENDENT)
        words = f"wobble at step {phi}"
        yield matches("AS-8", words, wobbles[phi], wobble, 0.05 * wobble, derivation=INDEPENDENT)
    for words, values in (("offset", offsets), ("wobble", wobbles)):
        for low, high in ((0.001, 0.01), (0.01, 0.05)):
            ratio, wanted = values[high] / values[low], high / low
            yield matches(
                "AS-8",
                f"{words} at step {high} over that at {low}",
                ratio,
                wanted,
                0.2 * wanted,
                derivation="linear in the step",
            )


def stability_claims() -> Iterator[Claim]:
    """The step from which on training diverges."""
    limits = {}
    for name, known in (("wait-for-all", 2.0), ("FedFix-0.5", 1.1), ("async", 0.17)):
        limits[name] = largest_stable_step(policy(name), equal(10))
        words, derivation = f"largest stable step, {name}", "closed form" if known == 2 else INDEPENDENT
        yield matches("AS-9", words, limits[name], known, 0.1 * known, derivation=derivation)
    ordered = limits["async"] < limits["FedFix-0.5"] < limits["wait-for-all"]
    words = ", ".join(f"{limit:.4g}" for limit in limits.values())
    yield Claim("AS-9", "the later results are, the shorter steps must be", None, "falling", words, ordered)


def alternating_claims() -> Iterator[Claim]:
    """Clients that take turns, with a delay of one step."""
    four = turns([[0, 2], [1, 3]], [[0.5, 0.5]] * 2, steps=400)
    roots = "roots of z^2 - z + phi, Example 4.1"
    for phi, known in ((0.1, 0.88730), (0.5, 0.70711), (0.9, 0.94868)):
        rate = float(np.exp(growth(four, [phi], period=2))[0])
        words = f"two types by turns: error per step at {phi}"
        yield matches("AS-10", words, rate, known, 1e-4, derivation=roots)
    rate = float(np.exp(growth(four, [1.0], 2))[0])
    yield matches("AS-10", "and it diverges above 1", rate, 1.0, 1e-9, derivation=roots)
    optima = [1.0, 1.0, -2.0, -2.0]
    end = float(simulate(four, optima, 0.5, start=7.0).models[-1, 0])
    yield at_most("AS-10", "its distance from the common optimum in the end", [abs(end + 0.5)], 1e-9)
    for phi, after in ((0.5, (0.45701, 0.26697)), (0.01, (0.40126, 0.39707))):
        pair = turns([[0], [1]], [[0.7], [0.3]], steps=20_000)
        first, second = simulate(pair, [1.0, -1.0], phi).models[-2:, 0]
        for client, (found, known) in enumerate(zip((first, second), after, strict=True), 1):
            words = f"two clients by turns: after client {client}, step {phi}"
            yield matches("AS-10", words, found, known, 1e-4, derivation="cycle of Example 4.2")
        mean = 0.7 * first + 0.3 * second
        yield at_most(
            "AS-10", f"the weighted mean of both is their limit, step {phi}", [abs(mean - 0.4)], 1e-9
        )


# Moments, memoryless clients, bounds ----------------------------------------------------------------------


def moment_claims() -> Iterator[Claim]:
    """E||sum_i omega_i x_i||^2 = sum_i gamma_i ||x_i||^2 + alpha ||sum_i q_i x_i||^2, and biases."""
    x = np.random.default_rng(4).normal(size=(6, 3))
    clients = Clients(np.arange(1.0, 7.0) / 21)
    times = ExponentialTimes(np.linspace(0.3, 1.4, 6))
    late, fixed = Asynchronous(hardware=times), FedFix(0.5, hardware=times)
    ready, known = PreparedTiming(late, clients).policy.weighing.fixed, constants(late, clients)
    shares = (1 / times.mean) / (1 / times.mean).sum()
    exact = float(shares @ (ready**2 * (x**2).sum(axis=1)))
    yield at_most("AS-11", "Lemma C.1, async", [abs(_lemma(known, ready, shares * ready, x) - exact)], 1e-12)
    ready, known = PreparedTiming(fixed, clients).policy.weighing.fixed, constants(fixed, clients)
    chance = times.chance_within(0.5)
    exact = _independent_moment(chance, ready, x)
    gap = abs(_lemma(known, ready, chance * ready, x) - exact)
    yield at_most("AS-11", "Lemma C.1, FedFix with memoryless clients", [gap], 1e-12)
    for name, sampler, value in (
        ("md", Multinomial(per_round=10), 0.9),
        ("uniform", Uniform(per_round=10), 0.90909),
    ):
        drawn = sampler.statistics(np.full(100, 0.01))
        assert drawn.alpha is not None
        words, closed = f"alpha of 10 of 100 clients, {name}", "closed form"
        yield matches("AS-11", words, 1 - drawn.alpha, value, 1e-4, derivation=closed)
    for count, value in BIASES.items():
        bias = surrogate(policy("async", weights="identical"), equal(count)).chi_square()
        words = f"chi-square of async, identical, {count} clients"
        yield matches("AS-11", words, bias, value, 1e-4, derivation=closed)
    for name, count, value in (
        ("FedFix-0.5", 10, 0.12),
        ("FedFix-0.5", 20, 0.12),
        ("FedBuff-10", 20, 0.171),
    ):
        bias = surrogate(policy(name, weights="identical"), equal(count)).chi_square()
        words = f"chi-square of {name}, identical, {count} clients"
        derivation = closed if value == 0.12 else INDEPENDENT
        yield matches("AS-11", words, bias, value, 1e-3, derivation=derivation)


def _lemma(known: Constants, weights: Float64s, expected: Float64s, x: Float64s) -> float:
    """The right-hand side, with gamma_i = E[omega_i^2] - alpha q_i^2 and E[omega_i^2] = d_i q_i."""
    alpha = known.alpha or 0.0
    gammas = weights * expected - alpha * expected**2
    middle = expected @ x
    return float(gammas @ (x**2).sum(axis=1) + alpha * middle @ middle)


def _independent_moment(chance: Float64s, weights: Float64s, x: Float64s) -> float:
    """The left-hand side over all sets of clients that may be ready, each with its own chance."""
    total = 0.0
    for ready in product((0.0, 1.0), repeat=len(chance)):
        here = np.array(ready)
        mixed = (here * weights) @ x
        total += float(np.prod(np.where(here > 0, chance, 1 - chance)) * (mixed @ mixed))
    return total


def memoryless_claims(quick: bool) -> Iterator[Claim]:
    """Exponential times: how often clients report, and which correction is right."""
    mean, clients = np.array([1.0, 0.6, 0.3]), equal(3)
    results = 30_000 if quick else 400_000
    late = plan_schedule(Asynchronous(hardware=ExponentialTimes(mean)), clients, steps=results)
    shares = (1 / mean) / (1 / mean).sum()
    gap = float(np.abs(late.frequency / shares - 1).max())
    yield at_most(
        "AS-12", "async: shares are (1/tau) / sum (1/tau), relative gap", [gap], 0.02 if quick else 0.01
    )
    fixed = plan_schedule(FedFix(0.5, hardware=ExponentialTimes(mean)), clients, steps=results // 4)
    for i, known in enumerate((0.3935, 0.5654, 0.8111)):
        yield matches(
            "AS-12",
            f"FedFix-0.5: share of steps of mean time {mean[i]}",
            fixed.frequency[i],
            known,
            0.01 * known * (2 if quick else 1),
            derivation="1 - exp(-window / tau)",
        )
    right = Surrogate(clients.importance, fixed.expected_weights).chi_square()
    yield at_most("AS-12", "FedFix-0.5: chi-square of corrected weights", [right], 1e-3)
    rule = np.ceil(mean / 0.5 - 1e-9) / 3
    wrong = Surrogate(clients.importance, fixed.frequency * rule).chi_square()
    yield at_least("AS-12", "and of ceil(tau/window) p, which is right for fixed times", [wrong], 0.01)


def planner_claims() -> Iterator[Claim]:
    """Bounds and step-size limits are ordered as they should be."""
    wrong = 0
    for steps, number, gap in product((1, 10), (100, 10_000), (0.0, 1.0)):
        course = TrainingSetup(aggregations=number, local_steps=steps, surrogate_gap=gap)
        for count in (10, 50):
            late = window(policy("async"), equal(count)) or 1
            bounds = (
                synchronous_bound(course, count),
                fedfix_bound(course, count, slowest=2, window=2),
                asynchronous_bound(course, count, slowdown=5.0, window=late),
            )
            wrong += not bounds[0] < bounds[1] < bounds[2]
    yield at_most(
        "AS-13", "cases in which the bounds are not: waiting < FedFix < async, for equal N", [wrong], 0
    )
    course = TrainingSetup(aggregations=100, local_steps=10)
    ages = [largest_learning_rate(Constants(1, 0, 1.0, 0.1, age, 1), course) for age in (0, 1, 4, 24)]
    sums = [largest_learning_rate(Constants(1, 0, rho, 0.1, 4, 1), course) for rho in (1.0, 1.6, 2.1)]
    falling = all(a > b for values in (ages, sums) for a, b in pairwise(values))
    words = ", ".join(f"{value:.2g}" for value in (*ages, *sums))
    yield Claim(
        "AS-13", "learning rates fall with the age of results and with rho", None, "falling", words, falling
    )
