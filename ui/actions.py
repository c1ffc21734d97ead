"""ONE table of actions: what can be done, what it is called, which keys do it, where it is found, and when.

Menus, toolbar, context menus and the shortcut page are built from it. The window makes an action available by
providing a handler for its id; an action without a handler is not shown anywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from PySide6.QtGui import QKeySequence


@dataclass(frozen=True)
class Situation:
    """What the window shows, as far as actions depend on it."""

    dataset: bool = False
    console: bool = False
    table: bool = False
    versions: bool = False  # a Delta table that is open in place
    remote: bool = False  # a table of a server, whose steps run there
    read_otherwise: bool = False  # a file that is open in place and can be read with other column types
    cell: bool = False
    selection: bool = False
    several_rows: bool = False
    related: bool = False  # the current column leads to other tables
    editable: bool = False  # the table's own rows are shown
    steps: bool = False
    back: bool = False
    forward: bool = False
    filtered: bool = False
    sorted: bool = False
    groups: bool = False  # rows of a group step are shown
    levels: bool = False  # the groups have several keys
    tree: bool = False  # the groups are shown under their subtotals
    totals: bool = False  # the totals of the groups have been read
    hidden_columns: bool = False
    pinned: bool = False  # the current cell's column is pinned
    pinned_columns: bool = False
    nested: bool = False  # the current cell's column holds structs, lists or maps
    compared: bool = False  # a comparison is shown
    struct: bool = False
    undo: str = ""
    staged: bool = False  # there are staged edits that are not saved
    redo: str = ""
    closed_tabs: bool = False
    tab: bool = False
    busy: bool = False
    no_import: str = ""  # why nothing can be imported


def always(_: Situation) -> bool:
    return True


@dataclass(frozen=True)
class Action:
    """One row of the table.

    `menu` is a menu of the menu bar; `context` names the context menus that also show the action, under
    `submenu` if that is set. `group` keeps neighbours together: a separator stands between groups. `toolbar`
    is the short name on the toolbar. `keys` are shortcuts separated by "; ", the first of which is shown;
    with `in_grid` they work only while the grid has the keyboard.
    """

    id: str
    text: str
    menu: str
    group: int
    keys: str = ""
    icon: str = ""
    toolbar: str = ""
    context: tuple[str, ...] = ()
    submenu: str = ""
    tip: str = ""
    when: Callable[[Situation], bool] = always
    checkable: bool = False
    in_grid: bool = False


def _on_dataset(s: Situation) -> bool:
    return s.dataset


def _on_cell(s: Situation) -> bool:
    return s.cell


def _on_editable(s: Situation) -> bool:
    """Enabled for files too: choosing the action explains how they can be edited."""
    return s.dataset and (s.editable or not s.table)


def _on_editable_cell(s: Situation) -> bool:
    return s.cell and _on_editable(s)


def _change_of_columns(id: str, text: str, tip: str, shortcut: str = "", icon: str = "") -> Action:
    """A row in the submenu of a column's context menu."""
    return Action(id, text, "Edit", 5, shortcut, icon, context=("column",), tip=tip, when=_on_editable_cell,
                  submenu="Change columns")  # fmt: skip


def _of_store(id: str, text: str, tip: str, shortcut: str = "", icon: str = "") -> Action:
    return Action(id, text, "File", 1, shortcut, icon, submenu="Store", tip=tip)


