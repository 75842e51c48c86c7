"""Claims on perturbed gradients that need no training: golden numbers, contractions and bounds.

Buttaci, Does Perturbation Aid Convergence? (MSc thesis, Politecnico di Torino). Two groups of clients that
pull apart in one dimension move affinely, w' = a w + b, so everything about them is exact.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from unalike.theory.perturbed_gradient import nonconvex, strongly_convex
from unalike.theory.perturbed_gradient.conditions import theorem_step
from unalike.theory.perturbed_gradient.contraction import (
    least_contraction,
    published_contraction,
    speed_up,
    theorem_contraction,
)
from unalike.theory.perturbed_gradient.drift import drift_bound, published_factor, tightened_factor
from unalike.theory.perturbed_gradient.problem import Method, Perturbed, Problem, Proximal
from unalike.theory.perturbed_gradient.stability import longest_stable_work, round_multiplier
from unalike_studies.theory.perturbed_gradient.quadratics import measure_problem, random_quadratics, run
from unalike_studies.theory.perturbed_gradient.two_groups import (
    TwoGroups,
    affine_path,
    affine_round,
    lower_bound,
    simulate,
)

from ..study import Claim, at_least, at_most

GOLDEN: dict[Method, tuple[float, ...]] = {
    Proximal(0.0): (0.473708, 0.075602, 0.143651, 0.007738, 0.549310, 0.335815, 0.164078),
    Proximal(0.1): (0.494946, 0.071677, 0.141920, 0.007553, 0.566623, 0.352125, 0.167406),
    Proximal(0.5): (0.569461, 0.057952, 0.134604, 0.006794, 0.627413, 0.415240, 0.186428),
    Proximal(1.0): (0.642989, 0.044552, 0.124792, 0.005840, 0.687541, 0.486634, 0.220982),
    Perturbed(0.9): (0.455790, 0.070780, 0.130060, 0.006343, 0.526570, 0.310785, 0.147172),
    Perturbed(0.7): (0.417332, 0.059584, 0.102261, 0.003921, 0.476916, 0.258616, 0.113625),
    Perturbed(0.5): (0.375067, 0.046078, 0.073732, 0.002039, 0.421144, 0.204035, 0.080607),
    Perturbed(0.3): (0.328591, 0.029939, 0.044591, 0.000746, 0.358530, 0.147748, 0.048251),
    Perturbed(0.1): (0.277461, 0.010809, 0.014960, 0.000084, 0.288270, 0.090793, 0.016580),
}
"""a, b, the fixed point, its gap, and the mean model after 1, 2 and 5 rounds."""
GRAPH = {
    0.9: (0.526570, 0.298928, 0.127493, 0.110133),
    0.7: (0.476916, 0.214526, 0.036648, 0.025082),
    0.5: (0.421144, 0.112912, -0.091509, -0.098046),
}
"""By beta: after 1, 2, 5 and very many rounds, where each of two clients is sent the other's last model."""
CONTRACTIONS: dict[tuple[float, Method], tuple[float, float]] = {
    (1, Proximal(0.0)): (0.598737, 0.666667),
    (1, Proximal(0.1)): (0.635215, 0.696970),
    (1, Proximal(1.0)): (0.799368, 0.833333),
    (1, Perturbed(0.9)): (0.590007, 0.655172),
    (1, Perturbed(0.7)): (0.571832, 0.629630),
    (1, Perturbed(0.5)): (0.552659, 0.600000),
    (1, Perturbed(0.1)): (0.511101, 0.523810),
    (2, Proximal(0.0)): (0.776330, 0.833333),
    (2, Perturbed(0.9)): (0.773852, 0.827586),
    (2, Perturbed(0.7)): (0.768796, 0.814815),
    (2, Perturbed(0.5)): (0.763604, 0.800000),
    (10, Proximal(0.0)): (0.951110, 0.966667),
    (10, Proximal(0.1)): (0.956361, 0.969697),
    (10, Proximal(1.0)): (0.977877, 0.983333),
    (10, Perturbed(0.9)): (0.951000, 0.965517),
    (10, Perturbed(0.7)): (0.950780, 0.962963),
    (10, Perturbed(0.5)): (0.950559, 0.960000),
    (100, Proximal(0.0)): (0.995011, 0.996667),
    (100, Perturbed(0.5)): (0.995006, 0.996000),
}
"""By L / mu and method: the exact contraction, and the theorem's."""
UPPER: dict[Method, tuple[float, float]] = {
    Proximal(0.0): (0.002039, 1602),
    Proximal(0.1): (0.001676, 1457),
    Proximal(0.5): (0.000889, 1068),
    Proximal(1.0): (0.000495, 801),
    Perturbed(0.9): (0.001658, 6577),
    Perturbed(0.7): (0.001011, 8898),
    Perturbed(0.5): (0.000520, 19604),
    Perturbed(0.1): (0.000021, 1044499),
}
"""The gap of the two groups after a hundred rounds, and the theorem's bound."""
ROUNDED, STEPS = 5.1e-7, 10
ORDERED = [Perturbed(beta) for beta in (0.1, 0.3, 0.5, 0.7, 0.9)]
ORDER: list[Method] = [*ORDERED, Proximal(0.0), Proximal(0.1), Proximal(0.5), Proximal(1.0)]


