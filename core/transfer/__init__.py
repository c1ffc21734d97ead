"""Rows brought into a store, and made ones."""

from lamella.core.transfer.importing import import_dataset, import_file

__all__ = ["import_dataset", "import_file"]
