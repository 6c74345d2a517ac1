"""Rounds of federated learning: composition of parts, exchanges over hops, accounts and evaluation."""
