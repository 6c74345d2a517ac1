"""Local training of many clients: update rules and schedules, groups, kernels, their oracle, and evaluation."""

from fedradio.engine import rules, schedules
from fedradio.engine.backend import Engine
from fedradio.engine.evaluate import evaluate
from fedradio.engine.groups import cut
from fedradio.engine.reference import Reference

__all__ = ["Engine", "Reference", "cut", "evaluate", "rules", "schedules"]
