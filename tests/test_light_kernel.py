"""What does a plain training import?  (JAX, NumPy and Optax, and none of the libraries that few need.)"""

import json
import subprocess
import sys

TRAINING = """
import json, sys
import numpy as np
import unalike

rng = np.random.default_rng(0)
rows = {str(i): (rng.normal(size=(20, 3)).astype(np.float32), rng.integers(0, 2, 20)) for i in range(3)}
federation = unalike.Federation.from_clients(rows)
run = unalike.train(federation, unalike.Task.of(federation, "linear"), unalike.FedAvg(), rounds=2)
print(json.dumps([run.rounds, sorted(sys.modules)]))
"""
HEAVY = (
    *("scipy.stats", "scipy.optimize", "scipy.linalg", "scipy.sparse", "scipy.spatial", "networkx.classes"),
    *("sklearn", "matplotlib", "pandas", "ray", "flwr", "optuna", "duckdb", "formulaic", "rich", "typer"),
)


def test_training_on_arrays_imports_no_library_that_it_does_not_need():
    printed = subprocess.run([sys.executable, "-c", TRAINING], capture_output=True, text=True, check=True)
    rounds, modules = json.loads(printed.stdout)
    assert rounds == 2
    assert [name for name in HEAVY if name in modules] == []
