"""Do free-riders do what theory says that they do?"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from unalike import ConfigError, FedAvg, FedProx, LocalWork, Optimizer
from unalike.algorithms import FedEM
from unalike.core import pytrees
from unalike.core.pytrees import largest_difference
from unalike.trust.behaviors import Situation, behavior_registry
from unalike.trust.behaviors.declared_size import declare, declared_size
from unalike.trust.behaviors.mixture_free_rider import coordinate_deviations, fit_scales

from ...engine import toys
from .examples import FEDERATION, LAST_TWO, METHOD, SIZES, attacked, flat, honest

KINDS = ("plain", "constant", "decay", "exponential", "mixture", "replay", "tiny-data")


@pytest.mark.parametrize("method", [METHOD, FedProx(work=METHOD.work, optimizer=METHOD.optimizer, mu=1.0)])
def test_plain_free_riders_are_a_smaller_learning_rate_of_the_server(method):
    """theta' = (M_J / N) FedAvg_J(theta) + (M_K / N) theta, with the very same batches."""
    kept = np.array(SIZES[:4])
    fair_share = kept.sum() / (kept.sum() + 2 * kept.mean())
    alone = FEDERATION.subset(np.arange(4))
    slower = FedAvg if type(method) is FedAvg else FedProx
    options = {} if slower is FedAvg else {"mu": 1.0}
    slow = slower(
        work=method.work,
        optimizer=method.optimizer,
        server_optimizer=Optimizer("sgd", float(fair_share)),
        **options,
    )
    one, other = attacked("free-rider:plain", method=method), honest(slow, alone)
    gap = largest_difference(one.state["params"], other.state["params"])
    assert gap < 1e-6 * np.abs(flat(other.state["params"])).max()


@pytest.mark.parametrize("kind", ["plain", "replay,1,1,rms,0"])
def test_only_free_riders_stay_at_the_start(kind):
    start = attacked(f"free-rider:{kind}", "1.0", rounds=0).state["params"]
    assert largest_difference(attacked(f"free-rider:{kind}", "1.0").state["params"], start) < 1e-6


def observed(kind, models, rounds=None, **words):
    """The changes that a free-rider sends when it is sent these models, one after the other."""
    spec = ",".join([kind, *(str(word) for word in words.values())])
    behavior = behavior_registry.make(f"free-rider:{spec}")
    memory, changes = behavior.first_memory(models[0]), []
    for place, model in enumerate(models):
        round = place if rounds is None else rounds[place]
        now = Situation(model, memory, jnp.asarray(round), jax.random.key(place))
        upload, memory = behavior.change_upload(None, now)
        changes.append(flat(upload) - flat(model))
    return changes, memory


def walk(steps, size=4000):
    rng = np.random.default_rng(1)
    return [{"w": jnp.asarray(w, jnp.float32)} for w in np.cumsum(rng.normal(size=(steps, size)), 0)]


