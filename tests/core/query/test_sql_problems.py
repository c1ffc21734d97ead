"""An error in a statement is located, with a suggestion."""

from __future__ import annotations

import pyarrow as pa
import pytest

from lamella.core.errors import BadSql, LamellaError
from lamella.core.jobs import Job
from lamella.core.query.source import SnapshotSource
from lamella.core.query.sql import Sources, SqlRequest, run_sql
from lamella.core.query.sql.changes import change_statement
from lamella.core.query.sql.dialects import format_sql, place_in_format, translate
from lamella.core.query.sql.plan_tree import explain_sql
from lamella.core.query.sql.problems import in_words, syntax_problem
from lamella.core.scan.snapshot import snapshot_of_rows

TABLES = {
    "flights": pa.table(
        {"delay": [5.0, 70.0], "carrier": ["AA", "UA"], "day": pa.array([0, 1], pa.date32())}
    ),
    "sample.flights": pa.table({"delay": [1.0]}),
}
SOURCES = Sources(
    "what is open", list(TABLES), lambda name, _when: SnapshotSource(snapshot_of_rows(TABLES[name], name))
)


def failure(text: str) -> LamellaError:
    with pytest.raises(LamellaError) as caught:
        run_sql(text, SOURCES)
    return caught.value


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("select dely from flights", "dely", "There is no column 'dely' here. Did you mean 'delay' or 'day'"),
        ("select 1,\n  f.dely\nfrom flights f", "f.dely", "'f' has no column 'dely'."),
        (
            "select 'ü日本語', dely from flights",
            "dely",
            "There is no column 'dely' here. Did you mean 'delay'",
        ),
        (f"select '{'y' * 300}', dely from flights", "dely", "There is no column 'dely' here."),
        ("select *\nfrom flihts", "flihts", "What is open has no table 'flihts'. Did you mean 'flights'"),
        ("select * from sample.flihts", "sample.flihts", "What is open has no table 'sample.flihts'."),
        ("selec 1", "selec", "The statement cannot be read at 'selec'."),
        (
            "select mdian(delay) from flights",
            "mdian(delay)",
            "There is no function mdian(). Did you mean 'median'?",
        ),
        ("select cast('x' as int)", "cast('x' as int)", "Could not convert string 'x' to INT32."),
        ("select dely from flights at (version => 1)", "flights", ""),
    ],
)
def test_error_has_its_place_and_a_suggestion(text, place, words):
    error = failure(text)
    assert error.span is None or text[slice(*error.span)] == place or not words
    if words:
        assert error.span is not None
        assert ". ".join(part.rstrip(".") for part in in_words(error) if part).startswith(words.rstrip("."))


@pytest.mark.parametrize(
    ("text", "place", "missing"),
    [
        ("select * from flights where", "where", "A condition is missing after it"),
        ("select * from flights where -- why", "where", "A condition is missing after it"),
        ("select * from flights where order by 1", "order", "A condition is missing after 'where'"),
        ("select * from flights where and delay > 1", "and", "A condition is missing after 'where'"),
        ("select * from flights join flights b", "b", "The statement ends too early"),
        ("select * from flights join flights", "flights", "ON or USING is missing after it"),
        ("select * from where delay > 1", "where", "The name of a table is missing after 'from'"),
        ("select * from flights where delay =", "=", "A value is missing after it"),
        ("select (1 + (2) from flights", "from", ""),
        ("select * from flights where (delay > 1", "1", "A bracket is not closed"),
        ("select * from flights where order = 1", "order", ""),
        (
            "select * from order",
            "order",
            'ORDER is a keyword of SQL: write "order" to refer to a table of that name',
        ),
        ("select * from flights whre delay = 1", "delay", "Is 'whre' a misspelling of WHERE?"),
        ("select * form flights", "flights", "Is 'form' a misspelling of FROM?"),
        ("select * from flights f iner join flights g on true", "iner", "Is 'iner' a misspelling of INNER?"),
        ("select * from orders with (nolock)", "with", ""),
        ("delete from flights where", "where", "A condition is missing after it"),
    ],
)
def test_what_is_missing_is_named(text, place, missing):
    with pytest.raises(BadSql) as caught:
        change_statement(text) if text.startswith("delete") else run_sql(text, SOURCES)
    error = caught.value
    assert in_words(error) == (f"The statement cannot be read at '{place}'", missing)


