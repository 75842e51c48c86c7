"""Named benchmarks, and how long each strategy may train.

After J. Ogier du Terrail et al., "FLamby: Datasets and Benchmarks for Cross-Silo Federated Learning in
Realistic Healthcare Settings", 2022. A federated strategy may take as many local steps as pooled training:

    rounds = (training rows / centers / batch size) * pooled epochs / local steps of a round
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ...core.registry import Registry
from ...data import Federation
from ..config import Experiment, make_experiment

Kind = Literal["classification", "survival"]


@dataclass(frozen=True)
class Benchmark:
    """Data with natural centers, a reference model, a metric, and the budget of training."""

    name: str
    data: str
    metric: str
    model: str = "linear"
    kind: Kind = "classification"
    batch_size: int = 4
    pooled_epochs: int = 50
    local_steps: int = 100
    learning_rate: float = 1e-3
    """The first one that is tried: the published one, of Adam for some; other rates are tuned."""
    test_fraction: float = 0.3425
    license: str = ""

    def rounds(self, training_rows: int, centers: int) -> int:
        """Rounds in which each center's steps are, on average, those of the pooled epochs.

        >>> Benchmark("heart-disease", "heart_disease", "accuracy").rounds(486, 4)
        15
        """
        exact = training_rows / centers / self.batch_size * self.pooled_epochs / self.local_steps
        return max(int(exact), 1)

    def experiment(self, algorithm: str, federation: Federation, seed: int) -> Experiment:
        """What an algorithm of the catalog trains, on centers that are cut already."""
        rounds = self.rounds(len(federation.train.y), len(federation))
        return make_experiment({**self._shared(algorithm, seed), "rounds": rounds, "steps": self.local_steps})

    def epochs_experiment(self, algorithm: str, seed: int) -> Experiment:
        """What trains by itself: a pass over all of its rows is a round."""
        return make_experiment({**self._shared(algorithm, seed), "rounds": self.pooled_epochs, "epochs": 1})

    def _shared(self, algorithm: str, seed: int) -> dict[str, object]:
        return {
            "data": self.data,
            "model": self.model,
            "metrics": self.metric if self.kind == "classification" else None,
            "algorithm": algorithm,
            "batch_size": self.batch_size,
            "learning_rate": self.learning_rate,
            "test_fraction": self.test_fraction,
            "seed": seed,
            "evaluate_every": 0,
        }


benchmark_registry: Registry[Benchmark] = Registry("benchmark", "benchmarks")


@benchmark_registry.add("heart-disease")
def heart_disease() -> Benchmark:
    """Heart disease of 740 patients in four hospitals, logistic regression, accuracy; needs the files."""
    return Benchmark(
        "heart-disease",
        "heart_disease",
        "accuracy",
        license="UCI Machine Learning Repository, data set 45: Creative Commons Attribution 4.0.",
    )


@benchmark_registry.add("heart-like")
def heart_like() -> Benchmark:
    """Generated patients of four hospitals, as many as in heart-disease; needs no file."""
    return Benchmark("heart-like", "heart_like", "accuracy", license="Generated.")


@benchmark_registry.add("tcga-brca")
def tcga_brca() -> Benchmark:
    """Survival of 1,088 patients in six centers, Cox model, concordance index; needs the file."""
    return _survival("tcga-brca", "tcga_brca", "The Cancer Genome Atlas: open access, NIH terms of use.")


@benchmark_registry.add("tcga-like")
def tcga_like() -> Benchmark:
    """Generated survival of patients in six centers, as many as in tcga-brca; needs no file."""
    return _survival("tcga-like", "tcga_like", "Generated.")


def _survival(name: str, data: str, license: str) -> Benchmark:
    return Benchmark(
        name,
        data,
        "concordance",
        model="linear:0",  # the partial likelihood does not depend on an intercept
        kind="survival",
        batch_size=8,
        pooled_epochs=30,
        learning_rate=0.1,
        test_fraction=0.2,
        license=license,
    )
