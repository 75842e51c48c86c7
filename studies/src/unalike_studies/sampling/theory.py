"""Claims on sampling schemes' weights that need no training.

Fraboni, Vidal, Kameni and Lorenzi, "Clustered Sampling: Low-Variance and Improved Representativity for
Clients Selection in Federated Learning" (2021) and "A General Theory for Client Sampling in Federated
Learning" (2022).
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from unalike.participation import Cohort, RoundContext, Sampler, WeightStatistics, sampler_registry
from unalike.theory.sampling.comparison import compare_schemes
from unalike.theory.sampling.coverage import chance_distinct, classes_seen
from unalike.theory.sampling.quadratic import contraction, critical_step, simulate, stationary_error
from unalike.typing import Float64s, Int64s

from ..study import Claim, at_least, at_most, matches
from .data import UNBALANCED

SIZES = np.array([5, 10, 10, 20, 25, 30, 40, 50, 60, 70, 80, 100])
"""Twelve unequal clients."""
WITH_ALPHA = ("full", "md", "uniform", "uniform-with-replacement", "binomial", "poisson", "optimal")
TABLE = {
    "equal": {
        "sum of squares": 0.01,
        "Sigma md": 0.099,
        "Sigma uniform": 0.09,
        "Sigma clustered-size": 0.09,
        "gamma md": 0.1,
        "gamma uniform": 0.0909091,
        "Var[sum] uniform": 0.0,
        "clients md": 9.5618,
        "clients clustered-size": 10.0,
    },
    "unequal": {
        "sum of squares": 0.01306196,
        "Sigma md": 0.09869380,
        "Sigma uniform": 0.11755766,
        "Sigma clustered-size": 0.08749070,
        "gamma md": 0.1,
        "gamma uniform": 0.11874511,
        "Var[sum] uniform": 0.02783602,
        "clients md": 9.43537,
        "clients clustered-size": 9.97237,
    },
}
"""Ten of a hundred clients, of equal size or of five sizes: closed forms, evaluated independently."""


def theory_claims(quick: bool) -> Iterator[Claim]:
    """CS-1 to CS-11."""
    yield from moments_claims(20_000 if quick else 200_000)
    yield from identity_claims(20_000 if quick else 200_000)
    yield from table_claims()
    yield from comparison_claims()
    yield from coverage_claims()
    yield from validity_claims(60 if quick else 300)
    yield from laboratory_claims(quick)
    yield from pitfall_claims()


def scheme(name: str, per_round: int, sizes: Int64s) -> Sampler:
    """A sampler for clients of these sizes."""
    return sampler_registry.make(name, per_round=per_round, sizes=sizes, seed=0)


def moments_claims(draws: int) -> Iterator[Claim]:
    """Mean, variance, covariance, sum, inclusion and number of clients against the closed forms."""
    importance = SIZES / SIZES.sum()
    for name in (*WITH_ALPHA, "clustered-size"):
        sampler = scheme(name, 4, SIZES)
        exact = sampler.statistics(importance)
        weights = draw_weights(sampler, importance, draws)
        yield at_most(
            "CS-1",
            f"the moments of {name} are those of its closed form (largest deviation in standard errors)",
            [largest_deviation(weights, exact)],
            5.0,
            note=f"{draws:,} draws",
        )


def draw_weights(sampler: Sampler, importance: Float64s, draws: int) -> Float64s:
    """Weights of many draws; clients that are asked all answer one."""
    weights = np.zeros((draws, len(importance)))
    for number, row in enumerate(weights):
        cohort = sampler.cohort(RoundContext(number, importance, ask=lambda q, c: np.ones(len(c))))
        row[cohort.clients] = cohort.weights
    return weights


def largest_deviation(weights: Float64s, exact: WeightStatistics) -> float:
    """The largest |measured - exact| / standard error over all moments."""
    count, centered = len(weights), weights - exact.mean
    products = centered[:, :, None] * centered[:, None, :] if weights.shape[1] <= 12 else None
    assert products is not None
    present = weights > 0
    sums, clients = centered.sum(axis=1), present.sum(axis=1).astype(float)
    pairs = [
        (weights, exact.mean),
        (products.reshape(count, -1), exact.covariance().ravel()),
        (sums[:, None] ** 2, np.array([exact.variance_of_sum])),
        (present.astype(float), exact.inclusion),
        (clients[:, None], np.array([exact.expected_clients])),
    ]
    if exact.clients_variance is not None:
        pairs.append(((clients[:, None] - exact.expected_clients) ** 2, np.array([exact.clients_variance])))
    return max(float(_deviations(sample, value).max()) for sample, value in pairs)


def _deviations(sample: Float64s, exact: Float64s) -> Float64s:
    gap = np.abs(sample.mean(axis=0) - exact)
    error = sample.std(axis=0) / np.sqrt(len(sample))
    return np.where(gap < 1e-12, 0.0, gap / np.maximum(error, 1e-300))


def identity_claims(draws: int) -> Iterator[Claim]:
    """The identities between the moments, and the second moment of a random aggregate."""
    importance, squares = SIZES / SIZES.sum(), float((SIZES / SIZES.sum()) @ (SIZES / SIZES.sum()))
    x = np.random.default_rng(3).normal(size=(len(SIZES), 5))
    sums, moments = [], []
    for name in WITH_ALPHA:
        s = scheme(name, 4, SIZES).statistics(importance)
        assert s.alpha is not None
        assert s.gammas is not None
        sums.append(abs(s.variance_of_sum - (s.total_variance - s.alpha * (1 - squares))))
        middle = importance @ x
        formula = s.gammas @ (x**2).sum(axis=1) + (1 - s.alpha) * middle @ middle
        moments.append(abs(s.second_moment(x) - formula))
    yield at_most(
        "CS-2", "Var[sum] = Sigma - alpha (1 - sum p^2), for every scheme with an alpha", sums, 1e-12
    )
    yield at_most("CS-2", "E||sum w x||^2 = sum gamma ||x||^2 + (1 - alpha) ||sum p x||^2", moments, 1e-12)
    clustered = scheme("clustered-size", 4, SIZES)
    rows = clustered.matrix(importance)  # type: ignore[attr-defined]
    second = clustered.statistics(importance).second_moment(x)
    formula = (
        importance @ (x**2).sum(axis=1) / 4 + ((importance @ x) ** 2).sum() - ((rows @ x) ** 2).sum() / 16
    )
    yield at_most("CS-2", "the second moment of clustered sampling", [abs(second - formula)], 1e-12)
    weights = draw_weights(clustered, importance, draws)
    measured = float(((weights @ x) ** 2).sum(axis=1).mean())
    yield matches(
        "CS-2",
        "the same, by drawing",
        measured / formula,
        1.0,
        0.01 if draws >= 200_000 else 0.03,
        note=f"{draws:,} draws",
        derivation="equation (A.110)",
    )


def table_claims() -> Iterator[Claim]:
    """The reference table, number by number."""
    for words, sizes in (("equal", np.full(100, 500)), ("unequal", UNBALANCED)):
        importance = sizes / sizes.sum()
        stats = {
            name: scheme(name, 10, sizes).statistics(importance)
            for name in ("md", "uniform", "clustered-size")
        }
        for what, known in TABLE[words].items():
            rounded = {9.5618: 5e-5, 9.43537: 5e-6, 9.97237: 5e-6}  # half of the last digit
            tolerance = rounded.get(known, 1e-6)
            value, said = _table_value(what, importance, stats), f"{what}, 10 of 100 clients of {words} sizes"
            yield matches("CS-3", said, value, known, tolerance, derivation="closed form")


def _table_value(what: str, importance: Float64s, stats: dict[str, WeightStatistics]) -> float:
    quantity, _, name = what.partition(" ")
    if what == "sum of squares":
        return float(importance @ importance)
    s = stats[name]
    values = {"Sigma": s.total_variance, "Var[sum]": s.variance_of_sum, "clients": s.expected_clients}
    return float(s.gamma or 0.0) if quantity == "gamma" else values[quantity]


def comparison_claims() -> Iterator[Claim]:
    """Uniform against multinomial: how their gammas compare, and where the verdict turns."""
    for clients, known in ((10, 0.5556), (20, 0.5263), (40, 0.5128), (80, 0.5063)):
        importance = np.full(clients, 1 / clients)
        uniform, md = (
            scheme(name, clients // 2, np.ones(clients, np.int64)).statistics(importance).gamma
            for name in ("uniform", "md")
        )
        ratio = float(uniform or 0) / float(md or 1)
        exact = (clients - clients // 2) / (clients - 1)
        yield matches(
            "CS-4",
            f"gamma of uniform over gamma of md, half of {clients} equal clients",
            ratio,
            known,
            5e-5,
            note=f"(n - m) / (n - 1) = {exact:.6f}",
            derivation="equation (2.12) over (2.10)",
        )
    for squares, expected in ((0.0105, "uniform"), (0.010995, "mixed"), (0.0115, "md")):
        stats = [
            scheme(name, 10, np.ones(100, np.int64)).statistics(with_squares(squares))
            for name in ("uniform", "md")
        ]
        sigma = "uniform" if stats[0].total_variance <= stats[1].total_variance else "md"
        gamma = "uniform" if (stats[0].gamma or 0) <= (stats[1].gamma or 0) else "md"
        verdict = sigma if sigma == gamma else "mixed"
        compared = compare_schemes(stats[0], stats[1], ("uniform", "md"))
        yield Claim(
            "CS-5",
            f"whose bound is smaller at sum p^2 = {squares}",
            None,
            expected,
            verdict,
            verdict == expected,
            note=f"Sigma: {compared.total_variance.better}, gamma: {compared.gamma.better}",
            derivation="equations (2.10) to (2.12)" if expected == "mixed" else "Corollary 2.1",
        )


def with_squares(squares: float, clients: int = 100) -> Float64s:
    """Importances of two kinds whose squares sum to this."""
    tilt = np.sqrt((squares - 1 / clients) / clients)
    return 1 / clients + tilt * np.where(np.arange(clients) % 2, 1.0, -1.0)


def coverage_claims() -> Iterator[Claim]:
    """Distinct clients and classes of a round, one digit per client and ten clients per digit."""
    equal, digits, ones = np.full(100, 0.01), np.repeat(np.arange(10), 10), np.ones(100, np.int64)
    words, derivation = "P(10 draws of 100 clients are distinct)", "formula that section 3.6 rounds to 63 %"
    yield matches("CS-6", words, chance_distinct(equal, 10), 0.62816, 1e-4, derivation=derivation)
    for name, known in (("md", 6.5132), ("uniform", 6.6952)):
        seen = classes_seen(scheme(name, 10, ones), equal, digits)
        yield matches("CS-6", f"digits in a round of {name}", seen, known, 1e-4, derivation="closed form")
    target = sampler_registry.make("target", per_round=10, labels=digits, sizes=ones, seed=0)
    words, seen = "digits in a round of the oracle", classes_seen(target, equal, digits)
    yield matches("CS-6", words, seen, 10.0, 1e-12, place="section 3.6")


def validity_claims(instances: int) -> Iterator[Claim]:
    """Clustered schemes are exactly unbiased, and never worse than multinomial sampling, for any sizes."""
    rng = np.random.default_rng(11)
    invalid, repeated, worse = [0, 0], 0, [0.0]
    for k in range(instances):
        sizes, m = _awkward_sizes(rng, k)
        importance = sizes / sizes.sum()
        md = scheme("md", m, sizes).statistics(importance)
        for place, sampler in enumerate((scheme("clustered-size", m, sizes), _similar(rng, m, sizes))):
            rows = _exact(sampler, importance, sizes)
            invalid[place] += not _valid(rows, sizes, m)
            stats = sampler.statistics(importance)
            worse.append(float((stats.variance - md.variance).max()))
            worse.append(float((md.inclusion - stats.inclusion).max()))
            if place == 0:
                most = (rows > 0).sum(axis=0)
                repeated += int((most > (m * sizes) // sizes.sum() + 2).any())
    yield at_most("CS-7", f"Algorithm 2 breaks a condition, of {instances} random instances", [invalid[0]], 0)
    yield at_most("CS-7", "a client sits in more than floor(m p) + 2 distributions", [repeated], 0)
    yield at_most("CS-8", f"Algorithm 3 breaks a condition, of {instances} random instances", [invalid[1]], 0)
    yield at_most(
        "CS-8", "largest excess over md in variance, or lack in inclusion, of any client", worse, 1e-12
    )


def _awkward_sizes(rng: np.random.Generator, k: int) -> tuple[Int64s, int]:
    """Random sizes; every third has a client with m p = 7.5 or more, every fourth draws everyone, m = n."""
    clients = int(rng.integers(8, 40))
    sizes = rng.integers(1, 1000, clients)
    m = clients if k % 4 == 0 else int(rng.integers(1, clients + 1))
    if k % 3 == 0:
        m = max(m, 8)
        sizes[0] = int(np.ceil(7.5 / max(m - 7.5, 0.5) * sizes[1:].sum()))
    return sizes, m


def _similar(rng: np.random.Generator, m: int, sizes: Int64s) -> Sampler:
    """Similarity clusters of random updates; some clients have never been seen."""
    sampler = scheme("clustered-similarity", m, sizes)
    seen = np.flatnonzero(rng.random(len(sizes)) < rng.choice([0.0, 0.5, 1.0]))
    if len(seen):
        updates = rng.normal(size=(len(seen), 6)).astype(np.float32)
        sampler.observe(0, Cohort(seen, np.ones(len(seen))), {"update": updates})
    return sampler


def _exact(sampler: Sampler, importance: Float64s, sizes: Int64s) -> Int64s:
    """The scheme's probabilities as whole numbers of 1/M, where M is the number of all rows."""
    whole = sampler.matrix(importance) * sizes.sum()  # type: ignore[attr-defined]
    rounded = np.rint(whole)
    return rounded.astype(np.int64) if np.abs(whole - rounded).max() < 1e-6 else np.full(whole.shape, -1)