def theory_claims(quick: bool) -> Iterator[Claim]:
    """PG-3 to PG-5, PG-9 and PG-15."""
    yield from golden_claims()
    yield from lower_bound_claims()
    yield from local_steps_claims()
    yield from contraction_claims()
    yield from upper_bound_claims(quick)
    yield from stability_claims()
    yield from constant_claims()


def golden_claims() -> Iterator[Claim]:
    """Two groups that pull apart, to the last printed digit."""
    groups = TwoGroups()
    for method, printed in GOLDEN.items():
        gap = float(np.abs(np.array(golden_row(method, groups)) - printed).max())
        yield at_most(
            "PG-3", f"{method_label(method)}: a, b, limit, gap and path, largest error", [gap], ROUNDED
        )
    differences = [
        float(np.abs(affine_path(method, groups, 60) - simulate(method, groups, 60)).max())
        for method in GOLDEN
    ]
    yield at_most("PG-3", "closed form minus simulation over 60 rounds", differences, 1e-12)
    for beta, told in GRAPH.items():
        path = simulate(Perturbed(beta), groups, 1000, graph=True)[[1, 2, 5, 1000]]
        gap = float(np.abs(path - told).max())
        yield at_most("PG-3", f"beta {beta:g} with a graph of two clients, largest error", [gap], ROUNDED)


def golden_row(method: Method, groups: TwoGroups) -> tuple[float, ...]:
    """a, b, the fixed point, its gap, and the model after 1, 2 and 5 rounds."""
    a, b = affine_round(method, groups)
    limit = b / (1 - a)
    path = affine_path(method, groups, 5)
    return (a, b, limit, float(groups.gap(limit)), *(float(path[t]) for t in (1, 2, 5)))


def lower_bound_claims() -> Iterator[Claim]:
    """No run gets below its lower bound."""
    mu = 1.0
    for kind, methods in (
        ("FedProx", [Proximal(alpha) for alpha in (0.0, 0.1, 0.5, 1.0)]),
        ("perturbed", [Perturbed(beta) for beta in (0.1, 0.3, 0.5, 0.7, 0.9, 0.99)]),
    ):
        ratios = []
        for method in methods:
            pull = method.alpha if isinstance(method, Proximal) else 0.0
            for part in (1.0, 0.5, 0.1):
                groups = TwoGroups(mu, mu / 2, 1.0, STEPS, part / (STEPS * (pull + mu)))
                gaps = groups.gap(affine_path(method, groups, 60))
                ratios.append(float((gaps / lower_bound(method, mu, float(gaps[0]), groups, 60)).min()))
        yield at_least("PG-3", f"{kind}: least gap over its lower bound, t <= 60", ratios, 1 - 1e-12)
    kept = [least_contraction(method, mu) ** 2 for method in ORDER]
    words = "least step of the lower bounds' contractions, perturbed < FedAvg < FedProx"
    printed = "(beta / 4)^(2 t) <= (1 - 3 mu / (4 (alpha + mu)))^(2 t)"
    least = [float(np.diff(kept).min())]
    yield at_least("PG-3", words, least, 0.0, published=printed, place="section 4.4")
    words, fedavg = "FedAvg's, minus 1 / 16", kept[len(ORDERED)]
    yield at_most("PG-3", words, [abs(fedavg - 1 / 16)], 0, published="Delta / 4^(2 t)", place="section 4.4")


