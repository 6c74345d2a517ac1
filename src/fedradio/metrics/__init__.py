"""Metrics: what predictions are judged by, beside accuracy and loss."""

from fedradio.metrics import accuracy, calibration, f1

__all__ = ["accuracy", "calibration", "f1"]