def test_while_it_is_typed_a_statement_that_lacks_its_end_is_no_problem_and_a_wrong_word_is():
    assert syntax_problem("select carrier from flights where") is None
    assert syntax_problem("select case when delay then 1") is None
    problem = syntax_problem("select 1; selec carrier")
    assert problem is not None and problem.span == (10, 15)
    problem = syntax_problem("select a b c")
    assert problem is not None and problem.text == "The statement cannot be read at 'c'"


def test_parameter_without_a_name_says_how_to_name_it():
    assert in_words(failure("select * from flights where delay > ?")) == (
        "A parameter without a name has no value",
        "Write $name instead of ?: each name gets a field",
    )


def test_table_with_its_store_in_front():
    joined = "select count(*) as n from flights f, sample.flights where flights.delay < f.delay"
    assert run_sql(joined, SOURCES).to_pylist() == [{"n": 2}]
    assert run_sql("describe sample.flights", SOURCES)["column_name"].to_pylist() == ["delay"]
    assert "Write DESCRIBE SELECT" in str(failure("from (describe sample.flights)"))


@pytest.mark.slow(except_every=3)
@pytest.mark.parametrize(
    ("text", "dialect", "expected"),
    [
        ("select date_format(day, 'yyyy-MM') from flights", "Spark", "STRFTIME"),
        ("select to_char(day, 'YYYY-MM') from flights", "PostgreSQL", "STRFTIME"),
        ("select [carrier] from [flights]", "SQLite", '"carrier"'),
        ("select top 1 * from flights", "SQL Server", "LIMIT 1"),
        ("select iif(delay > 5, 1, 2) from flights", "SQLite", "CASE WHEN"),
        ("select nvl(delay, 0) from flights", "Oracle", "COALESCE"),
        ("select iif(nvl(delay, 0) > 5, 1, 2) from flights", "Snowflake", "COALESCE"),
        ("select list_filter([delay], x -> x > 5) from flights", "DuckDB 1", "LAMBDA x"),
        ("select * from flights limit 1, 2", "MySQL", "LIMIT 2 OFFSET 1"),
        ("select carrier from flights where carrier regexp 'A+'", "MySQL", "REGEXP_MATCHES"),
        ("select timestamp_trunc(day, month) from flights", "BigQuery", "DATE_TRUNC"),
        ("select date_diff(day, day, month) from flights", "BigQuery", "DATE_DIFF('MONTH'"),
        ("select listagg(carrier, ',') within group (order by delay) from flights", "Oracle", "ORDER BY"),
        ("select sysdate from dual", "Oracle", "CURRENT_TIMESTAMP"),
        ("select * from flights with (nolock)", "SQL Server", "flights"),
        ("select top 1 f.carrier from dbo.flights as f", "SQL Server", "FROM flights AS f"),
        ("select count(*) from public.flights", "PostgreSQL", "FROM flights"),
        ("select * from flights where rownum <= 2", "Oracle", "FROM flights LIMIT 2"),
        (
            "select * from (select * from flights order by delay) where carrier > 'A' and rownum < 2",
            "Oracle",
            "WHERE carrier > 'A' LIMIT 1",
        ),
        ("select toStartOfMonth(day), count() from flights group by 1", "ClickHouse", "DATE_TRUNC"),
    ],
)
def test_translated_from_another_dialect(text, dialect, expected):
    failure(text)
    translation = translate(text, SOURCES, Job())
    assert translation is not None and translation.dialect == dialect and expected in translation.text
    run_sql(translation.text, SOURCES)


@pytest.mark.parametrize(
    "text",
    [
        "select carrier from flights where rownum < 3 order by delay",
        "select carrier from flights where rownum > 3",
        "select count(*) from flights where rownum < 3",
        "select carrier from flights where rownum = 2",
    ],
)
def test_row_numbers_of_oracle_that_are_no_limit_are_not_translated(text):
    assert translate(text, SOURCES, Job()) is None


