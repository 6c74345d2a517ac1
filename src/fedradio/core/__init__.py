"""Foundations of the package: contracts, errors, registry, random numbers, units, flat parameters and files."""
