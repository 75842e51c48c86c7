"""How unlike are the clients, and what follows from it?  (Advice with its reasons.)"""

from .sampling_advice import Advice, SchemeReport, advise_sampling

__all__ = ["Advice", "SchemeReport", "advise_sampling"]
