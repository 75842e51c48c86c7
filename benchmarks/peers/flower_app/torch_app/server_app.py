"""What the server does: Flower's FedAvg, with a note of when each round ended."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from pathlib import Path

from flwr.app import ArrayRecord, Context, Message, MetricRecord
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg

from .task import model

app = ServerApp()


class TimedFedAvg(FedAvg):
    """Flower's FedAvg without evaluation, which notes the time."""

    laps: list[float]

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Flower's weighted mean."""
        result = super().aggregate_train(server_round, list(replies))
        self.laps.append(time.perf_counter())
        return result


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Train, and write when each round ended."""
    strategy = TimedFedAvg(fraction_evaluate=0.0, min_train_nodes=2, min_available_nodes=2)
    strategy.laps = [time.perf_counter()]
    arrays = ArrayRecord(model().state_dict())
    result = strategy.start(grid, arrays, num_rounds=int(context.run_config["num-server-rounds"]))
    computing = [metrics["seconds"] for metrics in result.train_metrics_clientapp.values()]
    Path(str(context.run_config["out"])).write_text(
        json.dumps({"laps": strategy.laps, "computing": computing})
    )