def local_steps_claims() -> Iterator[Claim]:
    """The printed optimal number of local steps is where the bound with diminishing steps is least."""
    noisy = Problem(
        smoothness=2.0, convexity=0.5, gradient_variance=4000.0, squared_gradient=2.0, heterogeneity=60.0
    )
    bound = strongly_convex.published_diminishing_bound
    apart = []
    for method in ORDER:
        bounds = [bound(method, noisy, steps, 10**12) for steps in range(1, 100)]
        best = 1 + int(np.argmin(bounds))
        apart.append(abs(best - strongly_convex.best_local_steps(method, noisy)))
    words = "local steps where the bound is least, minus the formula's, largest"
    printed = "E = sqrt(A sigma^2 / C + B Gamma / C) / G"
    yield at_most("PG-5", words, apart, 1.0, published=printed, place="section 4.4")


def contraction_claims() -> Iterator[Claim]:
    """The table of contractions, its order, and a speed-up that vanishes."""
    for place, kind in enumerate(("exact", "theorem's")):
        errors = [
            abs(_contractions(method, condition)[place] - told[place])
            for (condition, method), told in CONTRACTIONS.items()
        ]
        yield at_most(
            "PG-4", f"{kind} contractions of {len(errors)} settings, largest error", errors, ROUNDED
        )
        order = [
            float(np.diff([_contractions(method, condition)[place] for method in ORDER]).min())
            for condition in (1, 2, 10, 100)
        ]
        yield at_least("PG-4", f"{kind}: least step of perturbed < FedAvg < FedProx", order, 0.0)
    exact, bound = (
        speed_up(*(_contractions(method, 100)[place] for method in (Perturbed(0.5), Proximal())))
        for place in (0, 1)
    )
    derivation = "lemma's contraction, 1.001"
    yield at_most("PG-4", "exact speed-up of beta 0.5 at L / mu = 100", [exact], 1.002, derivation=derivation)
    derivation = "3 / (2 + beta) = 1.2 from Theorems 4.1 and 4.4"
    yield at_least("PG-4", "the theorem's speed-up there", [bound], 1.199, derivation=derivation)


def upper_bound_claims(quick: bool) -> Iterator[Claim]:
    """The theorems hold on the two groups and on random quadratics, and say little."""
    two = Problem(smoothness=1.0, convexity=0.5, squared_gradient=4.0, heterogeneity=0.75, initial_gap=0.375)
    errors, looseness = [], []
    for method, (gap, bound) in UPPER.items():
        groups = TwoGroups(step=theorem_step(method, two, STEPS))
        gaps = groups.gap(affine_path(method, groups, 100))
        found = strongly_convex.published_fixed_bound(method, two, STEPS, 100)
        errors += [abs(float(gaps[-1]) - gap) / 5.1e-7, abs(found - bound) / 0.51]
        looseness.append(found / float(gaps[-1]))
    words = "gaps of two groups after 100 rounds and their bounds, largest error in last printed digits"
    yield at_most("PG-5", words, errors, 1.0)
    note = "true, but no advice for choosing beta"
    yield at_least("PG-5", "how many times too large these bounds are", looseness, 1e5, note=note)
    published, tight, drifts = _quadratic_ratios(2 if quick else 10)
    yield at_most("PG-5", "random quadratics: gap over the theorem's bound, 40 rounds", published, 1.0)
    yield at_most("PG-5", "the same with the tightened drift", tight, 1.0)
    yield at_most("PG-5", "their drift over the tightened 2.5 - 1.5 beta", drifts, 1.0)
    yield at_most(
        "PG-5",
        "tightened over published factor at beta 0.1",
        [tightened_factor(0.1) / published_factor(0.1)],
        0.01,
        note="growth like 1 / beta^2 is the proof's, not the method's",
    )


