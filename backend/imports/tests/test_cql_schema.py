import pytest

from backend.imports import cql_schema
from backend.imports.cql_schema import Column, NotUnderstood

MEDUSA = """
CREATE KEYSPACE shop WITH replication = {'class': 'NetworkTopologyStrategy', 'dc1': '3', 'dc2': '2'}
    AND durable_writes = true;

CREATE TYPE shop.address (street text, zip int);

CREATE TABLE shop.orders (
    shop_id int,
    day date,
    id timeuuid,
    "Note" text,
    tags map<text, frozen<list<int>>>,
    place frozen<address>,
    owner text STATIC,
    PRIMARY KEY ((shop_id, day), id)
) WITH CLUSTERING ORDER BY (id DESC)
    AND bloom_filter_fp_chance = 0.01
    AND dclocal_read_repair_chance = 0.1
    AND caching = {'keys': 'ALL', 'rows_per_partition': 'NONE'}
    AND comment = 'a; b -- c'
    AND read_repair_chance = 0.0;
CREATE INDEX by_owner ON shop.orders (owner);

CREATE MATERIALIZED VIEW shop.by_day AS SELECT * FROM shop.orders WHERE day IS NOT NULL AND shop_id IS NOT NULL
    AND id IS NOT NULL PRIMARY KEY (day, shop_id, id);
CREATE TABLE shop.plain (id int PRIMARY KEY, v text);
CREATE FUNCTION shop.twice (v int) CALLED ON NULL INPUT RETURNS int LANGUAGE java AS $$ return v * 2; $$;
"""


def test_it_reads_what_medusa_writes():
    made = cql_schema.read(MEDUSA)
    assert [(one.type, one.name) for one in made] == [
        ("keyspace", "shop"),
        ("type", "address"),
        ("function", "twice"),
        ("table", "orders"),
        ("table", "plain"),
        ("index", "by_owner"),
        ("materialized_view", "by_day"),
    ]
    assert {one.keyspace for one in made} == {"shop"}
    assert made[0].replication == {"dc1": 3, "dc2": 2}
    assert made[3].columns == (
        Column(name="shop_id", kind="partition_key", type="int"),
        Column(name="day", kind="partition_key", type="date"),
        Column(name="id", kind="clustering", type="timeuuid"),
        Column(name="Note", kind="regular", type="text"),
        Column(name="tags", kind="regular", type="map<text, frozen<list<int>>>"),
        Column(name="place", kind="regular", type="frozen<address>"),
        Column(name="owner", kind="static", type="text"),
    )
    assert made[5].of_table == "orders"


def test_options_that_engines_do_not_know_any_more_are_left_out():
    table = cql_schema.read(MEDUSA)[3].statement
    assert "read_repair_chance" not in table
    assert "CLUSTERING ORDER BY (id DESC)" in table
    assert "comment = 'a; b -- c'" in table
    assert "'rows_per_partition': 'NONE'" in table
    assert "WITH CLUSTERING ORDER" in table
    only = cql_schema.read("CREATE TABLE a.b (id int PRIMARY KEY) WITH read_repair_chance = 0.1")[0].statement
    assert only == "CREATE TABLE a.b (id int PRIMARY KEY)"


def test_a_dropped_column_stays_with_its_table_as_snapshots_tell_it():
    made = cql_schema.read(
        "CREATE TABLE IF NOT EXISTS shop.orders (id int PRIMARY KEY, v int, gone text) WITH ID = 1-2 AND comment = '';"
        "ALTER TABLE shop.orders DROP gone USING TIMESTAMP 1700000000000000;"
    )
    assert [column.name for column in made[0].columns] == ["id", "v"]
    assert made[0].statement.endswith("ALTER TABLE shop.orders DROP gone USING TIMESTAMP 1700000000000000")


def test_names_get_the_keyspace_that_is_used():
    made = cql_schema.read('USE "Shop"; CREATE TABLE orders (id int PRIMARY KEY); CREATE INDEX ON orders (id);')
    assert [(one.keyspace, one.name) for one in made] == [("Shop", "orders"), ("Shop", "")]
    assert made[0].statement == 'CREATE TABLE "Shop".orders (id int PRIMARY KEY)'
    assert made[1].statement == 'CREATE INDEX ON "Shop".orders (id)'


def test_what_two_nodes_tell_alike_is_made_once_and_other_keyspaces_count_not():
    both = MEDUSA + MEDUSA + "CREATE KEYSPACE system_auth WITH replication = {'class': 'X'};"
    assert len(cql_schema.read(both, only=["shop"])) == 7


@pytest.mark.parametrize(
    ("cql", "says"),
    [
        ("INSERT INTO a.b (c) VALUES (1)", "creates nothing: INSERT"),
        ("CREATE ROLE admin", "nothing that is known here: CREATE ROLE"),
        ("CREATE TABLE orders (id int PRIMARY KEY)", "Write the keyspace before the name"),
        ("CREATE TABLE a.b (id int)", "a.b has no primary key"),
        ("CREATE TABLE a.b", "a.b has no columns"),
        ("ALTER TABLE a.b DROP c", "not created before"),
        ("CREATE TABLE", "name is missing"),
    ],
)
def test_what_creates_no_schema_is_named(cql: str, says: str):
    with pytest.raises(NotUnderstood, match=says):
        cql_schema.read(cql)


def test_types_are_the_same_however_they_are_written():
    assert cql_schema.same_type("map<text,frozen<list<int>>>", "map<varchar, frozen<list<int>>>")
    assert not cql_schema.same_type("int", "bigint")
