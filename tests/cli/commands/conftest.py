"""Tables of clients that several commands are tested with."""

import numpy as np
import pytest


@pytest.fixture(scope="module")
def sites(tmp_path_factory):
    rng, path = np.random.default_rng(0), tmp_path_factory.mktemp("sites")
    for k in range(5):
        age = rng.uniform(20, 80, 40)
        sex = rng.choice(["f", "m"], 40)
        y = 1 + 0.5 * age + (sex == "m") + 3 * rng.normal() + rng.normal(size=40)
        rows = "\n".join(f"{a:.3f},{s},{v:.4f},{int(v > 27)}" for a, s, v in zip(age, sex, y, strict=True))
        (path / f"site{k}.csv").write_text(f"age,sex,y,high\n{rows}\n")
    return path
