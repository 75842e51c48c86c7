"""Agreement between nodes on labels, columns and target, and on the rows they train on.

Labels and columns are matched by name, as those of files in a folder are, and what cannot be matched is
refused with the node's name. Nodes that left the cut to the server are cut as the same files would be in a
simulation: client i by (seed, i), where clients are in the order of their names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ..data import Federation
from ..data.files.agreement import agree_columns, agree_labels, agree_target
from ..data.train_test_split import check_fractions, part_sizes
from ..errors import DataError
from ..experiments.config import Experiment
from .client_config import NodeRows, far_federation


def gather_federation(told: Mapping[str, NodeRows], experiment: Experiment) -> Federation:
    """The federation of some nodes, whose rows must be of one kind."""
    target = agree_target({name: rows.target_name for name, rows in told.items()})
    columns = agree_columns({name: rows.columns for name, rows in told.items()})
    labels = agree_labels({name: rows.label_names for name, rows in told.items()})
    alike = same_kind(told)
    check_alike(alike)
    sizes = [
        split_sizes(rows, experiment.test_fraction, experiment.validation_fraction) for rows in alike.values()
    ]
    far = far_federation(sizes, None if labels is None else len(labels), tuple(told))
    named = replace(far, label_names=labels, columns=columns, target=target)
    return named.with_groups(experiment.groups or agree_groups(told))


def agree_groups(told: Mapping[str, NodeRows]) -> list[str] | None:
    """The groups that nodes say they belong to; None where nobody says one.

    >>> rows = NodeRows(3, 0, 0, 2, (4,), (), ("float32", "int32"), group="north")
    >>> agree_groups({"ann": rows, "bob": replace(rows, group="south")})
    ['north', 'south']
    """
    groups = {name: rows.group for name, rows in told.items()}
    said = [group for group in groups.values() if group is not None]
    if not said:
        return None
    silent = next((name for name, group in groups.items() if group is None), None)
    if silent is not None:
        raise DataError(
            f"node {silent} says no group, but others do; let it join with --group NAME, or serve with "
            "--groups FILE, which says the group of every node."
        )
    return said


def in_order(told: Mapping[str, NodeRows]) -> dict[str, NodeRows]:
    """Nodes in the order of their numbers: where they are cut here, in the order of files in a folder.

    >>> rows = NodeRows(3, 0, 0, 2, (4,), (), ("float32", "int32"), uncut=True)
    >>> list(in_order({"ann": rows, "ann-b": rows, "Bob": rows}))
    ['Bob', 'ann-b', 'ann']
    """
    if not any(rows.uncut for rows in told.values()):
        return dict(told)
    return {name: told[name] for name in sorted(told, key=lambda name: f"{name}.")}


def keep_their_own(told: Mapping[str, NodeRows]) -> list[str]:
    """Nodes that cut their rows themselves although others leave it to the server."""
    if not any(rows.uncut for rows in told.values()):
        return []
    return [name for name, rows in told.items() if not rows.uncut]


def same_kind(told: Mapping[str, NodeRows]) -> dict[str, NodeRows]:
    """A regression's client may happen to hold whole targets only: floats anywhere mean floats everywhere."""
    if all(rows.classes for rows in told.values()) or any(rows.label_names for rows in told.values()):
        return dict(told)
    kind = next(rows.types[1] for rows in told.values() if not rows.classes)
    return {
        name: replace(rows, classes=0, types=(rows.types[0], kind)) if rows.classes else rows
        for name, rows in told.items()
    }


def check_alike(told: Mapping[str, NodeRows]) -> None:
    """Raise where a node has rows of another kind than the first."""
    first = next(iter(told))
    for name, rows in told.items():
        for what in ("shape", "target", "types"):
            ours, theirs = getattr(told[first], what), getattr(rows, what)
            if ours != theirs:
                raise DataError(f"node {name} has rows of {what} {theirs}, but node {first} of {ours}.")


def split_sizes(rows: NodeRows, test_fraction: float, validation_fraction: float) -> NodeRows:
    """How many rows of each part a node will have."""
    if not rows.uncut:
        return rows
    check_fractions(test_fraction, validation_fraction)
    everything = np.array([rows.train])
    test = part_sizes(everything, test_fraction, 0)
    validation = part_sizes(everything, validation_fraction, test)
    train = everything - test - validation
    return replace(rows, train=int(train[0]), validation=int(validation[0]), test=int(test[0]))
