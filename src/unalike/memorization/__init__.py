"""Memorization: private datastores of representations, and nearest-neighbor predictions."""

from .compression import Projection, projection_registry
from .embedding import Embedded, embed, embed_split
from .interpolation_weight import GRID, middle_of_best
from .kernels import kernel_registry, weights
from .neighbors import Neighbors, search, search_others
from .personal import Explanation, Personal, memorize
from .policies import policy_registry
from .protonn import ProtoNN, fit_protonn
from .store import Datastore, fingerprint, rows_kept
from .vote import interpolate, mean_target, votes
from .voting_rule import Rule

__all__ = [
    "GRID",
    "Datastore",
    "Embedded",
    "Explanation",
    "Neighbors",
    "Personal",
    "Projection",
    "ProtoNN",
    "Rule",
    "embed",
    "embed_split",
    "fingerprint",
    "fit_protonn",
    "interpolate",
    "kernel_registry",
    "mean_target",
    "memorize",
    "middle_of_best",
    "policy_registry",
    "projection_registry",
    "rows_kept",
    "search",
    "search_others",
    "votes",
    "weights",
]
