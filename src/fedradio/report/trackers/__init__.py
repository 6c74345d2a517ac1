"""Trackers: export the records of runs to TensorBoard or MLflow, afterwards or while runs are in progress."""
