"""What is an experiment, in words that fit a file and a command line?

An :class:`Experiment` is checked by Pydantic; every field is an option of `unalike run` and a key of a TOML
file, with the same name, default and explanation.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, overload

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from ..core.plain_files import check_plain_file
from ..core.run_files import BESIDE, SEAL
from ..core.spec import Spec, number_or_word
from ..errors import ConfigError, unknown
from .outside_paths import check_file

Number = int | float | str | bool
DEFAULT_ROUNDS = 50
MANY, LARGEST_SEED = 10**9, 2**63 - 1
"""More clients, rows or rounds than this are a slip of the finger, and seeds have 64 bits."""
MOST_WORK = 10**6
"""Local passes or mini-batches of one round."""


class Experiment(BaseModel):
    """Everything that decides a run."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    data: str = Field(
        "digits",
        description="Data set (`unalike list data`), folder with one file per client, one .csv or .parquet "
        "file, or sql:SELECT ....",
    )
    label: str | None = Field(
        None,
        description="Column to predict, for tables; the one called label, y or target, or the last, when not "
        "given.",
    )
    client_column: str | None = Field(
        None, description="Column that names the client of every row, for one table with all rows."
    )
    drop: str | None = Field(None, description="Columns of tables to leave out, such as id,name.")
    keep_columns: str | None = Field(
        None,
        description="Text columns of tables to keep although their values single out rows (names, notes, "
        "ids); they are dropped when not given.",
    )
    prepare: str | None = Field(
        None,
        description="Whether words of tables are coded and numbers standardised: always, never, or as a "
        ".json file says; auto (where there are words, dates, gaps or large numbers) when not given.",
    )
    gaps: Literal["fill", "drop", "refuse"] | None = Field(
        None,
        description="What becomes of missing values in tables: fill them in and mark them, drop the rows, or "
        "refuse them; fill when not given.",
    )
    partition: str | None = Field(
        None, description="How rows are dealt to clients, such as dirichlet:0.3 (`unalike list partitions`)."
    )
    clients: int | None = Field(
        None,
        ge=1,
        le=MANY,
        description="Number of clients; where the data have their own, at most that many of them.",
    )
    sizes: str | None = Field(
        None,
        description="Law of clients' sizes, such as lognormal:1 (`unalike list sizes`), for partitions such "
        "as dirichlet:0.3 and iid.",
    )
    samples: int | None = Field(None, ge=1, le=MANY, description="Use only that many rows of the data set.")
    skew: str | None = Field(
        None, description="Feature skew between clients, such as rotation:30 (`unalike list skews`)."
    )
    test_fraction: float = Field(0.2, ge=0, lt=1, description="Part of each client's rows kept for testing.")
    validation_fraction: float = Field(
        0.0, ge=0, lt=1, description="Part of each client's rows kept for validation."
    )

    reference_fraction: float | None = Field(
        None,
        ge=0,
        lt=1,
        description="Part of each client's training rows that are reference rows, for methods such as werm; "
        "the method's own when not given.",
    )
    reference_sensitivity: float | None = Field(
        None,
        ge=0,
        description="What a reference row's privacy is worth against a training row's; `unalike audit` "
        "weighs both leakages by it.",
    )

    unseen: float = Field(
        0.0, ge=0, lt=1, description="Part of the clients that join only after training, and are tested then."
    )

    stream: str | None = Field(
        None,
        description="How rows arrive while training, such as constant:20 (`unalike list arrivals`); all are "
        "there from the start when not given.",
    )
    memory: str | None = Field(
        None,
        description="Which rows of a stream clients keep, such as reservoir:100, or a number of the newest "
        "(`unalike list memories`); all when not given.",
    )
    stream_weights: str | None = Field(
        None,
        description="How much clients of a stream count, such as fixed:0.5 (`unalike list stream-weights`); "
        "by the rows that they hold when not given.",
    )
    stream_period: float | None = Field(
        None,
        gt=0,
        description="How long a round of the stream lasts in simulated time. With a clock (timing, hardware, "
        "network), rows arrive by it, one round of the stream per unit of time when not given.",
    )

    drift: str | None = Field(
        None,
        description="When rows of a stream change and how, such as abrupt:50,label-swap (`unalike list "
        "drifts`, `unalike list changes`); never when not given.",
    )

    drift_detector: str | None = Field(
        None,
        description="What watches for drift while rows arrive, such as adwin (`unalike list "
        "drift-detectors`); nothing when not given.",
    )

    importance: str | None = Field(
        None,
        description="How much clients count: data (their rows), equal, similarity (to the others, by their "
        "features), or a file with one number each; data when not given, or what the method was published "
        "with (perturbed: similarity).",
    )

    groups: str | None = Field(
        None,
        description="Groups of clients: a .csv or .json file, column:NAME, or name:SEPARATOR (what stands "
        "before it in clients' names); those of the data when not given.",
    )

    model: str = Field("mlp", description="Model, such as mlp:200,200 (`unalike list models`).")
    state: Literal["average", "local", "refuse"] | None = Field(
        None,
        description="What becomes of a model's running statistics, such as those of mlp-bn: average (part of "
        "the model), local (each client keeps its own) or refuse; refuse when not given.",
    )
    l2: float = Field(0.0, ge=0, description="Weight of half the squared norm of the parameters in the loss.")
    metrics: str | None = Field(
        None,
        description="Metrics, such as accuracy,f1,auc (`unalike list metrics`); the first judges clients. "
        "Accuracy or RMSE when not given.",
    )

    algorithm: str = Field("fedavg", description="Algorithm (`unalike list algorithms`).")
    options: dict[str, Number] = Field(
        {}, description="Settings of the algorithm alone, such as mu=0.1; in a file, a table."
    )
    rounds: int | None = Field(
        None,
        ge=0,
        le=MANY,
        description="Rounds to train; 50, or as many as fit before `until`, when not given.",
    )
    restarts: int = Field(
        1,
        ge=1,
        le=1000,
        description="Starts to try for half of the rounds; the one of lowest training loss is trained.",
    )
    aggregator: str | None = Field(
        None,
        description="What the server makes of single uploads before it mixes them, such as central-dp:1,0.8, "
        "trimmed-mean:0.1 or nnm:1,median (`unalike list aggregators`); their weighted sum when not given.",
    )
    central_dp: str | None = Field(
        None,
        description="Clip clients' changes and add noise to their sum: CLIP,NOISE[,DELTA], such as 1,0.8, or "
        "CLIP alone with epsilon.",
    )
    local_dp: str | None = Field(
        None,
        description="Let every client clip its change and add noise by itself: CLIP,EPSILON,DELTA of one "
        "round, such as 1,0.5,1e-5, or CLIP alone with epsilon.",
    )
    epsilon: float | None = Field(
        None,
        gt=0,
        description="Privacy budget of a client over the run: chooses noise that is not given, and training "
        "ends before it is exceeded; no limit when not given.",
    )
    delta: float | None = Field(
        None, gt=0, lt=1, description="Delta of the privacy budget; 1e-5 when not given."
    )
    monitor: str | None = Field(
        None,
        description="Judge every upload by what it looks like, such as free-riders:5, and leave out who has "
        "not trained (`unalike list monitors`); nobody is judged when not given.",
    )
    behaviour: str | None = Field(
        None,
        description="What dishonest clients do, such as free-rider:decay (`unalike list behaviours`), to try "
        "how training bears it; all are honest when not given.",
    )
    dishonest: str | None = Field(
        None,
        description="Who is dishonest: a number (the last clients), a share such as 0.2, or names; 1 when "
        "not given.",
    )
    unlearning: str | None = Field(
        None,
        description="Models that are kept so that clients can be forgotten later: full, grid:K or "
        "pruned:PSI; none when not given.",
    )
    ledger: str | None = Field(
        None,
        description="How far clients move the model is bounded by their weights: full, realised or "
        "reference, with a declared strong convexity after a colon; full, or realised where some are drawn.",
    )
    per_round: int | None = Field(
        None, ge=1, le=MANY, description="Clients drawn each round; all when not given."
    )
    sampling: str | None = Field(
        None, description="How clients are drawn, such as clustered-size (`unalike list samplers`)."
    )
    availability: str | None = Field(
        None, description="When clients are there, such as markov:0.5,0.9 (`unalike list availabilities`)."
    )
    participation: str | None = Field(
        None, description="How clients that come and go weigh, such as ca-fed (`unalike list participation`)."
    )
    beliefs: Literal["estimated", "known"] = Field(
        "estimated", description="Whether availability is estimated while training, or known beforehand."
    )
    epochs: int | None = Field(
        None,
        ge=0,
        le=MOST_WORK,
        description="Local passes over a client's rows each round (1 unless steps are given).",
    )
    steps: int | None = Field(
        None, ge=0, le=MOST_WORK, description="Local mini-batches each round, instead of epochs."
    )
    batch_size: int = Field(
        16, ge=0, le=MANY, description="Rows in a mini-batch; 0 means all rows of the client."
    )
    optimizer: str = Field("sgd", description="Clients' optimiser (`unalike list optimizers`).")
    learning_rate: float = Field(0.1, ge=0, description="Clients' learning rate.")
    momentum: float | None = Field(
        None, ge=0, lt=1, description="Clients' momentum, for optimisers that have one."
    )
    schedule: str = Field(
        "constant",
        description="How the clients' learning rate changes over rounds (`unalike list schedules`).",
    )
    clip: float | None = Field(None, gt=0, description="Largest norm of a local gradient.")
    server_optimizer: str | None = Field(
        None, description="Server's optimiser; the algorithm's own when not given."
    )
    server_learning_rate: float | None = Field(
        None, ge=0, description="Server's learning rate; the algorithm's own when not given."
    )

    network: str | None = Field(
        None,
        description="Overlay on which silos exchange models without a server (`unalike list networks`).",
    )
    underlay: str = Field(
        "gaia", description="Map of the silos, or a GML or CSV file (`unalike list underlays`)."
    )
    access: float = Field(10.0, gt=0, description="Capacity of silos' access links, in Gbit/s.")
    core: float = Field(
        1.0, gt=0, description="Capacity of the links between routers, in gigabits per second."
    )
    workload: str | None = Field(
        None,
        description="Size of a model and time of a step (`unalike list workloads`); the trained model's own "
        "size and 10 ms when not given.",
    )

    timing: str = Field(
        "synchronous", description="When results arrive, such as fedfix:0.5 (`unalike list timings`)."
    )
    hardware: str | None = Field(
        None,
        description="How long clients take for a job, such as spread:80, or spread:80,shuffled for times "
        "that are dealt by lot (`unalike list hardware`).",
    )
    bandwidth: str | None = Field(
        None, description="Megabits per second down and up, and latency in seconds, such as 100,20,0.05."
    )
    timing_weights: Literal["corrected", "identical", "online"] | None = Field(
        None, description="Weights corrected by how often clients report, beforehand or online, or identical."
    )
    staleness: str = Field(
        "constant",
        description="How old results count less, such as polynomial:0.5 (`unalike list staleness`).",
    )
    dropout: float = Field(0.0, ge=0, lt=1, description="Probability that a client's work is lost.")
    timeout: float | None = Field(None, gt=0, description="Work that takes longer is given up.")
    stop_at: str | None = Field(
        None,
        description="Stop as soon as a metric is reached, such as accuracy=0.9 (of test rows), or "
        "train_accuracy:0.93,50 for at least 50 rounds.",
    )
    patience: int | None = Field(
        None,
        ge=1,
        le=MANY,
        description="Stop when the metric that judges clients, on validation rows or else test rows, has not "
        "become better for that many rounds.",
    )
    until: float | None = Field(None, gt=0, le=MANY, description="Stop when the simulated clock says so.")
    track: str | None = Field(
        None,
        description="Where rounds are logged, too, such as jsonl or tensorboard,mlflow (`unalike list "
        "trackers`); nowhere when not given.",
    )
    engine: str = Field("local", description="Where it runs (`unalike list engines`).")
    devices: int | None = Field(None, ge=1, le=4096, description="Cores to use; all when not given.")
    seed: int = Field(0, ge=0, le=LARGEST_SEED, description="Same seed, same result.")
    evaluate_every: int | None = Field(
        None, ge=0, le=MANY, description="Rounds between evaluations; about twenty in all when not given."
    )
    evaluate_clients: int = Field(
        10_000, ge=1, le=MANY, description="Evaluate on at most that many clients, evenly spaced."
    )
    checkpoint_every: int | None = Field(
        None, ge=0, le=MANY, description="Rounds between checkpoints; about ten in all when not given."
    )

    @model_validator(mode="before")
    @classmethod
    def _without_a_server(cls, values: Any) -> Any:
        """On a network, FedAvg is called DPASGD, unless another method is named."""
        networked = isinstance(values, dict) and values.get("network") is not None
        return {"algorithm": "dpasgd", **values} if networked else values

    @field_validator("memory", mode="before")
    @classmethod
    def _newest(cls, value: Any) -> Any:
        """A number is the capacity of a memory that keeps the newest rows."""
        numeric = isinstance(value, str) and isinstance(number_or_word(value), int | float)
        return f"fifo:{value}" if numeric or type(value) in (int, float) else value

    @field_validator("dishonest", "central_dp", "local_dp", mode="before")
    @classmethod
    def _number_as_words(cls, value: Any) -> Any:
        """In a file, a number need not be quoted."""
        return str(value) if type(value) in (int, float) else value

    @overload
    def spec(
        self, setting: Literal["data", "model", "engine", "timing", "staleness", "underlay"]
    ) -> Spec: ...

    @overload
    def spec(self, setting: str) -> Spec | None: ...

    def spec(self, setting: str) -> Spec | None:
        """What a setting names, and with which arguments; None where it is not given.

        >>> Experiment(model="mlp:200,200").spec("model").arguments
        (200, 200)
        """
        text = getattr(self, setting)
        return None if text is None else Spec.parse(text)

    @property
    def rounds_to_train(self) -> int | None:
        """The rounds, or None for as many as fit before `until`."""
        return self.rounds if self.rounds is not None or self.until is not None else DEFAULT_ROUNDS


