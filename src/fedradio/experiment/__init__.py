"""Validated specs, building, running, run folders."""
