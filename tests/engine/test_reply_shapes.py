"""Are the shapes of a reply known before anybody has computed, and found once?"""

from dataclasses import dataclass

import jax.numpy as jnp
import pytest

from unalike import ConfigError, FedAvg, Reply, local_sgd
from unalike.core.pytrees import shapes
from unalike.engine import Setting, message_template, reply_template

from . import toys

FEDERATION, TASK = toys.federation([3, 6, 2], [2] * 3), toys.logistic_task()


def template(algorithm):
    setting = Setting(FEDERATION, TASK, algorithm, 0)
    return reply_template(setting, message_template(setting))


def test_an_upload_of_federated_averaging_looks_like_the_message():
    setting = Setting(FEDERATION, TASK, FedAvg(), 0)
    assert shapes(template(FedAvg()).upload) == shapes(message_template(setting))


def test_equal_methods_are_looked_up():
    assert template(FedAvg()) is template(FedAvg())


@dataclass(frozen=True, kw_only=True)
class Growing(FedAvg):
    """Remembers more than it began with."""

    def init_client(self, task, message, key):
        return {"seen": jnp.zeros(1)}

    def client(self, task, message, memory, data, key):
        return Reply(local_sgd(task, message, data, self.optimizer).params, {"seen": jnp.zeros(2)})


def test_a_memory_keeps_its_shape():
    with pytest.raises(ConfigError, match="differs in shape from init_client's"):
        template(Growing())
