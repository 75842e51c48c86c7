"""Federated statistics and estimators with confidence intervals, fitted by the same training loop."""

from .analyses import choose_analysis, fit_analysis
from .design import Design
from .estimator import Estimator, analysis_registry
from .linear.linear_mixed_model import MixedModel
from .linear.linear_regression import LinearRegression
from .linear.logistic_regression import LogisticRegression
from .model_matrix import Plan, design_by_formula
from .statistics import LocalNodes, cross_table, describe, principal_components
from .summary import Summary, SummaryTable
from .survival.cox_regression import CoxModel

__all__ = [
    "CoxModel",
    "Design",
    "Estimator",
    "LinearRegression",
    "LocalNodes",
    "LogisticRegression",
    "MixedModel",
    "Plan",
    "Summary",
    "SummaryTable",
    "analysis_registry",
    "choose_analysis",
    "cross_table",
    "describe",
    "design_by_formula",
    "fit_analysis",
    "principal_components",
]
