"""Federated averaging by hand in plain PyTorch: what a round costs without any framework.

All rows are tensors from the start, a batch is one indexing operation, and a step is one call of autograd and
one update over all parameters: no data loader, no optimizer object, no messages. Convolutions use the memory
format "channels last", which tends to be the faster one on CPU.
"""

from __future__ import annotations

import torch
from common import Data, Job, Laps, finish, read_data, read_job
from torch import nn
from torch_model import build, inputs, labels, logits, trainable, use_all_cores


class Average:
    """The federated averaging loop over one model that is rewound for every client."""

    def __init__(self, data: Data) -> None:
        self.data = data
        self.model = build(data).to(memory_format=torch.channels_last)
        self.weights = trainable(self.model)
        self.x, self.y = inputs(data.x), labels(data.y)
        self.batches = torch.from_numpy(data.batches).long()
        self.criterion = nn.CrossEntropyLoss()

    def round(self, index: int) -> None:
        """One round: every member trains from the same start; the mean of the results is the new start."""
        start = [weight.detach().clone() for weight in self.weights]
        total = [torch.zeros_like(weight) for weight in start]
        for share, steps in zip(
            self.data.shares(index), self.batches[index % len(self.batches)], strict=True
        ):
            self.train(start, steps)
            with torch.no_grad():
                torch._foreach_add_(total, self.weights, alpha=float(share))
        self.load(total)

    def train(self, start: list[torch.Tensor], steps: torch.Tensor) -> None:
        """One client's local steps."""
        self.load(start)
        for rows in steps:
            outputs = self.model(self.x.index_select(0, rows))
            loss = self.criterion(outputs, self.y.index_select(0, rows))
            gradients = torch.autograd.grad(loss, self.weights)
            with torch.no_grad():
                torch._foreach_add_(self.weights, gradients, alpha=-self.data.hyper["lr"])

    @torch.no_grad()
    def load(self, values: list[torch.Tensor]) -> None:
        """Set the model's weights."""
        torch._foreach_copy_(self.weights, values)


def main(job: Job) -> None:
    """Run the job's rounds and write the result."""
    use_all_cores()
    data = read_data(job.problem)
    average, laps = Average(data), Laps()
    laps.start()
    for index in range(job.total):
        average.round(index)
        laps.lap()
    finish(job, data, laps, logits(average.model, data.x_test), "torch")


if __name__ == "__main__":
    main(read_job())
