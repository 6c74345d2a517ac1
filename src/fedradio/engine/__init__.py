"""Many clients trained fast: kernels, their oracle, and evaluation."""

from fedradio.engine.backend import Engine
from fedradio.engine.evaluate import Scores, evaluate
from fedradio.engine.reference import Reference

__all__ = ["Engine", "Reference", "Scores", "evaluate"]

from fedradio.engine import rules, schedules

__all__ = ["rules", "schedules"]
