"""The words of the catalogue."""

from enum import StrEnum


class SettingType(StrEnum):
    """What values an engine setting takes."""

    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    CHOICE = "choice"
