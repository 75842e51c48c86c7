"""What `unalike analyze` is asked beside the fit: held-out errors, contrasts, new clients, predictions."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import ConfigError

if TYPE_CHECKING:
    from ...analytics.estimator import Estimator
    from ...analytics.summary import SummaryTable
    from ...data.tables import Table, Tables


@dataclass
class Asked:
    """The options, checked before anything is fitted, and the rows that are left out of the fit."""

    held_out: float | None = None
    contrasts: tuple[str, ...] = ()
    client: str | None = None
    against: str | None = None
    new_device: Path | None = None
    predict: Path | None = None
    levels: str | None = None
    highest: str | None = None
    level: float = 0.95
    held: Tables = field(default_factory=dict)
    joining: Table | None = None
    wanted: Table | None = None

    def check(self, analysis: str, client_column: str | None) -> None:
        """Raise for options that do not go together, and read files before the fit takes its time."""
        if self.levels is not None and (analysis != "gp" or client_column is not None):
            raise ConfigError("--levels is for 'gp: ...', and takes the place of --client-column.")
        if self.highest is not None and self.levels is None:
            raise ConfigError("--highest names a level; say which column has them with --levels.")
        if self.against is not None and not (self.contrasts and self.client):
            raise ConfigError("--against subtracts a client's contrast; add --contrast and --client.")
        if self.client is not None and not (self.contrasts or self.predict):
            raise ConfigError("--client says whose --contrast or --predict is; add one of them.")
        if self.new_device is not None and self.client is not None and self.predict is not None:
            raise ConfigError("--predict is for --client or for --new-device; leave out one of the two.")
        from ...data.tables.read_tables import read_table

        self.joining = None if self.new_device is None else read_table(self.new_device)
        self.wanted = None if self.predict is None else read_table(self.predict)

    def split(self, tables: Tables) -> Tables:
        """The tables that are fitted, levels in order, without rows that are held out."""
        if self.levels is not None:
            from ...analytics.gaussian_process.level_tables import order_levels

            tables = order_levels(tables, self.highest)
        if self.held_out is None:
            return tables
        from ...analytics.held_out import split_tables

        kept, self.held = split_tables(tables, self.held_out)
        return kept

    def answer(self, fitted: Estimator) -> list[SummaryTable]:
        """The tables that were asked for."""
        found = self._held_out_tables(fitted) if self.held else []
        if self.contrasts:
            from ...analytics.contrasts import contrast_table

            found += [
                contrast_table(fitted, text, self.client, self.against, self.level) for text in self.contrasts
            ]
        if self.joining is None and self.wanted is None:
            return found
        from ...analytics.new_client import adapt_to, forecast_table, newcomer_table

        newcomer = None
        if self.joining is not None and self.new_device is not None:
            newcomer = adapt_to(fitted, self.joining)
            found.append(newcomer_table(fitted, newcomer, self.new_device.stem, self.level))
        if self.wanted is not None:
            whose = fitted.clients[-1] if self.levels and newcomer is None else None
            client = self.client or whose
            found.append(forecast_table(fitted, self.wanted, client, newcomer, self.level))
        return found

    def _held_out_tables(self, fitted: Estimator) -> list[SummaryTable]:
        from ...analytics.held_out import held_out_errors

        found = [held_out_errors(fitted, self.held).table()]
        if self.levels is not None:
            from ...analytics.gaussian_process.level_tables import compare_levels, comparison_table
            from ...analytics.gaussian_process.regression import GaussianProcess

            assert isinstance(fitted, GaussianProcess)
            top = fitted.clients[-1]
            found.append(comparison_table(compare_levels(fitted, self.held[top]), top))
        return found
