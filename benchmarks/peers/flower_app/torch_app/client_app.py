"""What a node does: load the model, take its local steps, send the model back."""

from __future__ import annotations

import time

import torch
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from .task import model, rows

app = ClientApp()


@app.train()
def train(message: Message, context: Context) -> Message:
    """Local steps of plain SGD."""
    began = time.perf_counter()
    config = context.run_config
    net = model()
    net.load_state_dict(message.content["arrays"].to_torch_state_dict())
    x, y = rows(int(context.node_config["node"]), int(config["rows"]))
    sgd, criterion = torch.optim.SGD(net.parameters(), lr=0.05), torch.nn.CrossEntropyLoss()
    for _ in range(int(config["steps"])):
        batch = torch.randint(len(y), (int(config["batch"]),))
        sgd.zero_grad()
        criterion(net(x[batch]), y[batch]).backward()
        sgd.step()
    metrics = MetricRecord({"num-examples": len(y), "seconds": time.perf_counter() - began})
    content = RecordDict({"arrays": ArrayRecord(net.state_dict()), "metrics": metrics})
    return Message(content=content, reply_to=message)
