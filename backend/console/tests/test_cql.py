"""What is taken for one reading statement: whatever is written around it, in it, and in which case."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.console.cql import READING, Kind, NotOneStatement, statement_of, tokens_of

WRITING = [
    *("INSERT", "UPDATE", "DELETE", "TRUNCATE", "CREATE", "ALTER", "DROP", "GRANT", "REVOKE"),
    *("BEGIN", "PRUNE", "ADD", "FROBNICATE"),
]
CODES = {
    "statement_unfinished",
    "statement_unreadable",
    "statement_missing",
    "several_statements",
    "use_statement",
    "cqlsh_command",
}
comments = st.sampled_from(["-- DELETE\n", "// SELECT 'it\r", "/* ; DROP TABLE x; ' */", " ", "\n", "\t", "/**/"])
around = st.lists(comments, max_size=4).map("".join)
texts = st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=12)
literals = st.one_of(
    texts.map(lambda text: "'" + text.replace("'", "''") + "'"),
    texts.filter(lambda text: "$" not in text).map(lambda text: f"$${text}$$"),
    texts.map(lambda text: '"' + text.replace('"', '""') + '"'),
)


def _in_some_case(word: str) -> st.SearchStrategy[str]:
    return st.lists(st.booleans(), min_size=len(word), max_size=len(word)).map(
        lambda ups: "".join(c.upper() if up else c.lower() for c, up in zip(word, ups, strict=True))
    )


def _words(words: list[str]) -> st.SearchStrategy[str]:
    return st.sampled_from(words).flatmap(_in_some_case)


@given(
    before=around,
    verb=_words(sorted(READING)),
    inside=st.lists(st.one_of(literals, comments), max_size=5),
    after=around,
)
def test_a_reading_statement_is_one_whatever_is_in_it(before: str, verb: str, inside: list[str], after: str):
    statement = statement_of(f"{before}{verb} {' '.join(inside)} {after};{after}")
    assert statement.reads
    assert statement.verb == verb.upper()


@given(before=around, verb=_words(WRITING), inside=st.lists(st.one_of(literals, comments), max_size=5))
def test_a_writing_statement_never_reads(before: str, verb: str, inside: list[str]):
    assert not statement_of(f"{before}{verb} {' '.join(inside)} SELECT").reads


@given(first=around, literal=literals, between=around, verb=_words(WRITING))
def test_a_second_statement_is_refused(first: str, literal: str, between: str, verb: str):
    with pytest.raises(NotOneStatement) as refused:
        statement_of(f"{first}SELECT {literal};{between}{verb} {literal}")
    assert refused.value.code == "several_statements"


@given(text=st.text(max_size=60))
def test_no_text_crashes_it_and_none_is_lost(text: str):
    try:
        found = tokens_of(text)
        assert "".join(token.text for token in found) == text
        statement = statement_of(text)
    except NotOneStatement as refused:
        code = refused.code
    else:
        code = ""
    if code:
        assert code in CODES
        return
    # What the engine sees begins with the very word that was judged, before which there is nothing but space.
    begin = re.match(r"[ \t\r\n]*([A-Za-z][A-Za-z0-9_]*)", statement.bare)
    assert begin is not None
    assert begin[1].upper() == {"BATCH": "BEGIN"}.get(statement.verb, statement.verb)
    assert not any(token.kind is Kind.COMMENT for token in tokens_of(statement.bare))


@given(before=around, literal=literals)
def test_what_stays_stays_where_it_was(before: str, literal: str):
    text = f"{before}SELECT {literal} /* a\nb */ x"
    bare = statement_of(text).bare
    assert len(bare) == len(text)
    assert bare.endswith("x")
    assert bare.count("\n") == text.count("\n")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "statement_missing"),
        (" -- only a comment", "statement_missing"),
        (";;", "statement_missing"),
        ("SELECT 'open", "statement_unfinished"),
        ('SELECT "open', "statement_unfinished"),
        ("SELECT $$open", "statement_unfinished"),
        ("/* open SELECT 1", "statement_unfinished"),
        ("(SELECT 1)", "statement_unreadable"),
        ("SELECT \0", "statement_unreadable"),
        ("\u00a0SELECT 1", "statement_unreadable"),
        ("\x0cDELETE FROM t", "statement_unreadable"),
        ("USE shop", "use_statement"),
        ("consistency ALL", "cqlsh_command"),
        ("SELECT 1; SELECT 2", "several_statements"),
        ("BEGIN BATCH INSERT INTO t (a) VALUES (1); APPLY BATCH; DROP TABLE t", "several_statements"),
    ],
)
def test_what_is_not_one_statement_is_refused(text: str, code: str):
    with pytest.raises(NotOneStatement) as refused:
        statement_of(text)
    assert refused.value.code == code
    assert refused.value.hint


@pytest.mark.parametrize(
    ("text", "verb"),
    [
        ("BEGIN UNLOGGED BATCH\n INSERT INTO t (a) VALUES ('x;');\n DELETE FROM t WHERE a = 1;\nAPPLY BATCH;", "BATCH"),
        (
            "CREATE FUNCTION f (a int) CALLED ON NULL INPUT RETURNS int LANGUAGE java AS $$ return a; /* ' */ $$",
            "CREATE",
        ),
        ("--\rDELETE FROM t /* \nSELECT */", "DELETE"),
        ("/* SELECT */ TRUNCATE t", "TRUNCATE"),
    ],
)
def test_a_statement_may_hold_semicolons(text: str, verb: str):
    statement = statement_of(text)
    assert statement.verb == verb
    assert not statement.reads


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "CREATE ROLE ann WITH PASSWORD = 'sesame' AND LOGIN = true",
            "CREATE ROLE ann WITH PASSWORD = '***' AND LOGIN = true",
        ),
        ("alter role ann with hashed password='$2a$10$x'", "alter role ann with hashed password='***'"),
        ("ALTER USER ann WITH PASSWORD $$sesame$$", "ALTER USER ann WITH PASSWORD '***'"),
        ("CREATE ROLE ann WITH OPTIONS = {'secret': 'sesame'}", "CREATE ROLE ann WITH OPTIONS = {'***': '***'}"),
        ("INSERT INTO p (\"userPassword\") VALUES ('sesame')", "INSERT INTO p (\"userPassword\") VALUES ('***')"),
        ("SELECT * FROM t WHERE name = 'it''s'", "SELECT * FROM t WHERE name = 'it''s'"),
    ],
)
def test_passwords_are_hidden(text: str, shown: str):
    assert statement_of(text).without_passwords() == shown


@given(
    text=texts,
    number=st.one_of(
        st.integers(0), st.floats(0, 1e30), st.uuids(), st.binary(min_size=1).map(lambda b: "0x" + b.hex())
    ),
)
def test_no_literal_reaches_the_audit_log(text: str, number: object):
    quoted = text.replace("'", "''")
    shown = statement_of(
        f"UPDATE t SET a = '{quoted}', b = {number} -- {quoted!r}\n WHERE k = $$x$$"
    ).without_literals()
    assert shown == "UPDATE t SET a = ?, b = ? WHERE k = ?"
