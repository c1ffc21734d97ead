"""Files opened in place: recognised by content, Parquet directly, text through a columnar cache."""

from lamella.core.datasets.opening import open_dataset

__all__ = ["open_dataset"]
