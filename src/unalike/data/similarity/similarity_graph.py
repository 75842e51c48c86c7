"""The similarity graph of clients' messages and its statistics.

E. Buttaci, "Does Perturbation Aid Convergence?" (MSc thesis, Politecnico di Torino), chapter 3: weights A of
edges, the spectrum of their Laplacian, groups, what clients would count, and

    hom = mean_{i != j} A_ij / 2    beside    hom_ref, that of the same rows shuffled.

Where only some clients are compared, the graph is theirs, and every client's degree is its mean weight to
them. Homogeneity is of all pairs; a graph with fewer edges (`knn:5`) has its own spectrum, groups and
degrees.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ...errors import ConfigError
from ...typing import ClientIds, Document, Float64s, Int64s
from .caveats import edge_caveats
from .clusters import MOST_GROUPS, count_groups, spectral_groups
from .graph import Spectrum, adjacency, degree_weights, edge_weights, spectrum
from .homogeneity import NormalFit, fit_normal, homogeneity
from .misalignment import check_messages, misalignment, pairs
from .sparse_graph import FULL, components, keep_edges


@dataclass(frozen=True, eq=False)
class Similarity:
    """The similarity graph of some clients, and what it says of all of them."""

    population: int
    """All clients, with and without a direction."""
    clients: ClientIds
    """Those that have a direction."""
    compared: ClientIds
    """Those whose pairs are all compared."""
    misalignments: Float64s
    weights: Float64s
    """Of all pairs."""
    degrees: Float64s
    """Of all that have a direction."""
    shuffled: tuple[Float64s, ...] = ()
    """Weights between clients of the same sizes whose rows were dealt at random, for every shuffle."""
    warnings: tuple[str, ...] = ()
    unsure_signs: int = 0
    """Clients whose message has a sign by chance."""
    graph: str = FULL
    """Which pairs are joined: full, knn:K or epsilon:E."""

    @cached_property
    def edges(self) -> Float64s:
        """The weights of the pairs that the graph joins, 0 for the others."""
        return keep_edges(self.weights, self.graph)

    @cached_property
    def spectrum(self) -> Spectrum:
        """Of the Laplacian of those that are compared."""
        return spectrum(self.edges)

    @property
    def components(self) -> int:
        """The number of parts of the graph without an edge between them."""
        return int(components(self.edges).max(initial=-1)) + 1

    @property
    def reference(self) -> float:
        """Homogeneity of the same rows shuffled among clients of the same sizes; the mean over shuffles."""
        return float(np.mean([homogeneity(weights) for weights in self.shuffled or (np.zeros((1, 1)),)]))

    @property
    def homogeneity(self) -> float:
        """Half the mean weight of an edge."""
        return homogeneity(self.weights)

    @property
    def standard_error(self) -> float:
        """Of the homogeneity, because only some clients are compared; 0 if all are."""
        some, everyone = len(self.compared), len(self.clients)
        if some == everyone:
            return 0.0
        means = self.weights.sum(axis=1) / (some - 1)
        return float(means.std() * np.sqrt((1 - some / everyone) / some))

    @property
    def ratio(self) -> float:
        """Homogeneity over that of clients who draw from the same rows; 1 where clients are alike."""
        return self.homogeneity / self.reference if self.reference > 0 else float("nan")

    @cached_property
    def fit(self) -> NormalFit:
        """The log-normal law of misalignments."""
        return fit_normal(pairs(self.weights))

    @property
    def importance(self) -> Float64s:
        """What each of all clients counts by its likeness to the others; 0 without a direction."""
        shares = np.zeros(self.population)
        shares[self.clients] = degree_weights(self.degrees)
        return shares

    def groups(self, count: int | None = None) -> Int64s:
        """The group of each compared client; as many as the spectrum says if no number is given."""
        if count is None and self.graph != FULL:
            # Hubs of a sparse graph leave gaps at the upper end, which say nothing of groups of two or more.
            most = max(min(MOST_GROUPS, len(self.compared) // 2), self.components)
            count = count_groups(self.spectrum.values, most)
        return spectral_groups(self.spectrum, count)

    def verdict(self) -> str:
        """One line for a person."""
        if len(self.compared) < 2:
            return "One client has nobody to be compared with: homogeneity is not defined."
        known = np.isfinite(self.reference)
        beside = f"{self.ratio:.0%} of what shuffled rows would have ({self.reference:.3f})"
        return (
            f"homogeneity {self.homogeneity:.3f}, {beside if known else 'with nothing to compare it with'}; "
            f"-ln misalignment {self.fit.theta:.2f} ± {self.fit.phi:.2f}{_in_words(self.ratio)}"
        )

    def edge_count(self) -> int:
        """The number of pairs that the graph joins."""
        return int((pairs(self.edges) > 0).sum())

    def as_dict(self) -> Document:
        """Everything but the tables, ready for JSON."""
        edges = pairs(self.misalignments)
        several = len(self.compared) > 1
        quartiles = np.quantile(edges, (0.25, 0.5, 0.75)).tolist() if several else []
        return {
            "clients": self.population,
            "compared": len(self.compared),
            "homogeneity": self.homogeneity if several else None,
            "standard_error": self.standard_error,
            "iid_reference": self.reference if np.isfinite(self.reference) else None,
            "ratio": self.ratio if several and np.isfinite(self.ratio) else None,
            "theta": self.fit.theta if several else None,
            "phi": self.fit.phi if several else None,
            "normal_fit_distance": self.fit.distance if several else None,
            "graph": self.graph,
            "edges": self.edge_count(),
            "components": self.components,
            "misalignment_quartiles": quartiles,
            "eigenvalues": self.spectrum.values.tolist(),
            "importance": self.importance.tolist(),
            "groups": self.groups().tolist(),
            "verdict": self.verdict(),
            "warnings": list(self.warnings),
        }


def similarity_of(
    messages: Float64s,
    *,
    clients: ClientIds | None = None,
    compared: ClientIds | None = None,
    population: int | None = None,
    shuffled: tuple[Float64s, ...] = (),
    warnings: tuple[str, ...] = (),
    sign_alarm: bool = False,
    graph: str = FULL,
) -> Similarity:
    """The graph of messages that clients have sent.

    Args:
        messages: A unit vector per client that has a direction.
        clients: Their places among everyone.
        compared: Those of them whose pairs are all compared.
        population: The number of all clients, with and without a direction.
        shuffled: Weights between clients of the same sizes whose rows were dealt at random.
        warnings: What is known to beware of.
        sign_alarm: Whether messages that point away from each other are wrong.
        graph: Which pairs are joined: `full`, `knn:K` or `epsilon:E`.
    """
    table = check_messages(messages)
    who = np.arange(len(table)) if clients is None else clients
    few = who if compared is None else compared
    sample = table[np.searchsorted(who, few)]
    misalignments = misalignment(sample)
    np.fill_diagonal(misalignments, 0.0)
    weights = adjacency(misalignments)
    size = len(table) if population is None else population
    joined = Similarity(size, who, few, misalignments, weights, np.zeros(0), shuffled, graph=graph)
    if len(few) == len(who):
        degrees = joined.edges.sum(axis=1)
    elif graph == FULL:
        degrees = _degrees(table, sample, who, few)
    else:
        raise ConfigError(
            f"graph {graph} needs all pairs of clients, but of {len(who):,} only {len(few):,} are compared; "
            "use full, or fewer clients."
        )
    found = edge_caveats(misalignments, degrees, sign_alarm)
    if graph != FULL and (parts := joined.components) > 1:
        found.append(f"The graph {graph} has {parts:,} components: no edge joins one with another.")
    return replace(joined, degrees=degrees, warnings=(*warnings, *found))


def _degrees(table: Float64s, sample: Float64s, who: ClientIds, few: ClientIds) -> Float64s:
    """Every client's mean weight to a sample of the others, times their number."""
    edges = edge_weights(misalignment(table, sample))
    edges[np.searchsorted(who, few), np.arange(len(few))] = 0.0
    return edges.sum(axis=1) / (len(few) - np.isin(who, few)) * (len(who) - 1)


def _in_words(ratio: float) -> str:
    if not np.isfinite(ratio):
        return "."
    words = ((0.95, "as alike as rows dealt at random"), (0.75, "a little unlike"), (0.5, "unlike"))
    return f": {next((text for limit, text in words if ratio >= limit), 'very unlike')}."
