"""How unlike are the clients of this federation, by their features?  (Similarity of a federation.)

Everything that is read from one message per client, after E. Buttaci, "Does Perturbation Aid Convergence?"
(MSc thesis, Politecnico di Torino), chapter 3: the graph, its spectrum, and

    hom = mean_{i != j} A_ij / 2    beside    hom_ref, that of the same rows shuffled.

All pairs are compared up to a thousand clients. Of more, a random thousand stand for all: the graph is
theirs, and every client's degree is its mean weight to them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ...core.random import generator
from ...errors import ConfigError
from ...typing import ClientIds, Float64s, Int64s
from ..federation import Federation
from .clusters import spectral_groups
from .graph import SMALLEST, Spectrum, adjacency, degree_weights, edge_weights, spectrum
from .homogeneity import NormalFit, fit_normal, homogeneity, shuffled_weights
from .misalignment import RIGHT_ANGLE, check_messages, misalignment, pairs
from .principal_direction import client_messages, signs_by_chance
from .private_messages import WARNING, message_privacy_registry

MOST_COMPARED = 1000
"""Clients of which all pairs are compared."""
MOST_GROUPED = 4000
"""Clients that are put into groups."""
FEW_ROWS = 30
"""Clients with fewer rows are unlike others by chance."""


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
    degrees: Float64s
    """Of all that have a direction."""
    shuffled: tuple[Float64s, ...] = ()
    """Weights between clients of the same sizes whose rows were dealt at random, for every shuffle."""
    warnings: tuple[str, ...] = ()
    unsure_signs: int = 0
    """Clients whose message has a sign by chance."""

    @cached_property
    def spectrum(self) -> Spectrum:
        """Of the Laplacian of those that are compared."""
        return spectrum(self.weights)

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

    def as_dict(self) -> dict[str, Any]:
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
            "misalignment_quartiles": quartiles,
            "eigenvalues": self.spectrum.values.tolist(),
            "importance": self.importance.tolist(),
            "groups": self.groups().tolist(),
            "verdict": self.verdict(),
            "warnings": list(self.warnings),
        }


def measure_similarity(
    federation: Federation,
    *,
    raw_sign: bool = False,
    privacy: str | None = None,
    repeats: int = 1,
    seed: int = 0,
    most: int = MOST_COMPARED,
) -> Similarity:
    """The similarity of clients by the directions of their training rows.

    privacy: how messages are blurred before they leave, such as `projection:16`.
    repeats: shuffles of which the reference is the mean.

    >>> x = np.random.default_rng(0).random((40, 5))
    >>> halves = Federation.from_owners(x, np.zeros(40, int), np.arange(40) % 2)
    >>> round(measure_similarity(halves, repeats=200).ratio, 0)
    1.0
    """
    clients, messages = client_messages(federation.train, raw_sign)
    compared = clients
    if len(clients) > most:
        compared = np.sort(generator(seed, "compared clients").choice(clients, most, replace=False))
    blur = None if privacy is None else _blur(privacy, seed)
    plain, messages = messages, messages if blur is None else blur(messages)
    notes = [] if privacy is None else _cost(plain, messages, np.searchsorted(clients, compared), privacy)
    again = range(repeats if len(compared) > 1 else 0)
    positive = _never_negative(federation)
    unsure = 0 if positive else signs_by_chance(federation.train, clients, plain)
    if unsure:
        notes.append(
            f"{unsure:,} clients have centred features: the sign of their message is chance, and homogeneity "
            "says little; do not centre features, or judge by other measures."
        )
    found = similarity_of(
        messages,
        clients=clients,
        compared=compared,
        population=len(federation),
        shuffled=tuple(shuffled_weights(federation.train, seed, k, compared, blur) for k in again),
        warnings=(*_warnings(federation, clients, privacy), *notes),
        sign_alarm=privacy is None and positive,
    )
    return replace(found, unsure_signs=unsure)


def _blur(privacy: str, seed: int) -> Callable[[Float64s], Float64s]:
    """What hides a part of messages; a frame is the same whenever it is called."""
    protect = message_privacy_registry.make(privacy)
    return lambda messages: protect(messages, generator(seed, "message privacy"))


def _cost(plain: Float64s, sent: Float64s, places: Int64s, privacy: str) -> list[str]:
    """What blurring does to homogeneity, which only a simulation can tell."""
    if len(places) < 2:
        return []
    before, after = (homogeneity(adjacency(misalignment(table[places]))) for table in (plain, sent))
    return [f"{privacy} moves homogeneity by {after - before:+.3f}, from {before:.3f} to {after:.3f}."]


def likeness_importance(federation: Federation) -> Float64s:
    """What clients count by their likeness to all others: p_i = d_i / sum_j d_j.

    >>> x = np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]])
    >>> likeness_importance(Federation.from_owners(x, np.zeros(3, int), np.arange(3))).round(2)
    array([0.44, 0.45, 0.1 ])
    """
    return measure_similarity(federation, repeats=0).importance


def client_groups(federation: Federation, count: int) -> Int64s:
    """The group of every client by spectral clustering of all; who has no direction is in the first.

    >>> x = np.array([[1.0, 0.0], [0.0, 1.0], [0.9, 0.1], [0.1, 0.9]])
    >>> client_groups(Federation.from_owners(x, np.zeros(4, int), np.arange(4)), 2)
    array([0, 1, 0, 1])
    """
    if len(federation) > MOST_GROUPED:
        raise ConfigError(
            f"groups by similarity compare all clients, at most {MOST_GROUPED:,}, but there are "
            f"{len(federation):,}."
        )
    found = measure_similarity(federation, repeats=0, most=MOST_GROUPED)
    groups = np.zeros(len(federation), np.int64)
    groups[found.compared] = found.groups(count)
    return groups


def similarity_of(
    messages: Float64s,
    *,
    clients: ClientIds | None = None,
    compared: ClientIds | None = None,
    population: int | None = None,
    shuffled: tuple[Float64s, ...] = (),
    warnings: tuple[str, ...] = (),
    sign_alarm: bool = False,
) -> Similarity:
    """The graph of messages that clients have sent."""
    table = check_messages(messages)
    who = np.arange(len(table)) if clients is None else clients
    few = who if compared is None else compared
    sample = table[np.searchsorted(who, few)]
    misalignments = misalignment(sample)
    np.fill_diagonal(misalignments, 0.0)
    weights = adjacency(misalignments)
    degrees = weights.sum(axis=1) if len(few) == len(who) else _degrees(table, sample, who, few)
    found = _edge_warnings(misalignments, degrees, sign_alarm)
    size = len(table) if population is None else population
    return Similarity(size, who, few, misalignments, weights, degrees, shuffled, (*warnings, *found))


def _degrees(table: Float64s, sample: Float64s, who: ClientIds, few: ClientIds) -> Float64s:
    """Every client's mean weight to a sample of the others, times their number."""
    edges = edge_weights(misalignment(table, sample))
    edges[np.searchsorted(who, few), np.arange(len(few))] = 0.0
    return edges.sum(axis=1) / (len(few) - np.isin(who, few)) * (len(who) - 1)


