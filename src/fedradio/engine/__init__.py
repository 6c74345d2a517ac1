"""Local training of many clients: update rules and schedules, groups, kernels and evaluation."""

from fedradio.engine import rules, schedules
from fedradio.engine.backend import Engine
from fedradio.engine.evaluate import evaluate
from fedradio.engine.groups import cut

__all__ = ["Engine", "cut", "evaluate", "rules", "schedules"]
