"""Related rows: the traversals that ParqueDB's page has a target for, on its data sets' shapes."""

from __future__ import annotations

from lamella.core.bench.workloads.model import Operation, Workload

PAGE = 20
BILLED_BEFORE, IMPORTANT = 9, 4
"""Filters: on a cast entry's place, and on how important a skill is."""

_EACH = "For another row each time. "

_TITLED = {
    "entries": (f"A person's cast entries, {PAGE}", f"finds {PAGE} cast entries of a person among {{rows}}"),
    "entries_sorted": (
        "A person's entries, sorted",
        f"finds the first {PAGE} cast entries of a person by billing among {{rows}}",
    ),
    "entries_filtered": (
        "A person's entries, filtered",
        "finds the cast entries of a person with a high billing among {rows}",
    ),
    "entries_page": ("A person's entries, first page", "finds the first page of a person among {rows}"),
    "entries_next_page": ("A person's entries, next page", "finds the next page of a person among {rows}"),
    "title_entries": ("A title's entries", "finds the cast of a title among {rows}"),
    "entry_title": ("An entry's title", "follows a cast entry to its title among {rows}"),
    "entry_person": ("An entry's person", "follows a cast entry to its person among {rows}"),
    "counts": (f"Counts of {PAGE} people", f"counts the cast entries of {PAGE} people among {{rows}}"),
    "skills": ("An occupation's skills", "finds the skills of an occupation among {rows}"),
    "occupations": (
        "A skill's occupations",
        f"finds {PAGE} occupations that a skill is important for among {{rows}}",
    ),
    "skill_counts": (
        f"Counts of {PAGE} occupations' skills",
        f"counts the skills of {PAGE} occupations among {{rows}}",
    ),
    "children": ("What a class is divided into", "finds the parts of a class of products among {rows}"),
    "parent": ("What a class belongs to", "finds what a class of products belongs to among {rows}"),
    "ancestors": ("All that a class belongs to", "finds all that a class belongs to among {rows}"),
    "grandchildren": (
        f"{PAGE} classes two steps below",
        f"finds {PAGE} classes two steps below one among {{rows}}",
    ),
}
"""Titles and sentences of the questions that are asked for one row after the other."""

UNINDEXED, INDEX = "entries_unindexed", "index"
COUNTS_OF_ALL, CHECK = "counts_of_all", "check"

_OPERATIONS = (
    Operation(
        UNINDEXED,
        f"A person's entries, {PAGE}, no index",
        f"finds {PAGE} cast entries of a person among {{rows}} without an index",
        f"{_EACH}No column that points at other rows is indexed yet.",
    ),
    Operation(
        INDEX,
        "Index what points at other rows",
        "indexes the relations of {rows}",
        "An index for each column that related rows are found by; dropped before, untimed.",
        resizes=True,
    ),
    *(Operation(name, title, sentence, _EACH) for name, (title, sentence) in _TITLED.items()),
    Operation(
        COUNTS_OF_ALL,
        "Counts of all people",
        "counts the cast entries of everybody among {rows}",
        "How many cast entries each person has, for all of them at once.",
    ),
    Operation(
        CHECK,
        "Check",
        "checks the relations of {rows}",
        "How many cast entries point at a title, or at a person, that is not there.",
    ),
)

ENTITY_RELATIONS = Workload(
    id="entity-relations",
    title="Relations",
    about="Sizes count titles: there are half as many people, twice as many cast entries, a hundredth as "
    "many occupations with 20 skills each, and half as many products in classes of classes.",
    steps=("fill", *(operation.id for operation in _OPERATIONS)),
    operations=_OPERATIONS,
    data_columns=(),
    key=None,
    checked_columns=(),
    default_rows=(10_000, 100_000),
    default_repeats=5,
    opens_inside=False,
    family="entity-relations",
    small_rows=(1_000,),
    published_rows=(10_000, 100_000),
)