def stability_claims() -> Iterator[Claim]:
    """Where rounds zigzag."""
    told = (0.0, -0.1111, -0.4283, -0.9937, -1.4712)
    found = [float(round_multiplier(beta, 0.5, 1.0, 20)) for beta in (1, 0.9, 0.7, 0.5, 0.4)]
    error = float(np.abs(np.array(found) - told).max())
    yield at_most("PG-9", "multipliers of a stiff round, beta 1 to 0.4, largest error", [error], 5.1e-5)
    limits = np.array([longest_stable_work(beta) for beta in (0.0, 0.1, 0.3, 0.4, 0.49)])
    error = float(np.abs(limits - (2.00, 2.23, 3.05, 4.02, 7.98)).max())
    yield at_most("PG-9", "largest stable K gamma h, beta 0 to 0.49, largest error", [error], 5.1e-3)


def constant_claims() -> Iterator[Claim]:
    """The constant of the last theorem, as printed and as it follows from its lemma."""
    printed, corrected = (nonconvex.drift_term(1.0, 1, 1.0, corrected=c) for c in (False, True))
    yield at_most("PG-15", "corrected constant minus 6, at beta 1", [abs(corrected - 6)], 0)
    words, gap = "printed constant minus a quarter of it", abs(4 * printed - corrected)
    yield at_most("PG-15", words, [gap], 0, published="3 E G^2 / 8 times a bracket", place="Theorem 4.6")
    quiet = Problem(smoothness=1.0, squared_gradient=1.0, initial_gap=0.0)
    bound = nonconvex.published_diminishing_bound(Proximal(), quiet, 1, 2) * np.log(3)
    yield at_most("PG-15", "FedProx's at alpha 0, minus 3", [abs(bound - 3)], 1e-12)
    steps = [1 / (2 * (t + 1)) for t in range(1000)]
    lemma = nonconvex.gradient_bound(Perturbed(0.5), quiet, steps, 1)
    wrong = nonconvex.published_diminishing_bound(Perturbed(0.5), quiet, 1, 1000, corrected=False)
    yield Claim(
        "PG-15",
        "the printed theorem is above its own lemma, beta 0.5",
        "3 E G^2 / 8 times a bracket",
        "a ratio of at least 1",
        wrong / lemma,
        wrong >= lemma,
        hard=False,
        place="Theorem 4.6",
        derivation="substitution into the lemma",
        note="an erratum: 3/8 for 3/2",
    )


def method_label(method: Method) -> str:
    """For claims.

    >>> method_label(Proximal(0.0)), method_label(Proximal(0.5)), method_label(Perturbed(0.5))
    ('FedAvg', 'FedProx 0.5', 'beta 0.5')
    """
    if isinstance(method, Perturbed):
        return f"beta {method.beta:g}"
    return f"FedProx {method.alpha:g}" if method.alpha else "FedAvg"


def _contractions(method: Method, condition: float) -> tuple[float, float]:
    problem = Problem(smoothness=1.0, convexity=1 / condition)
    return theorem_contraction(method, problem, STEPS), published_contraction(method, problem)


def _quadratic_ratios(seeds: int) -> tuple[list[float], list[float], list[float]]:
    """The largest gap over its bound, published and tightened, and drift over the tightened bound."""
    published, tight, drifts = [], [], []
    for seed in range(seeds):
        clients, start = random_quadratics(8, 5, seed), np.ones(5)
        for method in ORDER:
            step = theorem_step(method, measure_problem(clients, start), STEPS)
            path = run(method, clients, step, STEPS, 40, start)
            problem = measure_problem(clients, start, path.largest_squared_gradient)
            rounds = range(1, 41)
            bounds = [strongly_convex.published_fixed_bound(method, problem, STEPS, t) for t in rounds]
            sharper = [
                strongly_convex.fixed_step_bound(method, problem, step, STEPS, t, tightened=True)
                for t in rounds
            ]
            published.append(float((path.gaps[1:] / bounds).max()))
            tight.append(float((path.gaps[1:] / sharper).max()))
            reach = drift_bound(method, step, STEPS, path.largest_squared_gradient, tightened=True)
            drifts.append(path.largest_drift / reach)
    return published, tight, drifts
