"""Experiment trackers, by name: observers that log rounds elsewhere."""

from .base import make_trackers, tracker_registry
from .json_lines import JsonLines
from .mlflow import MLflow
from .tensorboard import TensorBoard
from .wandb import WeightsAndBiases

__all__ = ["JsonLines", "MLflow", "TensorBoard", "WeightsAndBiases", "make_trackers", "tracker_registry"]
