"""Tables of named columns, one per client, before they become numbers."""

from .named_tables import load_tables, table_registry
from .read_tables import read_table, tables_of
from .table import Table, Tables, column_of

__all__ = ["Table", "Tables", "column_of", "load_tables", "read_table", "table_registry", "tables_of"]
