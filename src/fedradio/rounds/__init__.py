"""The choreography: parts together, one round, its accounts."""
