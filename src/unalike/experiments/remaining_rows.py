"""Encoding of rows once clients are forgotten, as if these had never taken part.

Means and spreads of columns, words and labels follow from the rows of every client. Where tables are prepared
here, they are read again and prepared without the clients that were forgotten; the others keep their numbers
and their cut into training and test rows. A preparation that was given stays as it is, and what everybody
knows of a data set, such as its classes, too.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..data import Federation
from ..data.loader import fits_columns, is_own_data
from ..data.table_clients import WAYS
from ..data.without_clients import label_again
from .build import make_federation
from .config import Experiment


def rows_coded_without(
    experiment: Experiment, gone: Sequence[int], everything: Federation | None = None
) -> Federation:
    """The rows of all clients, also of those that are gone, coded as if these had never been there;
    `everything` are the rows as they are coded with everybody, where they are known."""
    federation = make_federation(experiment) if everything is None else everything
    if not gone:
        return federation
    if is_fitted_here(experiment):
        federation = make_federation(experiment, without=[federation.name(client) for client in gone])
    return label_again(federation, gone) if is_own_data(experiment.data) else federation


def remaining_rows(
    experiment: Experiment, gone: Sequence[int], everything: Federation | None = None
) -> Federation:
    """The same clients under the same numbers, of whom those that are gone have no rows and have left no
    trace in how columns and labels of the others are coded."""
    coded = rows_coded_without(experiment, gone, everything)
    return coded.without_rows(gone) if gone else coded


def is_fitted_here(experiment: Experiment) -> bool:
    """Whether the preparation of columns is fitted on clients' tables, and can be without some of them."""
    return (experiment.prepare or "auto") in WAYS and fits_columns(experiment.data, experiment.client_column)
