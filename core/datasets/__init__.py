"""Files opened in place: recognised by content, Parquet directly, text through a columnar cache."""

from lamella.core.datasets.formats import open_dataset

__all__ = ["open_dataset"]
