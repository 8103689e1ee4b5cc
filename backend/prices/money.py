"""Amounts of money: whole micro-dollars. What is between (rates, shares) is exact, a Fraction, and never a float."""

from collections.abc import Mapping
from fractions import Fraction
from typing import TypeVar

MICROS = 1_000_000
_Key = TypeVar("_Key")


def rounded(amount: Fraction) -> int:
    """Micro-dollars, halves away from zero."""
    size = (2 * abs(amount.numerator) + amount.denominator) // (2 * amount.denominator)
    return size if amount >= 0 else -size


def shares(total: int, weights: Mapping[_Key, int]) -> dict[_Key, int]:
    """`total` micro-dollars in parts that go by weights and sum to it exactly, by the largest remainder.

    Each part is its exact share rounded down or up; of equal remainders the first in order is rounded up.
    Raises ValueError for a weight below zero, or when there is something to share and no weight above zero.
    """
    if any(weight < 0 for weight in weights.values()):
        raise ValueError("a weight is not below zero")
    whole = sum(weights.values())
    if whole == 0:
        if total != 0:
            raise ValueError("nothing says whose share it is")
        return dict.fromkeys(weights, 0)
    sign = 1 if total >= 0 else -1
    parts = {key: divmod(abs(total) * weight, whole) for key, weight in weights.items()}
    left = abs(total) - sum(part for part, _ in parts.values())
    # sorted() is stable: equal remainders stay in the order of the weights.
    first = set(sorted(parts, key=lambda key: -parts[key][1])[:left])
    return {key: sign * (part + (key in first)) for key, (part, _) in parts.items()}


def dollars(micros: int) -> str:
    """4.992000; -0.000001."""
    size = f"{abs(micros) // MICROS:,}.{abs(micros) % MICROS:06d}"
    return f"-{size}" if micros < 0 else size


def spoken(micros: int) -> str:
    """For sentences: to the cent, 1,234.57; what is less than a cent as it is, 0.000500."""
    size = abs(micros)
    if size < MICROS // 100:
        return dollars(micros) if micros else "0.00"
    cents = (size + MICROS // 200) // (MICROS // 100)
    return f"{'-' if micros < 0 else ''}{cents // 100:,}.{cents % 100:02d}"
