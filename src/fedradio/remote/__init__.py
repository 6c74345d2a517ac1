"""Beyond one machine: sweeps and simulations on a Ray cluster, federations on Flower.

These are the only modules that import ray and flwr, which are extras; commands import them when they are asked to.
"""
