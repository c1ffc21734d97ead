from lamella.core.store.commit import Commit
from lamella.core.store.store import Store
from lamella.core.store.table import Table

__all__ = ["Commit", "Store", "Table"]
