"""Settings of model, loss and metrics."""

from __future__ import annotations

from typing import Literal

from ..core.settings import Settings, setting


class ModelSettings(Settings):
    """What is learned."""

    model: str = setting(
        "mlp",
        "Model, such as mlp:200,200 (`unalike list models`).",
        group="Model",
        kind="models",
        served="told",
    )
    state: Literal["average", "local", "refuse"] | None = setting(
        None,
        "Running statistics of a model, such as those of mlp-bn: average (part of the model), local (one "
        "copy per client) or refuse; refuse when not given.",
        group="Model",
        served="told",
    )
    l2: float = setting(
        0.0,
        "L2 regularization: weight of half the squared norm of the parameters in the loss.",
        group="Model",
        served="told",
        ge=0,
    )
    metrics: str | None = setting(
        None,
        "Metrics, such as accuracy,f1,auc (`unalike list metrics`); the first judges clients. Accuracy or "
        "RMSE when not given.",
        group="Model",
        kind="metrics",
        several=True,
        served="told",
    )
