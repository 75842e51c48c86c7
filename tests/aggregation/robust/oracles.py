"""Every rule once more, as slowly and plainly as its definition reads: lists, loops and 64-bit numbers."""

import numpy as np
from scipy.optimize import minimize


def mean(rows, weights):
    return np.average(rows, axis=0, weights=weights)


def median(rows, weights):
    return np.median(rows, axis=0)


def trimmed_mean(share):
    def rule(rows, weights):
        cut = int(share * len(rows) + 1e-9)
        return np.array([np.mean(sorted(column)[cut : len(rows) - cut]) for column in rows.T])

    return rule


def scores(rows, dishonest):
    """Krum's, of a list of rows."""
    found = []
    for i, one in enumerate(rows):
        gaps = sorted(np.sum((one - other) ** 2) for j, other in enumerate(rows) if j != i)
        found.append(sum(gaps[: max(len(rows) - dishonest - 2, 1)]))
    return found


def multi_krum(dishonest, chosen):
    def rule(rows, weights):
        best = np.argsort(scores(rows, dishonest), kind="stable")[:chosen]
        return rows[best].mean(0)

    return rule


def bulyan(dishonest):
    def rule(rows, weights):
        left, chosen = list(rows), []
        for _ in range(len(rows) - 2 * dishonest):
            best = int(np.argmin(scores(left, dishonest)))
            chosen.append(left.pop(best))
        answer = []
        for column in np.array(chosen).T:
            middle = np.median(column)
            nearest = sorted(column, key=lambda value: abs(value - middle))
            answer.append(np.mean(nearest[: len(rows) - 4 * dishonest]))
        return np.array(answer)

    return rule


def geometric_median(rows, weights):
    """By a general optimizer."""
    far = lambda v: weights @ np.linalg.norm(rows - v, axis=1)  # noqa: E731
    start = np.median(rows, axis=0)
    return minimize(
        far, start, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-14, "maxiter": 50_000}
    ).x


def centered_clipping(radius, iterations):
    def rule(rows, weights):
        center = np.zeros(rows.shape[1])
        for _ in range(iterations):
            move = np.zeros_like(center)
            for row, share in zip(rows, weights / weights.sum(), strict=True):
                gap = row - center
                move += share * gap * min(1.0, radius / np.linalg.norm(gap))
            center = center + move
        return center

    return rule


def nearest_neighbors(dishonest, then):
    def rule(rows, weights):
        mixed = []
        for one in rows:
            order = np.argsort([np.sum((one - other) ** 2) for other in rows], kind="stable")
            mixed.append(rows[order[: len(rows) - dishonest]].mean(0))
        return then(np.array(mixed), weights)

    return rule
