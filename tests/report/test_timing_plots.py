"""Do the figures of time show the jobs, ages and losses they are given?"""

import numpy as np
import pytest

from unalike.errors import ConfigError
from unalike.report import save
from unalike.report.embed import embed
from unalike.report.job_plots import FinishedJobs, choose_clients, choose_horizon, gantt
from unalike.report.timing_plots import against_time, clock, staleness_histogram, target_and_surrogate


def jobs(times, each=4, wait=0.0):
    """Clients that take these times for every job and begin the next one at once; results come one by one."""
    rows = sorted(
        (k * (time + wait) + time, client, k * (time + wait))
        for client, time in enumerate(times)
        for k in range(each)
    )
    finished, clients, started = (np.array(column) for column in zip(*rows, strict=True))
    versions = np.array([int((finished + wait <= begin).sum()) for begin in started])
    return FinishedJobs(
        clients, started, finished, finished + wait, versions, np.arange(len(rows)) - versions
    )


NOBODY = FinishedJobs(*np.zeros((2, 0), np.int64)[:1], *np.zeros((3, 0)), *np.zeros((2, 0), np.int64))


def bars(figure):
    """The corners of every bar: bars x corners x (time, row)."""
    (collection,) = figure.axes[0].collections[-1:]
    return np.array([path.vertices[:4] for path in collection.get_paths()])


def inks(figure):
    return figure.axes[0].collections[-1].get_facecolors()


def lines_drawn(axes):
    return [line for line in axes.lines if len(line.get_xdata())]


def texts(axes):
    return [text.get_text() for text in axes.texts]


def legend(figure):
    return [text.get_text() for text in figure.axes[0].get_legend().get_texts()]


def test_every_job_is_a_bar_from_its_start_to_its_end_in_the_row_of_its_client():
    work = jobs([1.0, 0.5])
    figure = gantt(work)
    corners = bars(figure)
    assert len(corners) == 8
    np.testing.assert_allclose(corners[:, :, 0].min(axis=1), work.started)
    hair = 0.002 * 4  # bars leave a hair's breadth between them
    np.testing.assert_allclose(corners[:, :, 0].max(axis=1), work.finished, atol=hair)
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert names == ["1", "0"]  # the quickest first
    rows = corners[:, :, 1].mean(axis=1).round().astype(int)
    assert [names[row] for row in rows] == [str(client) for client in work.clients]


def test_equal_ages_have_equal_colors_and_older_results_darker_ones():
    work = jobs([1.0, 0.3, 0.45])
    shades = inks(gantt(work))
    brightness = shades[:, :3] @ [0.2126, 0.7152, 0.0722]
    for age in np.unique(work.staleness):
        assert np.ptp(brightness[work.staleness == age]) == 0
    by_age = [brightness[work.staleness == age][0] for age in np.unique(work.staleness)]
    assert len(by_age) > 3
    assert (np.diff(by_age) < 0).all()


def test_the_legend_counts_versions_up_to_the_oldest():
    assert legend(gantt(jobs([1.0]))) == ["from the newest model"]
    alternating = jobs([1.0, 1.0])
    assert alternating.staleness.max() == 1
    assert legend(gantt(alternating)) == ["0", "1 version old"]
    oldest = jobs([1.0, 0.05], each=20).staleness.max()
    assert oldest == 19
    *_, words = legend(gantt(jobs([1.0, 0.05], each=20)))
    assert words == "16 versions old"  # the last of few even steps


def test_a_result_that_waited_has_a_line_from_its_end_to_its_aggregation():
    work = jobs([1.0, 0.5], wait=0.25)
    figure = gantt(work)
    (waits,) = lines_drawn(figure.axes[0])
    ends = waits.get_xdata().reshape(-1, 3)
    np.testing.assert_allclose(ends[:, 0], work.finished)
    np.testing.assert_allclose(ends[:, 1], work.aggregated)
    assert np.isnan(ends[:, 2]).all()
    assert legend(figure)[-1] == "waits"
    assert not lines_drawn(gantt(jobs([1.0, 0.5])).axes[0])


def test_aggregations_are_faint_lines_unless_there_are_very_many():
    few, many = gantt(jobs([1.0, 0.5])).axes[0], gantt(jobs(np.linspace(1, 0.2, 20), each=20)).axes[0]
    assert len(few.collections) == 2
    times = {segment[0][0] for segment in few.collections[0].get_segments()}
    assert times == {0.5, 1.0, 1.5, 2.0, 3.0, 4.0}
    assert len(many.collections) == 1


def test_long_bars_of_few_clients_have_the_number_of_the_model_they_start_from():
    work = jobs([1.0, 0.5])
    (axes,) = gantt(work).axes
    assert texts(axes) == [str(version) for version in work.versions]
    assert axes.get_xlabel().endswith("numbers are the models that jobs start from")
    assert not texts(gantt(jobs(np.linspace(1, 0.5, 20))).axes[0])
    assert not texts(gantt(jobs([1.0, 0.01], each=100)).axes[0])


