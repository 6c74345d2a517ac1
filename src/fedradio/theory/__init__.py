"""Convergence bounds of the papers as plain functions, and estimators of the constants that they assume."""
