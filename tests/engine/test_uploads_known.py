"""Does the server know whose uploads it looks at, and what each of them weighs?  (In every engine.)"""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from unalike.algorithms import Algorithm, LocalWork, Needs, Reply
from unalike.engine import LocalEngine, Setting
from unalike.engine.debug import DebugEngine

from .toys import WORK, advance, logistic_task, start, step, toy_federation, values_of

SIZES = [1, 4, 2, 7, 3, 5]
BAD_ROUNDS = [-1, 1, -1, 0, -1, -1]
STEPS = [step(0, [5, 3, 0], [0.5, 0.3, 0.2]), step(1, [1, 4, 2], [0.1, 0.0, 0.4])]


@dataclass(frozen=True, kw_only=True)
class Registrar(Algorithm):
    """Keeps a book: for every client, its number, upload and weight when it was last heard."""

    work: LocalWork = WORK
    clients: int = len(SIZES)
    whole_numbers: bool = False
    """Whether the message also counts in whole numbers, as one with cluster numbers does."""
    name: ClassVar[str] = "registrar"
    needs: ClassVar[Needs] = Needs(uploads=True)

    def init(self, task, key):
        book = {name: jnp.full(self.clients, -1.0) for name in ("number", "upload", "weight")}
        return {"params": jnp.zeros(2), "book": book}

    def broadcast(self, task, state):
        counted = {"count": jnp.asarray(3)} if self.whole_numbers else {}
        return {"params": state["params"], **counted}

    def client(self, task, message, memory, data, key):
        rows = data.all_rows()
        value = jnp.sum(rows.weight * rows.x[:, 0]) / jnp.maximum(rows.size, 1.0)
        bad = data.round == rows.x[0, 1].astype(jnp.int32)
        number = jnp.asarray(data.client, jnp.float32)
        return Reply(jnp.where(bad, jnp.nan, jnp.stack([number, value])))

    def aggregate(self, task, state, mixed):
        columns = {"number": mixed.uploads[:, 0], "upload": mixed.uploads[:, 1], "weight": mixed.weights}
        book = {
            k: jnp.asarray(state["book"][k]).at[mixed.clients].set(column) for k, column in columns.items()
        }
        return {"params": state["params"], "book": book}


def books(kind, **options):
    """The book after each of the steps."""
    devices = 2 if kind == "two devices" else 1
    if devices > len(jax.devices()):
        pytest.skip("this machine shows one device")
    setting = Setting(
        toy_federation(SIZES, BAD_ROUNDS), logistic_task(), Registrar(**options), 0, devices=devices
    )
    engine = DebugEngine(setting) if kind == "debug" else LocalEngine(setting, resident=kind != "gathered")
    state, memories, _ = start(setting)
    states, _ = advance(engine, setting, STEPS, state, memories)
    return [{k: np.asarray(v) for k, v in state["book"].items()} for state in states[1:]]


@pytest.mark.filterwarnings("ignore:round")
@pytest.mark.parametrize("kind", ["one device", "two devices", "gathered", "debug"])
def test_every_upload_has_its_clients_number_and_weight(kind):
    values, accepted = values_of(toy_federation(SIZES, BAD_ROUNDS)), {5, 0, 4, 2}
    naive = {name: np.full(len(SIZES), -1.0) for name in ("number", "upload", "weight")}
    for one, book in zip(STEPS, books(kind), strict=True):
        for client, weight in zip(one.clients, one.weights, strict=True):
            here = client in accepted
            naive["number"][client] = client if here else 0.0
            naive["upload"][client] = values[client] if here else 0.0
            naive["weight"][client] = weight if here else 0.0
        for name, column in naive.items():
            np.testing.assert_allclose(book[name], column, rtol=1e-5, atol=1e-6, err_msg=name)


def test_clients_that_started_from_different_versions_are_told_apart_as_well():
    setting = Setting(toy_federation(SIZES), logistic_task(), Registrar(), 0, devices=1)
    late = [step(0, [0, 1], [0.5, 0.5]), step(1, [4, 2], [0.25, 0.75], versions=[0, 1])]
    state, memories, _ = start(setting)
    states, _ = advance(LocalEngine(setting), setting, late, state, memories)
    book = states[-1]["book"]
    assert book["number"].tolist() == [0, 1, 2, -1, 4, -1]
    assert book["weight"].tolist() == [0.5, 0.5, 0.75, -1, 0.25, -1]


def test_messages_with_whole_numbers_may_be_of_different_versions():
    """As those of clustered federated learning with results that arrive late."""
    setting = Setting(toy_federation(SIZES), logistic_task(), Registrar(whole_numbers=True), 0, devices=1)
    late = [step(0, [0, 1], [0.5, 0.5]), step(1, [4, 2], [0.25, 0.75], versions=[0, 1])]
    state, memories, _ = start(setting)
    states, _ = advance(LocalEngine(setting), setting, late, state, memories)
    assert states[-1]["book"]["number"].tolist() == [0, 1, 2, -1, 4, -1]