def test_clauses_of_clickhouse_keep_their_meaning():
    text = "select * from flights prewhere delay > 1 where delay < 99 order by delay limit 1 by carrier"
    translation = translate(text, SOURCES, Job())
    assert translation is not None and translation.dialect == "ClickHouse"
    many = pa.table({"carrier": ["AA", "AA", "UA", "UA"], "delay": [7.0, 5.0, 0.0, 70.0]})
    sources = Sources("here", ["flights"], lambda name, _when: SnapshotSource(snapshot_of_rows(many, name)))
    assert run_sql(translation.text, sources).to_pylist() == [
        {"carrier": "AA", "delay": 5.0},
        {"carrier": "UA", "delay": 70.0},
    ]


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        ("limit 2 offset 1 by carrier", [7.0, 9.0]),
        ("limit 1, 2 by carrier", [7.0, 9.0]),
        ("limit 1 by carrier limit 5", [0.0, 5.0]),
        ("limit 1 by carrier limit 1", [0.0]),
        ("limit 2 by carrier limit 2 offset 1", [5.0, 7.0]),
        ("limit 2 by carrier limit 1, 2", [5.0, 7.0]),
        ("limit 2 offset 1 by carrier limit 1", [7.0]),
        ("limit 1, 2 by carrier limit 5 offset 1", [9.0]),
        ("limit 1 by carrier offset 1", [5.0]),
        ("limit 3 offset 2", [7.0, 9.0, 11.0]),
    ],
)
def test_limits_of_clickhouse_keep_their_meaning(limit, expected):
    text = f"select delay from flights prewhere delay < 99 order by delay {limit}"
    translation = translate(text, SOURCES, Job())
    assert translation is not None and translation.dialect == "ClickHouse"
    delays = {"carrier": ["AA", "AA", "UA", "AA", "AA"], "delay": [7.0, 5.0, 0.0, 9.0, 11.0]}
    many = pa.table(delays)
    sources = Sources("here", ["flights"], lambda name, _when: SnapshotSource(snapshot_of_rows(many, name)))
    assert run_sql(translation.text, sources)["delay"].to_pylist() == expected


def test_a_limit_by_behind_qualify_is_not_translated_to_something_else():
    text = "select delay from flights qualify row_number() over (order by delay) > 1 limit 1 by carrier"
    assert translate(text, SOURCES, Job()) is None


def test_a_column_that_is_not_alike_is_no_suggestion():
    assert in_words(failure('select * from flights where carrier = "red"')) == (
        "There is no column 'red' here",
        "",
    )


def test_a_quote_inside_a_text_says_how_to_write_it():
    assert in_words(failure("select * from flights where carrier = 'it's'"))[1] == (
        "Write '' for a ' inside a text: 'it''s'"
    )


def test_a_missing_comma_between_texts_is_no_apostrophe():
    assert "'it''s'" not in in_words(failure("select * from flights where carrier in ('a' 'b')"))[1]


def test_a_text_with_two_apostrophes_says_how_to_write_them():
    text = "select * from flights where carrier = 'rock 'n' roll'"
    assert in_words(failure(text))[1] == "Write '' for a ' inside a text: 'it''s'"


def test_a_file_that_may_not_be_read_has_its_place():
    text = "select * from '/etc/passwd'"
    error = failure(text)
    assert error.span is not None and text[slice(*error.span)] == "/etc/passwd"


def test_translated_is_none_where_no_dialect_helps():
    assert translate("select nonsense from flights", SOURCES, Job()) is None
    assert translate("select date('now', '-1 day'), julianday(1), datetime('now')", SOURCES, Job()) is None


def test_translated_is_none_where_the_values_are_at_fault():
    failure("select cast(carrier as integer) from flights")
    assert translate("select cast(carrier as integer) from flights", SOURCES, Job()) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("pragma database_list", "DESCRIBE t the columns"),
        ("attach 'other.db'", "Open the file"),
        ("copy flights to 'x.csv'", "Export the result"),
        ("set threads = 1", "the program chooses the settings"),
    ],
)
def test_a_statement_that_is_not_a_query_says_what_to_do_instead(text, words):
    assert words in failure(text).fix


