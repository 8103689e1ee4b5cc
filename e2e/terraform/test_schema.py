"""ringmaster_keyspace and ringmaster_table on a real engine: changed online or refused, and never made anew.

Of its own: a whole product with one real node, about two minutes. Slow: `make test-slow`.
"""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from e2e.product import order, product
from e2e.terraform.programs import Terraform, environment

pytestmark = pytest.mark.slow

KEYSPACE, TABLE = "ringmaster_keyspace.shop", "ringmaster_table.orders"
SCHEMA = """
resource "ringmaster_keyspace" "shop" {
  cluster_id  = "CLUSTER"
  name        = "shop"
  replication = { local-local-1 = 1 }
}
resource "ringmaster_table" "orders" {
  cluster_id     = "CLUSTER"
  keyspace       = ringmaster_keyspace.shop.name
  name           = "orders"
  columns        = {
    customer = "uuid"
    at       = "timestamp"
    items    = "map<text,int>"
    note     = "varchar"
    since    = "date"
  }
  partition_key  = ["customer"]
  clustering_key = ["at"]
  descending     = ["at"]
  static         = ["since"]
  comment        = "what they're for"
  gc_grace_seconds = 86400
  compaction     = { class = "LeveledCompactionStrategy", sstable_size_in_mb = "80" }
}
"""
RUN = """
ephemeral "ringmaster_connection" "run" {
  cluster_id = "CLUSTER"
  access     = "schema"
}
provider "ringmaster" {
  alias        = "schema"
  cql_role     = ephemeral.ringmaster_connection.run.username
  cql_password = ephemeral.ringmaster_connection.run.password
}
resource "ringmaster_keyspace" "brief" {
  provider            = ringmaster.schema
  cluster_id          = "CLUSTER"
  name                = "brief"
  replication         = { local-local-1 = 1 }
  deletion_protection = false
}
"""
NEW = """
resource "ringmaster_cluster" "new" {
  name                   = "new"
  engine                 = "cassandra"
  cloud                  = "local"
  termination_protection = false
  datacenters = [{ region = "local-1", zones = ["local-1b"], machine_type = "local.small", nodes_per_zone = 1 }]
}
data "ringmaster_connection" "new" { cluster_id = ringmaster_cluster.new.id }
ephemeral "ringmaster_connection" "run" {
  cluster_id = ringmaster_cluster.new.id
  access     = "schema"
}
provider "ringmaster" {
  alias        = "schema"
  cql_role     = ephemeral.ringmaster_connection.run.username
  cql_password = ephemeral.ringmaster_connection.run.password
}
resource "ringmaster_keyspace" "shop" {
  provider            = ringmaster.schema
  cluster_id          = ringmaster_cluster.new.id
  name                = "shop"
  replication         = { (data.ringmaster_connection.new.datacenter) = 1 }
  deletion_protection = false
}
resource "ringmaster_table" "orders" {
  provider            = ringmaster.schema
  cluster_id          = ringmaster_cluster.new.id
  keyspace            = ringmaster_keyspace.shop.name
  name                = "orders"
  columns             = { customer = "uuid", at = "timestamp" }
  partition_key       = ["customer"]
  clustering_key      = ["at"]
  deletion_protection = false
}
"""
ADDED = [
    ('note     = "varchar"', 'note     = "varchar"\n    paid     = "boolean"\n    tags     = "set<text>"'),
    ("they're for", "they were for"),
    ("86400", "172800"),
    ('"LeveledCompactionStrategy", sstable_size_in_mb = "80"', '"SizeTieredCompactionStrategy", min_threshold = "6"'),
    ("gc_grace_seconds", "default_time_to_live = 3600\n  gc_grace_seconds"),
    ("compaction ", 'compression = { class = "ZstdCompressor" }\n  compaction '),
]
REFUSED = [
    ('    note     = "varchar"\n', "", "The column note is not dropped"),
    ('"uuid"', '"text"', "The type of customer stays uuid"),
    ('partition_key  = ["customer"]', 'partition_key  = ["customer", "at"]', "The primary key says where"),
    ('descending     = ["at"]', "", "The primary key says where"),
    ('static         = ["since"]', "", "Whether a column is static"),
    ('name           = "orders"', 'name           = "sales"', "no way to rename a table"),
    ('name        = "shop"', 'name        = "store"', "no way to rename a keyspace"),
    ('"map<text,int>"', '"map<text,int>; DROP"', "Not a type"),
]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[httpx.Client, str]]:
    with product(Path(tmp_path_factory.mktemp("run"))) as api:
        yield api, order(api, zones=["local-1a"])[0]


