"""Does `unalike advise constants` say how curved, noisy and unlike losses are, in words and as JSON?"""

import json

import pytest

from unalike.errors import ConfigError

from .test_advise import type_in

FEW = ("--clients", "4", "--samples", "120", "--model", "linear", "--l2", "0.01", "--visits", "1")


@pytest.fixture
def ask(tmp_path, monkeypatch):
    """Type `unalike advise constants ...` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return lambda *words: type_in("constants", *FEW, *words)


def test_people_see_the_constants_and_what_they_bound(ask):
    output = ask("--learning-rate", "0.001")
    for word in ("sigma^2", "Gamma", "kappa^2", "proved", "fedavg", "fedprox mu=0.1", "perturbed beta=0.7"):
        assert word in output
    assert "advise timing --conditioning" in output


def test_machines_read_the_same_numbers(ask):
    answer = json.loads(ask("--learning-rate", "0.001", "--json"))
    assert answer["constants"]["convexity"] == 0.01
    assert answer["constants"]["smoothness"] > 0.01
    assert [method["name"].split()[0] for method in answer["methods"]] == ["fedavg", "fedprox", "perturbed"]
    assert answer["timing"]["conditioning"] == pytest.approx(answer["constants"]["smoothness"] / 0.01)


def test_settings_that_zigzag_are_told(ask):
    assert "zigzag" in ask("--learning-rate", "0.001", "--beta", "0.5")


def test_impossible_methods_are_refused(ask):
    with pytest.raises(ConfigError, match="beta must be above 0"):
        ask("--beta", "0")


def test_groups_add_what_the_theorems_on_fair_weights_say(ask, tmp_path):
    (tmp_path / "groups.csv").write_text("client,group\n" + "".join(f"{i},{'ab'[i % 2]}\n" for i in range(4)))
    words = ("--learning-rate", "0.001", "--per-round", "2", "--groups", "groups.csv")
    shown = ask(*words)
    assert "gifair rho=0.5" in shown
    assert "Fair weights of 2 groups" in shown
    answer = json.loads(ask(*words, "--rho", "0.8", "--json"))
    smooth = answer["constants"]["smoothness"]
    both = answer["fairness"]
    assert [report["clients"] for report in both] == ["all take part", "2 drawn a round"]
    assert both[0]["longest_step"] == pytest.approx(1 / (4 * 1.8 * smooth))
    assert both[0]["beta"] == pytest.approx(2 / (0.2 * 0.01))
    added = 4 * 10**2 * answer["constants"]["squared_gradient"] / 2
    assert both[1]["published_noise"] - both[0]["published_noise"] == pytest.approx(added)
    assert both[1]["noise"] - both[0]["noise"] == pytest.approx(1.8**2 * added)
    assert answer["methods"][-1]["name"] == "gifair rho=0.8"
    assert json.loads(ask("--rho", "0.1", "--json"))["fairness"][0]["groups"] == 4  # everybody for himself
    assert json.loads(ask("--json"))["fairness"] == []


def test_local_steps_and_rounds_are_told(ask):
    shown = ask("--learning-rate", "0.001")
    assert "best local steps" in shown
    assert "0.0625" in shown
    answer = json.loads(ask("--l2", "0", "--target", "0.1", "--json"))
    work = {one["name"]: one for one in answer["local_work"]["methods"]}
    assert answer["local_work"]["target"] == 0.1
    assert work["fedavg"]["rounds"] > 1
    assert work["fedavg"]["gap_left"] is None
    assert "lower bound is for strongly convex" in work["fedavg"]["note"]
