"""Convergence bounds of the papers as printed, as plain functions, with their errata."""
