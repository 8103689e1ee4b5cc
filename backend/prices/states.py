"""The words of the price book. One currency: US dollars, counted in whole millionths (micro-dollars)."""

from enum import StrEnum

CURRENCY = "USD"
HOURS_PER_MONTH = 730
"""Of every month, as both clouds count: a twelfth of a year of 8,760 hours."""
HOURS_PER_YEAR = 8760
GIB = 2**30
"""Bytes. What AWS calls a GB in its price lists is this too."""

IMPLAUSIBLE = 10
"""A published price that is this many times another one, or a part of it, is taken for a mistake in reading it."""

BLOCK_CLASSES = {"aws": "gp3", "gcp": "pd-balanced", "local": "folder"}
"""The class of disk that is meant where none is named. Boot disks are of it."""

BOOT_DISK_BYTES = {"aws": 30 * GIB, "gcp": 30 * GIB}
"""Of the disk that is ordered with every machine and paid beside it. Elsewhere there is none."""

REFERENCE_REGIONS = {"aws": "us-east-1", "gcp": "us-central1"}
"""Whose prices are shown, marked as such, where nobody named those of a region."""


class Item(StrEnum):
    """What has a price."""

    MACHINE = "machine"
    BLOCK_STORAGE = "block_storage"
    OBJECT_STORAGE = "object_storage"
    OBJECT_WRITES = "object_writes"
    OBJECT_READS = "object_reads"
    TRAFFIC_IN_ZONE = "traffic_in_zone"
    TRAFFIC_ACROSS_ZONES = "traffic_across_zones"
    TRAFFIC_OUT = "traffic_out"
    NODE_FEE = "node_fee"
    CLUSTER_FEE = "cluster_fee"
    MARKUP = "markup"


class Term(StrEnum):
    """How a machine is bought. Everything else has no term: on demand."""

    ON_DEMAND = "on_demand"
    RESERVED_1Y = "reserved_1y"
    RESERVED_3Y = "reserved_3y"
    SPOT = "spot"


class Origin(StrEnum):
    """Whose word a price is. The first goes before the second, the second before the third.

    operator: this installation's people. published: the provider's price list, as it was read here. list: what came
    with the product.
    """

    OPERATOR = "operator"
    PUBLISHED = "published"
    LIST = "list"


UNITS = {
    Item.MACHINE: "machine and hour",
    Item.BLOCK_STORAGE: "GiB and month",
    Item.OBJECT_STORAGE: "GiB and month",
    Item.OBJECT_WRITES: "million requests",
    Item.OBJECT_READS: "million requests",
    Item.TRAFFIC_IN_ZONE: "GiB",
    Item.TRAFFIC_ACROSS_ZONES: "GiB",
    Item.TRAFFIC_OUT: "GiB",
    Item.NODE_FEE: "node and hour",
    Item.CLUSTER_FEE: "cluster and month",
    Item.MARKUP: "millionths of all that the provider is paid",
}

NAMED = frozenset(
    {Item.MACHINE, Item.BLOCK_STORAGE, Item.OBJECT_STORAGE, Item.OBJECT_WRITES, Item.OBJECT_READS},
)
"""Items of which there are several: machine types, classes of storage."""


def reason_against_taking_back(origin: Origin, *, may: bool, ended: bool) -> str | None:
    """`ended`: another price of the operator's, or none, has taken its place already."""
    if not may:
        return "Only people who run this installation may change prices."
    if origin is not Origin.OPERATOR:
        return "It is the provider's price. Upload a price of yours: it goes before."
    return "It is over: what came after it stands." if ended else None