@pytest.mark.parametrize("gamma", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("m", [1.0, 3.0])
def test_the_size_of_a_disguise_is_that_of_the_first_change_and_fades(gamma, m):
    models = walk(6)
    changes, memory = observed("decay", models, gamma=gamma, m=m)
    sigma = np.sqrt(np.mean((flat(models[1]) - flat(models[0])) ** 2))
    assert float(memory["sigma"]) == pytest.approx(sigma, rel=1e-5)
    assert changes[0].std() == pytest.approx(m * 1e-3, rel=0.05)
    for t in range(1, 6):
        assert changes[t].std() == pytest.approx(m * sigma * t**-gamma, rel=0.05)


def test_other_kinds_of_noise_fade_as_they_should():
    models = walk(5)
    sigma = np.sqrt(np.mean((flat(models[1]) - flat(models[0])) ** 2))
    constant, _ = observed("constant", models)
    exponential, _ = observed("exponential", models, gamma=0.5)
    for t in range(1, 5):
        assert constant[t].std() == pytest.approx(sigma, rel=0.05)
        assert exponential[t].std() == pytest.approx(sigma * np.exp(-0.5 * (t - 1)), rel=0.05)


def test_estimators_and_a_fixed_size():
    models = walk(3)
    change = flat(models[1]) - flat(models[0])
    _, by_mean = observed("decay", models, gamma=1, m=1, sigma="mean-abs")
    _, fixed = observed("decay", models, gamma=1, m=1, sigma=0.25)
    assert float(by_mean["sigma"]) == pytest.approx(np.abs(change).mean(), rel=1e-5)
    assert float(fixed["sigma"]) == 0.25


def test_a_free_rider_that_is_seldom_drawn_estimates_between_its_own_receptions():
    models = walk(3)
    changes, memory = observed("decay", models, rounds=[4, 9, 16])
    sigma = np.sqrt(np.mean((flat(models[1]) - flat(models[0])) ** 2))
    assert float(memory["sigma"]) == pytest.approx(sigma, rel=1e-5)
    assert changes[0].std() == pytest.approx(1e-3, rel=0.05)
    assert changes[2].std() == pytest.approx(sigma / 16, rel=0.05)


def test_noise_is_fresh_in_every_round_and_of_every_free_rider():
    run = attacked("free-rider:decay", rounds=3)
    one, other = (run.memories.gather(np.array([i]))[0]["own"] for i in LAST_TWO)
    assert largest_difference(one["previous"], other["previous"]) == 0
    changes, _ = observed("constant", walk(4))
    assert abs(np.corrcoef(changes[1], changes[2])[0, 1]) < 0.1


def test_replay_sends_the_last_change_of_everybody():
    models = walk(3, size=10)
    changes, _ = observed("replay", models, gamma=1, m=2)
    assert 0 < np.abs(changes[0]).max() < 0.02  # noise: there is nothing to repeat
    assert np.allclose(changes[2], 2 * (flat(models[2]) - flat(models[1])), atol=1e-5)


def test_a_mixture_gives_each_coordinate_noise_of_its_own_size():
    rng = np.random.default_rng(0)
    scales = np.repeat([0.001, 0.1, 10.0], 2000)
    difference = {
        "a": jnp.asarray(rng.normal(size=2000) * 0.001),
        "b": jnp.asarray(rng.normal(size=4000) * scales[2000:]),
    }
    weights, deviations = fit_scales(jnp.asarray(flat(difference)))
    assert np.allclose(weights, 1 / 3, atol=0.03)
    assert np.sort(deviations)[1:] == pytest.approx([0.1, 10.0], rel=0.1)
    found = flat(coordinate_deviations(difference))
    assert np.mean(found[4000:] > 5) > 0.9
    assert np.mean(found[:2000] < 0.05) > 0.99


def test_tiny_data_is_one_mini_batch_with_a_large_weight():
    federation = declare(FEDERATION, LAST_TWO, "10x")
    everyone = "free-rider:tiny-data"
    one = attacked(everyone, "1.0")
    other = honest(FedAvg(work=LocalWork(steps=1, batch_size=2), optimizer=METHOD.optimizer))
    assert largest_difference(one.state["params"], other.state["params"]) < 1e-6
    assert federation.importance[4] == pytest.approx(10 * 3.75 / (15 + 2 * 37.5))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_trains_and_remembers_the_same_in_two_runs(kind):
    one, other = (attacked(f"free-rider:{kind}", per_round=3) for _ in range(2))
    assert largest_difference(one.state, other.state) == 0
    assert np.isfinite(flat(one.state["params"])).all()
    assert pytrees.largest_difference(one.memories.tensors(), other.memories.tensors()) == 0


def test_free_riders_declare_what_they_like_and_honest_clients_keep_their_rows():
    sizes = np.array(SIZES[:4])
    for word in ("mean", "min", "max", "10x"):
        importance = declare(FEDERATION, LAST_TWO, word).importance
        assert np.allclose(importance[:4] / importance[0], sizes / sizes[0])
        assert np.allclose(importance[4:] / importance[0], declared_size(sizes, word) / sizes[0])
    equal = FEDERATION.with_importance("equal")
    assert np.allclose(declare(equal, LAST_TWO, "10x").importance, 1 / 6)


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("free-rider:lazy", "unknown kind of free-rider 'lazy'"),
        ("free-rider:decay,-1", "gamma of a free-rider must be a number from 0"),
        ("free-rider:decay,1,many", "has 'many' where a number belongs"),
        ("free-rider:decay,1,1,median", "sigma must be rms, mean-abs or a fixed number"),
        ("free-rider:plain,1,1,rms,0,most", "unknown declared size 'most'"),
        ("free-rider:decay,1,1,rms,0,mean,3", "wrong arguments"),
    ],
)
def test_a_mistake_is_one_sentence(spec, sentence):
    with pytest.raises(ConfigError, match=sentence):
        behavior_registry.make(spec)


def test_a_method_whose_uploads_are_no_models_is_refused():
    class Sums(FedEM):
        def client(self, *given):
            reply = super().client(*given)
            return reply._replace(upload={"sums": reply.upload})

    with pytest.raises(ConfigError, match="other shapes than its messages"):
        attacked("free-rider:plain", method=Sums(work=METHOD.work))
    assert toys.logistic_task() is not None
