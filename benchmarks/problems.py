"""The problem files: the same rows, first weights, cohorts and mini-batches for every peer (NumPy only).

A problem is one `.npz` without pickled objects:

| array | shape | meaning |
|---|---|---|
| `x`, `y` | rows | all clients' samples, one client after the other; images are height x width x channel |
| `offsets` | clients + 1 | client c owns rows `offsets[c]` to `offsets[c + 1]` |
| `x_test`, `y_test` | test rows | what the final global model is scored on |
| `cohorts` | rounds x cohort | the clients of each round |
| `batches` | rounds x cohort x steps x batch | the rows of each local step |
| `init.<layer>.<name>` | see below | first weights of the model's layers, counted from 0 |
| `hyper` | scalar text | the specification and the data's origin, as JSON |

Weights: dense `w` (in, out) and `b`; conv `w` (height, width, in, out) and `b`; embed `w` (symbols, width);
lstm `wi` (in, 4H), `wh` (H, 4H) and `b` (4H) with the gates in the order input, forget, cell (g), output.

`python problems.py --out FOLDER [NAME ...]` writes those that are missing or have another specification.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent / "peers"))

from catalog import PROBLEMS, Layer, Problem

Rows = tuple[np.ndarray, np.ndarray]


def main() -> None:
    """Write the named problems into a folder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help=f"which problems of {', '.join(PROBLEMS)}; all by default")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    for name in arguments.names or PROBLEMS:
        write(PROBLEMS[name], arguments.out / f"{name}.npz")


def write(problem: Problem, path: Path) -> None:
    """Write a problem's file unless the one that is there was made from the same specification and data."""
    real = real_file(problem.source)
    hyper = json.dumps(problem.hyper() | {"data": real.name if real else "generated"}, sort_keys=True)
    if path.exists() and stored_hyper(path) == hyper:
        return
    rng = np.random.default_rng(problem.seed)
    (x, y), (x_test, y_test) = samples(problem, real, rng)
    order = partition(y, problem.clients, rng)
    cohorts, batches = schedule(problem, rng)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part.npz")
    np.savez(
        part,
        x=x[order],
        y=y[order],
        offsets=np.arange(problem.clients + 1, dtype=np.int64) * problem.rows_per_client,
        x_test=x_test,
        y_test=y_test,
        cohorts=cohorts,
        batches=batches,
        hyper=np.array(hyper),
        **first_weights(problem.layers, rng),
    )
    part.replace(path)


def stored_hyper(path: Path) -> str:
    """The specification inside an existing file."""
    with np.load(path, allow_pickle=False) as stored:
        return str(stored["hyper"])


def real_file(source: str) -> Path | None:
    """The real data set, when the folder UNALIKE_DATA holds it."""
    folder = os.environ.get("UNALIKE_DATA")
    path = Path(folder, f"{source}.npz") if folder else None
    return path if path and path.exists() else None


