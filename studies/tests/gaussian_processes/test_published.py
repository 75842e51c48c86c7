"""Are the functions of the authors' script what is said of them, and Example 2 as unequal as published?"""

import numpy as np
import pytest

from unalike.analytics.gaussian_process.benchmark_functions import PROBLEMS
from unalike_studies.gaussian_processes.levels import TABLE
from unalike_studies.gaussian_processes.published import METHODS, script_problems
from unalike_studies.gaussian_processes.small_claims import draw_unbalanced


def test_branin_has_no_square_root_and_a_cheap_level_of_shifted_inputs():
    x = np.array([[1.0, 2.0], [-3.0, 7.0]])
    low, middle, high = script_problems()["branin"].levels
    a, b = x.T
    np.testing.assert_allclose(middle(x), 10 * high(x - 2) + 2 * (a - 0.5) - 3 * (3 * b - 1) - 1)
    shifted = 1.2 * (x + 2)
    np.testing.assert_allclose(low(x), middle(shifted) - 3 * shifted[:, 1] + 1)


def test_currin_has_two_clients_of_each_level_and_the_others_are_as_in_the_text():
    problems = script_problems()
    assert problems["currin"].sizes == (200, 200, 40, 40)
    assert problems["currin"].levels[0] is problems["currin"].levels[1]
    assert problems["park"] is PROBLEMS["park"]


def test_the_table_has_a_number_for_every_method():
    assert all(tuple(cells) == METHODS for cells in TABLE.values())


def test_clients_have_from_ten_rows_on_and_see_one_function_each():
    params, rows, functions = draw_unbalanced(0, clients=4, largest=400)
    assert [len(y) for _, y in rows] == [10, 34, 117, 400]
    x, y = rows[-1]
    assert np.std(y - functions[-1](x[:, 0])) == pytest.approx(params[1], rel=0.2)
