"""How far may one client move the model, and what hides how far it did?  (Central differential privacy.)

    change_i  ->  change_i * min(1, C / |change_i|)                   every client's change is clipped
    sum_i w_i change_i  +  Gaussian noise of deviation z C max_i w_i   the server uses this sum

McMahan, Ramage, Talwar and Zhang, "Learning Differentially Private Recurrent Language Models", 2018. Without
one client the sum moves by at most C max_i w_i, so z is the noise multiplier whatever the weights are; with m
equal weights 1/m the deviation is z C / m. Clipping and noise are Flower's own functions. The noise never
depends on the run's seed: whoever knows the seed could take it off again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import jax
import numpy as np

from ..algorithms import Algorithm
from ..core.pytrees import Tree, shapes
from ..errors import ConfigError
from ..participation import Participation
from ..timing import Step
from ..typing import Array, Float64s
from .accounting import Ledger


@contextmanager
def fresh_noise(entropy: int | None = None) -> Iterator[None]:
    """Inside, NumPy's global generator, which Flower draws from, starts from the system's entropy (or from a
    given number); afterwards it goes on as if nothing had happened."""
    before = np.random.get_state()
    np.random.seed(entropy)
    try:
        yield
    finally:
        np.random.set_state(before)


@dataclass(frozen=True)
class CentralPrivacy:
    """Clip every client's change to the norm `clip` and add noise of `noise` times the largest share."""

    clip: float
    noise: float
    ledger: Ledger
    entropy: Callable[[], int | None] = lambda: None
    """Where each draw of noise starts; None is the system's entropy."""

    def __post_init__(self) -> None:
        for name, value in (("clipping norm", self.clip), ("noise multiplier", self.noise)):
            if not 0 < value < np.inf:
                raise ConfigError(f"the {name} of central privacy must be above 0, but is {value:g}.")
        if not 0 < self.ledger.delta < 1:
            raise ConfigError(f"delta must lie between 0 and 1, but is {self.ledger.delta:g}.")

    def clipped(self, upload: Tree, start: Tree) -> Tree:
        """The upload, with its change from what the client was sent clipped."""
        leaves, structure = jax.tree.flatten(upload)
        return jax.tree.unflatten(structure, clip_change(leaves, jax.tree.leaves(start), self.clip))

    def hidden(self, step: Step, total: Tree) -> Tree:
        """A step's weighted sum with noise, charged to the step's clients."""
        from flwr.supercore.differential_privacy import add_gaussian_noise_inplace

        weights = np.abs(step.weights)
        leaves, structure = jax.tree.flatten(total)
        noisy = [np.array(leaf) for leaf in leaves]
        with fresh_noise(self.entropy()):
            add_gaussian_noise_inplace(noisy, self.deviation(weights))
        if weights.max() > 0:
            self.ledger.charge(step.clients, weights / (weights.max() * self.noise))
        return jax.tree.unflatten(structure, noisy)

    def deviation(self, weights: Float64s) -> float:
        """The noise's standard deviation; Flower's own where all m clients weigh 1/m."""
        from flwr.supercore.differential_privacy import compute_stdv

        return compute_stdv(self.noise, self.clip * float(weights.max()), 1)

    def check_upload(self, message: Tree, upload: Tree) -> None:
        """Raise where a change from the message cannot be computed."""
        if shapes(message) != shapes(upload):
            raise ConfigError(
                "central privacy clips how an upload differs from the message, but this algorithm's uploads "
                "have other shapes than its messages; choose one such as fedavg or fedprox."
            )
        if not all(np.issubdtype(leaf.dtype, np.floating) for leaf in jax.tree.leaves(upload)):
            raise ConfigError("central privacy adds noise to real numbers, but uploads hold other ones.")


def check_private(what: str, name: str, algorithm: Algorithm, participation: Participation) -> None:
    """Raise where something else than one weighted sum of uploads would be used."""
    if algorithm.decentralized:
        raise ConfigError(f"{what} needs a server, but {name} has none.")
    if algorithm.keeps_uploads:
        raise ConfigError(f"{what} gives sums only, but {name} looks at every client's upload.")
    if algorithm.sums_by_importance:
        raise ConfigError(f"{what} gives one weighted sum, but {name} needs a second one, by importance.")
    if participation.watches or participation.learns or participation.asks:
        kind = type(participation).__name__
        raise ConfigError(f"{what} hides what single clients do, but the sampling {kind} chooses by it.")


def clip_change(new: list[Array], old: list[Array], clip: float) -> list[Array]:
    """`new` with its difference from `old`, over all arrays together, scaled down to at most `clip`.

    The arrays that come back have the types of `new`.
    """
    from flwr.supercore.differential_privacy import compute_clip_model_update, get_norm

    ends, begins = ([np.asarray(leaf, np.float64) for leaf in leaves] for leaves in (new, old))
    if get_norm([end - begin for end, begin in zip(ends, begins, strict=True)]) > clip:
        compute_clip_model_update(ends, begins, clip)  # never with a norm of zero, which it would divide by
    return [end.astype(np.asarray(leaf).dtype) for end, leaf in zip(ends, new, strict=True)]


def clip_arrays(new: Mapping[str, Array], old: Mapping[str, Array], clip: float) -> dict[str, Array]:
    """The same by name; the names and shapes must be the same.

    >>> clip_arrays({"w": np.array([3.0, 4.0])}, {"w": np.zeros(2)}, 1.0)["w"].round(3).tolist()
    [0.6, 0.8]
    """
    if {k: v.shape for k, v in new.items()} != {k: v.shape for k, v in old.items()}:
        raise ConfigError("a change can be clipped only where uploads have the shapes of messages.")
    names = list(new)
    return dict(zip(names, clip_change([new[n] for n in names], [old[n] for n in names], clip), strict=True))


def central_privacy(words: str, clients: int, save: Callable[[str], None]) -> CentralPrivacy:
    """From the words CLIP,NOISE or CLIP,NOISE,DELTA.

    >>> central_privacy("1,0.8", 3, print).ledger.delta
    1e-05
    """
    clip, noise, *delta = numbers(words, (2, 3), "CLIP,NOISE or CLIP,NOISE,DELTA, such as 1,0.8")
    return CentralPrivacy(clip, noise, Ledger(clients, delta[0] if delta else 1e-5, save))


def numbers(words: str, counts: tuple[int, ...], form: str) -> list[float]:
    """Numbers between commas."""
    try:
        found = [float(word) for word in words.split(",")]
    except ValueError:
        found = []
    if len(found) not in counts or not np.isfinite(found).all():
        raise ConfigError(f"{words!r} is not of the form {form}.")
    return found
