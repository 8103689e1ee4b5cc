"""The words of alerts."""

from enum import StrEnum


class Comparison(StrEnum):
    ABOVE = "above"
    BELOW = "below"


class Unit(StrEnum):
    """Of a rule's value. none: it says only yes or no."""

    SECONDS = "seconds"
    RATIO = "ratio"
    BYTES = "bytes"
    PER_SECOND = "per second"
    COUNT = "count"
    NONE = "none"
