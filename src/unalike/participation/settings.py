"""Settings of client participation."""

from __future__ import annotations

from typing import Literal

from ..core.settings import MANY, Settings, setting


class ParticipationSettings(Settings):
    """Who takes part, and how much clients count."""

    importance: str | None = setting(
        None,
        "Client weights in the objective: data (number of rows), equal, similarity (to the other clients, "
        "by their features), or a file with one number per client; data when not given, or what the method "
        "was published with (perturbed: similarity).",
        group="Participation",
        decides_rows=True,
    )
    per_round: int | None = setting(
        None,
        "Cohort size: clients sampled in each round; all when not given.",
        group="Participation",
        ge=1,
        le=MANY,
    )
    sampling: str | None = setting(
        None,
        "Client sampling scheme, such as clustered-size (`unalike list samplers`).",
        group="Participation",
        unlearning=False,
        kind="samplers",
    )
    availability: str | None = setting(
        None,
        "Availability model of the clients, such as markov:0.5,0.9 (`unalike list availabilities`).",
        group="Participation",
        unlearning=False,
        kind="availabilities",
        served="simulation",
    )
    participation: str | None = setting(
        None,
        "Weighting strategy under intermittent availability, such as ca-fed (`unalike list participation`).",
        group="Participation",
        unlearning=False,
        kind="participation",
        served="simulation",
    )
    beliefs: Literal["estimated", "known"] = setting(
        "estimated",
        "Whether availability is estimated during training, or known beforehand.",
        group="Participation",
        served="simulation",
    )
