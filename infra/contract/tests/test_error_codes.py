"""Error codes are found wherever they are written, and what cannot be read stops the search."""

import ast

import pytest

from infra.contract.error_codes import LISTED, Case, UnknownCodeError, errors_of, found, page, places

_SOURCE = """
KNOWN = "too_slow"
class Busy(Conflict):
    def __init__(self, why):
        super().__init__("busy", f"It is {why}.", hint="Wait.")
class Away(DomainError):
    status = 503
def act(problem):
    raise Conflict("in_use", f"{problem} is in use | now.", hint="")
    raise Away(KNOWN, "It took too long.")
    raise DomainError("teapot", "Short and stout.", status=418)
    raise Busy("asleep")
"""


def read(source: str) -> list[tuple[str, int, str, str]]:
    tree = ast.parse("class DomainError(Exception): ...\nclass Conflict(DomainError):\n    status = 409\n" + source)
    errors = errors_of({"shop/actions.py": tree})
    found = places("shop/actions.py", tree, errors)
    return sorted((each.code, each.status, each.says, each.hint) for each in found)


def test_codes_are_found_with_their_status_sentence_and_hint() -> None:
    assert read(_SOURCE) == [
        ("busy", 409, "It is ….", "Wait."),
        ("in_use", 409, "… is in use | now.", ""),
        ("teapot", 418, "Short and stout.", ""),
        ("too_slow", 503, "It took too long.", ""),
    ]


def test_a_code_that_is_no_plain_word_is_an_error_that_says_where() -> None:
    with pytest.raises(UnknownCodeError, match=r"backend/shop/actions.py:4: .*CARRIERS"):
        read("raise Conflict(problem.code, problem.message)")


def test_the_list_is_of_today_and_every_code_is_on_the_page() -> None:
    codes = found()
    assert {"role_protected", "unknown_zone", "too_many_replays", "rate_limited"} <= set(codes)
    assert all(f"`{code}`" in page(codes) for code in codes)
    assert "| `in_use` | … is in use \\| now. |  |" in page({"in_use": [Case(409, "… is in use | now.", "")]})
    assert LISTED.exists()


def test_every_case_of_a_code_is_told_and_none_that_says_nothing_more() -> None:
    taken = [one for one in found()["name_taken"] if one.status == 409]
    assert len(taken) > 1
    assert all(one.says for one in taken)
    for code, cases in found().items():
        assert cases, code
        silent = [one for one in cases if not one.says]
        assert not any(one.says for one in cases for other in silent if one.status == other.status), code