def test_a_long_run_shows_its_beginning_and_says_so():
    work = jobs(np.linspace(1, 0.2, 20), each=200)
    figure = gantt(work)
    (axes,) = figure.axes
    assert 300 < len(bars(figure)) < 450
    assert axes.get_xlim()[1] == choose_horizon(work, choose_clients(work)) < work.aggregated.max()
    assert f"its beginning: {len(bars(figure))} of 4,000 jobs" in axes.get_xlabel()
    assert len(embed(figure, "f", "jobs")) < 150_000
    assert embed(figure, "f", "jobs").startswith("<svg")


def test_no_row_has_more_bars_than_can_be_told_apart():
    work = jobs([1.0, 0.01], each=1000)
    rows = bars(gantt(work))[:, :, 1].mean(axis=1).round()
    assert np.bincount(rows.astype(int)).max() <= 41


def test_all_jobs_of_a_short_run_are_shown_and_the_axis_says_nothing():
    work = jobs(np.linspace(1, 0.9, 11))
    figure = gantt(work)
    assert len(bars(figure)) == 44
    assert figure.axes[0].get_xlabel() == "simulated time"


def test_of_ten_thousand_clients_some_of_every_speed_have_rows():
    speeds = np.linspace(1, 0.2, 10_000)
    clients, started = np.tile(np.arange(10_000), 3), np.repeat(np.arange(3), 10_000) * np.tile(speeds, 3)
    finished = started + np.tile(speeds, 3)
    zeros = np.zeros(30_000, np.int64)
    work = FinishedJobs(clients, started, finished, finished, zeros, zeros)
    rows = choose_clients(work)
    assert len(rows) == len(set(rows.tolist())) == 40
    assert rows[0] == 9999
    assert rows[-1] == 0
    np.testing.assert_allclose(np.diff(speeds[rows]), 0.8 / 39, rtol=0.01)
    assert "of 40 of 10,000 clients" in gantt(work).axes[0].get_xlabel()


def test_of_drawn_cohorts_the_first_ones_are_shown_and_not_the_rare_returns():
    rounds, per_round = 100, 10
    clients = np.random.default_rng(0).permuted(np.tile(np.arange(500), (rounds, 1)), axis=1)[:, :per_round]
    began = np.repeat(np.arange(rounds, dtype=float), per_round)
    number = np.repeat(np.arange(rounds), per_round)
    work = FinishedJobs(clients.ravel(), began, began + 0.5, began + 1, number, np.zeros_like(number))
    rows = choose_clients(work)
    first = [began[work.clients == client].min() for client in rows]
    assert first == sorted(first)
    assert max(first) <= 4
    assert choose_horizon(work, rows) <= 8


def test_equal_times_keep_the_order_of_clients():
    thirds = np.array([1 / 3, 0.1 + 0.2 + 1 / 3 - 0.3, 1 / 3])
    np.testing.assert_array_equal(choose_clients(jobs(thirds)), [0, 1, 2])


@pytest.mark.parametrize("clients", [1, 2, 39, 40, 41, 300])
def test_any_number_of_clients_can_be_drawn(tmp_path, clients):
    work = jobs(np.linspace(1, 0.5, clients), each=2, wait=0.1)
    figure = gantt(work, [f"client {i}" for i in range(clients)])
    assert save(figure, tmp_path / "jobs.png").stat().st_size > 0
    assert len(figure.axes[0].get_yticks()) == min(clients, 40)


def test_nothing_is_an_empty_picture_not_an_error(tmp_path):
    for figure in (
        gantt(NOBODY),
        against_time({}, []),
        staleness_histogram([]),
        target_and_surrogate([], [], []),
    ):
        assert save(figure, tmp_path / "none.png").stat().st_size > 0


def test_jobs_that_take_no_time_can_be_seen(tmp_path):
    still = FinishedJobs(*(np.zeros(3, kind) for kind in (int, float, float, float, int, int)))
    assert save(gantt(still), tmp_path / "still.png").stat().st_size > 0
    corners = bars(gantt(jobs([1.0, 1e-9], each=1)))
    assert (np.ptp(corners[:, :, 0], axis=1) > 1e-3).all()


def test_jobs_that_do_not_fit_are_one_sentence():
    work = jobs([1.0, 0.5])
    with pytest.raises(ConfigError, match=r"jobs need columns of one length, but these have \[7, 8\]"):
        gantt(work._replace(started=work.started[1:]))
    with pytest.raises(ConfigError, match="client 1 has no name; there are 1 names"):
        gantt(work, ["ann"])


def test_long_names_are_cut():
    figure = gantt(jobs([1.0, 2.0]), ["ann", "x" * 100])
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert names == ["ann", "x" * 23 + "…"]


