"""Data of one's own: ``tables`` (CSV and Parquet files), ``npz`` and ``pictures`` (a folder a class) are sources,
``owners`` is a partition from a file."""

from fedradio.data.own import npz, owners, pictures, tables

__all__ = ["npz", "owners", "pictures", "tables"]
