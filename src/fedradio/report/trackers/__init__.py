"""Trackers: what runs have recorded, handed to TensorBoard or MLflow after the fact or while they go on."""
