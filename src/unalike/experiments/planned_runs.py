"""Runs of a comparison: which are planned, and which exist already?

    nothing is there    it is trained
    interrupted         it goes on from its newest checkpoint
    finished            it is read

A run is known by its settings, not by the name of its folder: so methods, settings and seeds can be added to
a comparison that is finished, and only what is new is trained. A run whose rows, code or version of this
package are not today's is not reused: that is refused by name, or trained again where that is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from .. import __version__
from ..core.run_files import BESIDE, CONFIG
from ..core.user_code import digest_module
from ..data import Federation
from ..errors import RunError, UnalikeError
from ..models import Task
from ..runs import RunFolder
from ..runs.configuration import read_config
from ..runs.sealed_files import verify
from ..training.fingerprint import data_fingerprint, fingerprint_changes, read_fingerprint
from ..training.newcomers import set_apart
from ..training.observers import Observer
from ..training.run import Run
from ..typing import Array, Document
from .build import client_importance
from .config import Experiment, make_experiment
from .fairness import LOSS_SPREAD, record_loss_spread
from .run import run_experiment, training_clients
from .variations import NOTHING, folder_name


class PlannedRun(NamedTuple):
    """One method with one seed, and where it is or will be."""

    name: str
    experiment: Experiment
    folder: Path | None = None

    @property
    def title(self) -> str:
        """What a person sees while it is trained."""
        return f"{self.name}, seed {self.experiment.seed}"

    @property
    def exists(self) -> bool:
        """Whether it was begun."""
        return self.folder is not None and (self.folder / CONFIG).exists()


class RunMaterial(NamedTuple):
    """What a run is trained and measured with."""

    federation: Federation
    task: Task


MaterialOf = Callable[[Experiment], RunMaterial]


class ReadRun(NamedTuple):
    """A finished run as its folder tells of it."""

    setting: RunMaterial
    columns: dict[str, Array]
    clients: dict[str, Array]

    def metrics(self) -> dict[str, Array]:
        """One column per metric and one row per round."""
        return self.columns

    def client_metrics(self) -> dict[str, Array]:
        """One column per metric and one row per client."""
        return self.clients


def plan_runs(variants: Mapping[str, Experiment], seeds: Sequence[int], out: Path | None) -> list[PlannedRun]:
    """Every variant on every seed, seed by seed; with `out`, each in the folder where it is already, or in
    one of its own."""
    there = dict(_existing_runs(out)) if out is not None else {}
    return [
        PlannedRun(name, seeded, there.get(seeded.model_dump_json(), _place(name, seed, out)))
        for seed in seeds
        for name, chosen in variants.items()
        for seeded in [chosen.model_copy(update={"seed": seed})]
    ]


def check_unchanged(planned: PlannedRun) -> None:
    """Raise if the folder holds a run with other settings."""
    if not planned.exists or planned.folder is None:
        return
    found, wanted = _read_experiment(planned.folder), planned.experiment
    other = [name for name in Experiment.model_fields if getattr(found, name, None) != getattr(wanted, name)]
    if found is not None and client_importance(found) == client_importance(wanted):
        other = [name for name in other if name != "importance"]  # said by one of the two, and the same
    if other:
        words = (
            ""
            if found is None
            else f" with {_format_setting(found, other[0])}, not {_format_setting(wanted, other[0])}"
        )
        raise RunError(
            f"{planned.folder} already holds a run{words}; choose another --out, or replace it with "
            "--overwrite."
        )
    verify(planned.folder)


def check_current(plan: Sequence[PlannedRun], material_of: MaterialOf, retrain: bool = False) -> None:
    """Raise if a run was trained on other rows, with other code of the user's or another version of this
    package; with `retrain`, let it make place for a new one instead."""
    for planned in plan:
        changed = what_changed(planned, material_of) if planned.exists else None
        if changed and retrain:
            _begin_again(planned)
        elif changed:
            raise RunError(
                f"{planned.folder} was trained before something changed: {changed}. Train what has changed "
                "again with --retrain, everything with --overwrite, or choose another --out."
            )


def what_changed(planned: PlannedRun, material_of: MaterialOf) -> str | None:
    """What a run that was begun would not be trained with today: rows, code or the package's version."""
    assert planned.folder is not None, "a run that exists has a folder."
    with RunFolder.open(planned.folder, read_only=True) as opened:
        if not opened.is_own:
            return "it is sealed by another key"
        before, version = read_fingerprint(opened), opened.versions.get("unalike", __version__)
    if version != __version__:
        return f"Unalike was {version} and is {__version__}"
    if not before:
        return None
    federation = training_clients(planned.experiment, material_of(planned.experiment).federation)
    now = {"code": {name: digest_module(name) for name in before["code"]}, **data_fingerprint(federation)}
    return fingerprint_changes(before, now)


