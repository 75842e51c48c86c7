from .batch_normalization import cnn_bn, mlp_bn
from .catalog import model_registry
from .convolutional_networks import cnn, cnn_femnist, cnn_small, cnn_wide, convolutional
from .dense import linear, mlp
from .equinox_modules import from_equinox
from .flax_modules import from_flax
from .losses import loss_registry
from .metrics import Metric, accuracy, mean_squared_error, metric_registry
from .model import Model
from .module_state import Stateful
from .nnx_modules import from_nnx
from .normalized import cnn_norm, mlp_norm
from .pytorch_state_dict import load_torch_weights, to_torch, to_torch_state_dict
from .recurrent import gru, lstm, rnn
from .task import Batch, Task
from .torch_modules import from_torch

__all__ = [
    "Batch",
    "Metric",
    "Model",
    "Stateful",
    "Task",
    "accuracy",
    "cnn",
    "cnn_bn",
    "cnn_femnist",
    "cnn_norm",
    "cnn_small",
    "cnn_wide",
    "convolutional",
    "from_equinox",
    "from_flax",
    "from_nnx",
    "from_torch",
    "gru",
    "linear",
    "load_torch_weights",
    "loss_registry",
    "lstm",
    "mean_squared_error",
    "metric_registry",
    "mlp",
    "mlp_bn",
    "mlp_norm",
    "model_registry",
    "rnn",
    "to_torch",
    "to_torch_state_dict",
]
