"""Local rows of a node: data, labels and column names.

A node reads its own file by itself: it numbers the labels that it has, and its columns are in its own order.
Before it trains, it renumbers and reorders them as the contract says, and cuts its rows into train,
validation and test rows as the same file would be cut among all others in a simulation. What the contract
says comes from somebody else, so a node refuses what does not fit its rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ...core.catalog import explain
from ...data import Federation
from ...data.arrays import clean_targets
from ...data.federation import assemble
from ...data.files.agreement import spell, translate
from ...data.files.store import MANIFEST
from ...data.train_test_split import assign_parts
from ...experiments.config import Experiment, make_experiment
from ..client_config import ClientConfig
from ..transport.messages import MessageError

CUT_BY = ("test_fraction", "validation_fraction", "seed")
"""What says how rows are cut."""


def is_uncut(experiment: Experiment, client: str | None) -> bool:
    """Whether the data are one client's file whose owner leaves it to the server to cut it.

    Data of our own and saved federations have their parts, and an owner who says how to cut has decided.
    """
    if client is not None or experiment.model_fields_set & set(CUT_BY):
        return False
    folder = Path(experiment.data.removeprefix("folder:"))
    ours = experiment.spec("data").name in explain("data")
    return folder.is_dir() and not ours and not (folder / MANIFEST).exists()


def without_cut(experiment: Experiment) -> Experiment:
    """The same data, all of them for training."""
    return experiment.model_copy(update={"test_fraction": 0.0, "validation_fraction": 0.0})


def as_agreed(federation: Federation, client_config: ClientConfig, uncut: bool) -> Federation:
    """A node's rows with the labels, the columns and the parts of the contract."""
    check_names("labels", federation.label_names, client_config.label_names)
    check_names("columns", federation.columns, client_config.columns)
    if set(map(spell, federation.columns or ())) != set(client_config.columns or ()):
        raise MessageError("the request names other columns than this node has.")
    named = translate(federation, client_config.label_names, client_config.columns)
    counted = _with_classes(named, client_config.classes)
    return split_as(counted, client_config) if uncut else counted


def check_names(what: str, mine: Sequence[str] | None, agreed: Sequence[str] | None) -> None:
    """Raise where names that a node has are not among the agreed ones."""
    if (mine is None) != (agreed is None):
        raise MessageError(
            f"this node's {what} have {'no ' if mine is None else ''}names, unlike the request's."
        )
    strange = sorted(set(map(spell, mine or ())) - set(agreed or ()))
    if strange:
        raise MessageError(f"the request's {what} leave out this node's {strange[0][:40]!r}.")


def split_as(federation: Federation, client_config: ClientConfig) -> Federation:
    """One client's rows, cut as those of the contract's client."""
    told, train = make_experiment(client_config.experiment), federation.train
    owners = np.full(len(train.y), client_config.number)
    fractions = told.test_fraction, told.validation_fraction
    parts = assign_parts(owners, client_config.number + 1, *fractions, told.seed)
    train, validation, test = assemble(train.x, train.y, np.zeros_like(owners), parts, 1)
    return replace(federation, train=train, validation=validation, test=test)


def _with_classes(federation: Federation, classes: int) -> Federation:
    """Labels of so many classes, or the targets of a regression."""
    if not classes and federation.label_names is None and federation.classes:
        parts = (federation.train, federation.validation, federation.test)
        train, validation, test = (replace(part, y=clean_targets(part.y * 1.0)) for part in parts)
        return replace(federation, train=train, validation=validation, test=test, classes=None)
    if classes < (federation.classes or 0) or bool(classes) != bool(federation.classes):
        raise MessageError(
            f"the request speaks of {classes} classes, this node has {federation.classes or 0}."
        )
    return replace(federation, classes=classes or None)
