from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from backend.backups.retention import Kept, Policy, expired

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def backup(number: int, *, days: float, complete: bool = True, policy: Policy | None = None, **more: object) -> Kept:
    return Kept(
        id=f"bkp_{number:03}",
        made_at=NOW - timedelta(days=days),
        complete=complete,
        policy=policy,
        group="nightly" if policy else "",
        **more,  # type: ignore[arg-type]
    )


def policy(*, days: int | None = None, count: int | None = None, after: int = 30) -> Policy:
    return Policy(keep_days=days, keep_count=count, keep_after_deletion_days=after)


def over(*backups: Kept, deleted: float | None = None) -> list[str]:
    at = None if deleted is None else NOW - timedelta(days=deleted)
    return expired(backups, now=NOW, cluster_deleted_at=at)


def test_older_ones_go_but_not_the_last_complete_one():
    seven = policy(days=7)
    old, older = backup(1, days=10, policy=seven), backup(0, days=20, policy=seven)
    assert over(old, older) == [older.id]
    assert over(old, older, backup(2, days=1, policy=seven)) == [older.id, old.id]


def test_only_complete_ones_are_counted():
    two = policy(count=2)
    rows = [backup(n, days=10 - n, complete=n not in (6, 7), policy=two) for n in range(8)]
    assert over(*rows) == [rows[n].id for n in (0, 1, 2, 3)]


def test_what_is_not_complete_goes_when_a_complete_one_came_after_it():
    five = policy(count=5)
    broken = backup(1, days=3, complete=False, policy=five)
    assert over(broken) == []
    assert over(broken, backup(2, days=1, policy=five)) == [broken.id]


def test_those_made_by_hand_stay_until_they_expire():
    kept, gone = backup(1, days=900), backup(2, days=2, expires_at=NOW - timedelta(hours=1))
    assert over(kept, gone, backup(3, days=1)) == [gone.id]


def test_a_lock_holds():
    locked = backup(1, days=90, policy=policy(days=1), locked_until=NOW + timedelta(days=1))
    assert over(locked, backup(2, days=0, policy=policy(days=1))) == []


def test_they_outlive_their_cluster_as_long_as_was_said_and_then_go_all():
    rows = [backup(n, days=40 - n, policy=policy(days=1, after=30)) for n in range(3)]
    assert over(*rows, deleted=29) == []
    assert over(*rows, deleted=30) == [row.id for row in rows]


def _policies() -> st.SearchStrategy[Policy | None]:
    return st.none() | st.builds(
        Policy,
        keep_days=st.none() | st.integers(1, 30),
        keep_count=st.integers(1, 5),
        keep_after_deletion_days=st.integers(0, 30),
    )


@given(
    st.lists(st.tuples(st.floats(0, 100), st.booleans(), _policies(), st.none() | st.floats(-50, 50)), max_size=12),
)
def test_the_last_complete_backup_of_a_living_cluster_is_never_over(
    rows: list[tuple[float, bool, Policy | None, float | None]],
):
    backups = [
        backup(
            number,
            days=days,
            complete=complete,
            policy=kept,
            expires_at=None if expires is None else NOW + timedelta(days=expires),
        )
        for number, (days, complete, kept, expires) in enumerate(rows)
    ]
    found = over(*backups)
    complete = [one for one in backups if one.complete]
    if complete:
        assert max(complete, key=lambda one: (one.made_at, one.id)).id not in found
    # It settles: what stays after a purge stays at once after another.
    assert over(*(one for one in backups if one.id not in found)) == []
