"""Membership inference: attacks and privacy audits, on numbers per row."""

from .attack_sets import AttackSet, balance, distinct_sets
from .distribution_shift import domain_control
from .epsilon import epsilon_lower_bound
from .membership_inference import ATTACKS, Evidence, Verdict, run_attacks
from .report_card import ReportCard, summarize
from .signals import Signals, class_signals, value_signals
from .statistics import Rate, advantage, auc, clopper_pearson, roc, tpr_at_fpr

__all__ = [
    "ATTACKS",
    "AttackSet",
    "Evidence",
    "Rate",
    "ReportCard",
    "Signals",
    "Verdict",
    "advantage",
    "auc",
    "balance",
    "class_signals",
    "clopper_pearson",
    "distinct_sets",
    "domain_control",
    "epsilon_lower_bound",
    "roc",
    "run_attacks",
    "summarize",
    "tpr_at_fpr",
    "value_signals",
]
