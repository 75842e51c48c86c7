"""What do four sites say together?  (A first look, a regression, a mixed model; rows stay where they are.)

Run it with `python examples/analytics.py`. The same on the command line: `unalike statistics`, `unalike
analyze`; between organizations: `unalike serve --analysis` and `unalike join --table`.
"""

from __future__ import annotations

import numpy as np

from unalike.analytics import LinearRegression, LocalNodes, MixedModel, cross_table, describe
from unalike.data.tables import Tables, tables_of

SITES = {"north": 90, "south": 60, "east": 45, "west": 120}


def make_tables(seed: int = 0) -> Tables:
    """Patients of four sites that measure blood pressure a little differently."""
    rng, made = np.random.default_rng(seed), {}
    for site, rows in SITES.items():
        age, sex = rng.uniform(20, 80, rows), rng.choice(["f", "m"], rows)
        smokes = np.where(rng.uniform(size=rows) < 0.3, "yes", "no")
        level = 90 + 0.5 * age + 4 * (sex == "m") + 3 * (smokes == "yes") + rng.normal(0, 5)
        made[site] = {"age": age, "sex": sex, "smokes": smokes, "pressure": level + rng.normal(0, 6, rows)}
    return tables_of(made)


def main() -> None:
    """Look, fit, compare."""
    tables = make_tables()
    nodes = LocalNodes(tables, minimum_cell_count=5)
    print(describe(nodes).summary(), end="\n\n")
    print(cross_table(nodes, "sex", "smokes").summary(), end="\n\n")
    pooled = LinearRegression().fit(tables, "pressure ~ age + sex + smokes")
    print(pooled.summary(), end="\n\n")
    mixed = MixedModel().fit(tables, "pressure ~ age + sex + smokes + (1 | client)")
    print(mixed.summary(), end="\n\n")
    effects, spreads = mixed.effects()
    for site, effect, spread in zip(tables, effects[:, 0], spreads[:, 0], strict=True):
        print(f"{site:>6} measures {effect:+.1f} (+- {2 * spread:.1f}) against the others")


if __name__ == "__main__":
    main()
