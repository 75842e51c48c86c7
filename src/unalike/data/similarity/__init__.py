"""How unlike are clients, by one message of each? Directions, misalignments, their graph and its spectrum."""

from .measure import Similarity, client_groups, likeness_importance, measure_similarity, similarity_of

__all__ = ["Similarity", "client_groups", "likeness_importance", "measure_similarity", "similarity_of"]
