"""The regions, machine types and quotas of the emulated cloud. Figures of the types: Compute Engine documentation."""

from dataclasses import dataclass

REGIONS = {
    "us-central1": ("us-central1-a", "us-central1-b", "us-central1-c"),
    "europe-west1": ("europe-west1-b", "europe-west1-c", "europe-west1-d"),
}
ZONES = {zone: region for region, zones in REGIONS.items() for zone in zones}

QUOTAS = {
    "CPUS": 2400.0,
    "N2_CPUS": 2400.0,
    "LOCAL_SSD_TOTAL_GB": 200_000.0,
    "IN_USE_ADDRESSES": 200.0,
    "INSTANCES": 1000.0,
}
"""Limits of a region, unless a test sets others."""


@dataclass(frozen=True, kw_only=True)
class TypeFacts:
    cpus: int
    memory_mb: int
    local_ssd_counts: tuple[int, ...]
    bundled_local_ssds: int = 0


_N2 = {
    2: (1, 2, 4, 8, 16, 24),
    4: (1, 2, 4, 8, 16, 24),
    8: (1, 2, 4, 8, 16, 24),
    16: (2, 4, 8, 16, 24),
    32: (4, 8, 16, 24),
    48: (8, 16, 24),
    64: (8, 16, 24),
    80: (8, 16, 24),
}
MACHINE_TYPES = {
    f"n2-highmem-{cpus}": TypeFacts(cpus=cpus, memory_mb=cpus * 8192, local_ssd_counts=counts)
    for cpus, counts in _N2.items()
} | {
    "z3-highmem-8-highlssd": TypeFacts(cpus=8, memory_mb=65536, local_ssd_counts=(), bundled_local_ssds=1),
    "z3-highmem-88-highlssd": TypeFacts(cpus=88, memory_mb=720896, local_ssd_counts=(), bundled_local_ssds=12),
}
