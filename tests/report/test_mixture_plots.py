"""Do figures of mixtures show every client and component once, in the right order?"""

import numpy as np

from unalike.report.mixture_plots import by_component, component_use, mixture_heatmap, similarity_matrix

WEIGHTS = np.array([[0.1, 0.9, 0], [0.6, 0.4, 0], [0.8, 0.2, 0], [0.3, 0.7, 0]])


def drawn(picture):
    return np.asarray(picture.axes[0].images[0].get_array())


def test_clients_stand_by_main_component_the_purest_first():
    assert by_component(WEIGHTS).tolist() == [2, 1, 0, 3]
    np.testing.assert_array_equal(drawn(mixture_heatmap(WEIGHTS)), WEIGHTS[[2, 1, 0, 3]].T)


def test_bars_are_as_high_as_rows_are_explained_and_dead_components_are_named():
    picture = component_use(WEIGHTS, [10, 10, 20, 10])
    heights = [bar.get_height() for bar in picture.axes[0].patches]
    np.testing.assert_allclose(heights, [26, 24, 0])
    assert [text.get_text() for text in picture.axes[0].texts] == ["52 %", "48 %", "dead"]


def test_the_similarity_has_a_line_between_clusters():
    picture = similarity_matrix(WEIGHTS, cosine=False)
    ordered = WEIGHTS[[2, 1, 0, 3]]
    np.testing.assert_allclose(drawn(picture), ordered @ ordered.T)
    assert [line.get_xdata()[0] for line in picture.axes[0].lines[::2]] == [1.5]
