"""When results arrive: hardware, policies, and steps with model versions and a clock."""

from .asynchronous import Asynchronous
from .base import Clients, Draw, Step, Timing, timings
from .cohorts import Deadline, OverSelection, WaitForAll
from .fedbuff import FedBuff
from .fedfix import FedFix
from .flight import Flight
from .gossip import Gossip
from .hardware import ExponentialTimes, FixedTimes, Hardware, LogNormalTimes, hardwares
from .measured_times import TraceTimes
from .network_time import NetworkTime
from .on_network import OnNetwork
from .policy import Policy
from .schedule import Schedule, plan_schedule
from .synchronous import Synchronous
from .weighing import Weighing, discounts

__all__ = [
    "Asynchronous",
    "Clients",
    "Deadline",
    "Draw",
    "ExponentialTimes",
    "FedBuff",
    "FedFix",
    "FixedTimes",
    "Flight",
    "Gossip",
    "Hardware",
    "LogNormalTimes",
    "NetworkTime",
    "OnNetwork",
    "OverSelection",
    "Policy",
    "Schedule",
    "Step",
    "Synchronous",
    "Timing",
    "TraceTimes",
    "WaitForAll",
    "Weighing",
    "discounts",
    "hardwares",
    "plan_schedule",
    "timings",
]
