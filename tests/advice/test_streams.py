"""Does the advice on historical and fresh data follow from the numbers?"""

import math

import numpy as np
import pytest

from unalike.advice import advise_streams
from unalike.advice.streams import STRATEGIES
from unalike.data import MemoryStream, load
from unalike.data.streams.bound_constants import Constants
from unalike.errors import ConfigError
from unalike.models import Task, linear
from unalike.training.fit_plan import fit_stream
from unalike.training.make_plan import plan_training
from unalike.training.stream_constants import FirstSteps, measure_constants

HALF = np.arange(25)


def cifar(fraction):
    """Rows of 25 historical and 25 fresh clients."""
    return np.repeat([1000 * fraction, 1000 * (1 - fraction)], 25)


@pytest.mark.parametrize(("fraction", "weight"), [(0.05, 0.12), (0.2, 0.45), (0.5, 0.95)])
def test_the_published_weights_are_given(fraction, weight):
    advice = advise_streams(cifar(fraction), HALF, ratio=0.15)
    assert advice["optimal"].historical == pytest.approx(weight, abs=0.005)
    assert advice.recommended == ("optimal" if fraction < 0.5 else "historical")
    assert f"hold {fraction:.1%} of the rows" in advice.verdict


def test_every_strategy_has_its_numbers_and_none_costs_less_than_the_best():
    advice = advise_streams(cifar(0.2), HALF, ratio=0.15, held=2, fixed=0.8)
    assert tuple(report.name for report in advice.strategies) == STRATEGIES
    assert all(report.cost >= 1 - 1e-12 for report in advice.strategies)
    assert advice["fresh"].historical == 0
    assert advice["fixed"].historical == pytest.approx(0.8)
    assert advice["uniform"].effective == pytest.approx(1)
    assert advice["historical"].effective == pytest.approx(0.2)
    assert advice["historical"].noise == 0
    assert advice["fresh"].noise == pytest.approx(1)
    assert advice["memory-size"].historical == pytest.approx(200 / 202)
    assert advice["optimal"].cost == 1
    parts, costs = advice.curve
    assert costs.min() == pytest.approx(1, abs=1e-3)
    assert parts[costs.argmin()] == pytest.approx(0.45, abs=0.01)


def test_the_simplest_strategy_that_is_as_good_is_recommended():
    assert advise_streams(cifar(0.2), HALF, ratio=5.0).recommended == "uniform"
    assert "costs little" in advise_streams(cifar(0.2), HALF, ratio=5.0).verdict
    few = advise_streams(cifar(0.2), HALF, ratio=0.05)
    assert few.recommended == "historical"
    assert "0.25, is not above the root of the historical share, 0.447" in few.verdict


def test_without_fresh_or_without_historical_clients():
    all_stay = advise_streams([10, 30], [0, 1], ratio=0.1)
    assert all_stay.recommended == "uniform"
    assert all_stay.ratio is None
    assert all_stay["fresh"].importance is None
    assert "no fresh clients" in all_stay["fresh"].note
    none_stays = advise_streams([10, 30], [], ratio=0.1)
    assert "no historical clients" in none_stays["historical"].note
    assert none_stays["optimal"].historical == 0
    assert none_stays.recommended == "optimal"


def test_without_statistical_error_only_historical_rows_have_a_bound():
    advice = advise_streams([10, 30], [0], ratio=0.0)
    assert advice.recommended == "historical"
    assert advice["uniform"].cost == math.inf
    assert advise_streams([10, 30], [0], ratio=math.inf).recommended == "uniform"


def test_the_ratio_may_come_from_constants_and_an_empty_bound_is_said():
    constants = Constants(1.0, 5.5, 2.3, 3_353_034, 500_000)
    advice = advise_streams(cifar(0.2), HALF, constants)
    assert advice.ratio == pytest.approx(constants.ratio(25))
    assert advice.warnings == ()
    assert advice.as_dict()["constants"]["gradient"] == 5.5
    empty = advise_streams(cifar(0.2), HALF, Constants(1.0, 5.5, 0.1, 3_353_034, 500_000))
    assert "bound is empty" in empty.verdict


def test_machines_get_plain_numbers():
    answer = advise_streams(cifar(0.2), HALF, ratio=0.15).as_dict()
    assert len(answer["importance"]) == answer["clients"] == 50
    assert [row["strategy"] for row in answer["strategies"]] == list(STRATEGIES)


