"""Does `unalike advise` say what to use, for people and for machines?"""

import json

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from unalike.cli.commands.advise import advise
from unalike.cli.commands.advise_timing import _window
from unalike.errors import ConfigError, UnalikeError

FEW = ("--clients", "6", "--samples", "200", "--per-round", "2")


def type_in(*words):
    """Type `unalike advise ...`; a user's mistake is raised."""
    answer = CliRunner().invoke(advise, [*map(str, words)], env={"COLUMNS": "100"})
    if isinstance(answer.exception, UnalikeError):
        raise answer.exception
    assert answer.exception is None, answer.exception
    return " ".join(answer.output.split())


@pytest.fixture
def ask(tmp_path, monkeypatch):
    """Type `unalike advise sampling ...` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return lambda *words: type_in("sampling", *words)


@pytest.fixture
def ask_timing(tmp_path, monkeypatch):
    """Type `unalike advise timing ...` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return lambda *words: type_in("timing", *words)


def test_people_see_a_table_and_a_verdict(ask):
    output = ask(*FEW, "--partition", "lognormal:1")
    for word in ("md", "uniform", "poisson", "clustered-size", "Sigma", "gamma", "V(sum)", "biased"):
        assert word in output
    assert "2 of 6 clients each round" in output
    assert "Use clustered-size: its weights sum to one" in output


def test_equal_importance_calls_for_uniform_draws(ask):
    assert "Use uniform: all clients count the same" in ask(*FEW, "--importance", "equal")


def test_machines_get_json_with_every_number(ask):
    answer = json.loads(ask(*FEW, "--importance", "equal", "--json"))
    assert (answer["clients"], answer["per_round"], answer["recommended"]) == (6, 2, "uniform")
    rows = {row["scheme"]: row for row in answer["schemes"]}
    assert rows["md"]["gamma"] == pytest.approx(1 / 2)
    assert rows["uniform"]["gamma"] == pytest.approx(1 / 2 * 4 / 5)
    assert rows["fedavg-original"]["gamma"] is None
    assert answer["plot"] is None


def test_importance_may_come_from_a_file(ask, tmp_path):
    (tmp_path / "importance.csv").write_text("0.9\n0.02,0.02\n0.02 0.02\n0.02\n")
    answer = json.loads(ask(*FEW, "--importance", "importance.csv", "--json"))
    rows = {row["scheme"]: row for row in answer["schemes"]}
    squares = 0.81 + 5 * 0.0004
    assert rows["md"]["total_variance"] == pytest.approx((1 - squares) / 2)
    assert "needs no importance above 1/2" in rows["poisson"]["note"]
    assert "(uniform)" in answer["warnings"][0]
    assert "diverges once" in ask(*FEW, "--importance", "importance.csv")


def test_a_picture_is_drawn_where_asked(ask, tmp_path):
    ask(*FEW, "--plot", "pictures/variance.png")
    assert (tmp_path / "pictures" / "variance.png").read_bytes().startswith(b"\x89PNG")


def test_equal_seeds_give_equal_answers(ask):
    words = (*FEW, "--partition", "lognormal:1", "--json")
    assert ask(*words, "--seed", 1) == ask(*words, "--seed", 1) != ask(*words, "--seed", 2)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--per-round", "7"), r"per_round must be between 1 and the number of clients \(6\), but is 7"),
        (("--importance", "nowhere.txt"), "importance must be data, equal, similarity, or a file"),
        (("--importance", "short.txt"), r"importance needs one number per client \(6\)"),
        (("--importance", "half.txt"), "importance must sum to one, but sums to 0.6"),
        (("--data", "digit"), "did you mean 'digits'"),
        (("--partition", "dirichlett:1"), "did you mean 'dirichlet'"),
    ],
    ids=lambda given: given[1] if isinstance(given, tuple) else "",
)
def test_a_mistake_is_one_sentence(ask, tmp_path, words, sentence):
    (tmp_path / "short.txt").write_text("0.5 0.5")
    np.savetxt(tmp_path / "half.txt", np.full(6, 0.1))
    with pytest.raises(ConfigError, match=sentence):
        ask(*FEW, *words)


def test_it_can_be_a_part_of_the_whole_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    whole = typer.Typer()
    whole.add_typer(advise, name="advise")
    answer = CliRunner().invoke(whole, ["advise", "sampling", *FEW, "--json"])
    assert answer.exit_code == 0
    assert json.loads(answer.output)["clients"] == 6
    assert not list(tmp_path.iterdir())


# Timing.


def test_people_see_policies_side_by_side_and_which_is_first(ask_timing):
    output = ask_timing("--clients", 4, "--hardware", "spread:75")
    for word in ("wait-for-all", "fedfix:0.5", "fedbuff:2", "async", "uplinks", "window", "longest", "bias"):
        assert word in output
    assert "spread:75: 4 clients, to 0.01 of the initial error" in output
    assert "Use " in output
    assert "units of time" in output


def test_machines_get_every_policy_with_both_weights(ask_timing):
    answer = json.loads(ask_timing("--clients", 4, "--hardware", "equal", "--target", 0.1, "--json"))
    assert (answer["hardware"], answer["clients"], answer["target"]) == ("equal", 4, 0.1)
    assert answer["recommended"] == "wait-for-all"
    rows = {(row["policy"], row["weights"]): row for row in answer["policies"]}
    assert rows["async", "identical"]["max_staleness"] == 3
    assert rows["async", "corrected"]["window"] == 4
    assert not rows["async", "identical"]["biased"]


