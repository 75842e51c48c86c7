"""Settings of attacks, robust aggregation and unlearning."""

from __future__ import annotations

from typing import Any

from pydantic import field_validator

from ..core.settings import Settings, number_as_text, setting


class TrustSettings(Settings):
    """Aggregation rules, monitors, attacks, and clients that may have to be forgotten."""

    aggregator: str | None = setting(
        None,
        "Aggregation rule, such as trimmed-mean:0.1, nnm:1,median or central-dp:1,0.8 (`unalike list "
        "aggregators`); the weighted sum of uploads when not given.",
        group="Trust",
        kind="aggregators",
    )
    monitor: str | None = setting(
        None,
        "Detect and exclude free-riders, such as free-riders:5 (`unalike list monitors`); off when not "
        "given.",
        group="Trust",
        kind="monitors",
    )
    behavior: str | None = setting(
        None,
        "Simulated attack or free-riding, such as free-rider:decay (`unalike list behaviors`), to test "
        "robustness; all clients are honest when not given.",
        group="Trust",
        unlearning=False,
        kind="behaviors",
        served="refused",
    )
    dishonest: str | None = setting(
        None,
        "Dishonest clients: a number (the last clients), a fraction such as 0.2, or names; 1 when not given.",
        group="Trust",
        unlearning=False,
        served="refused",
    )
    unlearning: str | None = setting(
        None,
        "Models kept so that clients can be unlearned later (`unalike forget`): full, grid:K or pruned:PSI;"
        " none when not given.",
        group="Trust",
    )
    ledger: str | None = setting(
        None,
        "Sensitivity bound for unlearning, by client weights: full, realized or reference, with a declared "
        "strong convexity after a colon; full, or realized where clients are sampled.",
        group="Trust",
    )

    watermark: str | None = setting(
        None,
        "Watermark in clients' rows by which unlearning is verified (`unalike forget --quality`), such as "
        "pixels:10 or backdoor:3 (`unalike list watermarks`); none when not given.",
        group="Trust",
        kind="watermarks",
        served="refused",
        decides_rows=True,
    )
    watermarked: str | None = setting(
        None,
        "Clients with a watermark: a number (the last clients), a fraction such as 0.2, or names; all when "
        "not given.",
        group="Trust",
        served="refused",
        decides_rows=True,
    )

    @field_validator("dishonest", "watermarked", mode="before")
    @classmethod
    def _clients_as_text(cls, value: Any) -> Any:
        """In a file, a number need not be quoted."""
        return number_as_text(value)
