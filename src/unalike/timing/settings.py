"""Settings of timing."""

from __future__ import annotations

from typing import Literal

from ..core.settings import MANY, Settings, setting


class TimingSettings(Settings):
    """When results arrive."""

    timing: str = setting(
        "synchronous",
        "Timing policy, such as fedfix:0.5 or async (`unalike list timings`).",
        group="Timing",
        kind="timings",
    )
    hardware: str | None = setting(
        None,
        "Time that clients take for local work, such as spread:80, or spread:80,shuffled for a random order"
        " (`unalike list hardware`).",
        group="Timing",
        unlearning=False,
        kind="hardware",
        served="simulation",
    )
    bandwidth: str | None = setting(
        None,
        "Megabits per second down and up, and latency in seconds, such as 100,20,0.05.",
        group="Timing",
        unlearning=False,
        served="simulation",
    )
    timing_weights: Literal["corrected", "identical", "online"] | None = setting(
        None,
        "Aggregation weights corrected for how often clients report (beforehand, or online), or identical.",
        group="Timing",
    )
    largest_weight: float | None = setting(
        None,
        "Cap on the weight of a result, so that clients that seldom report cannot dominate; capped clients "
        "count less than their importance.",
        group="Timing",
        gt=0,
    )
    staleness: str = setting(
        "constant",
        "Staleness discount of old updates, such as polynomial:0.5 (`unalike list staleness`).",
        group="Timing",
        kind="staleness",
    )
    dropout: float = setting(
        0.0,
        "Probability that a client's work is lost.",
        group="Timing",
        unlearning=False,
        served="simulation",
        ge=0,
        lt=1,
    )
    timeout: float | None = setting(
        None,
        "Local work that takes longer than this is given up.",
        group="Timing",
        unlearning=False,
        served="simulation",
        gt=0,
    )
    until: float | None = setting(
        None,
        "Stop at this time of the simulated clock.",
        group="Timing",
        unlearning=False,
        served="simulation",
        gt=0,
        le=MANY,
    )
