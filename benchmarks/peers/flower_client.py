"""The Flower client: a module of its own, so that Ray's actors import it instead of unpickling it every time.

An actor reads the problem file once and keeps it; a message brings the model, the round and the place in the
cohort.
"""

from __future__ import annotations

import functools
import os
from pathlib import Path

import torch
from common import Data, read_data
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from torch import nn
from torch_model import build, inputs, labels, trainable

PROBLEM = "UNALIKE_BENCHMARK_PROBLEM"

app = ClientApp()


@functools.cache
def world() -> tuple[Data, nn.Module, torch.Tensor, torch.Tensor]:
    """The problem, a model to train and all rows as tensors: once per actor, on one thread."""
    torch.set_num_threads(1)
    data = read_data(Path(os.environ[PROBLEM]))
    return data, build(data), inputs(data.x), labels(data.y)


@app.train()
def train(message: Message, context: Context) -> Message:
    """One client's local steps, in the order of the problem."""
    data, model, x, y = world()
    config = message.content["config"]
    place, index = int(config["place"]), int(config["server-round"]) - 1
    model.load_state_dict(message.content["arrays"].to_torch_state_dict())
    sgd = torch.optim.SGD(trainable(model), lr=data.hyper["lr"])
    criterion = nn.CrossEntropyLoss()
    model.train()
    for rows in torch.from_numpy(data.steps(index)[place]).long():
        sgd.zero_grad()
        criterion(model(x[rows]), y[rows]).backward()
        sgd.step()
    rows = data.rows_of(data.clients(index)[place])
    reply = {"arrays": ArrayRecord(model.state_dict()), "metrics": MetricRecord({"num-examples": rows})}
    return Message(content=RecordDict(reply), reply_to=message)
