"""Settings of a training's length and record."""

from __future__ import annotations

from ..core.settings import LARGEST_SEED, MANY, Settings, setting


class RunSettings(Settings):
    """How long a training takes, and what is recorded of it."""

    restarts: int = setting(
        1,
        "Random restarts, each for half of the rounds; the one with the lowest training loss is trained in "
        "full.",
        group="Method",
        served="refused",
        ge=1,
        le=1000,
    )
    rounds: int | None = setting(
        None,
        "Rounds to train; 50, or as many as fit before `until`, when not given.",
        group="Run",
        ge=0,
        le=MANY,
    )
    stop_at: str | None = setting(
        None,
        "Stop when a metric is reached, such as accuracy=0.9 (on test rows), or train_accuracy:0.93,50 for "
        "at least 50 rounds.",
        group="Run",
    )
    patience: int | None = setting(
        None,
        "Early stopping: stop after this many rounds without improvement of the first metric, on validation"
        " rows or else test rows.",
        group="Run",
        served="node",
        ge=1,
        le=MANY,
    )
    seed: int = setting(
        0,
        "Random seed: same seed, same result.",
        group="Run",
        served="told",
        ge=0,
        le=LARGEST_SEED,
    )
    track: str | None = setting(
        None,
        "Experiment trackers, such as jsonl or tensorboard,mlflow (`unalike list trackers`); none when not "
        "given.",
        group="Run",
        kind="trackers",
        several=True,
    )
    evaluate_every: int | None = setting(
        None,
        "Rounds between evaluations; about twenty in all when not given.",
        group="Run",
        ge=0,
        le=MANY,
    )
    evaluate_clients: int = setting(
        10000,
        "Evaluate on at most this many clients, evenly spaced.",
        group="Run",
        ge=1,
        le=MANY,
    )
    evaluate_training: bool = setting(
        False,
        "Evaluate on training rows, too: every client's training loss at each evaluation, which the "
        "objectives of the timing report need.",
        group="Run",
        served="refused",
    )
    regret: str | None = setting(
        None,
        "Record the regret of a stream's predictions against the run's last model (last), or one that is "
        "trained on all rows that arrive (pooled, or pooled:30 passes); evaluates in every round.",
        group="Run",
        served="refused",
    )
    checkpoint_every: int | None = setting(
        None,
        "Rounds between checkpoints; about ten in all when not given.",
        group="Run",
        ge=0,
        le=MANY,
    )
