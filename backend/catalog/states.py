"""The words of the catalogue."""

from enum import StrEnum


class SettingType(StrEnum):
    """What values an engine setting takes."""

    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    CHOICE = "choice"


class NumaSource(StrEnum):
    """How sure the number of NUMA nodes of a machine type is."""

    OBSERVED = "observed"
    EXPECTED = "expected"


class IoSource(StrEnum):
    """Where the figures of a machine type's local disks come from."""

    PRESET = "preset"
    GCP_LADDER = "gcp_ladder"


CLOUDS = frozenset({"aws", "gcp"})
"""Providers that are offered only where the installation has an account with them."""
