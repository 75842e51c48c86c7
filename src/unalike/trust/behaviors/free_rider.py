"""Free-riders: clients that take the model and contribute nothing.

Fraboni, Vidal and Lorenzi, "Free-rider Attacks on Model Aggregation in Federated Learning" (2021). A plain
free-rider sends back what it was sent. With M_J rows of honest clients among N declared ones,

    theta_{t+1}  =  (M_J / N) FedAvg_honest(theta_t)  +  (1 - M_J / N) theta_t:

it is FedAvg of the honest clients with a server that only goes the part M_J / N of the way. Disguises, which
add noise or old changes so that the upload does not look like the message, are in files of their own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import jax.numpy as jnp

from ...algorithms import ClientData
from ...data import Federation
from ...errors import ConfigError, unknown
from ...typing import ClientIds, Memory, Upload
from .base import Behavior, Situation, behavior_registry
from .declared_size import check_declared, declare


@dataclass(frozen=True)
class FreeRider(Behavior):
    """Sends back what it was sent; `declared` is how many rows it claims to have."""

    declared: str = "mean"

    replaces_changes: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_declared(self.declared)

    def change_data(self, federation: Federation, who: ClientIds) -> Federation:
        return declare(federation, who, self.declared)

    def change_work(self, data: ClientData) -> ClientData:
        """It does nothing."""
        return replace(data, steps=jnp.zeros_like(data.steps))

    def change_upload(self, upload: Upload, now: Situation) -> tuple[Upload, Memory]:
        return Upload(now.message), now.memory


@behavior_registry.add("free-rider")
def free_rider(
    kind: str = "decay",
    gamma: float | None = None,
    m: float = 1.0,
    sigma: str | float = "rms",
    first: float = 1e-3,
    declared: str = "mean",
) -> Behavior:
    """Takes the model and trains nothing; `free-rider:decay` hides it by noise. Kinds: plain, constant,
    decay, exponential, mixture, replay, tiny-data.

    `m` multiplies the noise (for `replay`, the change that is repeated), `gamma` is how fast it fades (1, or
    0.75 for `mixture`), `sigma` how its size is estimated (rms, mean-abs) or what it is, `first` its size
    over m before anything can be estimated, `declared` how many rows are claimed (mean, min, max, 10x).
    """
    from .disguised_free_rider import DisguisedFreeRider
    from .mixture_free_rider import MixtureFreeRider
    from .replay_free_rider import ReplayFreeRider
    from .tiny_data_free_rider import TinyDataFreeRider

    fade = 1.0 if gamma is None else gamma
    for name, value in (("gamma", fade), ("m", m), ("first", first)):
        if not isinstance(value, int | float) or not 0 <= value < float("inf"):
            raise ConfigError(f"{name} of a free-rider must be a number from 0 on, but is {value!r}.")
    if kind in ("constant", "decay", "exponential"):
        return DisguisedFreeRider(declared, kind, fade, m, sigma, first)
    makers = {
        "plain": lambda: FreeRider(declared),
        "mixture": lambda: MixtureFreeRider(declared, 0.75 if gamma is None else gamma, m, first),
        "replay": lambda: ReplayFreeRider(declared, m, first),
        "tiny-data": lambda: TinyDataFreeRider(declared),
    }
    if kind not in makers:
        raise unknown("kind of free-rider", str(kind), ("constant", "decay", "exponential", *makers))
    return makers[kind]()
