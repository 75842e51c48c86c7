"""Client similarity from one message per client: directions, misalignments, the graph and its spectrum."""

from .federation_similarity import client_groups, likeness_importance, measure_similarity
from .similarity_graph import Similarity, similarity_of

__all__ = ["Similarity", "client_groups", "likeness_importance", "measure_similarity", "similarity_of"]
