"""Imports with pretended nodes and a real folder. SSTables are rows as JSON: provisioner/agent/fake_backups.py."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from backend.imports import actions as imports
from backend.imports.models import Import, ImportSSTable
from backend.imports.schemas import ImportOrder
from backend.operations.models import Operation
from backend.repairs.models import RepairRun
from provisioner.operations.import_tables import CHECK, CODE
from provisioner.operations.testing import (
    check_every_step_twice,
    check_failing_at_every_step_and_cancelled,
    check_killed_after_every_step,
    check_undo_twice,
)
from provisioner.operations.tests.backup_world import BackupWorld, backup_world
from provisioner.reconcile.backups import repair_imported

pytestmark = pytest.mark.django_db(transaction=True)

CUSTOMERS = "CREATE TABLE shop.customers (id int PRIMARY KEY, name text)"
SCHEMA = f"""
CREATE KEYSPACE shop WITH replication = {{'class': 'NetworkTopologyStrategy', 'old-dc': '3'}};
{CUSTOMERS};
CREATE MATERIALIZED VIEW shop.by_name AS SELECT * FROM shop.customers WHERE name IS NOT NULL AND id IS NOT NULL
    PRIMARY KEY (name, id);
"""
ROWS = {-3: "minus three", 4: "four"}


def sstable(folder: Path, name: str = "nb-1-big", rows: Mapping[int, str] = ROWS) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    files = {
        "Data.db": json.dumps({str(token): value for token, value in rows.items()}),
        "Statistics.db": "{}",
        "Index.db": "",
    }
    for component, content in files.items():
        (folder / f"{name}-{component}").write_text(content)
    return [folder / f"{name}-{component}" for component in files]


def lay_files(world: BackupWorld) -> Path:
    """Copies of the snapshots of two nodes, whose files have the same names, as they have with numbers."""
    root = world.path("old")
    sstable(root / "node1/shop/customers-0123456789abcdef0123456789abcdef/snapshots/move")
    sstable(root / "node2/shop/customers-0123456789abcdef0123456789abcdef/snapshots/move", rows={9: "nine"})
    sstable(root / "node1/shop/by_name-1123456789abcdef0123456789abcdef/snapshots/move")
    sstable(root / "node1/system/local-2123456789abcdef0123456789abcdef/snapshots/move")
    sstable(root / "node1/shop/customers-0123456789abcdef0123456789abcdef/.by_name")
    (root / "schema.cql").write_text(SCHEMA)
    return root


def lay_medusa(world: BackupWorld, *, tokens: Mapping[str, list[int]], name: str = "nightly") -> Path:
    """Its layout in differential mode: storage/node_backup.py and index.py of cassandra-medusa 0.31."""
    root = world.path("medusa")
    tokenmap = {node: {"tokens": held, "is_up": True, "rack": "r", "dc": "old-dc"} for node, held in tokens.items()}
    for number, node in enumerate(tokens):
        files = sstable(
            root / node / "data/shop/customers-0123456789abcdef0123456789abcdef", rows={number: f"of {node}"}
        )
        objects = [
            {
                "path": f"some/prefix/{file.relative_to(root)}",
                "size": file.stat().st_size,
                "MD5": hashlib.md5(file.read_bytes()).hexdigest(),
            }
            for file in files
        ]
        manifest = [
            {"keyspace": "shop", "columnfamily": "customers-0123456789abcdef0123456789abcdef", "objects": objects}
        ]
        meta = root / node / name / "meta"
        meta.mkdir(parents=True)
        (meta / "manifest.json").write_text(json.dumps(manifest))
        (meta / "tokenmap.json").write_text(json.dumps(tokenmap))
        (meta / "schema.cql").write_text(SCHEMA)
        index = root / "index/backup_index" / name
        index.mkdir(parents=True, exist_ok=True)
        (index / f"tokenmap_{node}.json").write_text("{}")
    return root


def order(world: BackupWorld, **wanted: Any) -> Operation:
    asked = ImportOrder.model_validate({"location_id": world.location_id, "path": "old"} | wanted)
    started = imports.create(world.who, world.cluster_id, asked)
    return Operation.objects.get(id=started["operation"]["id"])


def look(world: BackupWorld, **wanted: Any) -> Import:
    asked = ImportOrder.model_validate({"location_id": world.location_id, "path": "old"} | wanted)
    started = imports.plan(world.who, world.cluster_id, asked)
    assert world.ended(Operation.objects.get(id=started["operation"]["id"])) == "succeeded"
    return Import.objects.latest("id")


@contextmanager
def laid() -> Iterator[BackupWorld]:
    with backup_world(order) as world:
        lay_files(world)
        yield world


@pytest.fixture
def world() -> Iterator[BackupWorld]:
    with laid() as made:
        yield made


def test_every_step_run_twice() -> None:
    check_every_step_twice(CODE, laid)


def test_killed_after_every_step() -> None:
    check_killed_after_every_step(CODE, laid)


def test_failing_at_every_step_and_cancelled() -> None:
    check_failing_at_every_step_and_cancelled(CODE, laid, again=True)


def test_undo_twice() -> None:
    check_undo_twice(CODE, laid)


def test_a_look_tells_what_is_there_and_changes_nothing(world: BackupWorld) -> None:
    before = world.snapshot()
    found = look(world)
    assert (found.state, found.problems, found.dry_run) == ("checked", [], True)
    assert [(one["keyspace"], one["table"], one["sstables"], one["exists"]) for one in found.tables] == [
        ("shop", "customers", 2, False)
    ]
    assert found.bytes == 3 * sum(one["bytes"] for one in found.tables)
    assert world.snapshot() == before
    assert set(CHECK.steps) < set(CODE.steps)


def test_folders_of_several_nodes_come_to_every_node(world: BackupWorld) -> None:
    assert world.ended(order(world)) == "succeeded"
    assert world.rows("customers") == [ROWS | {9: "nine"}] * 3
    assert world.held(lambda held: held.restores) == [{}, {}, {}]
    made = Import.objects.get()
    assert (made.state, made.fetched_bytes, made.same_shape) == ("succeeded", made.bytes, False)
    assert not ImportSSTable.objects.exists()
    # Once more is the same rows once more.
    assert world.ended(order(world)) == "succeeded"
    assert world.rows("customers") == [ROWS | {9: "nine"}] * 3


def test_each_node_gets_the_files_of_the_one_that_had_its_tokens(world: BackupWorld) -> None:
    lay_medusa(world, tokens={f"10.0.0.{number}": node.tokens for number, node in enumerate(world.nodes)})
    found = look(world, path="medusa", layout="medusa", backup_name="nightly")
    assert (found.problems, found.same_shape) == ([], True)
    assert world.ended(order(world, path="medusa", layout="medusa", backup_name="nightly")) == "succeeded"
    assert world.rows("customers") == [{0: "of 10.0.0.0"}, {1: "of 10.0.0.1"}, {2: "of 10.0.0.2"}]


def test_a_backup_of_another_shape_comes_to_every_node(world: BackupWorld) -> None:
    lay_medusa(world, tokens={"a.example": [1, 2], "b.example": [3]})
    assert world.ended(order(world, path="medusa", layout="medusa", backup_name="nightly")) == "succeeded"
    assert world.rows("customers") == [{0: "of a.example", 1: "of b.example"}] * 3


def test_a_flipped_byte_in_a_backup_of_medusa_is_named_and_nothing_is_changed(world: BackupWorld) -> None:
    root = lay_medusa(world, tokens={"a.example": [1], "b.example": [3]})
    data = next(root.glob("b.example/data/shop/*/*-Data.db"))
    data.write_text(data.read_text().replace("of b", "of d"))
    ended = world.ended(order(world, path="medusa", layout="medusa", backup_name="nightly"))
    assert "blocked" in ended or "failed" in ended, ended
    assert data.name in ended
    assert world.rows("customers") == [{}, {}, {}]


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        ({"path": "elsewhere"}, "There are no SSTables there"),
        ({"schema_cql": "CREATE TABLE shop.others (id int PRIMARY KEY)"}, "shop.customers: its columns are not known"),
        ({"schema_cql": "CREATE TABLE shop.customers (id int PRIMARY KEY, n counter)"}, "counters are not imported"),
        ({"selection": [{"keyspace": "shop", "table": "gone"}]}, "no files of shop.gone"),
        ({"layout": "medusa", "backup_name": "nightly"}, "There is no backup nightly of Medusa"),
    ],
)
def test_what_is_against_it_is_said_before_anything(world: BackupWorld, wanted: dict[str, Any], says: str) -> None:
    found = look(world, **wanted)
    assert says in " ".join(found.problems)
    ended = world.ended(order(world, **wanted))
    assert says in ended
    assert world.rows("customers") == [{}, {}, {}]


def test_files_of_old_formats_are_refused(world: BackupWorld) -> None:
    sstable(world.path("old") / "shop/customers", "la-3-big")
    sstable(world.path("old") / "shop/older", "nb-3-big")
    (world.path("old") / "shop/older/shop-older-ka-1-Data.db").write_text("{}")
    problems = " ".join(look(world).problems)
    assert "shop/customers/la-3-big: engines of today do not read this format" in problems
    assert "shop/older: files of Cassandra 2.1 or older" in problems


def test_a_table_with_other_columns_is_refused_column_by_column(world: BackupWorld) -> None:
    columns = "id bigint PRIMARY KEY, note text, more int"
    sstable(world.path("old") / "shop/orders")
    found = look(world, schema_cql=f"{CUSTOMERS}; CREATE TABLE shop.orders ({columns})")
    assert any("shop.orders" in problem and "more" in problem for problem in found.problems), found.problems


def test_an_incomplete_backup_of_medusa_is_refused_with_its_nodes(world: BackupWorld) -> None:
    root = lay_medusa(world, tokens={"a.example": [1], "b.example": [3], "c.example": [7]})
    (root / "a.example/nightly/meta/manifest.json").unlink()
    (root / "index/backup_index/nightly/tokenmap_c.example.json").unlink()
    problems = " ".join(look(world, path="medusa", layout="medusa", backup_name="nightly").problems)
    assert "incomplete" in problems
    assert "a.example/nightly/meta/manifest.json" in problems
    assert "nothing of the node c.example" in problems


def test_a_manifest_that_leads_elsewhere_is_refused(world: BackupWorld) -> None:
    root = lay_medusa(world, tokens={"a.example": [1]})
    manifest = root / "a.example/nightly/meta/manifest.json"
    manifest.write_text(manifest.read_text().replace("a.example/data/", "a.example/../../other/data/"))
    problems = look(world, path="medusa", layout="medusa", backup_name="nightly").problems
    assert problems == ["What is in a.example/nightly/meta is not what Medusa writes."]


def test_no_room_is_said(world: BackupWorld) -> None:
    world.agents.change(world.nodes[0].id, disk_used=0.95)
    assert "too little room" in " ".join(look(world).problems)


@pytest.mark.parametrize(("wanted", "repaired"), [({}, True), ({"repair": False}, False)])
def test_tables_are_repaired_afterwards_where_nodes_may_lack_something(
    world: BackupWorld, wanted: dict[str, Any], repaired: bool
) -> None:
    look(world)
    assert repair_imported() == 0
    assert world.ended(order(world, **wanted)) == "succeeded"
    assert repair_imported() == int(repaired)
    assert repair_imported() == 0
    made = Import.objects.latest("id")
    assert made.repair_wanted is repaired
    for operation in Operation.objects.filter(kind="repair", cluster_id=world.cluster_id):
        run = RepairRun.objects.get(id=operation.parameters["run"])
        assert (run.reason, run.asked["tables"], run.asked["mode"]) == ("import", ["shop.customers"], "full")
        assert made.repair_operation_id == operation.id


def test_each_node_with_the_files_of_the_one_that_had_its_tokens_needs_no_repair(world: BackupWorld) -> None:
    lay_medusa(world, tokens={f"10.0.0.{number}": node.tokens for number, node in enumerate(world.nodes)})
    assert look(world, path="medusa", layout="medusa", backup_name="nightly").repair_wanted is False
