"""A catalog of entities beside a store of objects: what a page measured on an edge platform, on a disk."""

SYSTEMS = {
    "lamella": "core.bench.catalog.lamella:LamellaCatalog",
    "sqlite": "core.bench.catalog.sqlite:SQLiteCatalog",
    "sqlite-wal": "core.bench.catalog.sqlite:SQLiteWalCatalog",
    "folder": "core.bench.catalog.folder:FolderOfFiles",
}
