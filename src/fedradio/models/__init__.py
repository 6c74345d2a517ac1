"""Networks as flat rows: what is learnt."""

from fedradio.models.model import FlatModel, wrap
from fedradio.models.zoo import cnn5x5, logistic, mlp

__all__ = ["FlatModel", "cnn5x5", "logistic", "mlp", "wrap"]