def test_advice_that_no_statement_may_follow_is_left_out():
    problem = failure("select list_filter([delay], x -> x > 5) from flights")
    assert "lambda x" in str(problem) and "SET " not in str(problem), problem


def test_kind_of_error_in_several_words_is_left_out():
    words = in_words(failure("select regexp_matches(carrier, '[') from flights"))[0]
    assert words == "A regular expression cannot be read: unclosed bracket ["


def test_a_name_that_begins_a_sentence_keeps_its_case():
    assert in_words(LamellaError("notes: column 'n' is int64")) == ("notes: column 'n' is int64", "")


def test_laid_out_keeps_every_statement_and_comment():
    layout = format_sql("select a, b -- why\nfrom t where x=1; select 2 /* end */;")
    assert layout.count(";") == 2 and "why" in layout and "end" in layout and "\nFROM t\n" in layout, layout
    assert format_sql(layout) == layout
    assert format_sql("go\nselect 1\nGO\nselect 2\ngo") == "SELECT\n  1;\n\nSELECT\n  2;"
    with pytest.raises(LamellaError, match="line 2 cannot be formatted"):
        format_sql("select 1;\nselect from where group")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("select 1;\nselect a, b from t where a|b = 1 and ab > 2", "a|b = 1"),
        ("select 1;\nselect a, b from t where ab = 1 and a|b > 2", "a|b > 2"),
        ("select 1;\nselect a, b from t |  where ab = 1 limit 3", "t|\nWHERE"),
        ("select 1; sel|ect a from t", "SEL|ECT\n  a"),
        ("select 1;\n-- why|\nselect a from t; select 2", "/* why */\n|SELECT"),
        ("select 1; select a from t where a|= 1; select 2", "a |= 1"),
        ("  |select a from t", "|SELECT\n  a"),
        ("select 1; select a from t where a !|= 1; select 2", "|SELECT\n  a"),
        ("|", "|"),
    ],
)
def test_the_cursor_of_a_formatted_text_stays_at_its_word(before: str, after: str):
    place, text = before.index("|"), before.replace("|", "")
    formatted = format_sql(text)
    new = place_in_format(text, place, formatted)
    assert after in f"{formatted[:new]}|{formatted[new:]}"


def test_explain_sql_measures_operators():
    text = "select carrier, count(*) from flights where delay > 10 group by 1"
    plan = explain_sql(text, SOURCES, SqlRequest(), Job(), measured=True)
    assert plan.seconds is not None and plan.rows_read.rows >= 0
    assert plan.root.rows == 1 and any("Scan" in node.name for node in plan.root.walk())
    estimate = explain_sql(text, SOURCES, SqlRequest(), Job(), measured=False)
    assert estimate.seconds is None and all(node.rows is None for node in estimate.root.walk())


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("explain select 1", False),
        ("-- why\nexplain (select 1)", False),
        ("explain query plan select 1", False),
        ("EXPLAIN (FORMAT JSON) select 1", False),
        ("explain analyze select 1", True),
        ("explain (analyze, buffers) select 1", True),
    ],
)
def test_the_plan_of_a_statement_with_explain_is_that_of_its_select(text: str, runs: bool):
    assert (explain_sql(text, SOURCES, SqlRequest(), Job()).seconds is not None) == runs
    for measured in (False, True):
        plan = explain_sql(text, SOURCES, SqlRequest(), Job(), measured=measured)
        assert (plan.seconds is not None) == measured


@pytest.mark.parametrize("explain", ["", "explain ", "explain (analyze, buffers) "])
@pytest.mark.parametrize("wrong", ["carier", "flihgts", "carrier carrier carrier"])
@pytest.mark.parametrize("measured", [False, True])
def test_an_error_in_a_plan_is_marked_where_it_is_in_the_text(explain: str, wrong: str, measured: bool):
    select = {"flihgts": "select 1 from flihgts"}.get(wrong, f"select {wrong} from flights")
    text = explain + select
    with pytest.raises(LamellaError) as caught:
        explain_sql(text, SOURCES, SqlRequest(), Job(), measured=measured)
    assert caught.value.span is not None
    assert text[slice(*caught.value.span)] in wrong and caught.value.span[0] >= text.index(wrong)
