"""What a node must have, from what keyspaces say of themselves."""

from provisioner.operations.data_check import placed_by_tokens


def test_what_tablets_bring_later_is_not_missed() -> None:
    keyspaces = [
        {"name": "old_shop", "replication": {"dc1": 3}},
        {"name": "ringmaster", "replication": {"dc1": 3}, "tablets": False},
        {"name": "shop", "replication": {"dc1": 3}, "tablets": True},
        {"name": "system", "replication": {}},
    ]
    assert placed_by_tokens(keyspaces) == {"old_shop": {"dc1": 3}, "ringmaster": {"dc1": 3}}
