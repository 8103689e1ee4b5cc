import json
from pathlib import Path
from typing import Any

import pytest

from provisioner.agent import schema
from provisioner.agent.base import Job
from provisioner.agent.conformance import SECURE, client, run, start_all
from provisioner.agent.fake import FakeAgents
from provisioner.agent.fake_ring import Table
from provisioner.agent.repairs import activity_of, document_of, load_of, ring_of, schema_of

PARAMETERS = {"keyspace": "shop", "tables": ["orders"], "mode": "full"}


@pytest.fixture
def agents(tmp_path: Path) -> FakeAgents:
    """Three nodes with a table of which nod_1 has nothing."""
    agents = FakeAgents(tmp_path / "agents.sqlite", looks={"repair": 2})
    start_all(agents)
    run(agents, "secure", SECURE)
    agents.set_keyspaces("demo", {"shop": {"dc": 3}})
    with agents.ring_of("demo") as membership:
        membership.fill("shop", {"orders": Table(bytes=6400, partitions=64, facts={"gc_grace_seconds": 60})})
        for member in membership.ring.members.values():
            if member.node_id == "nod_1":
                member.holds = {}
    return agents


def missing(agents: FakeAgents) -> int:
    with agents.ring_of("demo") as membership:
        return len(membership.ring.missing())


def begin(agents: FakeAgents, name: str = "r-1", node_id: str = "nod_1", **more: Any) -> Job:
    return client(agents, node_id).ensure_job(name, "repair", PARAMETERS | more)


def ended(agents: FakeAgents, name: str = "r-1", node_id: str = "nod_1") -> Job:
    for _ in range(5):
        job = client(agents, node_id).job(name)
        if job.state != "running":
            return job
    raise AssertionError("it does not end")


def test_a_repair_heals_its_ranges_and_is_seen_by_all_who_take_part(agents: FakeAgents) -> None:
    assert missing(agents) == 64
    assert begin(agents).state == "running"
    seen = {node_id: client(agents, node_id).repairs().repairs for node_id in ("nod_1", "nod_2", "nod_3")}
    assert [(one.job, one.command, one.coordinator) for one in seen["nod_1"]] == [("r-1", 1, "10.1.0.2")]
    assert [(one.job, one.command, one.coordinator) for one in seen["nod_2"]] == [("", 0, "10.1.0.2")]
    assert seen["nod_3"][0].id == seen["nod_1"][0].id
    job = ended(agents)
    assert (job.state, job.result["bytes_received"]) == ("succeeded", 6400)
    assert missing(agents) == 0
    assert [(done.mode, done.nodes) for done in agents.repaired("demo")] == [("full", ("nod_1", "nod_2", "nod_3"))]
    assert client(agents, "nod_2").repairs().repairs == ()
    assert client(agents).tables().tables[0].gc_grace_seconds == 60


def test_a_pull_sends_only_to_the_node_that_asks(agents: FakeAgents) -> None:
    hosts = {"ranges": [{"start": "1", "end": "2"}, {"start": "3", "end": "1"}], "hosts": ["10.1.0.2", "10.2.0.2"]}
    begin(agents, "wrong-way", "nod_2", mode="pull", **hosts)
    assert ended(agents, "wrong-way", "nod_2").state == "succeeded"
    assert missing(agents) == 64
    begin(agents, mode="pull", **hosts)
    assert client(agents, "nod_3").repairs().repairs == ()
    assert ended(agents).state == "succeeded"
    assert missing(agents) == 0


def test_an_engine_that_is_started_anew_loses_its_repairs_and_fails_those_of_others(agents: FakeAgents) -> None:
    before = client(agents).repairs().engine_started_at
    begin(agents)
    agents.restart_engine("nod_1")
    assert client(agents).repairs().engine_started_at > before
    assert client(agents, "nod_2").repairs().repairs == ()
    assert ended(agents).error_code == "repair-lost"
    begin(agents, "r-2")
    agents.restart_engine("nod_2")
    job = ended(agents, "r-2")
    assert (job.error_code, "nod_2" in job.error_message) == ("repair-failed", True)
    agents.kill_engine("nod_3")
    assert begin(agents, "r-3").error_code == "repair-failed"
    assert missing(agents) == 64


def test_a_repair_fails_at_a_bad_token_and_when_its_table_is_dropped(agents: FakeAgents) -> None:
    agents.fail_repairs("demo", "shop", [2])
    begin(agents, ranges=[{"start": "1", "end": "2"}])
    begin(agents, "other", ranges=[{"start": "2", "end": "3"}])
    assert ended(agents).error_code == "repair-failed"
    assert ended(agents, "other").state == "succeeded"
    begin(agents, "dropped", ranges=[{"start": "2", "end": "3"}])
    agents.drop_table("demo", "shop", "orders")
    assert ended(agents, "dropped").error_code == "table-not-found"


def test_what_is_read_is_the_same_after_the_wire(agents: FakeAgents) -> None:
    begin(agents)
    asked = client(agents)
    for found, model, read in (
        (asked.repairs(), schema.RepairActivity, activity_of),
        (asked.load(), schema.Load, load_of),
        (asked.keyspace_ring("shop"), schema.KeyspaceRing, ring_of),
        (asked.tables(), schema.Schema, schema_of),
    ):
        # As JSON, checked against the agent's own types, and read as the client does.
        checked = model.model_validate_json(json.dumps(document_of(found)))
        assert read(checked.model_dump(by_alias=True)) == found


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"tables": []}, "invalid-parameters"),
        ({"mode": "quick"}, "invalid-parameters"),
        ({"job_threads": 5}, "invalid-parameters"),
        ({"speed": 1}, "invalid-parameters"),
        ({"mode": "incremental", "hosts": ["10.1.0.2", "10.2.0.2"]}, "invalid-parameters"),
        ({"mode": "pull", "hosts": ["10.1.0.2"], "ranges": [{"start": "1", "end": "2"}]}, "invalid-parameters"),
        ({"hosts": ["10.2.0.2", "10.3.0.2"]}, "not-a-replica"),
        ({"hosts": ["10.1.0.2", "10.9.0.2"]}, "not-a-replica"),
    ],
)
def test_a_repair_that_the_agent_refuses_is_refused(agents: FakeAgents, changed: dict[str, Any], code: str) -> None:
    assert begin(agents, **changed).error_code == code


def test_a_deleted_repair_is_ended_unless_a_foreign_one_would_be_too(agents: FakeAgents) -> None:
    begin(agents)
    client(agents).delete_job("r-1")
    assert client(agents).repairs().repairs == ()
    agents.begin_foreign_repair("nod_2", "shop", ["orders"])
    assert [one.job for one in client(agents, "nod_2").repairs().repairs] == [""]
    begin(agents, "r-2")
    client(agents).delete_job("r-2")
    assert sorted(one.job for one in client(agents).repairs().repairs) == ["", "r-2"]
    agents.end_foreign_repairs("demo")
    for _ in range(2):
        client(agents).repairs()
    assert client(agents).repairs().repairs == ()
    assert agents.repaired("demo") == []
