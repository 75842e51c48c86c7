"""What clients remember: private stores of representations, and predictions from the nearest of them."""

from .bound import Bound
from .choosing import GRID, middle_of_best
from .compression import Projection, projections
from .embedding import Embedded, embed, embed_split
from .kernels import kernels, weights
from .personal import Explanation, Personal, memorise
from .policies import policies
from .protonn import ProtoNN, fit_protonn
from .rule import Rule
from .search import Neighbours, search, search_others
from .store import Datastore, fingerprint, rows_kept
from .vote import interpolate, mean_target, votes

__all__ = [
    "GRID",
    "Bound",
    "Datastore",
    "Embedded",
    "Explanation",
    "Neighbours",
    "Personal",
    "Projection",
    "ProtoNN",
    "Rule",
    "embed",
    "embed_split",
    "fingerprint",
    "fit_protonn",
    "interpolate",
    "kernels",
    "mean_target",
    "memorise",
    "middle_of_best",
    "policies",
    "projections",
    "rows_kept",
    "search",
    "search_others",
    "votes",
    "weights",
]
