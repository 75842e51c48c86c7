"""FEM-OMD for Gaussians as its numerical recipe is written: NumPy, loops, double precision."""

import numpy as np
from scipy.special import logsumexp


class NaiveFemOMD:
    """One object for all clients; `step(rows)` takes one array of rows per client."""

    def __init__(self, means, clients, em_steps=5, split=False, min_mass=0.5, floor=1e-3, outer=None):
        self.means = np.array(means, float)
        self.weights = np.full((clients, len(means)), 1 / len(means))
        self.em_steps, self.split, self.min_mass, self.floor, self.outer = (
            em_steps, split, min_mass, floor, outer,
        )  # fmt: skip
        self.counts, self.t = np.ones(len(means)), 1

    def logs(self, x, means):
        return -0.5 * ((x[:, None] - means) ** 2).sum(-1)

    def step(self, rows):
        m, d = self.means.shape
        inner, guess = self.means.copy(), np.full_like(self.weights, 1 / m)
        updated = np.zeros(m, bool)
        for k in range(self.em_steps):
            s0, s1 = np.zeros(m), np.zeros((m, d))
            for c, x in enumerate(rows):
                if self.split:
                    x = x[np.arange(len(x)) * self.em_steps // max(len(x), 1) == k]
                if not len(x):
                    continue
                joint = self.logs(x, inner) + np.log(guess[c] + 1e-12)
                r = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
                guess[c] = r.mean(0)
                s0 += r.sum(0)
                s1 += r.T @ x
            moves = (s0 >= self.min_mass) & (s0 > 0)
            inner[moves] = s1[moves] / s0[moves, None]
            updated |= moves
        for j in np.flatnonzero(updated):
            share = 1 / (self.counts[j] + 1) if self.outer is None else self.outer
            self.means[j] += share * (inner[j] - self.means[j])
            self.counts[j] += 1
        rate = np.sqrt(np.log(m)) / (m * np.sqrt(self.t))
        for c, x in enumerate(rows):
            if not len(x):
                continue
            logs = self.logs(x, self.means)
            g = -np.exp(logs - logsumexp(logs + np.log(self.weights[c]), axis=1, keepdims=True)).mean(0)
            new = self.weights[c] * np.exp(-rate * g)
            new = np.maximum(new / new.sum(), self.floor)
            self.weights[c] = new / new.sum()
        self.t += 1