def _valid(rows: Int64s, sizes: Int64s, m: int) -> bool:
    """Every distribution sums to one, every client to m p, in integers."""
    return bool(
        (rows >= 0).all()
        and (rows.sum(axis=1) == sizes.sum()).all()
        and (rows.sum(axis=0) == m * sizes).all()
    )


def laboratory_claims(quick: bool) -> Iterator[Claim]:
    """Quadratic clients, where everything is known: divergence, stationary error, contraction."""
    uneven = np.array([0.9] + 19 * [0.1 / 19])
    ones = np.ones(20, np.int64)
    uniform, md = scheme("uniform", 2, ones), scheme("md", 2, ones)
    spread = uniform.statistics(uneven)
    words, closed = "Var[sum] of uniform, 2 of 20, p_1 = 0.9", "closed form"
    yield matches("CS-9", words, spread.variance_of_sum, 7.20499, 1e-5, derivation=closed)
    yield matches("CS-9", "its critical step", critical_step(spread), 0.24375, 1e-5, derivation=closed)
    optima = np.random.default_rng(0).normal(size=20)
    ends = {
        (name, step): simulate(s, uneven, optima, step, 300, seed=1, replicas=10 if quick else 50)[:, -1]
        for name, s in (("uniform", uniform), ("md", md))
        for step in (0.2, 0.3)
    }
    words, end = "mean square at step 0.2, uniform", ends["uniform", 0.2].mean()
    yield at_most("CS-9", words, [end], 1.0, derivation="pilot of the specification: 0.03")
    yield at_least(
        "CS-9",
        "largest mean square at step 0.3 after 300 rounds, uniform",
        [ends["uniform", 0.3].max()],
        1e6,
        published="diverging",
        place="section 2.3.2",
    )
    calm = [ends["md", step].mean() for step in (0.2, 0.3)]
    yield at_most(
        "CS-9", "mean square of md at both steps", calm, 0.1, derivation="pilot of the specification"
    )
    yield from _stationary_claims(quick)
    yield from _equal_importance_claims()
    ten = np.array([0.45, 0.15, 0.10, 0.08, 0.06, 0.05, 0.04, 0.03, 0.02, 0.02])
    slow, fast = (
        contraction(scheme(n, 5, np.ones(10, np.int64)).statistics(ten), 0.9) for n in ("uniform", "md")
    )
    words = "contraction of uniform at g = 0.9, unequal clients"
    yield matches("CS-15", words, slow, 0.146, 5e-4, derivation=closed)
    yield matches("CS-15", "contraction of md at the same", fast, 0.010, 5e-4, derivation=closed)


