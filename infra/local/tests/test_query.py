from infra.local.query import table


def test_rows_are_aligned_under_their_names() -> None:
    assert table(["rack", "n"], [["local-1a", 1], ["b", 22]]).splitlines() == [
        "rack      n",
        "--------  --",
        "local-1a  1",
        "b         22",
        "(2 rows)",
    ]


def test_a_statement_without_rows_says_that_it_is_done() -> None:
    assert table([], []) == "done"