@pytest.mark.parametrize(
    ("rows", "historical", "options", "sentence"),
    [
        ([10, 20], [2], {}, "historical client 2 is not one of 2 clients"),
        ([10, -1], [0], {}, "none negative"),
        ([10, 20], [0], {"ratio": -0.1}, "must not be negative"),
        ([10, 20], [0], {"fixed": 1.5}, "between 0 and 1"),
    ],
)
def test_a_mistake_is_one_sentence(rows, historical, options, sentence):
    with pytest.raises(ConfigError, match=sentence):
        advise_streams(rows, historical, **{"ratio": 0.1, **options})


# Constants from first steps.


@pytest.fixture(scope="module")
def digits():
    federation = load("digits", clients=4, samples=200, partition="dirichlet:0.4")
    return federation, Task.classification(linear(input_shape=federation.input_shape, outputs=10), 10)


def test_an_untrained_model_loses_the_logarithm_of_its_classes(digits):
    found = measure_constants(*digits, [0, 1])
    assert found.loss == pytest.approx(math.log(10), abs=1e-5)
    assert (found.parameters, found.rows) == (650, int(digits[0].train.sizes.sum()))
    assert found == measure_constants(*digits, [0, 1])


def test_longer_first_steps_move_further_and_more_clients_never_less(digits):
    short, long = (
        measure_constants(*digits, [0], FirstSteps(steps=steps, learning_rate=0.01)) for steps in (1, 20)
    )
    assert short.diameter == pytest.approx(0.01 * short.gradient, rel=1e-4)
    assert long.diameter > 5 * short.diameter
    assert measure_constants(*digits, [0, 1, 2]).gradient >= measure_constants(*digits, [0]).gradient


def test_where_no_rows_stay_only_those_that_are_held_are_used(digits):
    one = measure_constants(*digits, [0], FirstSteps(most_rows=1, steps=1, learning_rate=1.0))
    pixels = np.asarray(digits[0].train.client(0)[0][0], float).ravel()
    # The gradient of one row is its error, of length sqrt(0.9^2 + 9 0.1^2), times its pixels and intercept.
    assert one.gradient == pytest.approx(math.sqrt(0.9 * (1 + pixels @ pixels)), rel=1e-4)
    assert one.diameter == pytest.approx(one.gradient, rel=1e-4)


def test_nobody_to_ask_and_no_steps_are_refused(digits):
    with pytest.raises(ConfigError, match="no client reports"):
        measure_constants(*digits, [])
    with pytest.raises(ConfigError, match="at least one step"):
        FirstSteps(steps=0)


def fit(stream, federation, task, rounds=None):
    """The stream after it has learned what it needs of the clients before a training."""
    until = 1.0 if rounds is None else math.inf
    fit_stream(plan_training(federation, task, "fedavg", stream=stream, rounds=rounds, until=until))
    return stream


def test_optimal_weights_without_a_ratio_are_those_of_the_estimated_one(digits):
    federation, task = digits
    fitted = fit(MemoryStream("constant:4,0.5", 10, "optimal"), federation, task)
    kept = np.arange(len(federation) // 2)
    ratio = measure_constants(federation, task, kept).ratio(len(federation) - len(kept))
    assert fitted.weights.ratio == ratio
    same = MemoryStream("constant:4,0.5", 10, f"optimal:{ratio}")
    for stream in (fitted, same):
        stream.begin(federation, 0)
    assert fitted.importance(3) == pytest.approx(same.importance(3))
    assert fitted.facts()["tradeoff_ratio"] == ratio


def test_the_rows_of_the_estimate_are_those_that_arrive_in_the_run(digits):
    federation, task = digits
    stream = fit(MemoryStream("constant:4,0.5", 10, "optimal"), federation, task, rounds=5)
    sizes = federation.train.sizes
    kept = np.arange(len(sizes) // 2)
    rows = int(sizes[kept].sum() + np.minimum(sizes[len(kept) :], 20).sum())
    assert rows < sizes.sum()
    measured = measure_constants(federation, task, kept, rows=rows)
    assert measured.rows == rows
    assert stream.weights.ratio == measured.ratio(len(sizes) - len(kept))


def test_a_given_ratio_and_other_weights_are_left_alone(digits):
    for words in ("optimal:0.15", "uniform"):
        before = vars(MemoryStream("constant:4", 10, words).weights)
        assert vars(fit(MemoryStream("constant:4", 10, words), *digits).weights) == before


def test_optimal_weights_that_nobody_has_fitted_are_refused(digits):
    with pytest.raises(ConfigError, match="such as optimal"):
        MemoryStream("constant:4", 10, "optimal").begin(digits[0], 0)
