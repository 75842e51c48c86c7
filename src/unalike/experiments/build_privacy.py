"""Building the privacy of an experiment: clipping, noise and accounting.

    central_dp = "1,0.8"                  the server's noise, and what it costs is recorded
    central_dp = "1,0.8"  epsilon = 3     the same, and training ends before anybody has spent more
    central_dp = "1"      epsilon = 3     noise that lets a client take part in all planned rounds

The same three for `local_dp`, whose noise every client adds by itself: CLIP,EPSILON,DELTA with the epsilon of
one round, or CLIP alone. Methods that hide single rows (dp-sgd) have noise of their own, which epsilon
chooses where it is not set.
"""

from __future__ import annotations

from ..algorithms import DPSGD, Algorithm, algorithm_registry
from ..errors import ConfigError
from ..privacy.accountant import gaussian_epsilon
from ..privacy.central import CentralPrivacy, central_privacy, numbers
from ..privacy.local import LocalPrivacy
from ..privacy.local_simulation import LocallyPrivate
from ..privacy.noise_calibration import check_accountant, check_budget, release_noise
from ..training.noise_account import DELTA
from .config import Experiment

CENTRAL_FORM = "CLIP,NOISE or CLIP,NOISE,DELTA, such as 1,0.8, or with epsilon CLIP alone"
LOCAL_FORM = "CLIP,EPSILON,DELTA, such as 1,0.5,1e-5, or with epsilon CLIP alone"


def check_privacy(experiment: Experiment) -> None:
    """Raise where words on privacy are wrong, or do not go together."""
    central, local = experiment.central_dp, experiment.local_dp
    if central is not None and experiment.aggregator is not None:
        raise ConfigError("central_dp is an aggregator; leave out the other one.")
    if experiment.epsilon is None:
        if experiment.delta is not None and central is None:
            raise ConfigError("delta belongs to a privacy budget; say it, such as epsilon = 3.")
        return
    if central is None and local is None and not hides_rows(experiment):
        raise ConfigError(
            "epsilon is the budget of noise; say who adds it, with central_dp or local_dp, such as "
            "central_dp = 1, or with a method such as dp-sgd."
        )
    budgets = {"central_dp": central, "local_dp": local, experiment.algorithm: hides_rows(experiment) or None}
    said = [name for name, value in budgets.items() if value is not None]
    if len(said) > 1:
        raise ConfigError(f"one epsilon cannot be the budget of {' and of '.join(said)}; leave out one.")
    check_budget(experiment.epsilon, DELTA if experiment.delta is None else experiment.delta)
    if hides_rows(experiment):
        check_accountant()


def central_words(experiment: Experiment) -> str:
    """CLIP,NOISE,DELTA, with the noise that the budget asks for where it is not given.

    >>> central_words(Experiment(central_dp="1,0.8"))
    '1.0,0.8,1e-05'
    """
    given = numbers(experiment.central_dp or "", (1, 2, 3), CENTRAL_FORM)
    clip, noise, delta = [*given, *[None] * 3][:3]
    if noise is None:
        noise = release_noise(*_budget(experiment, experiment.central_dp, CENTRAL_FORM))
    return ",".join(f"{value!r}" for value in (clip, noise, _one_delta(experiment, delta)))


def central_rule(experiment: Experiment, clients: int) -> CentralPrivacy:
    """Clipping, noise in the sum and its account, with the budget where there is one."""
    return central_privacy(central_words(experiment), clients, lambda words: None, experiment.epsilon)


def make_local_privacy(experiment: Experiment) -> LocalPrivacy | None:
    """What every client does to its uploads; None where they trust the server."""
    if experiment.local_dp is None:
        return None
    clip, *rest = numbers(experiment.local_dp, (1, 3), LOCAL_FORM)
    if rest:
        return LocalPrivacy(clip, rest[0], rest[1])
    epsilon, delta, rounds = _budget(experiment, experiment.local_dp, LOCAL_FORM)
    noise = release_noise(epsilon, delta, rounds)
    return LocalPrivacy(clip, gaussian_epsilon(noise, delta), delta, noise=noise)


def with_local_privacy(experiment: Experiment, algorithm: Algorithm) -> Algorithm:
    """The algorithm, whose clients add noise by themselves where the experiment says so."""
    privacy = make_local_privacy(experiment)
    if privacy is None:
        return algorithm
    return LocallyPrivate(work=algorithm.work, inner=algorithm, privacy=privacy)


def _budget(experiment: Experiment, words: str | None, form: str) -> tuple[float, float, int]:
    """Epsilon, delta and the rounds for which they must last."""
    if experiment.epsilon is None:
        raise ConfigError(f"{words!r} is not of the form {form}.")
    rounds = experiment.rounds_to_train
    if rounds is None:
        raise ConfigError("noise is chosen for a number of rounds; say how many rounds to train.")
    return experiment.epsilon, DELTA if experiment.delta is None else experiment.delta, rounds


def _one_delta(experiment: Experiment, said: float | None) -> float:
    """The delta, which may be said in two places if it is the same."""
    if said is not None and experiment.delta not in (None, said):
        raise ConfigError(f"delta is said twice, as {said:g} and as {experiment.delta:g}; leave out one.")
    return next((delta for delta in (said, experiment.delta) if delta is not None), DELTA)


# Methods that hide single rows ------------------------------------------------------------------------------


def hides_rows(experiment: Experiment) -> bool:
    """Whether the method adds noise to the gradients of its rows."""
    maker = algorithm_registry[experiment.algorithm]
    return isinstance(maker, type) and issubclass(maker, DPSGD)
