"""Does the command line cap the weights of results?"""

import numpy as np

from unalike.runs import RunFolder

ASYNC = (
    "--timing",
    "async",
    "--hardware",
    "spread:80",
    "--until",
    "3",
    "--clients",
    "5",
    "--model",
    "linear",
)


def test_no_result_weighs_more_than_the_cap(unalike):
    words = ("run", *ASYNC, "--importance", "equal", "--batch-size", "0", "--largest-weight", "0.3")
    assert unalike(*words, "--out", "capped").code == 0
    with RunFolder.open("capped", read_only=True) as folder:
        weights = np.concatenate(list(folder.record.groups("weights").values()))
    # Corrected weights are 1/5 over shares of all results: 0.46 of the quickest client, more of all others.
    np.testing.assert_allclose(weights, 0.3)
