"""Memorization: private datastores of representations, and nearest-neighbor predictions."""

from .compression import Projection, projection_registry
from .datastore import Datastore, fingerprint, rows_kept
from .embedding import Embedded, embed, embed_split
from .interpolation_weight import GRID, middle_of_best
from .kernels import kernel_registry, weights
from .knn_per import Explanation, Personal, memorize
from .knn_voting import interpolate, mean_target, votes
from .neighbors import Neighbors, search, search_others
from .protonn import ProtoNN, fit_protonn
from .replacement_policies import policy_registry
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
