"""Settings of data, partitions and streams."""

from __future__ import annotations

from typing import Literal

from pydantic import field_validator

from ..core.settings import MANY, Settings, setting
from ..core.spec import number_or_word


class DataSettings(Settings):
    """Which rows clients have."""

    data: str = setting(
        "digits",
        "Data set (`unalike list data`), folder with one file per client, one .csv or .parquet file, or "
        "sql:SELECT ....",
        group="Data",
        served="node",
        decides_rows=True,
    )
    label: str | None = setting(
        None,
        "Column to predict, for tables; the column named label, y or target, or else the last one, when not"
        " given.",
        group="Data",
        served="node",
        decides_rows=True,
    )
    client_column: str | None = setting(
        None,
        "Column that names the client of every row, for a single table with all rows.",
        group="Data",
        served="node",
        decides_rows=True,
    )
    drop: str | None = setting(
        None,
        "Columns of tables to leave out, such as id,name.",
        group="Data",
        served="node",
        decides_rows=True,
    )
    keep_columns: str | None = setting(
        None,
        "Text columns of tables to keep although their values identify rows (names, notes, ids); they are "
        "dropped when not given.",
        group="Data",
        served="node",
        decides_rows=True,
    )
    prepare: str | None = setting(
        None,
        "Encode categorical and standardize numeric columns of tables: always, never, or as a .json file "
        "says; auto (where there are text values, dates, missing values or large numbers) when not given.",
        group="Data",
        served="node",
        decides_rows=True,
    )
    missing: Literal["fill", "drop", "refuse"] | None = setting(
        None,
        "Missing values in tables: fill them in and add an indicator, drop the rows, or refuse them; fill "
        "when not given.",
        group="Data",
        served="node",
        decides_rows=True,
    )
    partition: str | None = setting(
        None,
        "How rows are partitioned into clients, such as dirichlet:0.3 (`unalike list partitions`).",
        group="Data",
        kind="partitions",
        served="node",
        decides_rows=True,
    )
    clients: int | None = setting(
        None,
        "Number of clients; where the data have their own, at most that many of them.",
        group="Data",
        decides_rows=True,
        ge=1,
        le=MANY,
    )
    sizes: str | None = setting(
        None,
        "Distribution of client sizes, such as lognormal:1 (`unalike list sizes`), for partitions such as "
        "dirichlet:0.3 and iid.",
        group="Data",
        kind="sizes",
        served="node",
        decides_rows=True,
    )
    samples: int | None = setting(
        None,
        "Use only this many rows of the data set.",
        group="Data",
        served="node",
        decides_rows=True,
        ge=1,
        le=MANY,
    )
    skew: str | None = setting(
        None,
        "Feature skew between clients, such as rotation:30 (`unalike list skews`).",
        group="Data",
        kind="skews",
        served="node",
        decides_rows=True,
    )
    test_fraction: float = setting(
        0.2,
        "Fraction of each client's rows held out for testing.",
        group="Data",
        served="told",
        decides_rows=True,
        ge=0,
        lt=1,
    )
    validation_fraction: float = setting(
        0.0,
        "Fraction of each client's rows held out for validation.",
        group="Data",
        served="told",
        decides_rows=True,
        ge=0,
        lt=1,
    )
    reference_fraction: float | None = setting(
        None,
        "Fraction of each client's training rows used as reference rows, for methods such as werm; the "
        "method's default when not given.",
        group="Data",
        ge=0,
        lt=1,
    )
    unseen: float = setting(
        0.0,
        "Fraction of clients held out and evaluated as newcomers after training.",
        group="Data",
        served="refused",
        ge=0,
        lt=1,
    )
    groups: str | None = setting(
        None,
        "Groups of clients: a .csv or .json file, column:NAME, or name:SEPARATOR (the part of clients' "
        "names before it); those of the data when not given.",
        group="Data",
        decides_rows=True,
    )


class StreamSettings(Settings):
    """Rows that arrive while training."""

    stream: str | None = setting(
        None,
        "How rows arrive during training (data streams), such as constant:20 (`unalike list arrivals`); all"
        " are there from the start when not given.",
        group="Stream",
        unlearning=False,
        kind="arrivals",
        served="refused",
    )
    historical_share: float | None = setting(
        None,
        "Share of all rows that the historical clients of a stream have from the start (N_hist / N), with "
        "historical and fresh rows partitioned by themselves; needs a stream with historical clients, such "
        "as spread:100,0.5. As the partition has it when not given.",
        group="Stream",
        served="refused",
        decides_rows=True,
        gt=0,
        lt=1,
    )
    memory: str | None = setting(
        None,
        "Which rows of a stream a client keeps in bounded memory, such as reservoir:100, or a number of the"
        " newest rows (`unalike list memories`); all when not given.",
        group="Stream",
        kind="memories",
        served="refused",
    )
    stream_weights: str | None = setting(
        None,
        "Client weights in a stream, such as fixed:0.5 or optimal:0.15,equal (`unalike list "
        "stream-weights`); the number of rows held when not given.",
        group="Stream",
        kind="stream-weights",
        served="refused",
    )
    stream_period: float | None = setting(
        None,
        "Length of a round of the stream in simulated time. With a clock (timing, hardware, network), rows "
        "arrive by it, one round of the stream per unit of time when not given.",
        group="Stream",
        served="refused",
        gt=0,
    )
    drift: str | None = setting(
        None,
        "Concept drift of a stream, such as abrupt:50,label-swap (`unalike list drifts`, `unalike list "
        "changes`); none when not given.",
        group="Stream",
        kind="drifts",
        served="refused",
    )
    drift_detector: str | None = setting(
        None,
        "Drift detector that watches prediction errors of arriving rows, such as adwin (`unalike list "
        "drift-detectors`); none when not given.",
        group="Stream",
        kind="drift-detectors",
        served="refused",
    )

    @field_validator("memory", mode="before")
    @classmethod
    def _newest(cls, value: object) -> object:
        """A number is the capacity of a memory that keeps the newest rows."""
        numeric = isinstance(value, str) and isinstance(number_or_word(value), int | float)
        return f"fifo:{value}" if numeric or type(value) in (int, float) else value
