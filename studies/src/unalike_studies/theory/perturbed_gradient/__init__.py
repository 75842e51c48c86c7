"""Perturbed gradients on quadratics, exactly."""
