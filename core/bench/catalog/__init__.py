"""A catalog of entities beside a store of objects: what a page measured on an edge platform, on a disk."""

SYSTEMS = {
    "lamella": "lamella.core.bench.catalog.lamella:LamellaCatalog",
    "sqlite": "lamella.core.bench.catalog.sqlite:SQLiteCatalog",
    "sqlite-wal": "lamella.core.bench.catalog.sqlite:SQLiteWalCatalog",
    "folder": "lamella.core.bench.catalog.folder:FolderOfFiles",
}