def test_measured_times_may_come_from_a_file(ask_timing, tmp_path):
    (tmp_path / "times.csv").write_text("30\n10,10\n7.5\n")
    answer = json.loads(ask_timing("--times", "times.csv", "--json"))
    rows = {(row["policy"], row["weights"]): row for row in answer["policies"]}
    assert rows["wait-for-all", "corrected"]["aggregations_per_time"] == pytest.approx(1 / 30)
    assert rows["async", "corrected"]["window"] == 1 + 3 + 3 + 4
    assert rows["async", "identical"]["biased"]


def test_a_target_that_is_never_reached_is_infinity_for_machines(ask_timing, tmp_path):
    (tmp_path / "times.csv").write_text("1 9")
    answer = json.loads(ask_timing("--times", "times.csv", "--json"))
    rows = {(row["policy"], row["weights"]): row for row in answer["policies"]}
    assert rows["async", "identical"]["time_to_target"] == "Infinity"


def test_importances_of_clients_in_time_may_come_from_a_file(ask_timing, tmp_path):
    (tmp_path / "importance.txt").write_text("0.2 0.8")
    (tmp_path / "times.txt").write_text("4 1")
    words = ("--times", "times.txt", "--importance", "importance.txt", "--json")
    rows = {(row["policy"], row["weights"]): row for row in json.loads(ask_timing(*words))["policies"]}
    assert not rows["async", "identical"]["biased"]  # the quick client counts as much as it reports


def test_windows_too_long_to_print_have_one_digit():
    assert [_window(steps) for steps in (999_999, 10**6, 3 * 10**1433 + 1)] == ["999999", "1e6", "3e1433"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--times", "nowhere.txt"), "times must be a file with one number per client: nowhere.txt"),
        (("--times", "empty.txt"), "must hold times, at least one, but holds 0"),
        (("--times", "two.txt", "--clients", "3"), "one for each of 3 clients, but holds 2"),
        (("--times", "words.txt"), "'quick' is not a time"),
        (("--hardware", "spred:80"), "did you mean 'spread'"),
        (("--clients", "3", "--importance", "two.txt"), r"importance needs one number per client \(3\)"),
        (("--target", "2"), "the target must be between 0 and 1"),
        (("--clients", "2000"), "at most 1,000 clients"),
    ],
    ids=lambda given: given[1] if isinstance(given, tuple) else "",
)
def test_a_mistake_in_timing_is_one_sentence(ask_timing, tmp_path, words, sentence):
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "two.txt").write_text("0.5 0.5")
    (tmp_path / "words.txt").write_text("quick slow")
    with pytest.raises(ConfigError, match=sentence):
        ask_timing(*words)


MEASURED = ("--model", "linear", "--l2", "0.01", "--clients", "4", "--samples", "120")


def test_bounds_of_schemes_use_the_constants_of_these_clients(ask):
    output = ask(*MEASURED, "--per-round", "2", "--measure")
    assert "measured on 4 clients" in output
    assert "(B_MD)" in output
    assert "Mean squared gradient at most" in output
    answer = json.loads(ask(*MEASURED, "--per-round", "2", "--measure", "--json"))
    bounds = {row["scheme"]: row["bound"] for row in answer["bounds"]}
    assert answer["measured"]["convexity"] == 0.01
    assert bounds["full"] == min(bounds.values())
    assert "fedavg-original" not in bounds  # its weights are biased: the bound does not hold for it


def test_without_asking_nothing_is_measured(ask):
    answer = json.loads(ask(*FEW, "--json"))
    assert answer["measured"] is None
    assert answer["bounds"] == []


def test_timings_race_on_losses_like_those_of_the_data(ask_timing):
    answer = json.loads(ask_timing("--data", "digits", *MEASURED, "--hardware", "equal", "--json"))
    assert answer["clients"] == 4
    assert answer["conditioning"] == pytest.approx(answer["measured"]["smoothness"] / 0.01)
    assert answer["unlike"] == pytest.approx(answer["measured"]["optima_distance"])


def test_what_is_typed_stands_over_what_is_measured(ask_timing):
    words = ("--data", "digits", *MEASURED, "--hardware", "equal", "--conditioning", "7")
    assert "conditioning 7, unlike" in ask_timing(*words)


def test_strategies_are_bounded_where_clients_come_and_go(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    few = ("availability", "--clients", 3, "--samples", 90, "--visits", 0, "--rounds", 20)
    told = json.loads(type_in(*few, "--json"))
    assert [one["strategy"] for one in told["strategies"]] == [
        *("unbiased", "more-available", "adafed", "ca-fed:1"),
    ]
    assert told["strategies"][0]["bias"] == 0
    shown = type_in(*few)
    assert "groups: bounds after 20 rounds" in shown
    assert "By the bound:" in shown


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--availability", "groops"), "did you mean 'groups'"),
        (("--model", "mlp:4"), "convex losses; measure a classification with --model linear"),
    ],
)
def test_a_mistake_in_availability_is_one_sentence(tmp_path, monkeypatch, words, sentence):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=sentence):
        type_in("availability", "--clients", 4, "--samples", 120, "--visits", 0, *words)


def test_the_conditions_of_a_mixture_are_checked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ("mixture", "--partition", "iid", "--clients", "4", "--samples", "400")
    far = json.loads(type_in(*words, "--data", "gaussians:3,5,300", "--json"))
    near = json.loads(type_in(*words, "--data", "gaussians:3,5,5", "--least-weight", "0.1", "--json"))
    assert far["conditions"][0]["holds"] is True
    assert near["conditions"][0]["holds"] is False
    assert near["needed"] == pytest.approx(128 * np.sqrt(np.log(30)))
    assert near["constant"] == pytest.approx(128 * near["distance"] / near["needed"])
    assert "the theory asks for 128" in type_in(*words, "--data", "gaussians:3,5,5")
    with pytest.raises(ConfigError, match="at most 1 / 3"):
        type_in(*words, "--data", "gaussians:3,5,5", "--least-weight", "0.5")
