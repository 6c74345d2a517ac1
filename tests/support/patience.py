"""How long a test waits for an event at the most."""

PATIENCE_S = 600.0
"""Longest time that a test waits for something, on a busy machine, too."""
