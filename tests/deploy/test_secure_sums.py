"""Does a server of secure sums learn the sums, all of their digits, and no node's own answer?"""

import json

import numpy as np
import pytest

pytest.importorskip("flwr")
pytest.importorskip("formulaic")

from unalike.analytics.statistics import LocalNodes, Question, describe
from unalike.analytics.statistics.moments import ask_products
from unalike.data.tables import Table
from unalike.deploy.analysis import RemoteNodes, agree_with_nodes, analyse_nodes, estimator_for_nodes
from unalike.deploy.client.table_node import TableWorker
from unalike.deploy.secure_sums.server import EVERYONE, SecureNodes
from unalike.deploy.transport.messages import WireMessage
from unalike.errors import ConfigError, RunError
from unalike.privacy.masked_sums import MaskError, add_masked
from unalike.runs import RunFolder

from .in_process_nodes import Village


def made():
    rng, tables = np.random.default_rng(4), {}
    for k, n in enumerate((60, 45, 52)):
        age, sex = rng.uniform(20, 80, n), rng.choice(["f", "m"], n)
        y = 3 + 0.2 * age + (sex == "m") + 2 * k + rng.normal(size=n)
        income = 1e6 + 10 * rng.normal(size=n)  # a mean that is far from zero
        tables[f"node-{k}"] = Table.of(
            {"age": age, "sex": sex, "y": y, "ill": (y > 14).astype(float), "income": income}
        )
    return tables


TABLES = made()


@pytest.fixture
def village(tmp_path):
    return Village.of({n: TableWorker(t, tmp_path / n, secure_only=True) for n, t in TABLES.items()})


def opened(village):
    nodes = SecureNodes(village, list(TABLES), 5.0)
    nodes.open()
    return nodes


@pytest.mark.parametrize(
    "text",
    [
        "linear: y ~ age + sex",
        "logistic: ill ~ center(age)",
        "y ~ age + (1 | client)",
        "linear: income ~ age",
    ],
)
def test_analyses_by_secure_sums_are_those_in_the_open(village, tmp_path, text):
    nodes = opened(village)
    formula = estimator_for_nodes(text)[1]
    folder = RunFolder.create(tmp_path / "run", {"made_by": "test"})
    agreed = agree_with_nodes(nodes, formula)
    hidden = analyse_nodes(text, village, list(TABLES), folder, agreed=agreed, group=nodes.group)
    folder.close()
    here = estimator_for_nodes(text)[0].fit(TABLES, formula)
    np.testing.assert_allclose(hidden.params, here.params, rtol=1e-9)
    np.testing.assert_allclose(hidden.bse, here.bse, rtol=1e-8)


def test_statistics_by_secure_sums_have_all_digits(village):
    nodes, here = opened(village), LocalNodes(TABLES)
    found, expected = describe(nodes), describe(here)
    np.testing.assert_allclose(found.moments.mean, expected.moments.mean, rtol=1e-14)
    np.testing.assert_allclose(found.moments.std, expected.moments.std, rtol=1e-11)
    assert set(found.moments.by_client) == {EVERYONE}
    ours, theirs = (ask_products(one, ["age", "income"]) for one in (nodes, here))
    np.testing.assert_allclose(ours.correlation, theirs.correlation, rtol=1e-9)
    assert found.quartiles == {}
    assert found.agreed.words["sex"] == {"f": -1, "m": -1}
    assert "f, m" in str(found.summary())
    assert "withheld" in str(found.summary())


def test_no_message_of_a_node_tells_its_own_sums(village):
    """Everything that leaves is masked: two worlds that differ in one node's values look alike."""
    nodes, seen = opened(village), []
    for name in TABLES:
        village.mischief[name] = lambda request, answer: seen.append((request, answer)) or answer
    nodes.ask(Question("moments", {"columns": ["age", "income"]}))
    assert seen
    for _, answer in seen:
        assert set(answer.arrays) == {"masked"}
        assert set(answer.numbers) <= {"words"}
        assert answer.numbers["words"] == "{}"
        bits = np.unpackbits(answer.arrays["masked"].view(np.uint8))
        assert abs(bits.mean() - 0.5) < 5 * 0.5 / np.sqrt(len(bits))


