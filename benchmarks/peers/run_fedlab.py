"""FedLab's standalone pipeline: its serial SGD trainer and its synchronous server, with two repairs.

The torchvision wheel that FedLab requires does not import beside a CPU build of PyTorch, and nothing here
needs it, so an empty module takes its place. FedLab's FedAvg ignores how many rows a client has; the handler
below weights by rows.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from types import ModuleType

import torch
from common import Data, Job, Laps, finish, read_data, read_job
from torch_model import build, inputs, labels, logits, use_all_cores


def stub_torchvision() -> None:
    """Put empty modules where FedLab looks for torchvision."""
    vision = ModuleType("torchvision")
    for name in ("datasets", "transforms", "models"):
        part = ModuleType(f"torchvision.{name}")
        setattr(vision, name, part)
        sys.modules[part.__name__] = part
    sys.modules["torchvision"] = vision


stub_torchvision()

from fedlab.contrib.algorithm.basic_client import SGDSerialClientTrainer  # noqa: E402
from fedlab.contrib.algorithm.basic_server import SyncServerHandler  # noqa: E402
from fedlab.core.standalone import StandalonePipeline  # noqa: E402
from fedlab.utils import Aggregators, SerializationTool  # noqa: E402


class Batches:
    """FedLab's data set interface over the problem's batches: the next cohort member's steps, in order."""

    def __init__(self, data: Data) -> None:
        self.x, self.y = inputs(data.x), labels(data.y)
        self.places = iter(self.forever(torch.from_numpy(data.batches).long().flatten(0, 1)))

    def forever(self, steps: torch.Tensor) -> Iterator[torch.Tensor]:
        """The steps of all places in all cohorts, again and again."""
        while True:
            yield from steps

    def get_dataloader(self, client: int, batch_size: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """The batches of the member that is trained next; FedLab asks in cohort order."""
        return ((self.x[rows], self.y[rows]) for rows in next(self.places))


class WeightedHandler(SyncServerHandler):
    """FedLab's synchronous server with the problem's cohorts and the mean weighted by rows."""

    def __init__(self, data: Data, model: torch.nn.Module, rounds: int) -> None:
        super().__init__(model, rounds, data.hyper["cohort"] / data.hyper["clients"])
        self.data = data

    @property
    def num_clients_per_round(self) -> int:
        """The cohort size, free of the rounding of a sampling ratio."""
        return self.data.hyper["cohort"]

    def sample_clients(self) -> list[int]:
        """The cohort of this round."""
        return self.data.clients(self.round).tolist()

    def global_update(self, buffer: list[list[torch.Tensor]]) -> None:
        """The weighted mean of the uploads is the new model."""
        shares = torch.tensor(self.data.shares(self.round), dtype=torch.float32)
        mean = Aggregators.fedavg_aggregate([upload[0] for upload in buffer], shares)
        SerializationTool.deserialize_model(self._model, mean)


class TimedPipeline(StandalonePipeline):
    """FedLab's round loop; its evaluation hook marks the end of a lap."""

    def __init__(self, handler: WeightedHandler, trainer: SGDSerialClientTrainer) -> None:
        super().__init__(handler, trainer)
        self.laps = Laps()

    def evaluate(self) -> None:
        """End a lap instead of evaluating."""
        self.laps.lap()


def main(job: Job) -> None:
    """Run the job's rounds and write the result."""
    use_all_cores()
    logging.getLogger().setLevel(logging.WARNING)
    data = read_data(job.problem)
    model = build(data)
    trainer = SGDSerialClientTrainer(model, data.hyper["clients"])
    trainer.setup_dataset(Batches(data))
    trainer.setup_optim(epochs=1, batch_size=data.hyper["batch"], lr=data.hyper["lr"])
    pipeline = TimedPipeline(WeightedHandler(data, model, job.total), trainer)
    pipeline.laps.start()
    pipeline.main()
    remark = "torchvision stubbed; mean weighted by rows"
    finish(job, data, pipeline.laps, logits(pipeline.handler.model, data.x_test), "fedlab", remark=remark)


if __name__ == "__main__":
    main(read_job())