def test_a_schema_changes_online_and_nothing_of_it_is_made_anew(engine: tuple[httpx.Client, str], tmp_path: Path):
    api, cluster = engine
    revealed = api.post(f"/clusters/{cluster}/credentials/reveal").raise_for_status().json()
    role, password = revealed["username"], revealed["password"]
    url = str(api.base_url).removesuffix("/").removesuffix("/api/v1")
    token = api.headers["Authorization"].removeprefix("Bearer ")
    known = {**environment(url, token), "RINGMASTER_CQL_ROLE": role, "RINGMASTER_CQL_PASSWORD": password}
    terraform = Terraform(tmp_path, known)
    written = SCHEMA.replace("CLUSTER", cluster)
    terraform.write(written)
    assert (applied := terraform.apply()).code == 0, applied.text
    assert (again := terraform.plan()).code == 0, again.text

    for before, after in ADDED:
        assert before in written, before
        written = written.replace(before, after)
    terraform.write(written)
    planned = terraform.plan()
    assert planned.changes == {TABLE: "update"}, planned.text
    assert (applied := terraform.apply()).code == 0, applied.text
    assert (again := terraform.plan()).code == 0, again.text
    table = terraform.values(TABLE)
    assert (table["columns"]["paid"], table["gc_grace_seconds"], table["default_time_to_live"]) == (
        "boolean",
        172800,
        3600,
    )

    _are_told(terraform, written, cluster)
    for before, after, reason in REFUSED:
        assert before in written, before
        terraform.write(written.replace(before, after))
        refused = terraform.plan()
        assert refused.code == 1, (after, refused.text)
        assert reason in refused.error(), refused.error()
    terraform.write("")
    refused = terraform.plan()
    assert "The table shop.orders is protected" in refused.error()
    assert "The keyspace shop is protected" in refused.error()

    _comes_back(terraform, written, cluster)
    assert password not in (tmp_path / "terraform.tfstate").read_text()

    # A keyspace goes only without tables, and all of it only when it was said.
    unprotected = written.replace("replication =", "deletion_protection = false\n  replication =")
    unprotected = unprotected.replace("partition_key", "deletion_protection = false\n  partition_key")
    terraform.write(unprotected)
    assert (applied := terraform.apply()).code == 0, applied.text
    terraform.do("state", "rm", TABLE)
    terraform.write(unprotected.partition('resource "ringmaster_table"')[0])
    assert "is dropped only without any: orders" in terraform.destroy().error()
    terraform.write(unprotected)
    terraform.do("import", "-input=false", TABLE, f"{cluster}/shop/orders")
    assert (applied := terraform.apply()).code == 0, applied.text
    assert (gone := terraform.destroy()).code == 0, gone.text


