"""Do measured figures follow from maps as stated, and are senseless ones refused?"""

from dataclasses import replace

import numpy as np
import pytest

from unalike.errors import ConfigError, DataError
from unalike.topology.underlays.base import Underlay
from unalike.topology.underlays.connectivity import connect
from unalike.topology.underlays.measurements import euclidean_violation, read_measurements
from unalike.topology.underlays.workloads import workload_of

LINE = Underlay(
    ("a", "b", "c"), np.array([[0, 1], [1, 2]]), np.array([100.0, 300.0]), capacity=np.array([4e8, 1e8])
)


def test_latency_is_added_once_per_path_or_once_per_link():
    once, each = connect(LINE), connect(LINE, latency_offset="per-link")
    assert once.latency[0, 2] == pytest.approx(0.0085 * 400 + 4)
    assert each.latency[0, 2] == pytest.approx(0.0085 * 400 + 8)
    assert once.latency[0, 1] == each.latency[0, 1] == pytest.approx(0.0085 * 100 + 4)
    assert (np.diag(once.latency) == 0).all()


def test_bandwidth_is_shared_by_hops_or_that_of_the_narrowest_link():
    assert connect(LINE).bandwidth[0, 2] == 5e8
    assert connect(LINE, core_share="min-link").bandwidth[0, 2] == 1e9
    assert connect(LINE, core=None, core_share="min-link").bandwidth[0, 2] == 1e8
    assert connect(LINE, core=None).bandwidth[0, 2] == 5e7


def test_silos_may_have_links_and_speeds_of_their_own():
    made = connect(LINE, "femnist", access=[1e8, 2e8, 3e8], faster={"b": 1e10}, slower_compute={"c": 50})
    assert made.uplink.tolist() == made.downlink.tolist() == [1e8, 1e10, 3e8]
    assert made.compute.tolist() == [4.6, 4.6, 50]
    with pytest.raises(ConfigError, match="no silo 'z'; there are a, b, c"):
        connect(LINE, faster={"z": 1e9})
    with pytest.raises(ConfigError, match="3 silos, but 2 values"):
        connect(LINE, access=[1e9, 1e9])


def test_workloads_are_those_of_the_table_and_true_sizes_are_bytes():
    assert workload_of("sub-inaturalist").bits == pytest.approx(42.88 * 2**20, rel=1e-4)
    assert workload_of("inaturalist").bits == 161.06e6
    assert workload_of("sub-inaturalist").true_size.bits == pytest.approx(32 * 11.217e6, rel=0.01)
    other = connect(LINE).with_workload("custom:10,20", local_steps=3)
    assert (other.bits, other.compute.tolist(), other.local_steps) == (10, [20, 20, 20], 3)


def test_a_silo_can_be_left_out_unless_that_cuts_the_network():
    mesh = connect("mesh:4")
    fewer = mesh.without("silo-2")
    assert fewer.names == ("silo-0", "silo-1", "silo-3")
    assert fewer.latency[0, 2] == mesh.latency[0, 3]
    with pytest.raises(ConfigError, match="no silo 'x'"):
        mesh.without("x")


def test_senseless_figures_are_refused_with_the_silo():
    good = connect("mesh:3")
    for change, words in (
        ({"uplink": np.array([1e9, 0, 1e9])}, "silo 'silo-1': the capacity of the uplink must be positive"),
        ({"compute": np.array([1, -1.0, 1])}, "silo 'silo-1': the time of a step"),
        ({"latency": good.latency * np.nan}, "silo 'silo-0': the latency is not a number"),
        ({"latency": -good.latency}, "'silo-0' to 'silo-1': the latency must not be negative"),
        ({"bandwidth": np.zeros((3, 3))}, "'silo-0' to 'silo-1': the bandwidth must be positive"),
        ({"uplink": np.ones(2)}, "uplink of 3 silos"),
    ):
        with pytest.raises(DataError, match=words):
            replace(good, **change)
    with pytest.raises(ConfigError, match="per-path"):
        connect("mesh:3", latency_offset="per_path")
    with pytest.raises(ConfigError, match="by-hops"):
        connect("mesh:3", core_share="all")


def test_networks_that_are_not_strongly_connected_name_a_silo():
    good = connect("mesh:3")
    latency = good.latency.copy()
    latency[:2, 2] = np.inf
    with pytest.raises(ConfigError, match="2 parts: silo 'silo-2' cannot be reached from 'silo-0'"):
        replace(good, latency=latency)
    with pytest.raises(ConfigError, match="2 parts: silo 'silo-2' cannot reach 'silo-0'"):
        replace(good, latency=latency.T)


def test_meshes_are_euclidean_and_the_worst_violation_is_named():
    mesh = connect("mesh:4", seed=1)
    assert euclidean_violation(mesh) is None
    latency = mesh.latency.copy()
    latency[1, 2] += 7
    pair = euclidean_violation(replace(mesh, latency=latency))
    assert (pair.silos, pytest.approx(pair.excess)) == (("silo-1", "silo-2"), 7)
    latency[2, 1] += 7 + 1000
    latency[1, 2] += 1000
    triple = euclidean_violation(replace(mesh, latency=latency))
    assert {triple.silos[0], triple.silos[2]} == {"silo-1", "silo-2"}
    assert triple.silos[1] in {"silo-0", "silo-3"}
    assert "shorter over" in str(triple)
    assert "differ by" in str(pair)


def test_measurements_are_read_from_a_table_with_missing_pairs(tmp_path):
    file = tmp_path / "measured.csv"
    file.write_text("from,to,latency_ms,bandwidth_mbps\na,b,5,100\nb,c,6,50\nc,a,7,1000\n")
    made = read_measurements(file, "femnist", access=1e9)
    assert made.names == ("a", "b", "c")
    assert made.latency[0, 1] == 5
    assert made.bandwidth[1, 2] == 5e7
    assert made.possible.sum() == 3
    assert not made.complete
    assert euclidean_violation(made).excess == np.inf


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("a,a,1,1", "line 4 of m.csv: 'a' to 'a' is from a silo to itself"),
        ("a,b,1,1", "line 4 of m.csv: 'a' to 'b' is measured twice"),
        ("a,c,x,1", "line 4 of m.csv has 'x' as latency_ms"),
        ("a,c,1,", "line 4 of m.csv has '' as bandwidth_mbps"),
    ],
)
def test_bad_measurements_are_refused_with_the_line(tmp_path, line, words):
    file = tmp_path / "m.csv"
    file.write_text(f"from,to,latency_ms,bandwidth_mbps\na,b,5,100\nb,a,6,50\n{line}\n")
    with pytest.raises(DataError, match=words):
        read_measurements(file)
    file.write_text("sender,receiver\na,b\n")
    with pytest.raises(DataError, match="needs rows with the columns from, to"):
        read_measurements(file)
