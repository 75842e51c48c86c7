"""Settings of privacy."""

from __future__ import annotations

from typing import Any

from pydantic import field_validator

from ..core.settings import Settings, number_as_text, setting


class PrivacySettings(Settings):
    """Noise, and what may be spent."""

    central_dp: str | None = setting(
        None,
        "Central differential privacy: clip client updates and add noise to their sum, as "
        "CLIP,NOISE[,DELTA], such as 1,0.8, or CLIP alone with epsilon.",
        group="Privacy",
        served="node",
    )
    local_dp: str | None = setting(
        None,
        "Local differential privacy: each client clips its update and adds noise, as CLIP,EPSILON,DELTA of "
        "one round, such as 1,0.5,1e-5, or CLIP alone with epsilon.",
        group="Privacy",
        served="node",
    )
    epsilon: float | None = setting(
        None,
        "Privacy budget of a client (of a row with dp-sgd) over the run: sets the noise that is not given, "
        "and training stops before it is exceeded; no limit when not given.",
        group="Privacy",
        gt=0,
    )
    delta: float | None = setting(
        None,
        "Delta of the privacy budget; 1e-5 when not given.",
        group="Privacy",
        gt=0,
        lt=1,
    )
    reference_sensitivity: float | None = setting(
        None,
        "Weight of reference rows' privacy against training rows' in `unalike audit`.",
        group="Privacy",
        served="simulation",
        ge=0,
    )

    @field_validator("central_dp", "local_dp", mode="before")
    @classmethod
    def _noise_as_text(cls, value: Any) -> Any:
        """In a file, a number need not be quoted."""
        return number_as_text(value)