def _are_told(terraform: Terraform, written: str, cluster: str) -> None:
    """Data sources have what the resources made, and nothing of the engine's own."""
    sources = (
        f'data "ringmaster_keyspaces" "all" {{\n  cluster_id = "{cluster}"\n}}\n'
        f'data "ringmaster_tables" "all" {{\n  cluster_id = "{cluster}"\n}}\n'
        f'data "ringmaster_tables" "other" {{\n  cluster_id = "{cluster}"\n  keyspace = "other"\n}}\n'
    )
    terraform.write(written + sources)
    assert (applied := terraform.apply()).code == 0, applied.text
    assert (again := terraform.plan()).code == 0, again.text
    keyspaces = terraform.values("data.ringmaster_keyspaces.all")["keyspaces"]
    assert {"name": "shop", "replication": {"local-local-1": 1}} in keyspaces
    assert {one["name"] for one in keyspaces} == {"shop", "ringmaster"}
    [table] = [one for one in terraform.values("data.ringmaster_tables.all")["tables"] if one["keyspace"] == "shop"]
    assert (table["name"], table["comment"]) == ("orders", "what they were for")
    assert table["columns"] | {"note": "text", "items": "map<text, int>"} == table["columns"]
    assert (table["partition_key"], table["clustering_key"]) == (["customer"], ["at"])
    assert (table["descending"], table["static"]) == (["at"], ["since"])
    assert terraform.values("data.ringmaster_tables.other")["tables"] == []


def _comes_back(terraform: Terraform, written: str, cluster: str) -> None:
    """Forgotten by the state it is not made again but named, and imported with nothing to do."""
    for address in (KEYSPACE, TABLE):
        terraform.do("state", "rm", address)
    terraform.write(written)
    refused = terraform.plan().error()
    assert f"`terraform import` it as {cluster}/shop." in refused, refused
    ids = {KEYSPACE: f"{cluster}/shop", TABLE: f"{cluster}/shop/orders"}
    blocks = "".join(f'import {{\n  to = {address}\n  id = "{one}"\n}}\n' for address, one in ids.items())
    terraform.write(written + blocks)
    assert (applied := terraform.apply()).code == 0, applied.text
    assert not {action for action in applied.changes.values() if action in ("create", "replace", "delete")}
    terraform.write(written)
    assert (again := terraform.plan()).code == 0, again.text


def test_a_role_of_the_run_makes_the_schema(engine: tuple[httpx.Client, str], tmp_path: Path):
    api, cluster = engine
    url = str(api.base_url).removesuffix("/").removesuffix("/api/v1")
    token = api.headers["Authorization"].removeprefix("Bearer ")
    terraform = Terraform(tmp_path, environment(url, token))
    terraform.write(RUN.replace("CLUSTER", cluster))
    assert (applied := terraform.apply()).code == 0, applied.text
    assert (again := terraform.plan()).code == 0, again.text
    assert (gone := terraform.destroy()).code == 0, gone.text


def test_a_cluster_and_its_schema_are_made_in_one_apply(engine: tuple[httpx.Client, str], tmp_path: Path):
    api, _ = engine
    url = str(api.base_url).removesuffix("/").removesuffix("/api/v1")
    token = api.headers["Authorization"].removeprefix("Bearer ")
    terraform = Terraform(tmp_path, environment(url, token))
    terraform.write(NEW)
    planned = terraform.plan()
    assert planned.code == 2, planned.text
    assert (applied := terraform.apply()).code == 0, applied.text
    assert (again := terraform.plan()).code == 0, again.text
    assert terraform.values(TABLE)["columns"] == {"customer": "uuid", "at": "timestamp"}
    # And it all goes in one, the schema before the cluster.
    assert (gone := terraform.destroy()).code == 0, gone.text


def test_a_wrong_password_and_none_are_told(engine: tuple[httpx.Client, str], tmp_path: Path):
    api, cluster = engine
    url = str(api.base_url).removesuffix("/").removesuffix("/api/v1")
    known = dict(environment(url, api.headers["Authorization"].removeprefix("Bearer ")))
    terraform = Terraform(tmp_path, known)
    terraform.write(SCHEMA.replace("CLUSTER", cluster))
    assert "RINGMASTER_CQL_ROLE" in terraform.plan().error()
    terraform.environment = {**known, "RINGMASTER_CQL_ROLE": "nobody", "RINGMASTER_CQL_PASSWORD": "wrong"}
    assert "the database refused" in terraform.plan().error()
