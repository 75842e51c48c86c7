"""Are built-in maps where they should be?"""

import numpy as np
import pytest

from unalike.data.sources.files import data_folder
from unalike.errors import ConfigError, DataError
from unalike.topology.underlays.base import underlay_of
from unalike.topology.underlays.maps import AWS_NA, GAIA, SAN_JOSE_COSTA_RICA, great_circle_km


def test_great_circles_agree_with_chords_through_the_earth():
    rng = np.random.default_rng(0)
    angles = np.stack([rng.uniform(-90, 90, (50, 2)), rng.uniform(-180, 180, (50, 2))], axis=-1)
    one, two = np.radians(angles[:, 0]), np.radians(angles[:, 1])
    cos = np.sin(one[:, 0]) * np.sin(two[:, 0])
    cos += np.cos(one[:, 0]) * np.cos(two[:, 0]) * np.cos(one[:, 1] - two[:, 1])
    assert np.allclose(great_circle_km(angles[:, 0], angles[:, 1]), 6371.0088 * np.arccos(cos), rtol=1e-6)


def test_clouds_are_full_meshes_of_cities():
    for name, cities in (("gaia", GAIA), ("aws-na", AWS_NA)):
        place = underlay_of(name)
        assert place.names == tuple(cities)
        assert place.graph.sum() == len(cities) * (len(cities) - 1)
        assert place.routes.hops.max() == 1
        assert (place.routes.km[:, None] <= place.routes.km[:, :, None] + place.routes.km + 1e-6).all()


def test_known_distances_in_km():
    gaia = underlay_of("gaia")
    at = gaia.names.index
    assert gaia.routes.km[at("Dublin"), at("Frankfurt")] == pytest.approx(1087, rel=0.01)
    assert gaia.routes.km[at("Tokyo"), at("Seoul")] == pytest.approx(1160, rel=0.01)
    assert gaia.routes.km[at("Singapore"), at("Sydney")] == pytest.approx(6300, rel=0.01)


def test_san_jose_is_in_california_unless_it_is_asked_for_elsewhere():
    right, wrong = underlay_of("aws-na"), underlay_of("aws-na:misplaced")
    a, b = right.names.index("San José"), right.names.index("Hayward")
    assert right.routes.km[a, b] < 50
    assert wrong.routes.km[a, b] == pytest.approx(
        float(great_circle_km(SAN_JOSE_COSTA_RICA, AWS_NA["Hayward"]))
    )
    assert wrong.routes.km[a, b] > 4800


@pytest.mark.parametrize("name", ["mesh:9", "geometric:30", "geometric:2", "mesh:2,10"])
def test_random_maps_are_connected_and_follow_their_seed(name):
    one, again, other = underlay_of(name, 1), underlay_of(name, 1), underlay_of(name, 2)
    assert np.array_equal(one.km, again.km)
    assert not np.array_equal(one.km, other.km)
    assert np.isfinite(one.routes.km).all()


def test_wrong_names_and_missing_files_say_what_to_do(tmp_path):
    with pytest.raises(ConfigError, match="versions cities, published, not 'mars'"):
        underlay_of("gaia:mars")
    with pytest.raises(ConfigError, match="at least 2 silos"):
        underlay_of("mesh:1")
    with (
        data_folder(tmp_path),
        pytest.raises(DataError, match=r"exodus\.gml was not found; set UNALIKE_DATA"),
    ):
        underlay_of("exodus")
