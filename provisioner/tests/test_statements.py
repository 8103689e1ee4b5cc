"""Statements of people, on fake agents: run once, looked at until they end, forgotten by the node."""

from collections.abc import Iterator
from typing import Any

import pytest

from backend.clusters.models import Node
from backend.clusters.states import NodeState
from backend.console import actions, queries, schemas
from backend.console.models import CqlStatement
from provisioner import statements
from provisioner.agent import fake_statements
from provisioner.agent.fake import AgentFault
from provisioner.operations.tests.cluster_world import ClusterWorld, cluster_world

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def world() -> Iterator[ClusterWorld]:
    def begin(world: ClusterWorld) -> Any:
        world.zones = world.zones[:2]
        return world.created()

    with cluster_world(begin) as world:
        begin(world)
        Node.objects.filter(cluster_id=world.cluster_id).update(state=NodeState.UP)
        yield world


def _ask(world: ClusterWorld, statement: str, password: str = fake_statements.PASSWORD, **more: Any) -> str:
    order = schemas.CqlSessionOrder(role="ann", password=password)
    session = actions.open_session(world.who, world.cluster_id, order)["id"]
    wish = schemas.CqlOrder(session_id=session, statement=statement, **more)
    return str(actions.run(world.who, world.cluster_id, wish)["id"])


def _shown(world: ClusterWorld, statement: str) -> dict[str, Any]:
    return queries.get_statement(world.who, world.cluster_id, statement)


def test_it_is_answered_page_by_page_and_the_node_forgets_it(world: ClusterWorld) -> None:
    statement = _ask(world, "SELECT a FROM t", tracing=True)
    assert not statements.run(statement)
    shown = _shown(world, statement)
    assert (shown["state"], shown["more"], shown["answer"]["rows"]) == ("answered", True, [["ann"], [None]])
    assert shown["answer"]["trace"]["events"][0]["activity"] == "Parsing"
    actions.next_page(world.who, world.cluster_id, statement, schemas.CqlPageOrder())
    assert not statements.run(statement)
    shown = _shown(world, statement)
    assert (shown["more"], shown["page"], shown["rows"]) == (False, 2, 4)
    assert world.agents.statements.asked[-1]["page_state"] == "AA=="
    assert world.agents.statements.kept() == 0


def test_it_is_run_once_however_often_its_message_comes(world: ClusterWorld) -> None:
    statement = _ask(world, "INSERT INTO t (a) VALUES (1)", allow_writes=True)
    for _ in range(3):
        assert not statements.run(statement)
    assert len(world.agents.statements.asked) == 1
    assert "may_run_again" in world.agents.statements.asked[0]
    assert not world.agents.statements.asked[0]["may_run_again"]


def test_a_long_one_is_looked_at_again_until_it_is_cancelled(world: ClusterWorld) -> None:
    statement = _ask(world, "SELECT SLOW FROM t")
    assert statements.run(statement)
    assert statements.follow(statement)
    actions.cancel(world.who, world.cluster_id, statement)
    assert world.agents.statements.kept() == 1
    assert not statements.follow(statement)
    assert world.agents.statements.kept() == 0
    assert _shown(world, statement)["state"] == "cancelled"


def test_an_agent_that_ended_meanwhile_has_lost_it(world: ClusterWorld) -> None:
    statement = _ask(world, "SELECT SLOW FROM t")
    assert statements.run(statement)
    row = CqlStatement.objects.get(id=statement)
    world.agents.statements.forget(row.node_id, f"{statement}-1")
    assert not statements.follow(statement)
    assert _shown(world, statement)["problem"]["code"] == "lost"


@pytest.mark.parametrize(
    ("statement", "password", "code", "line"),
    [
        ("SELECT FORM", fake_statements.PASSWORD, "syntax-error", 1),
        ("SELECT 1", "guess", "bad-credentials", None),
    ],
)
def test_what_the_engine_refuses_is_told(
    world: ClusterWorld, statement: str, password: str, code: str, line: int | None
) -> None:
    asked = _ask(world, statement, password)
    assert not statements.run(asked)
    problem = _shown(world, asked)["problem"]
    assert (problem["code"], problem["line"]) == (code, line)


def test_a_read_goes_to_another_node_when_one_does_not_answer(world: ClusterWorld) -> None:
    world.agents.inject(AgentFault(name="unreachable", call="run_statement", times=1))
    statement = _ask(world, "SELECT a FROM t")
    assert not statements.run(statement)
    assert _shown(world, statement)["state"] == "answered"


def test_a_write_does_not_because_it_may_have_been_done(world: ClusterWorld) -> None:
    world.agents.inject(AgentFault(name="reply-lost", call="run_statement", times=1))
    statement = _ask(world, "TRUNCATE t", allow_writes=True)
    assert not statements.run(statement)
    problem = _shown(world, statement)["problem"]
    assert problem["code"] == "node-unreachable"
    assert problem["message"].endswith("Whether it was run is not known.")
    assert len(world.agents.statements.asked) == 1


def test_the_schema_is_read(world: ClusterWorld) -> None:
    session = actions.open_session(
        world.who, world.cluster_id, schemas.CqlSessionOrder(role="ann", password=fake_statements.PASSWORD)
    )["id"]
    asked = actions.read_schema(world.who, world.cluster_id, schemas.CqlSchemaOrder(session_id=session))["id"]
    assert not statements.run(asked)
    assert _shown(world, asked)["tree"]["keyspaces"][0]["tables"][0]["name"] == "orders"
