"""Files of a run folder: which belong to a run, and may a folder be used for one?

This is asked before anything slow is imported, so that a taken folder is said at once.
"""

from __future__ import annotations

from pathlib import Path

from ..errors import RunError

BESIDE = ("versions", "protection")
"""Tables of a configuration that are no settings: what a run ran on, and what its clients were promised."""
CONFIG, RECORD, MODEL, CHECKPOINTS = "config.toml", "metrics.sqlite", "model.safetensors", "checkpoints"
BEST = "best.safetensors"
"""The best model, beside the last one."""
ROUNDS = "rounds.jsonl"
"""What was measured, a line per round, where that is asked for."""
FACTS = "clients.json"
"""What clients, columns and classes are called, and how columns became features."""
SEAL = "seal.jsonl"
"""Digests of the files, by which a changed one is found."""
UNLEARNING = "unlearning"
"""Where models and norms are kept so that clients can be forgotten."""
OURS = (
    CONFIG,  # first, so that a half-cleared folder is no longer a run
    RECORD,
    f"{RECORD}-wal",
    f"{RECORD}-shm",
    MODEL,
    BEST,
    FACTS,
    ROUNDS,
    SEAL,
    "report.html",
    "similarity.json",
    "similarity.html",
    ".*.tmp",
    f"{CHECKPOINTS}/round-*.safetensors",
    f"{CHECKPOINTS}/.*.tmp",
    "plots/*.png",
    f"{UNLEARNING}/*.json",
    f"{UNLEARNING}/.*.tmp",
    f"{UNLEARNING}/branch-*/round-*.safetensors",
    f"{UNLEARNING}/branch-*/.*.tmp",
    f"{UNLEARNING}/retraining-*/*",
    f"{UNLEARNING}/retraining-*/.*.tmp",
    f"{UNLEARNING}/retraining-*/plots/*.png",
    f"{UNLEARNING}/retraining-*/{CHECKPOINTS}/*.safetensors",
    f"{UNLEARNING}/retraining-*/{CHECKPOINTS}/.*.tmp",
)
"""Patterns of the files that a run writes."""


def check_free(folder: Path, overwrite: bool) -> None:
    """Raise if a run in this folder would destroy something; with `overwrite`, another run may go."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise RunError(f"{folder} is a file; choose another --out.")
    stranger = _stranger(folder)
    if stranger:
        raise RunError(f"{folder} holds {stranger}, which is not part of a run; choose another --out.")
    if (folder / CONFIG).exists() and not overwrite:
        raise RunError(
            f"{folder} already holds a run; go on with `unalike resume {folder}`, "
            "choose another --out, or replace it with --overwrite."
        )


def check_run(folder: Path) -> None:
    """Raise if this is not the folder of a run."""
    if not folder.is_dir():
        raise RunError(f"there is no run folder {folder}.")
    if not (folder / CONFIG).exists():
        raise RunError(f"{folder} is not a run folder: it has no {CONFIG}.")


def _stranger(folder: Path) -> Path | None:
    """A file that no run of ours wrote, if there is one."""
    ours = {path for pattern in OURS for path in folder.glob(pattern)} | {folder / "lock"}
    others = (
        path.relative_to(folder) for path in folder.rglob("*") if path not in ours and not path.is_dir()
    )
    return next(others, None)
