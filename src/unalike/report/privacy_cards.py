"""Privacy cards on the page of a run: guarantees and spent budget."""

from __future__ import annotations

from collections.abc import Mapping

from ..typing import Array, Config
from .plots import last

_USUAL_DELTA = 1e-5


def privacy_cards(metrics: Mapping[str, Array], config: Config, protection: Config) -> dict[str, str | float]:
    """Clipping, noise, delta, whose privacy it is and towards whom, and whether sums alone were seen.

    >>> import numpy as np
    >>> privacy_cards({"epsilon": np.array([2.0])}, {"central_dp": "1,0.8"}, {})["Privacy spent"]
    'epsilon 2, delta 1e-05, of a client, towards everybody but the server'
    """
    cards: dict[str, str | float] = {}
    central = central_numbers(config, protection)
    if "epsilon" in metrics:
        delta = central.get("delta", config.get("delta") or _USUAL_DELTA)
        whose = ", of a client, towards everybody but the server" if central else ""
        cards["Privacy spent"] = f"epsilon {last(metrics['epsilon']):.3g}, delta {delta:g}{whose}"
    if central:
        noise = f", noise {central['noise']:.4g}" if "noise" in central else ""
        cards["Central privacy"] = f"clip {central['clip']:g}{noise}"
    if protection:
        cards["Secure aggregation"] = "yes" if protection.get("secure_aggregation") else "no"
    return cards


def central_numbers(config: Config, protection: Config) -> dict[str, float]:
    """Clip, noise and delta of central privacy, as far as a run's folder tells them."""
    if "clip" in protection:
        return {name: float(protection[name]) for name in ("clip", "noise", "delta")}
    words = config.get("central_dp")
    if not words:
        return {}
    known = dict(zip(("clip", "noise", "delta"), map(float, str(words).split(",")), strict=False))
    return {"delta": float(config.get("delta") or _USUAL_DELTA), **known}
