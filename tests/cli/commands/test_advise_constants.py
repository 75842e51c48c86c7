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
