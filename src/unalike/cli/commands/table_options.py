"""Options by which `unalike statistics` and `unalike analyze` name clients' tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...data.tables import Tables

DATA = "Tables: a name (`unalike list tables`), a folder with one .csv or .parquet per client, or one file."
CLIENT_COLUMN = "Column that says whose a row is, for one file with all clients."


def load_clients(data: str, client_column: str | None) -> Tables:
    """The tables that the options name."""
    from ...data.tables import load_tables

    return load_tables(data, client_column)