def read_experiment(
    path: str | Path | None, overrides: Mapping[str, Any] | None = None, trust_file: bool = False
) -> Experiment:
    """The experiment that a TOML file describes, with some values replaced.

    Args:
        path: The file; None where all values are replaced, or usual.
        overrides: Values that replace those of the file.
        trust_file: Whether the file may name paths outside its folder, queries, and places to write.

    >>> read_experiment(None, {"rounds": 3}).rounds
    3
    """
    document = _read(Path(path)) if path is not None else {}
    for name in BESIDE:  # a run folder's configuration also says what it ran on
        document.pop(name, None)
    replaced = overrides or {}
    if path is not None and not trust_file and not _is_own(Path(path)):
        check_file(Path(path), {name: document[name] for name in document if name not in replaced})
    return make_experiment({**document, **replaced})


def _is_own(path: Path) -> bool:
    """Whether a file is of a run or a search whose folder is sealed with the user's key."""
    if not (path.parent / SEAL).is_file():
        return False
    from ..runs.seal import is_own_file  # after which JAX is imported

    return is_own_file(path)


def make_experiment(values: Mapping[str, Any]) -> Experiment:
    """An experiment from values, with errors that a person understands."""
    for name in values:
        if name not in Experiment.model_fields:
            raise unknown("setting", name, Experiment.model_fields)
    try:
        return Experiment(**values)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"][:1])
        reason = first["msg"][0].lower() + first["msg"][1:]
        raise ConfigError(f"{name} = {first['input']!r} is not possible: {reason}.") from None


def _read(path: Path) -> dict[str, Any]:
    try:
        check_plain_file(path)
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read {path} ({error.strerror or error}).") from None
    except RecursionError:
        raise ConfigError(f"{path} is not a TOML file of settings: it is nested too deeply.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not a TOML file: {error}.") from None
