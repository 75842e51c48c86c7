from .base import Clients, Draw, Step, Timing, timing_registry
from .clock.hardware import ExponentialTimes, FixedTimes, Hardware, LogNormalTimes, hardware_registry
from .clock.jobs import Jobs
from .clock.measured_times import TraceTimes
from .clock.network_time import NetworkTime
from .policies.asynchronous import Asynchronous
from .policies.base import Policy
from .policies.deadline import Deadline
from .policies.fedbuff import FedBuff
from .policies.fedfix import FedFix
from .policies.over_selection import OverSelection
from .policies.wait_for_all import WaitForAll
from .policies.widening_fedfix import WideningFedFix
from .staleness import ResultWeights, discount_registry
from .synchronous import Synchronous
from .timeline import Timeline, plan_schedule

__all__ = [
    "Asynchronous",
    "Clients",
    "Deadline",
    "Draw",
    "ExponentialTimes",
    "FedBuff",
    "FedFix",
    "FixedTimes",
    "Hardware",
    "Jobs",
    "LogNormalTimes",
    "NetworkTime",
    "OverSelection",
    "Policy",
    "ResultWeights",
    "Step",
    "Synchronous",
    "Timeline",
    "Timing",
    "TraceTimes",
    "WaitForAll",
    "WideningFedFix",
    "discount_registry",
    "hardware_registry",
    "plan_schedule",
    "timing_registry",
]
