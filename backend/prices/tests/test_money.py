from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backend.prices.money import dollars, rounded, shares, spoken


def test_halves_are_rounded_away_from_zero():
    assert [rounded(Fraction(n, 4)) for n in (1, 2, 3, 4, -1, -2, -3)] == [0, 1, 1, 1, 0, -1, -1]


def test_the_largest_remainder_is_rounded_up_first():
    # 100 by 1:1:1 is 33 1/3 each: one micro is left and goes to the first of equals.
    assert shares(100, {"a": 1, "b": 1, "c": 1}) == {"a": 34, "b": 33, "c": 33}
    # 10 by 5:3:1 is 5.56, 3.33, 1.11: what is left goes to the one that lost most.
    assert shares(10, {"a": 5, "b": 3, "c": 1}) == {"a": 6, "b": 3, "c": 1}
    assert shares(-10, {"a": 5, "b": 3, "c": 1}) == {"a": -6, "b": -3, "c": -1}


@given(
    st.integers(-(10**15), 10**15),
    st.dictionaries(st.text(max_size=3), st.integers(0, 10**12), min_size=1, max_size=40),
)
def test_parts_always_sum_to_the_whole(total, weights):
    if not any(weights.values()):
        assert shares(0, weights) == dict.fromkeys(weights, 0)
        return
    parts = shares(total, weights)
    assert sum(parts.values()) == total
    whole = sum(weights.values())
    for key, part in parts.items():
        assert abs(Fraction(part) - Fraction(total * weights[key], whole)) < 1
        assert part == 0 if weights[key] == 0 else part * total >= 0


def test_nobody_gets_what_nobody_weighs():
    with pytest.raises(ValueError, match="whose share"):
        shares(1, {"a": 0})
    with pytest.raises(ValueError, match="below zero"):
        shares(1, {"a": 2, "b": -1})


def test_dollars_show_every_micro():
    assert dollars(4_992_000) == "4.992000"
    assert dollars(-1) == "-0.000001"
    assert dollars(1_234_567_890_123) == "1,234,567.890123"


def test_sentences_tell_cents_and_what_is_less_than_one_as_it_is() -> None:
    told = {
        0: "0.00",
        500: "0.000500",
        9_999: "0.009999",
        10_000: "0.01",
        14_999: "0.01",
        15_000: "0.02",
        999_996_000: "1,000.00",
    }
    assert {micros: spoken(micros) for micros in told} == told
    assert spoken(-1_234_567_890) == "-1,234.57"