def _edge_warnings(misalignments: Float64s, degrees: Float64s, sign_alarm: bool) -> list[str]:
    edges, found = pairs(misalignments), []
    if twins := int((edges <= SMALLEST).sum()):
        found.append(f"{twins:,} pairs of clients point in the same direction exactly: duplicates?")
    if sign_alarm and (wrong := int((edges > RIGHT_ANGLE + 1e-9).sum())):
        found.append(
            f"{wrong:,} pairs point away from each other although no feature is negative: signs of messages "
            "are wrong, and homogeneity is too low."
        )
    if len(degrees) > 1 and (lonely := int((degrees <= 0).sum())):
        found.append(f"{lonely:,} clients are opposite to all others and count nothing.")
    return found


def _warnings(federation: Federation, clients: ClientIds, privacy: str | None) -> tuple[str, ...]:
    found = [WARNING] if privacy is None else []
    if missing := len(federation) - len(clients):
        found.append(f"{missing:,} clients have no rows, or only zeros, and are left out.")
    if few := int((federation.train.sizes[clients] < FEW_ROWS).sum()):
        found.append(
            f"{few:,} clients have fewer than {FEW_ROWS} rows, which makes them unlike others by chance."
        )
    return tuple(found)


def _never_negative(federation: Federation) -> bool:
    x = federation.train.x
    return x.dtype == np.uint8 or bool(x.min(initial=0.0) >= 0)


def _in_words(ratio: float) -> str:
    if not np.isfinite(ratio):
        return "."
    words = ((0.95, "as alike as rows dealt at random"), (0.75, "a little unlike"), (0.5, "unlike"))
    return f": {next((text for limit, text in words if ratio >= limit), 'very unlike')}."
