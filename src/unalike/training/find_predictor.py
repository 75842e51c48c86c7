"""Choosing a predictor: the shared model, one client's, or a newcomer's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.precision import precision
from ..data import Federation
from ..data.new_rows import read_features, read_labels
from ..data.tables.read_tables import columns_of, is_table
from ..engine import Memories, Setting, reply_template
from ..engine.row_outputs import client_predictor, shared_predictor
from ..errors import ConfigError, DataError, RunError, unknown
from .consensus import mean_for_each
from .prediction import ClientPredictor

if TYPE_CHECKING:
    from .run import Run

_SHOWN = 5


def find_predictor(run: Run, client: int | str | None = None, newcomer: object = None) -> ClientPredictor:
    """What predicts for everyone, for one client, or for a newcomer with rows `(x, y)` of its own."""
    setting = run.setting
    with precision(setting.algorithm.needs.float64):
        if newcomer is not None:
            return _for_newcomer(run, newcomer)
        if client is not None:
            return _for_client(run, client_number(setting.federation, client))
        if setting.algorithm.personalized or run.messages.per_client:
            names = [setting.federation.name(i) for i in range(min(len(setting.federation), _SHOWN))]
            more = ", ..." if len(setting.federation) > _SHOWN else ""
            raise ConfigError(
                f"with {setting.algorithm.name} every client predicts by itself; say whose rows these are "
                f"(client: {', '.join(names)}{more}), or give a newcomer's own rows to learn from."
            )
        parameters = shared_predictor(setting.algorithm, setting.task, run.message)
        return ClientPredictor(setting.task, setting.algorithm, parameters, setting.federation)


def client_number(federation: Federation, client: int | str) -> int:
    """The number of a client by its name or number.

    >>> import unalike
    >>> client_number(unalike.load("digits", clients=3), "2")
    2
    """
    if isinstance(client, int | np.integer) and 0 <= client < len(federation):
        return int(client)
    names = {federation.name(i): i for i in range(len(federation))}
    if str(client) in names:
        return names[str(client)]
    raise unknown("client", str(client), list(names)[:20])


def _for_client(run: Run, client: int) -> ClientPredictor:
    setting, name = run.setting, run.setting.federation.name(client)
    if not (setting.algorithm.personalized or run.messages.per_client):
        shared = shared_predictor(setting.algorithm, setting.task, run.message)
        return ClientPredictor(setting.task, setting.algorithm, shared, setting.federation, name)
    if not run.rows_here:
        _check_memory(run, client, name)
    own = client_predictor(setting, run.messages, run.memories, client, run.rounds)
    return ClientPredictor(setting.task, setting.algorithm, own, setting.federation, name)


def _check_memory(run: Run, client: int, name: str) -> None:
    """Raise where a client would have to learn from rows that are not there."""
    unknown_yet = bool(run.memories) and bool(run.memories.gather(np.array([client]))[1][0])
    if run.setting.algorithm.needs.rows_to_predict or unknown_yet:
        raise RunError(
            f"client {name!r} predicts from its own rows, and the run was opened without them; open it with "
            "data=True, or give its rows as a newcomer's."
        )


def _for_newcomer(run: Run, rows: object) -> ClientPredictor:
    """A client that never took part personalizes what it is sent from its own rows."""
    given, setting = _federation(run.setting.federation, rows), run.setting
    messages = mean_for_each(run.messages, 1) if run.messages.per_client else run.messages
    alone = Setting(given, setting.task, setting.algorithm, setting.seed, devices=setting.devices)
    memories = Memories(reply_template(alone, messages.of(0)).memory, 1)
    own = client_predictor(alone, messages, memories, 0, run.rounds)
    return ClientPredictor(setting.task, setting.algorithm, own, setting.federation, "newcomer")


def _federation(about: Federation, rows: Any) -> Federation:
    """A newcomer's rows as a federation of one: a pair (x, y), or a table with the target among its
    columns."""
    if is_table(rows):
        columns = columns_of(rows)
        if about.target is None or about.target not in columns:
            raise DataError(f"a newcomer learns from rows with their target, the column {about.target!r}.")
        x, y = rows, columns[about.target]
    else:
        try:
            x, y = rows
        except (TypeError, ValueError):
            raise DataError("a newcomer gives rows to learn from as a pair (x, y), or a table.") from None
    pair = read_features(about, x), read_labels(about, y)
    return Federation.from_clients({"newcomer": {"train": pair}}, classes=about.classes)
