"""Your own data: ``tables`` (CSV and Parquet files), ``npz`` and ``pictures`` (one folder per class) are sources,
``owners`` is a partition from a file, ``devices`` stands for samples on the devices of a federation."""

from fedradio.data.own import devices, npz, owners, pictures, tables

__all__ = ["devices", "npz", "owners", "pictures", "tables"]
