"""Local training of many clients: update rules and schedules, kernels, their oracle, and evaluation."""

from fedradio.engine import rules, schedules
from fedradio.engine.backend import Engine
from fedradio.engine.evaluate import Scores, evaluate
from fedradio.engine.reference import Reference

__all__ = ["Engine", "Reference", "Scores", "evaluate", "rules", "schedules"]
