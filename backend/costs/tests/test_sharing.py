from hypothesis import given
from hypothesis import strategies as st

from backend.costs.sharing import PARTS, SHARED, Capacity, Parts, TableUse, parts_of, per_million, share_out, taken_back

GB = 10**9


def test_the_example_of_the_documentation():
    """Worked by hand in docs/costs.md."""
    whole = parts_of(machines=1_000_000, backups=90_001, traffic=50_000, overhead=114_000)
    tables = [
        TableUse(
            name="shop.orders",
            service_micros=1_500_000_000,
            work_micros=300_000_000,
            live_bytes=40 * GB,
            total_bytes=60 * GB,
            backup_bytes=60 * GB,
            network_bytes=3 * GB,
        ),
        TableUse(
            name="shop.items",
            service_micros=900_000_000,
            live_bytes=20 * GB,
            total_bytes=30 * GB,
            backup_bytes=30 * GB,
            network_bytes=1 * GB,
        ),
    ]
    found = share_out(whole, tables, Capacity(service_micros=3_600_000_000, bytes=100 * GB))
    orders, items, shared = found.values()
    # Compute: 70 % of 1.000000 by 1,800 : 900 : 900 seconds.
    assert (orders.compute, items.compute, shared.compute) == (350_000, 175_000, 175_000)
    # Storage: 30 % by 100 : 50 : 50 GB (live and total of each; of the disks twice 100 GB less those).
    assert (orders.storage, items.storage, shared.storage) == (150_000, 75_000, 75_000)
    # Backups: 0.090001 by 60 : 30 is 60,000.67 and 30,000.33; the larger remainder is rounded up.
    assert (orders.backups, items.backups, shared.backups) == (60_001, 30_000, 0)
    assert (orders.traffic, items.traffic, shared.traffic) == (37_500, 12_500, 0)
    # 114,000 by 597,501 : 292,500 : 250,000 of 1,140,001: 59,750.05, 29,249.97, 24,999.98.
    assert (orders.overhead, items.overhead, shared.overhead) == (59_750, 29_250, 25_000)
    assert orders.total + items.total + shared.total == whole.total == 1_254_001
    # (350,000 + 37,500) ÷ 3; (175,000 + 12,500) ÷ 0.5
    assert per_million(orders.compute + orders.traffic, 3_000_000) == 129_167
    assert per_million(items.compute + items.traffic, 500_000) == 375_000
    assert per_million(shared.compute + shared.traffic, 0) is None


def test_what_nobody_can_be_blamed_for_is_shared_not_hidden():
    assert share_out(Parts(compute=7, backups=3, overhead=2), []) == {SHARED: Parts(compute=7, backups=3, overhead=2)}
    found = share_out(Parts(compute=700, storage=300, traffic=9), [TableUse(name="a.b")])
    assert (found["a.b"].total, found[SHARED].total) == (0, 1_009)


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
    ),
    max_size=30,
    unique_by=lambda table: table.name,
)
_PARTS = st.builds(Parts, compute=_AMOUNT, storage=_AMOUNT, backups=_AMOUNT, traffic=_AMOUNT, overhead=_AMOUNT)


@given(_PARTS, _TABLES, st.builds(Capacity, service_micros=_USE, bytes=_USE))
def test_the_parts_are_the_whole_to_the_micro_dollar(whole, tables, capacity):
    found = share_out(whole, tables, capacity)
    assert list(found) == [*(table.name for table in tables), SHARED]
    assert sum(found.values(), Parts()) == whole
    assert all(getattr(parts, name) >= 0 for parts in found.values() for name in PARTS)


@given(st.dictionaries(st.integers(), _PARTS, min_size=1, max_size=10), st.fractions(0, 1))
def test_what_is_taken_back_is_taken_from_those_who_bore_it(before, share):
    whole = sum(before.values(), Parts())
    less = Parts(**{name: int(getattr(whole, name) * share) for name in PARTS})
    given_back = taken_back(before, less)
    assert sum(given_back.values(), Parts()) == less
    left = [before[key] - given_back[key] for key in before]
    assert all(getattr(parts, name) >= 0 for parts in left for name in PARTS)


@given(_AMOUNT, _AMOUNT)
def test_more_for_machines_is_never_less_for_a_part_of_them(some, more):
    before, after = parts_of(machines=some), parts_of(machines=some + more)
    assert after.total == some + more
    assert min(after.compute - before.compute, after.storage - before.storage) >= 0
