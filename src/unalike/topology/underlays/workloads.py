"""Workloads: model size and time per local step.

Figures of five learning problems (one mini-batch on an NVIDIA P100), from the table in Marfoq, Xu, Neglia,
Vidal, Throughput-Optimal Topology Design for Cross-Silo Federated Learning (2020). Sizes there are printed in
Mbit but are the megabytes of 32-bit weights; the published cycle times count them as bits all the same, and
so do these presets. `true_size` has eight times more, for a real deployment.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...core.registry import Registry
from ...errors import ConfigError


@dataclass(frozen=True)
class Workload:
    """What a silo computes and sends in a round.

    >>> workload_of("femnist").compute, workload_of("custom:8e6,12.5").bits
    (4.6, 8000000.0)
    """

    bits: float
    """Of one model."""
    compute: float
    """Milliseconds of one local step."""
    model: str = ""

    @property
    def true_size(self) -> Workload:
        """With the bytes of the published size taken as bytes."""
        return replace(self, bits=8 * self.bits)


workload_registry: Registry[Workload] = Registry("workload", "workloads")


@workload_registry.add("shakespeare")
def shakespeare() -> Workload:
    """Next character, two GRU layers of 256."""
    return Workload(3_385_747, 389.6, "stacked GRU")


@workload_registry.add("femnist")
def femnist() -> Workload:
    """Handwritten characters, a CNN with two convolutions."""
    return Workload(4_843_243, 4.6, "CNN")


@workload_registry.add("sentiment140")
def sentiment140() -> Workload:
    """Mood of short messages, GloVe and LSTM."""
    return Workload(19_269_416, 9.8, "LSTM")


@workload_registry.add("sub-inaturalist")
def sub_inaturalist() -> Workload:
    """80 species, ResNet-18."""
    return Workload(44_961_717, 25.4, "ResNet-18")


@workload_registry.add("inaturalist")
def inaturalist() -> Workload:
    """8,142 species, ResNet-50."""
    return Workload(161.06e6, 946.7, "ResNet-50")


@workload_registry.add("custom")
def custom(bits: float, compute: float) -> Workload:
    """Any model; `custom:BITS,MILLISECONDS`."""
    if not (bits >= 0 and compute >= 0):
        raise ConfigError(f"a workload needs bits and milliseconds that are not negative: {bits}, {compute}.")
    return Workload(bits, compute)


def workload_of(given: str | Workload) -> Workload:
    """A workload by name, or as it is."""
    return given if isinstance(given, Workload) else workload_registry.make(given)
