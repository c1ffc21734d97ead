"""Files in place: recognised by content, Parquet and Arrow directly, others through a columnar cache."""

from lamella.core.datasets.formats import open_dataset

__all__ = ["open_dataset"]
