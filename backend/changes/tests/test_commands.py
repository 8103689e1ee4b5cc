"""Commands on a table: the plan says what is touched and what room there is, and refuses what cannot be."""

import dataclasses
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from backend.accounts.states import Role
from backend.audit.models import AuditRecord
from backend.changes import numbers
from backend.changes.planning import Facts, Refused, propose
from backend.changes.planning.facts import TableBytes
from backend.changes.schemas import Change, RunCommand
from backend.changes.tests.worlds import with_node, world
from backend.clusters.models import Cluster, Node
from backend.clusters.states import NodeState
from backend.conftest import ApiClient, Tenant
from backend.operations.models import Operation, OperationStep

A, B, C = "demo-local-1a-1", "demo-local-1b-1", "demo-local-1c-1"
MIB = 2**20


def command(command: str = "compact", **more: Any) -> RunCommand:
    body = {"kind": "run_command", "command": command, "keyspace": "shop", "table": "orders"} | more
    found: RunCommand = TypeAdapter[Any](Change).validate_python(body)
    return found


def measured(facts: Facts, **columns: Any) -> Facts:
    """Its table has 640 MiB on the first node and 64 on the others, and 8 in memory everywhere."""
    for number, each in enumerate(facts.nodes):
        each.id = f"nod_{number}"
        each.disk_total_bytes, each.disk_free_bytes = 10_000 * MIB, 2_000 * MIB
        for name, value in columns.items():
            setattr(each, name, value)
    on_disk = {each.id: (640 if each.name == A else 64) * MIB for each in facts.nodes}
    sizes = TableBytes(on_disk=on_disk, in_memory={each.id: 8 * MIB for each in facts.nodes})
    return dataclasses.replace(
        facts, table_bytes=lambda keyspace, table: sizes if (keyspace, table) == ("shop", "orders") else None
    )


def test_the_dry_run_says_what_is_touched_and_what_room_there_is():
    proposal = propose(measured(world()), command())
    assert proposal.title == "Compact shop.orders on 3 nodes"
    assert proposal.touched == (A, B, C)
    assert f"It touches 768.0 MiB in all, most on {A}: 640.0 MiB." in proposal.impact
    assert any("up to as much again; the fullest disk has 1.95 GiB free" in sentence for sentence in proposal.impact)
    # At 64 MiB/s, and three seconds for each node.
    assert proposal.planned.expected_seconds == (3 + 10) + (3 + 1) + (3 + 1)
    assert [len(group) for group in proposal.planned.groups] == [1, 1, 1]
    assert proposal.planned.pausable


def test_the_rate_is_the_clusters_own():
    facts = measured(world())
    facts.cluster.settings = {"compaction_throughput_mib": 16}
    assert propose(facts, command(node_ids=["nod_0"])).planned.expected_seconds == 3 + 40


def test_several_nodes_may_do_it_at_once():
    planned = propose(measured(world(nodes_per_zone=2)), command("flush", at_once=4)).planned
    assert [len(group) for group in planned.groups] == [4, 2]
    assert (
        propose(measured(world()), command("flush")).impact[1] == f"It touches 24.0 MiB in all, most on {A}: 8.0 MiB."
    )


def test_a_disk_without_room_refuses_compaction_and_nothing_else():
    full = measured(world(), disk_free_bytes=1_139 * MIB)
    with pytest.raises(
        Refused, match=r"may need 640\.0 MiB beside what is there; 1\.11 GiB are free, of which 500"
    ) as no:
        propose(full, command())
    assert no.value.code == "not_enough_disk"
    assert propose(measured(world(), disk_free_bytes=1_140 * MIB), command()).touched
    assert propose(full, command("flush")).touched
    assert propose(full, command(node_ids=["nod_1"])).touched == (B,)


