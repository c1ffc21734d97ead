"""Questions to entities: the filters, sorts, pages, scale and projections of ParqueDB's page."""

from __future__ import annotations

from lamella.core.bench.workloads.model import Operation, Workload

PAGE = 20
DEPTHS = (1, 10, 100, 500)
PAGE_ORDER = ("-rating",)
INDEXED_ORDER = ("views",)

FILTERS = {
    "equality": ("Equality", "status = draft: a quarter of the entities"),
    "range": ("Range", "1,000 < views < 5,000: 4 % of them"),
    "in": ("$in", "status is draft or review: half of them"),
    "and": ("$and", "status = draft and views > 90,000: 2.5 % of them"),
    "or": ("$or", "views < 1,000 or rating = 5: 6 % of them"),
    "nested": (
        "Nested",
        "profile.city = Lagos and (profile.age < 30 or rating > 4): a condition in another, on nested fields",
    ),
    "regex": ("Regex", "name matches ^amber .*7$: 1 % of them"),
}
SORTS = {
    "sort_number": ("-views",),
    "sort_text": ("name",),
    "sort_two": ("status", "-views"),
    "sort_three": ("status", "-rating", "views"),
}
PROJECTIONS: dict[str, tuple[str, ...]] = {
    "project_two": ("status", "views"),
    "project_four": ("name", "status", "views", "rating"),
    "project_index": ("_id", "views"),
}

_WHOLE = "All columns of every row found. "
_ANEW = "Of every row. The database is opened anew before each time, untimed, with nothing kept in memory."
_TIES = " Equal ones come in the order of their ids. Asked again, a system may answer from an order it kept."


def by_offset(depth: int) -> str:
    return f"page_{depth}"


def by_cursor(depth: int) -> str:
    return f"cursor_{depth}"


def _filter(name: str) -> Operation:
    title, meant = FILTERS[name]
    return Operation(name, title, f"filters {{rows}} ({title.lower()})", f"{_WHOLE}{meant}.")


def _sort(name: str, title: str) -> Operation:
    keys = ", ".join(SORTS[name])
    about = f"The first {PAGE} by {keys} (- descends), all columns, no index.{_TIES}"
    return Operation(name, f"Sort, {title}", f"sorts {{rows}} by {title} for the first {PAGE}", about)


def _page(name: str, depth: int, how: str, meant: str) -> Operation:
    place = "the first" if depth == 1 else f"number {depth}, or the last where there are fewer,"
    about = f"A page of {PAGE} by falling rating, {place} {meant}. All columns, no index.{_TIES}"
    return Operation(name, f"Page {depth} by {how}", f"turns {{rows}} to page {depth} by {how}", about)


def _projection(name: str, title: str, does: str) -> Operation:
    names = ", ".join(PROJECTIONS.get(name, ("all columns",)))
    return Operation(name, title, f"reads {does} of {{rows}}", f"{names}. {_ANEW}")


_OPERATIONS = (
    Operation(
        "find_all",
        "Full scan",
        "finds all of {rows}",
        "Every row, all columns, no filter. Polars and pandas give a frame that is in memory already.",
    ),
    *map(_filter, FILTERS),
    Operation(
        "point",
        "Point lookup, no index",
        "finds one of {rows} by its name",
        "All columns of the one row of a name, another name each time, no index.",
    ),
    *(
        _sort(name, title)
        for name, title in zip(SORTS, ("one number", "one text", "two keys", "three keys"), strict=True)
    ),
    *(_page(by_offset(depth), depth, "offset", "by where it begins") for depth in DEPTHS),
    *(_page(by_cursor(depth), depth, "cursor", "from where the one before ended") for depth in DEPTHS),
    Operation("count", "Count", "counts {rows}", "How many rows there are."),
    Operation(
        "group_by",
        "Group by",
        "groups {rows}",
        "For each status how many there are and the mean of their views.",
    ),
    _projection("project_all", "All columns, opened anew", "all columns"),
    _projection("project_two", "2 columns, opened anew", "two columns"),
    _projection("project_four", "4 columns, opened anew", "four columns"),
    _projection("project_index", "Index columns, opened anew", "the id and an indexed column"),
    Operation(
        "sort_indexed",
        "Sort, indexed",
        f"sorts {{rows}} by an indexed number for the first {PAGE}",
        f"The first {PAGE} by views, all columns; the index on views is made before the clock runs.{_TIES}",
    ),
)

ENTITY_QUERIES = Workload(
    id="entity-queries",
    title="Questions to entities",
    about="Entities filtered, sorted, paged, counted, grouped and read by some of their columns.",
    steps=("fill", *(operation.id for operation in _OPERATIONS)),
    operations=_OPERATIONS,
    data_columns=(),
    key=None,
    checked_columns=(),
    default_rows=(1_000, 10_000, 100_000),
    default_repeats=5,
    opens_inside=False,
    family="entity-queries",
    asks_only=True,
    published_rows=(1_000, 10_000, 100_000),
)
