import base64
import hashlib
from pathlib import Path
from typing import Any

import pytest

from provisioner.agent.base import AgentRefused, Job
from provisioner.agent.bundle_format import (
    BundleKeys,
    DamagedObjectError,
    WrongKeyError,
    bundle_key,
    object_name,
    opened,
    sealed,
)
from provisioner.agent.conformance import client, run, start_all
from provisioner.agent.fake import FakeAgents

KEY = base64.b64encode(bytes(range(32))).decode()
ROWS = {-(2**63): "lowest", 5: "five", 2**63 - 1: "highest"}


@pytest.fixture
def agents(tmp_path: Path) -> FakeAgents:
    agents = FakeAgents(tmp_path / "agents.sqlite")
    start_all(agents)
    agents.create_table("demo", "shop", "orders", replication={"dc": 3})
    with agents.backups_of("nod_1") as held:
        held.write("shop", "orders", ROWS)
        held.write("shop", "orders", {5: "new five"})
    return agents


@pytest.fixture
def store(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "store").mkdir()
    return {"kind": "folder", "folder": str(tmp_path / "store"), "prefix": "org"}


def back_up(agents: FakeAgents, store: dict[str, Any]) -> list[dict[str, Any]]:
    taken = run(agents, "snapshot", {"tag": "b1", "ttl_seconds": 3600})
    assert (taken.state, taken.result["tables"], taken.result["files"]) == ("succeeded", 1, 4)
    indexed = run(agents, "index-snapshot", {"tag": "b1", "encryption": {"key": KEY}})
    assert indexed.result["bundles"] == 2
    keys = [bundle.key for bundle in client(agents).bundles("b1").items]
    uploaded = run(agents, "upload-bundles", {"tag": "b1", "store": store, "encryption": {"key": KEY}, "keys": keys})
    stored: list[dict[str, Any]] = uploaded.result["stored"]
    return stored


def fetch(agents: FakeAgents, store: dict[str, Any], stored: list[dict[str, Any]]) -> Job:
    bundles = [one | {"keyspace": "shop", "table": "orders"} for one in stored]
    parameters = {"restore": "r1", "store": store, "encryption": {"key": KEY}, "bundles": bundles}
    return client(agents).ensure_job("fetch", "fetch-bundles", parameters)


def test_it_restores_what_it_backed_up(agents: FakeAgents, store: dict[str, Any]) -> None:
    stored = back_up(agents, store)
    with agents.backups_of("nod_1") as held:
        held.sstables.clear()
        held.write("shop", "orders", {7: "later"})
    assert fetch(agents, store, stored).state == "succeeded"
    agents.create_table("demo", "shop", "orders_then", replication={"dc": 3})
    imported = {"restore": "r1", "keyspace": "shop", "table": "orders", "as_table": "orders_then"}
    assert run(agents, "import-bundles", imported).result["bundles"] == 2
    with agents.backups_of("nod_1") as held:
        assert held.rows("shop", "orders_then") == ROWS | {5: "new five"}
        assert held.rows("shop", "orders") == {7: "later"}


def test_it_pages_bundles(agents: FakeAgents, store: dict[str, Any]) -> None:
    back_up(agents, store)
    first = client(agents).bundles("b1", limit=1)
    second = client(agents).bundles("b1", after=first.next, limit=1)
    assert (len(first.items), len(second.items), second.next) == (1, 1, "")
    assert (first.items[0].min_token, first.items[0].max_token) == (-(2**63), 2**63 - 1)


def test_it_empties_tables_on_all_nodes(agents: FakeAgents) -> None:
    with agents.backups_of("nod_2") as held:
        held.write("shop", "orders", ROWS)
    emptied = run(agents, "truncate-tables", {"tables": [{"keyspace": "shop", "table": "orders"}]})
    assert emptied.state == "succeeded"
    for node_id in ("nod_1", "nod_2"):
        with agents.backups_of(node_id) as held:
            assert held.rows("shop", "orders") == {}


@pytest.mark.parametrize("damage", ["flipped", "cut", "missing"])
def test_it_names_a_damaged_object(agents: FakeAgents, store: dict[str, Any], damage: str) -> None:
    stored = back_up(agents, store)
    path = Path(store["folder"]) / "org" / object_name(stored[1]["key"])
    content = path.read_bytes()
    match damage:
        case "flipped":
            path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        case "cut":
            path.write_bytes(content[:-1])
        case _:
            path.unlink()
    verified = run(
        agents,
        "verify-objects",
        {"store": store, "encryption": {"key": KEY}, "objects": stored, "mode": "content"},
    )
    reason = {"flipped": "content", "cut": "size", "missing": "missing"}[damage]
    assert verified.result["bad"] == [{"key": stored[1]["key"], "reason": reason}]
    refused = fetch(agents, store, stored)
    assert (refused.state, refused.error_code) == ("failed", "object-damaged")
    assert stored[1]["key"] in refused.error_message


def test_it_refuses_what_it_does_not_have(agents: FakeAgents, store: dict[str, Any]) -> None:
    unknown = {"tag": "b1", "ttl_seconds": 60, "tables": [{"keyspace": "shop", "table": "x"}]}
    assert run(agents, "snapshot", unknown).error_code == "table-not-found"
    assert run(agents, "index-snapshot", {"tag": "b1", "encryption": {"key": KEY}}).error_code == "snapshot-not-found"
    with pytest.raises(AgentRefused, match="snapshot-not-found"):
        client(agents).bundles("b1")


def test_it_makes_a_described_schema_elsewhere(agents: FakeAgents) -> None:
    described = run(agents, "describe-schema").result["keyspaces"]
    assert [(k["name"], [t["name"] for t in k["tables"]]) for k in described] == [("shop", ["orders"])]
    statements = described[0]["statements"]
    copy = {"name": "shop", "as": "shop_then", "statements": statements, "renamed_tables": {"orders": "orders_then"}}
    made = run(agents, "create-schema", {"keyspaces": [copy]})
    assert made.result == {"created": 2, "existing": 0}
    again = client(agents).ensure_job("again", "create-schema", {"keyspaces": [copy]})
    assert again.result == {"created": 0, "existing": 2}


def test_objects_are_those_that_agents_write() -> None:
    # The same two are in images/agent/backup/format_test.go.
    keys, components = BundleKeys.derive(KEY), {"Data.db": b"hello", "Statistics.db": b"x"}
    key, content = bundle_key(keys, "nb-big", components), sealed(keys, "nb-big", components)
    assert key == "64b39d76629d591408f50cdaa9528b28fbba6bdef669ee46ce6f3da90425a27b"
    assert hashlib.sha256(content).hexdigest() == "853b164e2378e45e5f7b1c2f2f6ae222dfcc9f503c1001cc40063ed627fedffa"
    assert opened(keys, key, content) == ("nb-big", components)


def test_an_object_is_opened_with_its_key_only() -> None:
    keys = BundleKeys.derive(KEY)
    components = {"Data.db": bytes(3 << 20), "Statistics.db": b"x"}
    content = sealed(keys, "nb-big", components)
    key = "1fb9402c12b4a51ef71b7a5f0d8ce09ec0e5c7a2b9a5dd62fd7a0ffe0d1c1d61"
    with pytest.raises(DamagedObjectError):
        opened(keys, key, content)
    with pytest.raises(WrongKeyError):
        opened(BundleKeys.derive(base64.b64encode(bytes(32)).decode()), key, content)
