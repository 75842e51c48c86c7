"""Settings of the engine."""

from __future__ import annotations

from ..core.settings import Settings, setting


class EngineSettings(Settings):
    """Where a training runs."""

    engine: str = setting(
        "local",
        "Engine that runs clients (`unalike list engines`).",
        group="Run",
        kind="engines",
        served="node",
    )
    devices: int | None = setting(
        None,
        "Cores to use; all when not given.",
        group="Run",
        served="node",
        ge=1,
        le=4096,
    )