def test_a_metric_has_the_same_heights_against_rounds_and_against_time():
    metrics = {
        "round": np.arange(4),
        "clock": np.array([np.nan, 0.5, 2.0, 2.5]),
        "test_loss": np.array([3.0, np.nan, 2.0, 1.0]),
    }
    left, right = against_time(metrics, ["test_loss", "test_accuracy"]).axes
    np.testing.assert_array_equal(left.lines[0].get_xdata(), [0, 2, 3])
    np.testing.assert_array_equal(right.lines[0].get_xdata(), [0, 2, 2.5])
    np.testing.assert_array_equal(left.lines[0].get_ydata(), right.lines[0].get_ydata())
    assert texts(right) == ["1"]
    assert (left.get_xlabel(), right.get_xlabel()) == ("round", "simulated time")


def test_several_runs_have_a_line_each_in_colors_of_their_own_and_a_row_per_metric():
    runs = {
        name: {"round": np.arange(3), "clock": pace * np.arange(3), "test_loss": np.arange(3.0), **more}
        for name, pace, more in [("sync", 1.0, {"test_accuracy": np.arange(3) / 4}), ("async", 0.1, {})]
    }
    figure = against_time(runs, ["test_loss", "test_accuracy"])
    assert [len(axes.lines) for axes in figure.axes] == [2, 2, 1, 1]
    assert len({line.get_color() for line in figure.axes[0].lines}) == 2
    assert texts(figure.axes[1]) == ["sync 2", "async 2"]
    assert texts(figure.axes[3]) == ["sync 50.0 %"]


def test_only_the_start_is_at_zero_and_a_round_without_a_clock_is_nowhere():
    np.testing.assert_array_equal(clock({"round": np.array([0, 1, 2])}), [0, np.nan, np.nan])
    np.testing.assert_array_equal(clock({"round": np.array([1, 2]), "clock": np.array([3.0, 4])}), [3, 4])


def test_the_shares_of_a_histogram_are_those_of_the_ages():
    ages = [0, 0, 1, 3, 3, 3, 3, 3]
    (axes,) = staleness_histogram(ages).axes
    np.testing.assert_allclose([bar.get_height() for bar in axes.patches], [2 / 8, 1 / 8, 0, 5 / 8])
    centers = [bar.get_x() + bar.get_width() / 2 for bar in axes.patches]
    np.testing.assert_allclose(centers, [0, 1, 2, 3], atol=1e-12)
    assert texts(axes) == ["mean 2.0, oldest 3"]
    assert axes.get_xlabel().endswith("8 results")


@pytest.mark.parametrize("oldest", [59, 60, 1000, 29_984])
def test_many_ages_share_bars_and_none_is_lost(oldest):
    ages = np.random.default_rng(0).integers(0, oldest + 1, 500)
    ages[0] = oldest
    (axes,) = staleness_histogram(ages).axes
    assert len(axes.patches) <= 60
    assert sum(bar.get_height() for bar in axes.patches) == pytest.approx(1)
    width = axes.patches[1].get_x() - axes.patches[0].get_x()
    naive = np.mean((ages >= 2 * round(width)) & (ages < 3 * round(width)))
    assert axes.patches[2].get_height() == pytest.approx(naive)


def test_target_and_surrogate_are_labeled_lines_that_stay_visible_when_they_are_equal():
    (axes,) = target_and_surrogate([0, 1, 2], [3, 2.5, 2], [3, 2.5, 2], axis="round").axes
    target, surrogate = axes.lines
    np.testing.assert_array_equal(target.get_ydata(), surrogate.get_ydata())
    assert target.get_linewidth() > surrogate.get_linewidth() + 1
    assert texts(axes) == ["target 2", "surrogate 2"]
    assert axes.get_xlabel() == "round"


def test_losses_that_fall_far_are_drawn_by_factors_and_labels_stand_at_their_lines():
    target, surrogate = [10.0, 1.0, 0.1], [10.0, 1.0, 1.0]
    loss, spread = target_and_surrogate([0, 1, 2], target, surrogate, ([0, 2, 1], [0, 2, 1])).axes
    assert (loss.get_yscale(), spread.get_yscale()) == ("log", "linear")
    _, above = loss.texts
    to_axes = loss.transAxes.inverted().transform(loss.transData.transform((2, 1.0)))
    assert above.get_position()[1] == pytest.approx(to_axes[1], abs=0.01)


def test_a_spread_of_nearly_zero_does_not_stretch_a_scale_of_factors():
    (axes,) = target_and_surrogate([0, 1, 2], [1e-9, 5.0, 0.5], [1e-9, 5.0, 0.5]).axes
    np.testing.assert_array_equal(axes.lines[0].get_xdata(), [1, 2])
    assert axes.get_ylim()[0] > 0.1