ACTIONS: tuple[Action, ...] = (
    Action("open", "Open files…", "File", 1, "Ctrl+O", "open", "Open",
           tip="View data files in place"),
    Action("open_folder", "Open a folder…", "File", 1, "Ctrl+Shift+O", "folder",
           tip="A folder of files as one table"),
    Action("open_server", "Open from a server…", "File", 1, "Ctrl+Alt+O", "database",
           tip="Files on S3, Google Cloud Storage, Azure, HDFS and the web, and tables of Spark servers"),
    Action("connections", "Connections…", "File", 1,
           tip="Servers, and the credentials for them"),
    Action("compare_with_local", "Compare with local…", "File", 1,
           tip="Run the steps here too, on an open copy of the rows, and show where answers differ",
           when=lambda s: s.remote),
    Action("row_key", "Key of the rows…", "File", 1, when=lambda s: s.remote,
           tip="Columns that identify the rows of a server's table and put them in order"),
    Action("open_sample", "Open the sample", "File", 1,
           tip="All flights from New York in 2013, with airlines, airports, planes and weather"),
    Action("import", "Import…", "File", 1, "Ctrl+I", "import", "Import",
           tip="Copy data into a table that can be edited, with undo", when=lambda s: not s.no_import),
    Action("read_differently", "Read differently…", "File", 1, "Ctrl+Alt+I",
           tip="Correct how a file is read: its delimiters, types, or the cells of a sheet",
           when=lambda s: s.read_otherwise),
    Action("delta_versions", "Versions of the Delta table…", "File", 1,
           tip="Show the table as it was at an earlier version", when=lambda s: s.versions),
    Action("paste_table", "New table from clipboard…", "File", 1, "", "paste",
           tip="Turn copied spreadsheet cells, CSV, JSON or a table of a web page into a table",
           when=lambda s: not s.no_import),
    Action("export", "Export what is shown…", "File", 1, "Ctrl+E", "export", "Export", when=_on_dataset,
           tip="Write the rows that are shown to a file"),
    Action("new_table", "New table…", "File", 1, "Ctrl+Shift+N", "table", when=lambda s: not s.no_import,
           tip="An empty table with columns of your choice"),
    Action("make_table", "Make a table of what is shown…", "File", 1, "", "table",
           when=lambda s: s.dataset and not s.no_import,
           tip="Save the rows and columns that are shown as a new table"),
    Action("save_view", "Save as a view…", "File", 1, "Ctrl+S", "bookmark",
           when=lambda s: s.dataset or s.console),
    _of_store("store_page", "Properties…", "Disk space by table, column and version", "Ctrl+Alt+P",
              "info"),
    _of_store("new_store", "New store…", "An empty store in a folder of its own", icon="plus"),
    _of_store("open_store", "Open a store…", "Choose the folder of a store", icon="database"),
    _of_store("verify_store", "Verify…", "Compare every file with its checksum and list what is damaged"),
    _of_store("backup_store", "Back up…", "Copy the store while it is in use", icon="save"),
    _of_store("restore_backup", "Restore a backup…", "Into a new folder, which is then opened"),
    _of_store("compact_store", "Compact…", "Merge tables into a few plain files; shows first what it frees"),
    _of_store("vacuum_store", "Vacuum…", "Remove files that no version needs; shows first what it frees"),
    _of_store("rename_store", "Rename…", "Rename its folder; open tabs follow", icon="edit"),
    _of_store("move_store", "Move…", "To another folder or disk; open tabs follow", icon="folder"),
    Action("close_tab", "Close tab", "File", 2, "Ctrl+W", when=lambda s: s.tab),
    Action("reopen_tab", "Reopen closed tab", "File", 2, "Ctrl+Shift+T", when=lambda s: s.closed_tabs),
    Action("next_tab", "Next tab", "File", 2, "Ctrl+Tab", when=lambda s: s.tab),
    Action("previous_tab", "Previous tab", "File", 2, "Ctrl+Shift+Tab", when=lambda s: s.tab),
    Action("new_window", "New window", "File", 3, "Ctrl+Alt+N",
           tip="Open another window on the same stores and files"),
    Action("move_tab", "Move tab to new window", "File", 3, "", when=lambda s: s.tab),
    Action("close_window", "Close window", "File", 3),
    Action("quit", "Quit", "File", 3, "Ctrl+Q"),

    Action("undo", "Undo", "Edit", 1, "Ctrl+Z", "undo", "Undo", when=lambda s: bool(s.undo)),
    Action("redo", "Redo", "Edit", 1, "Ctrl+Shift+Z; Ctrl+Y", "redo", "Redo", when=lambda s: bool(s.redo)),
    Action("edit_cell", "Edit cell", "Edit", 2, "F2", "edit", context=("cell",), when=_on_cell),
    Action("set_null", "Set to NULL", "Edit", 2, "Delete; Ctrl+Shift+Delete", context=("cell",),
           tip="Clear the selected cells", when=_on_editable_cell, in_grid=True),
    Action("fill_cells", "Fill the selected cells", "Edit", 2, "Ctrl+Return; Ctrl+Enter", context=("cell",),
           tip="With the value of the current cell, or with what you are typing",
           when=_on_editable_cell, in_grid=True),
    Action("fill_down", "Fill down", "Edit", 2, "Ctrl+D", context=("cell",),
           tip="Copy the first selected row into the others, or the row above into this one",
           when=_on_editable_cell, in_grid=True),
    Action("review_edits", "Review edits", "Edit", 2, "Ctrl+Alt+E", checkable=True,
           tip="Collect edits, review them before and after, and save them as one commit",
           when=lambda s: s.dataset and s.editable),
    Action("change", "Change…", "Edit", 2, "Ctrl+U", "edit", "Change…", context=("column",),
           tip="Set, compute, clean, cast, split or delete, in the selection, the filter or all rows",
           when=lambda s: s.dataset and (s.editable or not s.table)),
    Action("column_rules", "Default and checks…", "Edit", 2, "", context=("column",),
           tip="The default for new rows, and the checks that every value must pass",
           when=lambda s: s.cell and s.table),
    _change_of_columns("add_column", "Add a column…", "A new column after this one", icon="plus"),
    _change_of_columns("rename_column", "Rename…", "Give this column another name", "Ctrl+F2"),
    _change_of_columns("cast_column", "Change the type…",
                       "Text to numbers or dates, numbers to text; shows what would be lost"),
    _change_of_columns("describe_column", "Describe…", "A note on what this column holds"),
    _change_of_columns("split_column", "Split…", "Split a text into several columns"),
    _change_of_columns("merge_columns", "Merge…", "Join the values of several columns into one text"),
    _change_of_columns("drop_duplicates", "Drop duplicates…", "Delete rows that are equal in these columns"),
    _change_of_columns("move_left", "Move to the left", "One position to the left in the table itself"),
    _change_of_columns("move_right", "Move to the right", "One position to the right in the table itself"),
    _change_of_columns("keep_order", "Keep this order", "Order the columns of the table as they are shown"),
    _change_of_columns("drop_column", "Drop this column", "Undo brings it back", icon="trash"),
    Action("copy", "Copy", "Edit", 3, "Ctrl+C", "copy", context=("cell",), when=lambda s: s.selection),
    Action("copy_headers", "Copy with headers", "Edit", 3, "Ctrl+Shift+C", context=("cell",),
           when=lambda s: s.selection),
    Action("copy_as", "Copy as…", "Edit", 3, "Ctrl+Alt+C", context=("cell",), when=lambda s: s.selection,
           tip="As CSV, JSON, Markdown, SQL or Python"),
    Action("paste", "Paste", "Edit", 3, "Ctrl+V", "paste", context=("cell",), in_grid=True,
           tip="Cells of a spreadsheet or of Lamella, from the current cell on or over the selection",
           when=_on_editable_cell),
    Action("select_all", "Select all", "Edit", 3, "Ctrl+A", when=_on_dataset),
    Action("select_column", "Select column", "Edit", 3, "Ctrl+Space", when=_on_cell),
    Action("select_row", "Select row", "Edit", 3, "Shift+Space", when=_on_cell),
    Action("find", "Find…", "Edit", 4, "Ctrl+F", "search", when=_on_dataset,
           tip="Find a text in all rows that are shown, or words by a full-text index"),
    Action("find_next", "Find next", "Edit", 4, "F3", when=_on_dataset),
    Action("find_previous", "Find previous", "Edit", 4, "Shift+F3", when=_on_dataset),
    Action("find_everywhere", "Find everywhere…", "Edit", 4, "Ctrl+Shift+K", "search",
           tip="Find a text in all tables of the open stores, and in all open files"),
    Action("replace", "Replace…", "Edit", 4, "Ctrl+H", "search", context=("column",),
           tip="Find a text or regular expression, and replace it with another text", when=_on_editable),
    Action("insert_rows", "Insert rows", "Edit", 4, "Ctrl+Shift+Insert", "plus", context=("cell", "row"),
           tip="Add as many empty rows as are selected, at the end", when=_on_editable, in_grid=True),
    Action("duplicate_rows", "Duplicate rows", "Edit", 4, "Ctrl+Shift+D", context=("cell", "row"),
           tip="Add copies of the selected rows at the end", when=_on_editable_cell, in_grid=True),
    Action("delete_rows", "Delete rows", "Edit", 4, "Ctrl+Delete", "trash", context=("cell", "row"),
           tip="Delete the selected rows", when=_on_editable_cell, in_grid=True),

    Action("back", "Back", "View", 0, "Alt+Left", "arrow-left", when=lambda s: s.back,
           tip="Back to the row you came from, or to the previous steps"),
    Action("forward", "Forward", "View", 0, "Alt+Right", "arrow-right", when=lambda s: s.forward),
    Action("add_step", "Add a step…", "View", 0, "Ctrl+Shift+A", "plus", when=_on_dataset,
           tip="Filter, compute, group, join: each step is a chip above the rows"),
    Action("group", "Group by this column", "View", 0, "", "sum", "Group", context=("column",),
           tip="One row for each value, with aggregates", when=_on_dataset),
    Action("group_rows", "Show the rows of this group", "View", 0, context=("group",),
           tip="Also by Enter or a double-click", when=lambda s: s.groups and s.cell),
    Action("totals_row", "Totals row", "View", 0, "Ctrl+Shift+M", "sum", context=("group",),
           tip="The aggregates of all rows, below the groups", when=lambda s: s.groups, checkable=True),
    Action("copy_totals", "Copy the totals", "View", 0, context=("group",), when=lambda s: s.totals),
    Action("subtotals", "Groups as a tree", "View", 0, "Ctrl+Alt+G", "group", context=("group",),
           tip="Groups expand in place into subgroups, and subgroups into rows", when=lambda s: s.levels,
           checkable=True),
    Action("open_groups", "Expand all groups", "View", 0, "Alt+Shift+Down", context=("group",),
           when=lambda s: s.tree),
    Action("close_groups", "Collapse all groups", "View", 0, "Alt+Shift+Up", context=("group",),
           when=lambda s: s.tree),
    Action("columns", "Choose columns…", "View", 0, "", "columns", "Columns", when=_on_dataset,
           tip="Choose columns and their order"),
    Action("compute", "Computed column…", "View", 0, "", "function", context=("column",), when=_on_dataset,
           tip="A column computed from others"),
    Action("join", "Join…", "View", 0, "Ctrl+Shift+J", "join", "Join", when=_on_dataset,
           tip="Combine with the rows of another dataset"),
    Action("chart", "Chart", "View", 0, "Ctrl+Shift+V", "chart", "Chart", when=_on_dataset, checkable=True,
           tip="Draw the selected columns, or show the table again"),
    Action("chart_column", "Chart this column", "View", 0, "", "chart", context=("column",), when=_on_dataset,
           tip="Draw the current column in a new chart"),
    Action("all_columns", "All columns", "View", 0, "Ctrl+Alt+L", "columns", when=_on_dataset, checkable=True,
           tip="A table of all columns with their statistics, to search, sort and export"),
    Action("sql", "SQL console", "View", 0, "Ctrl+Shift+Q", "sql", "SQL", checkable=True,
           tip="Run SQL over everything that is open; press again for another console"),
    Action("sql_steps", "Open the steps in a SQL console", "View", 0, "", "sql", when=lambda s: s.dataset,
           tip="Open a console with what is shown as a statement"),
    Action("copy_sql", "Copy the steps as SQL", "View", 0, when=_on_dataset),
    Action("copy_python", "Copy the steps as Python", "View", 0, when=_on_dataset),
    Action("paste_steps", "Paste SQL or JSON as steps", "View", 0, when=_on_dataset),
    Action("clear_steps", "Remove all steps", "View", 0, when=lambda s: s.steps),
    Action("filter", "Filter builder", "View", 1, "Ctrl+Shift+F", "filter", "Filter",
           tip="Show only the rows that meet conditions", when=_on_dataset),
    Action("filter_equal", "Only rows with this value", "View", 1, "Ctrl+Shift+E", "filter",
           context=("cell",),
           when=_on_cell),
    Action("filter_unequal", "Only rows without this value", "View", 1, "", context=("cell",), when=_on_cell),
    Action("filter_at_least", "Only rows of at least this value", "View", 1, "", context=("cell",),
           submenu="Filter by this", when=_on_cell),
    Action("filter_at_most", "Only rows of at most this value", "View", 1, "", context=("cell",),
           submenu="Filter by this", when=_on_cell),
    Action("filter_between", "Only rows between the selected values", "View", 1, "", context=("cell",),
           submenu="Filter by this", when=lambda s: s.cell and s.several_rows),
    Action("filter_contains", "Only rows that contain this text", "View", 1, "", context=("cell",),
           submenu="Filter by this", when=_on_cell),
    Action("filter_starts", "Only rows that start with this text", "View", 1, "", context=("cell",),
           submenu="Filter by this", when=_on_cell),
    Action("filter_any", "Only rows with the selected values", "View", 1, "", context=("cell",),
           submenu="Filter by this", when=lambda s: s.cell and s.several_rows),
    Action("filter_values", "Filter by values…", "View", 1, "Ctrl+Alt+F", "filter", context=("column",),
           tip="Choose from the values of this column, with counts", when=_on_cell),
    Action("filter_row", "Filter row", "View", 1, "Ctrl+Shift+L", when=_on_dataset,
           tip="A field above every column, to type a condition in"),
    Action("clear_filter", "Clear the filter", "View", 1, "Ctrl+Shift+X", when=lambda s: s.filtered),
    Action("sort_ascending", "Sort ascending", "View", 2, "Ctrl+Alt+Up", "sort-asc", context=("column",),
           when=_on_cell),
    Action("sort_descending", "Sort descending", "View", 2, "Ctrl+Alt+Down", "sort-desc", context=("column",),
           when=_on_cell),
    Action("sort_within", "Sort within this order", "View", 2, "Ctrl+Alt+Shift+Up", context=("column",),
           tip="Sort by this column as well: ascending, then descending, then not at all",
           when=lambda s: s.cell and s.sorted),
    Action("clear_sort", "Clear the sort", "View", 2, "Ctrl+Alt+0", context=("column",),
           when=lambda s: s.sorted),
    Action("hide_column", "Hide column", "View", 3, "Ctrl+Shift+H", "eye-off", context=("column",),
           when=_on_cell),
    Action("show_columns", "Show all columns", "View", 3, "", "eye", context=("column",),
           when=lambda s: s.hidden_columns),
    Action("pin_column", "Pin column", "View", 3, "Ctrl+Shift+P", "pin", context=("column",),
           tip="Keep this column at the left while scrolling, or release it",
           when=_on_cell),
    Action("reset_layout", "Reset layout", "View", 3, "", context=("column",), when=_on_dataset,
           tip="Columns in their original order and fitted; no formats, none hidden or pinned"),
    Action("unpin_columns", "Unpin all columns", "View", 3, "", context=("column",),
           when=lambda s: s.pinned_columns),
    Action("format_column", "Format…", "View", 3, "Ctrl+1", context=("column",), when=_on_cell,
           tip="How the values of this column are shown: digits, dates, units, colours"),
    Action("field_columns", "Fields as columns…", "View", 3, "", context=("column",),
           tip="Show fields of this struct as columns", when=lambda s: s.struct),
    Action("column_menu", "Menu of the column", "View", 3, "Ctrl+Shift+F10", when=_on_cell, in_grid=True,
           tip="What can be done with the column of the current cell, as a right click on its header shows"),
    Action("fit_columns", "Fit column widths", "View", 3, "Ctrl+Shift+W", context=("column",),
           when=_on_dataset),
    Action("open_value", "Open the value", "View", 4, context=("cell",), when=lambda s: s.nested,
           tip="Show a struct, list or map as a tree below its cell (also Enter)"),
    Action("inspector", "Inspector", "View", 4, "F4", "info", context=("cell", "column"), when=_on_dataset,
           tip="The current row as a form, or the current column with its figures"),
    Action("follow", "Follow to related rows", "View", 4, "Ctrl+Alt+R", "arrow-right",
           tip="Go from this cell to related rows in other tables (also Ctrl+click)",
           when=lambda s: s.related),
    Action("relations", "Relations diagram", "View", 4, "Ctrl+Alt+D", "relation",
           tip="See, create and check the relations between the tables of the store"),
    Action("go_to_row", "Go to row…", "View", 4, "Ctrl+G", when=_on_dataset),
    Action("go_to_column", "Go to column…", "View", 4, "Ctrl+Shift+G", when=_on_dataset,
           tip="Find a column, even a hidden one, by part of its name"),
    Action("table_details", "Table details", "View", 4, "Shift+F4", "info", when=_on_dataset,
           tip="Columns, files, sizes, and the row groups that the filter skips"),
    Action("history", "History", "View", 4, "Ctrl+Alt+H", "history", when=_on_dataset,
           tip="The versions of this table: view, compare, restore"),
    Action("compare", "Compare with…", "View", 4, "Ctrl+Alt+W", "compare", when=_on_dataset,
           tip="What was added, removed and changed between these rows and another table or file"),
    Action("next_difference", "Next difference", "View", 4, "F7", when=lambda s: s.compared),
    Action("previous_difference", "Previous difference", "View", 4, "Shift+F7", when=lambda s: s.compared),
    Action("refresh", "Refresh", "View", 4, "F5", "refresh", when=_on_dataset),
    Action("stop", "Stop", "View", 4, "Ctrl+.", "stop", when=lambda s: s.busy),
    Action("sidebar", "Sidebar", "View", 5, "Ctrl+B", "sidebar", checkable=True),
    Action("theme_system", "Light or dark like the system", "View", 6, "", checkable=True),
    Action("theme_light", "Light", "View", 6, "", "sun", checkable=True),
    Action("theme_dark", "Dark", "View", 6, "", "moon", checkable=True),
    Action("text_larger", "Larger text", "View", 7, "Ctrl++; Ctrl+="),
    Action("text_smaller", "Smaller text", "View", 7, "Ctrl+-"),
    Action("text_normal", "Normal text", "View", 7, "Ctrl+0"),

    Action("benchmark", "Benchmark", "Tools", 1, "Ctrl+R", "benchmark", "Benchmark",
           tip="Measure this store against SQLite"),
    Action("benchmark_table", "Benchmark this table…", "Tools", 1, "Ctrl+Shift+R", "benchmark",
           context=("cell", "column"), when=_on_dataset,
           tip="Measure other systems on the rows and columns that are shown"),
    Action("benchmark_file", "Run a benchmark of your own…", "Tools", 1,
           tip="A Python file that defines data, systems and queries"),
    Action("saved_runs", "Saved runs…", "Tools", 1, tip="View and compare earlier benchmarks"),
    Action("indexes", "Indexes…", "Tools", 2, "Ctrl+Shift+I", context=("column",),
           tip="The indexes of this table: size, last use, and new ones",
           when=lambda s: s.table),
    Action("settings", "Settings", "Tools", 2, "Ctrl+,", "settings",
           tip="All settings, with their purpose and the source of each value"),
    Action("palette", "Commands…", "Tools", 2, "Ctrl+K", "search",
           tip="Find a command, step, column, table, view, tab or file"),

    Action("help", "Help", "Help", 1, "F1", "info",
           tip="Help on the part of the window that has the focus; all pages can be searched"),
    Action("shortcuts", "Keyboard shortcuts", "Help", 1, "Ctrl+F1", "keyboard"),
    Action("about", "About Lamella", "Help", 1),
)  # fmt: skip
MENUS = ("File", "Edit", "View", "Tools", "Help")
TOOLBAR = (
    ("open", "import"),
    ("filter", "columns", "group", "join"),
    ("chart", "sql"),
    ("change", "undo", "redo"),
    ("export",),
    ("benchmark",),
)
LABELLED_ACTIONS = (
    "filter", "chart", "group", "sql", "benchmark", "change", "columns", "join", "import", "open", "export"
)  # fmt: skip
"""On a toolbar that is too narrow for all names, the last of these lose theirs first."""

ICONS_ONLY = ("undo", "redo")
"""Actions that are never named on the toolbar, however wide it is."""

BY_ID = {entry.id: entry for entry in ACTIONS}


def sequences(entry: Action) -> list[QKeySequence]:
    return QKeySequence.listFromString(entry.keys) if entry.keys else []


@cache
def shown_keys(entry: Action) -> str:
    """The first shortcut as this system writes it; empty when there is none."""
    return "".join(s.toString(QKeySequence.SequenceFormat.NativeText) for s in sequences(entry)[:1])
