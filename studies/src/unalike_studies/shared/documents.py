"""Documents with the published values."""

from __future__ import annotations

BUTTACI = 'Buttaci, "Does Perturbation Aid Convergence?" (thesis, Politecnico di Torino)'
FRABONI = (
    'Fraboni, "Reliability and robustness of federated learning in practical applications" (doctoral thesis, '
    "2023)"
)
MARFOQ = 'Marfoq, "Tackling heterogeneity in federated learning systems" (doctoral thesis, 2023)'
YUE = 'Yue, "Federated Data Analytics: Theory and Application" (doctoral thesis, 2023)'