def _stationary_claims(quick: bool) -> Iterator[Claim]:
    importance = SIZES / SIZES.sum()
    optima = np.random.default_rng(5).normal(size=12)
    rounds, replicas = (2000, 10) if quick else (4000, 25)
    for name in ("md", "uniform", "binomial", "clustered-size"):
        sampler = scheme(name, 4, SIZES)
        errors = simulate(sampler, importance, optima, 0.3, rounds, seed=2, replicas=replicas)[:, 50:]
        formula = stationary_error(sampler.statistics(importance), optima, 0.3)
        yield matches(
            "CS-10",
            f"stationary error of {name}, simulated over its formula",
            float(errors.mean()) / formula,
            1.0,
            0.1 if quick else 0.03,
            derivation="closed form",
        )


def _equal_importance_claims() -> Iterator[Claim]:
    gaps = []
    for clients in (10, 20, 40, 80):
        equal, ones = np.full(clients, 1 / clients), np.ones(clients, np.int64)
        optima = np.random.default_rng(clients).normal(size=clients)
        uniform, md = (
            stationary_error(scheme(name, clients // 2, ones).statistics(equal), optima, 0.3)
            for name in ("uniform", "md")
        )
        exact = Fraction(clients - clients // 2, clients - 1)
        gaps.append(abs(uniform / md - float(exact)))
    yield at_most("CS-14", "stationary errors of uniform and md are as (n - m) / (n - 1)", gaps, 1e-12)


def pitfall_claims() -> Iterator[Claim]:
    """Equal sizes and clients sorted by class: breaking ties by number would silently be the oracle."""
    equal, digits, ones = np.full(100, 0.01), np.repeat(np.arange(10), 10), np.ones(100, np.int64)
    by_number = np.kron(np.eye(10), np.full(10, 0.1))
    seen = float((1 - np.prod(1 - by_number @ (digits[:, None] == np.arange(10)), axis=0)).sum())
    words = "digits a round if ties were broken by number (an oracle by accident)"
    yield matches("CS-11", words, seen, 10.0, 1e-9, derivation="one digit for each draw")
    random = [
        classes_seen(
            sampler_registry.make("clustered-size", per_round=10, sizes=ones, seed=seed), equal, digits
        )
        for seed in range(30)
    ]
    yield matches(
        "CS-11",
        "digits a round with random ties, mean of 30 seeds",
        float(np.mean(random)),
        6.5,
        0.3,
        note="over random ties it is uniform's 6.6952",
        derivation="closed form",
    )
