"""Converts statements that change a table to a query for the rows, and what to do with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from lamella.core.arrow.types import ID
from lamella.core.errors import Advice, BadSql, instead_of
from lamella.core.libraries import duckdb, exp, sqlglot
from lamella.core.query.sql.information_schema import listing_query
from lamella.core.query.sql.problems import missing_part
from lamella.core.query.sql.script import lexemes, with_semicolons
from lamella.core.query.sql.statement import QUERY_WORDS, first_word

Kind = Literal["insert", "update", "delete", "create"]
WAYS = "INSERT INTO t SELECT …, UPDATE t SET …, DELETE FROM t … and CREATE TABLE t AS SELECT …"


@dataclass(frozen=True)
class ChangeStatement:
    """A change. `question` is a SELECT whose answer has the new rows, or the `_id` of rows, each with its new
    cells.

    `columns` are those that an INSERT lists, in the answer's order. None means all of the table's columns, or
    those of the answer if `by_name`. For an UPDATE they are the columns that it sets.
    """

    kind: Kind
    table: str
    question: str
    columns: tuple[str, ...] | None = None
    by_name: bool = False


def change_statement(text: str) -> ChangeStatement | None:
    """The change that a statement makes; None if it changes nothing. Raises `BadSql` for unsupported
    changes."""
    text = with_semicolons(text)
    word = first_word(text)
    if word not in _CHANGES_BEGIN:
        if word in QUERY_WORDS or word in ("explain", ";", ""):
            return None
        if listing_query(text) is not None or not word.isalpha():
            return None  # the engine reports where it cannot be parsed
        if word not in _REFUSED_STATEMENTS:
            problem = BadSql(f"no statement begins with {word.upper()}", fix=instead_of(word, BEGINNINGS))
            problem.span = next(
                ((lexeme.start, lexeme.stop) for lexeme in lexemes(text) if lexeme.kind != "comment"), None
            )
            raise problem
        instead = _INSTEAD.get(word)
        if instead is not None:
            raise BadSql(f"{word.upper()} is not supported in SQL here", fix=instead)
        raise _refusal(word.upper(), "")
    tree = _tree_of(text, word)
    if tree is None or isinstance(tree, exp.Query):
        return None
    statement = next((make(tree) for kind, make in _KINDS.items() if isinstance(tree, kind)), None)
    if statement is None:
        raise _refusal(word.upper(), "")
    _refuse_other_clauses(tree)
    return statement


def _tree_of(text: str, word: str) -> exp.Expr | None:
    """The only statement in the text; None if the engine may know it as a form of WITH."""
    try:
        statements = [s for s in sqlglot.parse(text, dialect="duckdb") if s is not None]
    except sqlglot.errors.SqlglotError as error:
        if word == "with":
            return None
        raise _unreadable(text, str(error)) from error
    if len(statements) != 1:
        raise BadSql(f"there are {len(statements) or 'no'} statements", fix="Give exactly one")
    tree = statements[0]
    names_table = isinstance(tree.this, exp.Table | exp.Schema)
    if isinstance(tree, exp.Insert | exp.Update | exp.Delete) and not names_table:
        raise _unreadable(text, f"{word.upper()} names no table")
    return tree


def _unreadable(text: str, reason: str) -> BadSql:
    """The error for a statement that cannot be parsed, with the engine's message and position if it fails
    there too."""
    try:
        duckdb.extract_statements(text)
    except duckdb.Error as problem:
        return BadSql("the statement cannot be read", str(problem), missing_part(text, problem))
    reason = reason.splitlines()[0].removeprefix("Invalid expression / ")
    return BadSql("the statement has a form that changes cannot have here", reason, "Write it another way")


def _refuse_other_clauses(tree: exp.Expr) -> None:
    """Refuse unknown clauses: leaving them out could widen the change."""
    target = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
    for part, clauses in ((tree, _CLAUSES[type(tree)]), (target, {"this", "alias"})):
        for clause, said in part.args.items():
            if said and clause not in clauses:
                what = f"{tree.key.upper()} with {clause.strip('_').upper()}"
                raise _refusal(what, f"Leave it out: {_sql_text(said)}")
    if target.alias_column_names:
        raise _refusal("Renaming the columns of a changed table", "Leave the names out")


def _sql_text(what: object) -> str:
    parts = what if isinstance(what, list) else [what]
    return ", ".join(part.sql("duckdb") if isinstance(part, exp.Expr) else str(part) for part in parts)


def _inserting(tree: exp.Expr) -> ChangeStatement:
    for part, (words, way) in _NO_PART_OF_INSERT.items():
        if tree.args.get(part):
            raise _refusal(f"INSERT with {words}", way)
    rows = tree.args.get("expression")
    if rows is None:
        raise _refusal("INSERT without rows", "Give VALUES or a SELECT")
    columns = [name.name for name in tree.this.expressions] if isinstance(tree.this, exp.Schema) else None
    names = None if columns is None else tuple(columns)
    return ChangeStatement(
        "insert", _name(tree.this), _question(rows, tree), names, bool(tree.args.get("by_name"))
    )


def _updating(tree: exp.Expr) -> ChangeStatement:
    _refuse_returning(tree)
    table, set_to = tree.this, tree.expressions
    columns = [_set_column(part) for part in set_to]
    if ID in columns:
        raise BadSql(f"{_name(table)}: {ID} cannot be set", "It identifies rows permanently", "Leave it out")
    values = [exp.alias_(part.expression, f"v{i}", quoted=True) for i, part in enumerate(set_to)]
    query = exp.select(_id_of(table), *values).from_(table)
    tables = tree.args.get("from_")
    return ChangeStatement(
        "update", _name(table), _rows_question(query, tree, tables and [tables.this]), tuple(columns)
    )


def _deleting(tree: exp.Expr) -> ChangeStatement:
    _refuse_returning(tree)
    query, tables = exp.select(_id_of(tree.this)).from_(tree.this), tree.args.get("using")
    if tables:
        query = query.distinct()
    return ChangeStatement("delete", _name(tree.this), _rows_question(query, tree, tables))


def _creating(tree: exp.Expr) -> ChangeStatement:
    for part, words, way in _NO_PART_OF_CREATE:
        if tree.args.get(part):
            raise _refusal(f"CREATE {words}", way)
    rows = tree.args.get("expression")
    kind = str(tree.args.get("kind"))
    if kind in _INSTEAD_OF_CREATE:
        raise BadSql(f"CREATE {kind} is not supported in SQL here", fix=_INSTEAD_OF_CREATE[kind])
    if kind != "TABLE" or not isinstance(rows, exp.Query):
        raise _refusal(
            "CREATE of anything but a table AS SELECT",
            "Write CREATE TABLE name AS SELECT …; in Python, store.create_table takes rows",
        )
    if isinstance(tree.this, exp.Schema):
        raise _refusal("CREATE TABLE with column names", "Name them in the SELECT: SELECT 1 AS a")
    return ChangeStatement("create", _name(tree.this), _question(rows, tree))


_CHANGES_BEGIN = frozenset({"insert", "update", "delete", "create", "with"})
BEGINNINGS = (
    "select", "with", "from", "values", "insert", "update", "delete", "create", "describe", "summarize",
    "pivot", "unpivot", "explain",
)  # fmt: skip
_REFUSED_STATEMENTS = frozenset(
    {
        "alter", "analyze", "attach", "begin", "call", "checkpoint", "comment", "commit", "copy",
        "deallocate", "detach", "drop", "end", "execute", "export", "force", "grant", "import", "install",
        "load", "merge", "pragma", "prepare", "refresh", "replace", "reset", "revoke", "rollback", "set",
        "start", "truncate", "use", "vacuum",
    }
)  # fmt: skip
"""The first words of other statements that databases have."""
_NO_TRANSACTIONS = "Leave it out: each change is one commit, which undo reverts"
_NO_PREPARATION = "Run the statement itself, with $name for its parameters"
_UPSERT = Advice(
    "Use table.upsert(rows, on=…)",
    "Import the rows into the table, or use table.upsert(rows, on=…) in Python",
    "Use lamella change STORE:TABLE --upsert FILE --on COLUMNS",
)
_OPEN_FILE = Advice(
    "Name the file itself in the statement, and allow it: files=True",
    "Open the file instead: statements can name everything that is open",
    "Query the file itself, or name it in the statement and allow it: --files",
)
_EXPORT = Advice(
    "Run a SELECT instead, and write its answer",
    "Run a SELECT instead, and export its rows",
    "Run a SELECT instead, with --format csv",
)
_DROP_FIRST = Advice(
    "Drop the table first: store.drop_table",
    "Drop the table first, in the sidebar",
    "Drop the table first, in the window's sidebar or with store.drop_table in Python",
)
_INSTEAD = {
    "alter": Advice(
        "Change columns with table.columns",
        "Change columns in the menu of their header",
        "Change columns in the window, in the menu of their header, or with table.columns in Python",
    ),
    "drop": Advice(
        "Drop tables with store.drop_table",
        "Drop tables in the sidebar",
        "Drop tables in the window's sidebar, or with store.drop_table in Python",
    ),
    "truncate": "Write DELETE FROM t",
    "merge": _UPSERT,
    "use": "Leave it out, and name tables of other stores as store.table",
    "pragma": "SHOW TABLES lists the tables, DESCRIBE t the columns of one",
    **dict.fromkeys(("attach", "import", "install", "load"), _OPEN_FILE),
    **dict.fromkeys(("copy", "export"), _EXPORT),
    **dict.fromkeys(("set", "reset"), "Leave it out: the program chooses the settings"),
    **dict.fromkeys(("begin", "start", "commit", "rollback", "end"), _NO_TRANSACTIONS),
    **dict.fromkeys(("prepare", "execute", "deallocate"), _NO_PREPARATION),
}
"""What to do instead of some of these statements."""
_CLAUSES: dict[type[exp.Expr], set[str]] = {
    exp.Insert: {"this", "expression", "by_name", "with_"},
    exp.Update: {"this", "expressions", "from_", "where", "with_"},
    exp.Delete: {"this", "using", "where", "with_"},
    exp.Create: {"this", "kind", "expression", "with_"},
}
_KINDS = {exp.Insert: _inserting, exp.Update: _updating, exp.Delete: _deleting, exp.Create: _creating}
_NO_PART_OF_INSERT = {
    "conflict": ("ON CONFLICT", _UPSERT),
    "alternative": ("OR REPLACE or OR IGNORE", _UPSERT),
    "returning": ("RETURNING", "Leave RETURNING out"),
    "default": ("DEFAULT VALUES", "Give VALUES or a SELECT"),
}


_INSTEAD_OF_CREATE = {
    "VIEW": Advice(
        "Save a query as a view with store.views.save",
        "Save the steps or the result of a SELECT as a view",
        "Save the steps of a query as a view in the window, or with store.views.save in Python",
    ),
    "INDEX": Advice(
        "Create it with table.indexes",
        "Create it with Indexes… (Ctrl+Shift+I) of its table",
        "Create it with lamella index STORE:TABLE COLUMNS",
    ),
}
_NO_PART_OF_CREATE = (
    ("replace", "OR REPLACE", _DROP_FIRST),
    ("exists", "IF NOT EXISTS", "Leave IF NOT EXISTS out: an existing table is never replaced"),
    ("properties", "with TEMP or other properties", "Write CREATE TABLE t AS SELECT …"),
)


def _rows_question(query: exp.Select, tree: exp.Expr, tables: Sequence[exp.Expr] | None) -> str:
    for table in tables or ():
        query = query.join(table, join_type="cross")
    where = tree.args.get("where")
    return _question(query if where is None else query.where(where.this), tree)


def _question(rows: exp.Expr, tree: exp.Expr) -> str:
    """The SELECT, with the common table expressions of the whole statement."""
    rows = rows.copy()
    around = tree.args.get("with_")
    if around is not None and rows is not tree:
        rows.set("with_", around.copy())
    return rows.sql("duckdb")


def _id_of(table: exp.Expr) -> exp.Expr:
    return exp.column(ID, table=exp.to_identifier(table.alias_or_name, quoted=True), quoted=True)


def _set_column(part: exp.Expr) -> str:
    column = part.this
    if not isinstance(part, exp.EQ) or not isinstance(column, exp.Column) or column.table:
        raise _refusal(
            f"SET {part.sql('duckdb')}",
            "Set whole columns; in Python, table.update_where reaches inside them",
        )
    return column.name


def _name(target: exp.Expr) -> str:
    table = target.this if isinstance(target, exp.Schema) else target
    if isinstance(table, exp.Table) and table.db:
        raise BadSql(
            f"a change cannot name the store of its table: '{table.sql('duckdb')}'",
            "It changes the chosen store",
            f"Choose {table.db} as the store, and write {exp.to_identifier(table.name).sql('duckdb')}",
        )
    if not isinstance(table, exp.Table):
        raise BadSql(f"{target.sql('duckdb')} is not a table here", fix="Name a table of the store")
    return table.name


def _refuse_returning(tree: exp.Expr) -> None:
    if tree.args.get("returning"):
        raise _refusal("RETURNING", "Leave it out, and read the rows afterwards")


def _refusal(what: str, way: str) -> BadSql:
    return BadSql(f"{what} is not supported in SQL here", f"Changes are {WAYS}", way)