@pytest.mark.parametrize("kind", ["moments", "products", "bins", "cells"])
def test_a_node_that_answers_by_secure_sums_only_refuses_everything_else(village, kind):
    open_nodes = RemoteNodes(village, list(TABLES), 5.0)
    assert open_nodes.ask(Question(kind, {"columns": ["age", "y"]})) == {}
    assert all("secure sums only" in reason for reason in open_nodes.refusals.values())


def ask(worker, group, columns=("age",), kind="moments"):
    numbers = {"about": kind, "words": json.dumps({"columns": list(columns)}), "peers": json.dumps(group)}
    return worker.answer(WireMessage("question", numbers))


def keys(village):
    return {
        name: worker.answer(WireMessage("sum-key")).numbers["key"] for name, worker in village.workers.items()
    }


def test_a_server_cannot_choose_a_group_that_shows_an_answer(village):
    own = keys(village)
    everyone, worker = list(own.values()), village.workers["node-0"]
    for group in (
        [own["node-0"]],
        everyone[:2],  # the other's answer would show the one's
        [own["node-0"]] * 3,
        ["0" * 64, *everyone[:2]],  # a key without a secret
        [*everyone[1:], "1" * 64],  # without this node
        ["zz" * 32, *everyone[:2]],
        [1, 2, 3],
        "all",
        None,
    ):
        assert ask(worker, group).kind == "refusal"
    assert ask(worker, everyone).kind == "answer"
    assert ask(worker, everyone[::-1]).kind == "refusal"  # the group is fixed for this analysis
    again, other = ask(worker, everyone), ask(worker, everyone, ("y",))
    assert (again.arrays["masked"] == ask(worker, everyone).arrays["masked"]).all()
    assert not (again.arrays["masked"] == other.arrays["masked"]).any()


def test_different_questions_to_different_nodes_give_nothing(village):
    own = list(keys(village).values())
    workers = list(village.workers.values())
    columns = [("y",), ("age",), ("age",)]
    answers = [ask(worker, own, asked) for worker, asked in zip(workers, columns, strict=True)]
    parts = [answer.arrays["masked"] for answer in answers]
    with pytest.raises(MaskError, match="do not cancel"):
        add_masked(parts)


def test_a_new_analysis_has_new_masks(village):
    first = ask(village.workers["node-0"], list(keys(village).values()))
    second = ask(village.workers["node-0"], list(keys(village).values()))
    assert not (first.arrays["masked"] == second.arrays["masked"]).any()


def test_without_a_key_nothing_is_answered(village):
    assert "no key" in ask(village.workers["node-0"], ["1" * 64, "2" * 64, "3" * 64]).numbers["reason"]


def test_who_is_missing_is_named(village, tmp_path):
    nodes = opened(village)
    village.away.add("node-1")
    with pytest.raises(RunError, match=r"every node to answer.*node-1"):
        nodes.ask(Question("moments", {"columns": ["age"]}))
    village.away.clear()
    nodes = opened(village)
    agreed = agree_with_nodes(nodes, "y ~ age")
    village.mischief["node-2"] = lambda request, answer: "gone" if request.kind == "train" else answer
    folder = RunFolder.create(tmp_path / "run", {"made_by": "test"})
    with pytest.raises(RunError, match="node-2"):
        analyse_nodes(
            "linear: y ~ age", village, list(TABLES), folder, agreed=agreed, group=nodes.group, patience=1.0
        )
    folder.close()


def test_what_needs_single_answers_is_refused_at_the_server_and_at_a_node(village, tmp_path):
    nodes = opened(village)
    folder = RunFolder.create(tmp_path / "run", {"made_by": "test"})
    formula = "scale(y) ~ scale(age) + sex"
    agreed = agree_with_nodes(nodes, formula)
    with pytest.raises(ConfigError, match="sums only"):
        analyse_nodes(f"hm1: {formula}", village, list(TABLES), folder, agreed=agreed, group=nodes.group)
    with pytest.raises(RunError, match="secure sums only"):
        analyse_nodes("linear: y ~ age", village, list(TABLES), folder)
    folder.close()


def test_two_nodes_are_too_few(village):
    with pytest.raises(ConfigError, match="3 nodes or more"):
        SecureNodes(village, ["node-0", "node-1"], 5.0).open()
