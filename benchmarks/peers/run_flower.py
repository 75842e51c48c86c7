"""Flower's simulation engine: `FedAvg` and a `ClientApp` on Ray, one single-threaded actor per core.

Flower draws the nodes of a round itself. A virtual node owns no data until a message tells it which place in
the problem's cohort it plays, so the clients, the rows and their order are those of the problem.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

os.environ["FLWR_TELEMETRY_ENABLED"] = "0"
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"

from common import Data, Job, Laps, TreeMemory, cores, finish, read_data, read_job
from flower_client import PROBLEM, app
from flwr.app import ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg
from flwr.simulation import run_simulation
from torch_model import build, logits


class TimedFedAvg(FedAvg):
    """Flower's FedAvg without evaluation; every node gets a place in the cohort, every round is a lap."""

    def __init__(self, data: Data) -> None:
        cohort, clients = data.hyper["cohort"], data.hyper["clients"]
        super().__init__(
            fraction_train=cohort / clients,
            fraction_evaluate=0.0,
            min_train_nodes=cohort,
            min_available_nodes=clients,
        )
        self.laps = Laps()

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Flower's messages, each with its own place."""
        messages = list(super().configure_train(server_round, arrays, config, grid))
        for place, message in enumerate(messages):
            own = ConfigRecord({"server-round": server_round, "place": place})
            message.content = RecordDict({"arrays": arrays, "config": own})
        return messages

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Flower's weighted mean, and the end of the lap; a client that failed fails the benchmark."""
        received = list(replies)
        failed = [reply.error.reason for reply in received if reply.has_error()]
        if failed:
            raise RuntimeError(failed[0])
        result = super().aggregate_train(server_round, received)
        self.laps.lap()
        return result


def main(job: Job) -> None:
    """Run the job's rounds and write the result."""
    os.environ[PROBLEM] = str(job.problem.resolve())
    memory = TreeMemory()
    memory.start()
    data = read_data(job.problem)
    model = build(data)
    strategy = TimedFedAvg(data)
    server = ServerApp()
    results = []

    @server.main()
    def serve(grid: Grid, context: Context) -> None:
        strategy.laps.start()
        results.append(strategy.start(grid, ArrayRecord(model.state_dict()), num_rounds=job.total))

    backend = {
        "init_args": {"num_cpus": cores(), "include_dashboard": False},
        "client_resources": {"num_cpus": 1, "num_gpus": 0.0},
    }
    run_simulation(server, app, num_supernodes=data.hyper["clients"], backend_config=backend)
    memory.sample()
    model.load_state_dict(results[0].arrays.to_torch_state_dict())
    finish(
        job,
        data,
        strategy.laps,
        logits(model, data.x_test),
        "flower",
        package="flwr",
        threads=f"{cores()} actors x 1",
        peak_mb=memory.peak_mb,
        remark="memory over all processes",
    )


if __name__ == "__main__":
    main(read_job())