def samples(problem: Problem, real: Path | None, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Training and test rows, real or generated, in the problem's shape."""
    count = problem.clients * problem.rows_per_client
    if real:
        return real_images(real, problem, count, rng)
    if problem.source == "text":
        return markov_windows(problem, count, rng)
    return prototype_images(problem, count, rng)


def real_images(path: Path, problem: Problem, count: int, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """A random choice of real images, scaled to the unit interval."""
    with np.load(path, allow_pickle=False) as data:
        chosen = rng.permutation(len(data["y_train"]))[:count]
        train = data["x_train"][chosen], data["y_train"][chosen]
        test = data["x_test"][: problem.test_rows], data["y_test"][: problem.test_rows]
    if len(chosen) < count:
        raise ValueError(f"{path.name} has {len(chosen)} rows; {problem.name} needs {count}")
    return unit_scale(train, problem), unit_scale(test, problem)


def unit_scale(rows: Rows, problem: Problem) -> Rows:
    """Bytes to floats between 0 and 1, reshaped to the problem's input."""
    x, y = rows
    return (x.astype(np.float32) / 255).reshape(len(x), *problem.shape), y.astype(np.int32)


def prototype_images(problem: Problem, count: int, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Images that are a blocky class prototype under Gaussian noise: learnable, but not at once."""
    size = int(np.prod(problem.shape))
    prototypes = blocky_prototypes(problem, rng).reshape(problem.classes, size)
    y = rng.integers(0, problem.classes, count + problem.test_rows).astype(np.int32)
    x = prototypes[y] + rng.standard_normal((len(y), size), dtype=np.float32)
    x = (x * np.float32(0.5)).reshape(len(y), *problem.shape)
    return (x[:count], y[:count]), (x[count:], y[count:])


def blocky_prototypes(problem: Problem, rng: np.random.Generator) -> np.ndarray:
    """One image of coarse squares per class, fainter than the noise on every single pixel."""
    channels = problem.shape[2] if len(problem.shape) == 3 else 1
    side = round(np.sqrt(np.prod(problem.shape) / channels))
    block = 4 if side > 8 else 2
    coarse = rng.normal(size=(problem.classes, side // block, side // block, channels))
    images = coarse.repeat(block, axis=1).repeat(block, axis=2)
    return (0.4 * images).astype(np.float32)


def markov_windows(problem: Problem, count: int, rng: np.random.Generator) -> tuple[Rows, Rows]:
    """Windows of a random Markov chain in which every symbol has three likely followers."""
    symbols, length = problem.classes, problem.shape[0]
    likely = rng.integers(0, symbols, (symbols, 3))
    state = rng.integers(0, symbols, count + problem.test_rows)
    text = np.empty((len(state), length + 1), np.int32)
    for position in range(length + 1):
        text[:, position] = state
        follower = likely[state, rng.choice(3, len(state), p=[0.6, 0.25, 0.15])]
        state = np.where(rng.random(len(state)) < 0.1, rng.integers(0, symbols, len(state)), follower)
    x, y = text[:, :-1].copy(), text[:, -1].copy()
    return (x[:count], y[:count]), (x[count:], y[count:])


def partition(y: np.ndarray, clients: int, rng: np.random.Generator) -> np.ndarray:
    """Row order by client: half of a client's rows come from neighboring labels, half from everywhere."""
    rows = rng.permutation(len(y))
    skewed, mixed = np.split(rows, [len(y) // clients // 2 * clients])
    skewed = skewed[np.argsort(y[skewed], kind="stable")].reshape(clients, -1)
    return np.hstack([skewed, mixed.reshape(clients, -1)]).ravel()


def schedule(problem: Problem, rng: np.random.Generator) -> Rows:
    """The cohort of every round, and every member's rows in the order of its local steps."""
    rounds = problem.rounds + problem.warmup
    cohorts = np.stack([rng.choice(problem.clients, problem.cohort, replace=False) for _ in range(rounds)])
    own = np.broadcast_to(np.arange(problem.rows_per_client), (*cohorts.shape, problem.rows_per_client))
    rows = rng.permuted(own, axis=-1) + cohorts[..., None] * problem.rows_per_client
    batches = rows.reshape(*cohorts.shape, problem.steps, problem.batch)
    return cohorts.astype(np.int32), batches.astype(np.int32)


def first_weights(layers: tuple[Layer, ...], rng: np.random.Generator) -> dict[str, np.ndarray]:
    """The initial model: uniform weights scaled by fan-in, zero biases, unit forget-gate biases."""
    arrays: dict[str, np.ndarray] = {}
    for index, layer in enumerate(layers):
        for name, value in layer_weights(layer, rng).items():
            arrays[f"init.{index}.{name}"] = value.astype(np.float32)
    return arrays


def layer_weights(layer: Layer, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """The named arrays of one layer; none for layers without parameters."""
    if layer["kind"] == "dense":
        shape: tuple[int, ...] = (layer["in"], layer["out"])
        return {"w": scaled(shape, layer["in"], rng), "b": np.zeros(layer["out"])}
    if layer["kind"] == "conv":
        shape = (layer["size"], layer["size"], layer["in"], layer["out"])
        return {"w": scaled(shape, layer["size"] ** 2 * layer["in"], rng), "b": np.zeros(layer["out"])}
    if layer["kind"] == "embed":
        return {"w": rng.normal(size=(layer["symbols"], layer["width"]))}
    if layer["kind"] == "lstm":
        units = layer["units"]
        bias = np.repeat([0.0, 1.0, 0.0, 0.0], units)
        wi = scaled((layer["in"], 4 * units), units, rng)
        return {"wi": wi, "wh": scaled((units, 4 * units), units, rng), "b": bias}
    return {}


def scaled(shape: tuple[int, ...], fan_in: int, rng: np.random.Generator) -> np.ndarray:
    """Uniform weights with variance one over the fan-in."""
    bound = np.sqrt(3 / fan_in)
    return rng.uniform(-bound, bound, shape)


if __name__ == "__main__":
    main()
