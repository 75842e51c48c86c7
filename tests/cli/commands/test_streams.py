"""Do commands hold a stream's rows for a whole time step, and weigh them over the whole run?"""

from pathlib import Path

import numpy as np

from unalike.runs import RunFolder

STREAM = ("--data", "digits", "--clients", "5", "--model", "linear", "--batch-size", "0", "--seed", "1")


def column(path, name):
    with RunFolder.open(path, read_only=True) as folder:
        return np.array(folder.record.metrics()[name])


def test_methods_are_compared_in_a_world_of_changing_mixtures_by_their_regret(unalike):
    words = (*STREAM, "--samples", "300", "--partition", "iid", "--rounds", "4", "--memory", "replace")
    words = (*words, "--stream", "mixture:0.1,4,constant:6", "--stream-period", "2", "--regret", "pooled:2")
    answer = unalike(*("compare", "--algorithms", "fem-omd,fedavg", *words, "--seeds", "1", "--out", "world"))
    assert answer.code == 0
    assert " regret " in answer.out
    runs = sorted(path.parent for path in Path("world").rglob("metrics.sqlite"))
    assert len(runs) == 2
    for path in runs:
        assert column(path, "arrived")[1:].tolist() == [30, 0, 30, 0]
        assert np.isfinite(column(path, "regret_accuracy")[2])


def test_run_and_compare_show_one_set_of_rows_for_a_step_of_several_rounds(unalike):
    words = (*STREAM, "--rounds", "4", "--stream", "constant:6", "--memory", "replace")
    assert unalike("run", "--algorithm", "fem-omd", *words, "--out", "one").code == 0
    assert column("one", "arrived")[1:].tolist() == [30, 0, 30, 0]
    assert column("one", "held")[1:].tolist() == [30] * 4
    answer = unalike("compare", "--algorithms", "fem-omd,fed-omd", *words, "--out", "both")
    assert answer.code == 0