def start_changed_again(variants: Mapping[str, Experiment], seeds: Sequence[int], out: Path) -> None:
    """Let runs that have other settings by now make place for new ones, which are not begun yet."""
    for planned in plan_runs(variants, seeds, out):
        if (
            planned.exists
            and planned.folder is not None
            and _read_experiment(planned.folder) != planned.experiment
        ):
            _begin_again(planned)


def is_finished(planned: PlannedRun) -> bool:
    """Whether the run reached its last round."""
    if not planned.exists or planned.folder is None:
        return False
    with RunFolder.open(planned.folder, read_only=True) as opened:
        return opened.finished


def read_planned(planned: PlannedRun, material: RunMaterial) -> ReadRun | None:
    """A run that is finished, with all that a comparison asks of it; None if it must be trained."""
    if not planned.exists or planned.folder is None:
        return None
    unseen = planned.experiment.unseen
    federation = material.federation
    if unseen:
        federation = set_apart(federation, unseen, planned.experiment.seed)[0]
    with RunFolder.open(planned.folder, read_only=True) as opened:
        columns = opened.record.metrics()
        measured = federation.groups is None or LOSS_SPREAD in columns
        met = not unseen or any(name.startswith("unseen_") for name in columns)
        if not (opened.finished and measured and met):
            return None
        return ReadRun(material._replace(federation=federation), columns, opened.record.client_metrics())


def train_planned(
    planned: PlannedRun, material: RunMaterial, overwrite: bool = False, observer: Observer | None = None
) -> Run:
    """Train a run, or go on with it."""
    resume = planned.exists and not overwrite
    run = run_experiment(
        planned.experiment,
        RunFolder.open(planned.folder) if resume and planned.folder is not None else planned.folder,
        federation=material.federation,
        task=material.task,
        overwrite=overwrite,
        resume=resume,
        observer=observer,
    )
    record_loss_spread(run)
    return run


def _begin_again(planned: PlannedRun) -> None:
    """An empty run in place of the one that is there."""
    assert planned.folder is not None, "a run that exists has a folder."
    RunFolder.create(planned.folder, planned.experiment.model_dump(), overwrite=True).close()


def _place(name: str, seed: int, out: Path | None) -> Path | None:
    return None if out is None else out / f"{folder_name(name)}-seed{seed}"


def _existing_runs(out: Path) -> Iterator[tuple[str, Path]]:
    """The runs in a folder by their settings."""
    for path in sorted(out.glob(f"*/{CONFIG}"), reverse=True):
        found = _read_experiment(path.parent)
        if found is not None:
            yield found.model_dump_json(), path.parent


def _read_experiment(folder: Path) -> Experiment | None:
    """The experiment of a run's folder, if it is one that this program understands."""
    try:
        config: Document = read_config(folder / CONFIG)
        return make_experiment({name: value for name, value in config.items() if name not in BESIDE})
    except UnalikeError:
        return None


def _format_setting(experiment: Experiment, name: str) -> str:
    value = getattr(experiment, name)
    return f"{name} {NOTHING if value is None else value}"
