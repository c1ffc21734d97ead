from core.store.commit import Commit
from core.store.store import Store
from core.store.table import Table

__all__ = ["Commit", "Store", "Table"]