def test_a_table_without_numbers_is_said_to_be_unknown():
    proposal = propose(measured(world()), command(table="typo"))
    assert any("may be new or misspelt" in warning for warning in proposal.warnings)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"node_ids": ["nod_9"]}, "unknown_node"),
        ({"sstables": ["3h5q_0fza"]}, "sstables_of_one_node"),
        ({"command": "flush", "sstables": ["1"], "node_ids": ["nod_0"]}, "sstables_of_one_node"),
        ({"node_ids": ["nod_1"]}, "node_not_up"),
        ({}, "node_not_up"),
    ],
)
def test_it_is_refused(body: dict[str, Any], code: str):
    facts = measured(with_node(world(), B, state=NodeState.DOWN))
    with pytest.raises(Refused) as refused:
        propose(facts, command(**body))
    assert refused.value.code == code


def test_an_engine_that_takes_none_is_named():
    facts = dataclasses.replace(measured(world()), takes_commands=False)
    with pytest.raises(Refused, match="Commands on tables of cassandra are not supported"):
        propose(facts, command())


@pytest.mark.parametrize(
    "body", [{"command": "drop"}, {"keyspace": "a b"}, {"table": "x;y"}, {"at_once": 0}, {"sstables": ["../x"]}]
)
def test_words_that_are_none_are_refused(body: dict[str, Any]):
    with pytest.raises(ValidationError):
        command(**body)


def test_little_is_told_in_kib():
    sizes = TableBytes(on_disk={"nod_0": 5000}, in_memory={})
    facts = dataclasses.replace(measured(world()), table_bytes=lambda keyspace, table: sizes)
    assert f"It touches 4.9 KiB in all, most on {A}: 4.9 KiB." in propose(facts, command()).impact


# Over the API


def _body(**more: Any) -> dict[str, Any]:
    return {"kind": "run_command", "command": "flush", "keyspace": "shop", "table": "orders"} | more


def test_it_is_an_operation_with_a_step_for_each_node(api: ApiClient, active: Cluster):
    answer = api.post(f"/clusters/{active.id}/changes", _body())
    assert answer.status_code == 202, answer.content
    operation = Operation.objects.get(id=answer.json()["operation"]["id"])
    assert (operation.kind, operation.exclusive) == ("run_command", True)
    assert operation.parameters == {"command": "flush", "keyspace": "shop", "table": "orders", "sstables": None}
    assert OperationStep.objects.filter(operation=operation, name="run_command").count() == 3
    assert AuditRecord.objects.get(action="cluster.run_command").after["table"] == "orders"
    again = api.post(f"/clusters/{active.id}/changes", _body(command="compact"))
    assert again.status_code == 409
    assert api.post(f"/clusters/{active.id}/plan", _body(command="compact")).json()["possible"] is False


def test_only_who_may_change_clusters_may(tenant: Tenant, foreign: ApiClient, active: Cluster):
    viewer = tenant.api(tenant.member(Role.VIEWER))
    assert viewer.post(f"/clusters/{active.id}/changes", _body()).status_code == 403
    assert foreign.post(f"/clusters/{active.id}/changes", _body()).status_code == 404
    assert foreign.post(f"/clusters/{active.id}/plan", _body()).status_code == 404
    assert not Operation.objects.filter(kind="run_command").exists()


def test_the_plan_asks_for_sizes_by_the_clusters_id(api: ApiClient, active: Cluster, monkeypatch: pytest.MonkeyPatch):
    first = Node.objects.filter(cluster=active).order_by("position")[0]
    sizes = TableBytes(on_disk={first.id: 5 * MIB}, in_memory={})
    asked: list[tuple[str, str, str]] = []
    monkeypatch.setattr(numbers, "_asks", [lambda *of: asked.append(of) or sizes])
    plan = api.post(f"/clusters/{active.id}/plan", _body(command="rewrite")).json()
    assert asked == [(active.id, "shop", "orders")]
    assert f"It touches 5.0 MiB in all, most on {first.name}: 5.0 MiB." in plan["changes"][0]["impact"]
    assert plan["changes"][0]["cancellable"].startswith("It can be cancelled at any time; what it has done stays done.")
