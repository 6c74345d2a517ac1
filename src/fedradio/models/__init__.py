"""Neural networks whose parameters are one flat vector."""

from fedradio.models.convolutional import cnn3x3, cnn5x5, cnn_batchnorm, squeezenet
from fedradio.models.model import FlatModel, wrap
from fedradio.models.recurrent import lstm
from fedradio.models.zoo import logistic, mlp

__all__ = ["FlatModel", "cnn3x3", "cnn5x5", "cnn_batchnorm", "logistic", "lstm", "mlp", "squeezenet", "wrap"]
