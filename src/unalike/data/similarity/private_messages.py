"""Protected messages: what a client's direction discloses, and the cost of noise.

A message is close to the client's mean row; of a client with one class it shows the class. Three ways to hide
it before it leaves, none of them the default:

- `rotation`: everyone turns its message by the same random orthogonal matrix, drawn from a secret that
  clients share and the server does not know. Inner products stay as they are, and a server that does not
  ally with a client learns them and nothing else: for a uniform Q, the law of (Q m_1, ..., Q m_n) depends on
  the m_i only by their inner products. (Sums of two messages, such as secure aggregation could give, would
  tell all: m_1 is half of (m_1 + m_2) + (m_1 + m_3) - (m_2 + m_3).)
- `projection:d`: everyone sends d coordinates in a shared random orthonormal frame. Inner products are kept
  on average; it hides detail, but is no guarantee.
- `gaussian:epsilon,delta`: Gaussian noise, by the analytic mechanism of Balle and Wang ("Improving the
  Gaussian Mechanism for Differential Privacy", 2018): the least sigma with

      Phi(s/2sigma - epsilon sigma/s) - e^epsilon Phi(-s/2sigma - epsilon sigma/s) <= delta,

  where s = 2, since any unit vector may take the place of another. It protects all rows of a client at once.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import numpy as np
import scipy

from ...core.plain_files import check_plain_file
from ...core.registry import Registry
from ...errors import ConfigError
from ...typing import Float64s

Protect = Callable[[Float64s, np.random.Generator], Float64s]
message_privacy_registry: Registry[Protect] = Registry("message privacy")

WARNING = (
    "A message is close to a client's mean row: of images it is a picture, and of a client with one class it "
    "shows the class; ask clients before they send one, or hide it with rotation, projection:16 or "
    "gaussian:1,1e-5."
)
_SENSITIVITY = 2.0
MOST_TURNED = 8192
"""Features up to which a rotation is drawn; the matrix has as many rows and columns."""
SHORTEST_SECRET = 16


@message_privacy_registry.add("rotation")
def rotation(secret: str | None = None) -> Protect:
    """Turned by a matrix that only clients know: the server learns inner products and nothing else.

    `rotation:secret.txt` draws it from a file that real clients share, and the server does not have.

    >>> turned = rotation()(np.eye(3), np.random.default_rng(0))
    >>> bool(np.allclose(turned @ turned.T, np.eye(3))), bool(np.abs(turned - np.eye(3)).max() > 0.1)
    (True, True)
    """
    known = None if secret is None else read_secret(secret)

    def protect(messages: Float64s, rng: np.random.Generator) -> Float64s:
        rng = rng if known is None else np.random.default_rng(known)
        features = messages.shape[1]
        if features > MOST_TURNED:
            raise ConfigError(
                f"a rotation of {features:,} features would take too long (at most {MOST_TURNED:,}); choose "
                "projection or gaussian."
            )
        frame, triangle = np.linalg.qr(rng.standard_normal((features, features)))
        return messages @ (frame * np.sign(np.diag(triangle)))  # with these signs it is uniform

    return protect


def read_secret(path: str) -> int:
    """A number that only those know who have this file."""
    try:
        check_plain_file(Path(path))
        content = Path(path).read_bytes()
    except OSError as error:
        raise ConfigError(f"the secret of a rotation cannot be read: {path} ({error}).") from None
    if len(content) < SHORTEST_SECRET:
        raise ConfigError(
            f"{path} holds {len(content)} bytes, which can be guessed; write at least {SHORTEST_SECRET}."
        )
    return int.from_bytes(sha256(content).digest(), "big")


@message_privacy_registry.add("projection")
def projection(dimensions: int = 16) -> Protect:
    """Only some coordinates in a random orthonormal frame that all clients share.

    >>> blurred = projection(2)(np.eye(3), np.random.default_rng(0))
    >>> blurred.shape, np.linalg.norm(blurred, axis=1).round(6).tolist()
    ((3, 2), [1.0, 1.0, 1.0])
    """
    if dimensions != int(dimensions) or dimensions < 1:
        raise ConfigError(f"a projection to {dimensions} dimensions is not possible; it needs at least 1.")

    def protect(messages: Float64s, rng: np.random.Generator) -> Float64s:
        kept = min(int(dimensions), messages.shape[1])
        frame = np.linalg.qr(rng.standard_normal((messages.shape[1], kept)))[0]
        return _unit(messages @ frame)

    return protect


@message_privacy_registry.add("gaussian")
def gaussian(epsilon: float = 1.0, delta: float = 1e-5) -> Protect:
    """Gaussian noise on every coordinate, with a guarantee for all of a client's rows."""
    sigma = noise_scale(epsilon, delta)
    return lambda messages, rng: _unit(messages + sigma * rng.standard_normal(messages.shape))


def noise_scale(epsilon: float, delta: float) -> float:
    """The standard deviation of the noise, per coordinate, that makes a message (epsilon, delta) private.

    >>> round(noise_scale(1.0, 1e-5) / 2, 2)
    3.73
    """
    if not (epsilon > 0 and 0 < delta < 1):
        raise ConfigError(
            f"gaussian:{epsilon},{delta} is not possible; epsilon must be positive, delta between 0 and 1."
        )

    def excess(log_scale: float) -> float:
        ratio = _SENSITIVITY / np.exp(log_scale)
        upper = scipy.stats.norm.cdf(ratio / 2 - epsilon / ratio)
        return float(upper - np.exp(epsilon + scipy.special.log_ndtr(-ratio / 2 - epsilon / ratio)) - delta)

    return float(np.exp(scipy.optimize.brentq(excess, np.log(1e-6), np.log(1e12))))


def _unit(vectors: Float64s) -> Float64s:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(np.float64).tiny)
