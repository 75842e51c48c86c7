"""How unlike are clients, by one message of each? Directions, misalignments, their graph and its spectrum."""

from .measure import Similarity, measure_similarity, similarity_of

__all__ = ["Similarity", "measure_similarity", "similarity_of"]
