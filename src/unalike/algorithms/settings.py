"""Settings of the algorithm."""

from __future__ import annotations

from ..core.settings import MANY, MOST_WORK, Number, Settings, setting


class MethodSettings(Settings):
    """What clients and the server compute."""

    algorithm: str = setting(
        "fedavg",
        "Algorithm (`unalike list algorithms`).",
        group="Method",
        kind="algorithms",
        served="told",
    )
    options: dict[str, Number] = setting(
        {},
        "Hyperparameters of the algorithm alone, such as mu=0.1; in a file, a table.",
        group="Method",
        served="told",
    )
    epochs: int | None = setting(
        None,
        "Local epochs: passes over a client's rows in each round (1 unless steps are given).",
        group="Method",
        served="told",
        ge=0,
        le=MOST_WORK,
    )
    steps: int | None = setting(
        None,
        "Local steps (mini-batches) in each round, instead of epochs.",
        group="Method",
        served="told",
        ge=0,
        le=MOST_WORK,
    )
    batch_size: int = setting(
        16,
        "Mini-batch size; 0 means all rows of the client.",
        group="Method",
        served="told",
        ge=0,
        le=MANY,
    )
    optimizer: str = setting(
        "sgd",
        "Client optimizer (`unalike list optimizers`).",
        group="Method",
        served="told",
    )
    learning_rate: float = setting(
        0.1,
        "Client learning rate.",
        group="Method",
        served="told",
        ge=0,
    )
    momentum: float | None = setting(
        None,
        "Momentum of the client optimizer, where it has one.",
        group="Method",
        served="told",
        ge=0,
        lt=1,
    )
    schedule: str = setting(
        "constant",
        "Learning rate schedule over rounds (`unalike list schedules`).",
        group="Method",
        served="told",
    )
    clip: float | None = setting(
        None,
        "Gradient clipping: largest norm of a local gradient.",
        group="Method",
        served="told",
        gt=0,
    )
    server_optimizer: str | None = setting(
        None,
        "Server optimizer; the algorithm's default when not given.",
        group="Method",
        served="told",
    )
    server_learning_rate: float | None = setting(
        None,
        "Server learning rate; the algorithm's default when not given.",
        group="Method",
        served="told",
        ge=0,
    )
