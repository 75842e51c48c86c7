"""Do clients that come later see what they should?"""

from unalike_studies.fedem import data, training


def test_a_part_of_the_rows_is_the_first_of_every_client():
    federation = data.synthetic(3, clients=8, dimension=5, test_rows=400).federation
    few = training._first_rows(federation, 0.2).train
    for t in range(8):
        x, _ = federation.train.client(t)
        assert (few.client(t)[0] == x[: max(1, int(0.2 * len(x)))]).all()
