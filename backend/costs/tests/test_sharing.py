from hypothesis import given
from hypothesis import strategies as st

from backend.costs.sharing import SHARED, Capacity, Pools, TableUse, share_out

GB = 10**9


def test_the_example_of_the_documentation():
    """Worked by hand in docs/costs.md."""
    pools = Pools(machines=1_000_000, backups=90_001, traffic=50_000, overhead=114_000)
    tables = [
        TableUse(
            name="shop.orders",
            service_micros=1_500_000_000,
            work_micros=300_000_000,
            live_bytes=40 * GB,
            total_bytes=60 * GB,
            backup_bytes=60 * GB,
            network_bytes=3 * GB,
            reads=2_000_000,
            writes=1_000_000,
        ),
        TableUse(
            name="shop.items",
            service_micros=900_000_000,
            live_bytes=20 * GB,
            total_bytes=30 * GB,
            backup_bytes=30 * GB,
            network_bytes=1 * GB,
            reads=500_000,
        ),
    ]
    orders, items, shared = share_out(pools, tables, Capacity(service_micros=3_600_000_000, bytes=100 * GB))
    # Compute: 70 % of 1.000000 by 1,800 : 900 : 900 seconds.
    assert (orders.compute, items.compute, shared.compute) == (350_000, 175_000, 175_000)
    # Storage: 30 % by 100 : 50 : 50 GB (live and total of each; of the disks twice 100 GB less those).
    assert (orders.storage, items.storage, shared.storage) == (150_000, 75_000, 75_000)
    # Backups: 0.090001 by 60 : 30 is 60,000.67 and 30,000.33; the larger remainder is rounded up.
    assert (orders.backups, items.backups, shared.backups) == (60_001, 30_000, 0)
    assert (orders.traffic, items.traffic, shared.traffic) == (37_500, 12_500, 0)
    # 114,000 by 597,501 : 292,500 : 250,000 of 1,140,001: 59,750.05, 29,249.97, 24,999.98.
    assert (orders.overhead, items.overhead, shared.overhead) == (59_750, 29_250, 25_000)
    assert orders.total + items.total + shared.total == pools.total == 1_254_001
    # (350,000 + 37,500) ÷ 3; (175,000 + 12,500) ÷ 0.5
    assert (orders.per_million_requests, items.per_million_requests) == (129_167, 375_000)
    assert shared.per_million_requests is None


def test_what_nobody_can_be_blamed_for_is_shared_not_hidden():
    (shared,) = share_out(Pools(machines=7, backups=3, overhead=2), [])
    assert (shared.name, shared.total) == (SHARED, 12)
    idle, shared = share_out(Pools(machines=1_000, traffic=9), [TableUse(name="a.b")])
    assert (idle.total, shared.total) == (0, 1_009)


_AMOUNT = st.integers(0, 10**13)
_USE = st.integers(0, 10**16)
_TABLES = st.lists(
    st.builds(
        TableUse,
        name=st.text(min_size=1, max_size=5),
        service_micros=_USE,
        work_micros=_USE,
        live_bytes=_USE,
        total_bytes=_USE,
        backup_bytes=_USE,
        network_bytes=_USE,
        reads=_USE,
        writes=_USE,
    ),
    max_size=30,
    unique_by=lambda table: table.name,
)
_POOLS = st.builds(Pools, machines=_AMOUNT, storage=_AMOUNT, backups=_AMOUNT, traffic=_AMOUNT, overhead=_AMOUNT)


@given(_POOLS, _TABLES, st.builds(Capacity, service_micros=_USE, bytes=_USE))
def test_the_parts_are_the_whole_to_the_micro_dollar(pools, tables, capacity):
    costs = share_out(pools, tables, capacity)
    assert [each.name for each in costs] == [*(table.name for table in tables), SHARED]
    assert sum(each.total for each in costs) == pools.total
    assert sum(each.backups for each in costs) == pools.backups
    assert sum(each.traffic for each in costs) == pools.traffic
    assert sum(each.overhead for each in costs) == pools.overhead
    assert sum(each.compute + each.storage for each in costs) == pools.machines + pools.storage
    assert all(min(each.compute, each.storage, each.backups, each.traffic, each.overhead) >= 0 for each in costs)
