"""Vocabulary of the house: contracts, errors, registry, randomness, units and flat-parameter arithmetic."""
