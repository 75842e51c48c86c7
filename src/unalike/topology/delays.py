"""Delays between silos: computing, transmission and latency (Marfoq, Xu, Neglia, Vidal, Throughput-Optimal
Topology Design for Cross-Silo Federated Learning, 2020).

From the moment silo i starts its s local steps until silo j has its model,

    d_o(i, j)  =  s T_c(i) + l(i, j) + M / min(C_UP(i) / |out(i)|,  C_DN(j) / |in(j)|,  A(i, j)),

with degrees of the *overlay*, because parallel transfers share an access link. Designers that must not know
the overlay yet leave access links out (d_c), or take one transfer at a time (degrees of one).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..typing import Float64s
from .graphs import Graph
from .underlays.connectivity import Connectivity


def computing(connectivity: Connectivity) -> Float64s:
    """Milliseconds that each silo computes in a round, s T_c."""
    return connectivity.local_steps * connectivity.compute


def transfers(connectivity: Connectivity, sending: ArrayLike, receiving: ArrayLike) -> Float64s:
    """Milliseconds from sender (row) to receiver (column), where every silo sends to and receives from so
    many at once; zero of them means that its access link is not counted."""
    with np.errstate(divide="ignore"):
        up = connectivity.uplink / np.asarray(sending, np.float64)
        down = connectivity.downlink / np.asarray(receiving, np.float64)
    rate = np.minimum(np.minimum(up[:, None], down), connectivity.bandwidth)
    return connectivity.latency + 1000.0 * connectivity.bits / rate


def delays_of(connectivity: Connectivity, sending: ArrayLike, receiving: ArrayLike) -> Float64s:
    """d(i, j) of all pairs for given degrees, infinite where silos cannot talk; s T_c(i) on the diagonal."""
    delay = computing(connectivity)[:, None] + transfers(connectivity, sending, receiving)
    np.fill_diagonal(delay, computing(connectivity))
    return delay


def overlay_delays(connectivity: Connectivity, arcs: Graph) -> Float64s:
    """d_o of the arcs of an overlay (senders by receivers), minus infinity where there is none.

    >>> from unalike.topology import connect
    >>> two = connect("mesh:2,1000", "custom:1e9,100", core=1e12, access=1e9)
    >>> int(overlay_delays(two, ~np.eye(2, dtype=bool))[0, 0])
    100
    """
    sending, receiving = arcs.sum(axis=1), arcs.sum(axis=0)
    kept = arcs | np.eye(len(arcs), dtype=bool)
    return np.where(kept, delays_of(connectivity, sending, receiving), -np.inf)


def design_delays(connectivity: Connectivity) -> Float64s:
    """d_c: as if access links were never the bottleneck."""
    nobody = np.zeros(len(connectivity))
    return delays_of(connectivity, nobody, nobody)


def single_delays(connectivity: Connectivity) -> Float64s:
    """d of overlays in which everyone sends to one silo and hears one; no overlay is faster on any arc."""
    once = np.ones(len(connectivity))
    return delays_of(connectivity, once, once)


def both_ways(delays: Float64s) -> Float64s:
    """The mean of both directions; infinite where one of them is missing."""
    return (delays + delays.T) / 2
