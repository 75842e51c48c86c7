"""Apple's pfl: `FederatedAveraging` on its simulated backend, users and batch order given by the problem.

A pfl user dataset is not shuffled, so a user is a place in a round's cohort whose rows already lie in the
order of the local steps. Evaluation of users is put off beyond the last round, except for pfl's own at
round 0, which falls into the warm-up.
"""

from __future__ import annotations

import itertools

import numpy as np
import torch
from common import Data, Job, Laps, finish, read_data, read_job
from pfl.aggregate.simulate import SimulatedBackend
from pfl.aggregate.weighting import WeightByDatapoints
from pfl.algorithm.base import NNAlgorithmParams
from pfl.algorithm.federated_averaging import FederatedAveraging
from pfl.callback.base import TrainingProcessCallback
from pfl.data.dataset import Dataset
from pfl.data.federated_dataset import FederatedDataset
from pfl.hyperparam import NNTrainHyperParams
from pfl.metrics import Metrics, Weighted
from pfl.model.pytorch import PyTorchModel
from torch import nn
from torch_model import build, inputs, labels, logits, trainable, use_all_cores


class Module(nn.Module):
    """The problem's model with the two methods that pfl asks for."""

    def __init__(self, data: Data) -> None:
        super().__init__()
        self.body = build(data)
        self.criterion = nn.CrossEntropyLoss()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The model's outputs."""
        return self.body(x)

    def loss(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """What the local steps minimize."""
        return self.criterion(self(x), y)

    @torch.no_grad()
    def metrics(self, x: torch.Tensor, y: torch.Tensor) -> dict[str, Weighted]:
        """What pfl reports about a user."""
        return {"loss": Weighted(self.loss(x, y).item() * len(y), len(y))}


class Clock(TrainingProcessCallback):
    """A lap for every central iteration."""

    def __init__(self) -> None:
        self.laps = Laps()

    def on_train_begin(self, *, model: PyTorchModel) -> Metrics:
        """Start the clock when pfl starts."""
        self.laps.start()
        return Metrics()

    def after_central_iteration(
        self, aggregate_metrics: Metrics, model: PyTorchModel, *, central_iteration: int
    ) -> tuple[bool, Metrics]:
        """End the lap when the global model has been updated."""
        self.laps.lap()
        return False, Metrics()


def federation(data: Data) -> FederatedDataset:
    """Users in the order of the problem's cohorts, each with its rows in the order of its steps."""
    x, y = inputs(data.x), labels(data.y)
    rows = torch.from_numpy(data.batches.reshape(data.cohorts.size, -1)).long()
    places = itertools.cycle(range(data.cohorts.size))

    def user(place: int) -> Dataset:
        return Dataset((x[rows[place]], y[rows[place]]), user_id=str(data.cohorts.flat[place]))

    return FederatedDataset(user, lambda: next(places))


def main(job: Job) -> None:
    """Run the job's rounds and write the result."""
    use_all_cores()
    np.random.seed(0)
    data = read_data(job.problem)
    module = Module(data)
    model = PyTorchModel(module, torch.optim.SGD, torch.optim.SGD(trainable(module), lr=1.0))
    users = federation(data)
    clock = Clock()
    FederatedAveraging().run(
        NNAlgorithmParams(
            central_num_iterations=job.total,
            evaluation_frequency=10 * job.total,
            train_cohort_size=data.hyper["cohort"],
            val_cohort_size=0,
        ),
        SimulatedBackend(users, users, postprocessors=[WeightByDatapoints()]),
        model,
        NNTrainHyperParams(
            local_num_epochs=1,
            local_learning_rate=data.hyper["lr"],
            local_batch_size=data.hyper["batch"],
        ),
        callbacks=[clock],
        send_metrics_to_platform=False,
    )
    finish(job, data, clock.laps, logits(module, data.x_test), "pfl")


if __name__ == "__main__":
    main(read_job())
