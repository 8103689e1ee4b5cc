"""Asking a node passes the whole kit, on fake agents; and it ends by itself whatever the node does."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest

from backend.clusters import lifecycle
from backend.clusters.models import Node
from backend.diagnostics import actions, queries
from backend.diagnostics.models import Diagnosis
from backend.diagnostics.schemas import QuestionOrder
from backend.diagnostics.states import Question
from backend.operations.models import Operation
from provisioner import runner
from provisioner.operations import diagnose, names, registry, testing
from provisioner.operations.tests.cluster_world import ClusterWorld, cluster_world, without_waiting

pytestmark = pytest.mark.django_db(transaction=True)


def _node(world: ClusterWorld) -> Node:
    return Node.objects.filter(cluster_id=world.cluster_id).order_by("position")[0]


def _ask(world: ClusterWorld, question: Question = Question.STATUS) -> Operation:
    order = QuestionOrder(question=question)
    return Operation.objects.get(id=actions.ask(world.who, world.cluster_id, _node(world).id, order)["operation"]["id"])


def _begin(question: Question = Question.STATUS) -> Callable[[ClusterWorld], Operation]:
    def begin(world: ClusterWorld) -> Operation:
        world.zones = world.zones[:2]
        world.created()
        return _ask(world, question)

    return begin


@contextmanager
def _fresh() -> Iterator[ClusterWorld]:
    with cluster_world(_begin()) as world:
        yield world


def worlds() -> AbstractContextManager[ClusterWorld]:
    return _fresh()


def _answer(world: ClusterWorld) -> dict[str, Any]:
    row = Diagnosis.objects.get(cluster_id=world.cluster_id)
    return queries.get_diagnosis(world.who, world.cluster_id, row.id)


def _to_the_end(operation: Operation) -> None:
    while runner.run(operation.id, find_code=registry.find).again_in is not None:
        without_waiting(operation)
    operation.refresh_from_db()
    assert operation.state == "succeeded", operation.reason


def test_every_step_may_run_twice() -> None:
    testing.check_every_step_twice(diagnose.CODE, worlds)


def test_a_worker_may_die_at_every_step() -> None:
    testing.check_killed_after_every_step(diagnose.CODE, worlds)


def test_every_step_may_fail_and_be_cancelled() -> None:
    testing.check_failing_at_every_step_and_cancelled(diagnose.CODE, worlds)


def test_every_undo_may_run_twice() -> None:
    testing.check_undo_twice(diagnose.CODE, worlds)


def test_the_answer_is_kept_and_the_node_forgets_it() -> None:
    with cluster_world(_begin()) as world:
        operation = world.start()
        world.finish(operation)
        shown = _answer(world)
        assert (shown["state"], shown["problem"]) == ("answered", None)
        assert shown["answer"]["facts"] == [{"label": "Mode", "unit": "text", "value": "NORMAL"}]
        assert len(shown["answer"]["tables"][0]["rows"]) == 1
        agent = world.agents.client(node_id=_node(world).id, address=str(_node(world).agent_address))
        with pytest.raises(Exception, match="job-not-found"):
            agent.job(names.job(operation, "diagnose"))


def test_it_ends_when_the_node_cannot_answer() -> None:
    with cluster_world(_begin(Question.THREAD_POOLS)) as world:
        operation = world.start()
        node = _node(world)
        agent = world.agents.client(node_id=node.id, address=str(node.agent_address))
        agent.ensure_job("down", "stop", {})
        _to_the_end(operation)
        shown = _answer(world)
        assert (shown["state"], shown["problem"]["code"]) == ("failed", "engine-not-running")
        assert operation.steps.get().message.startswith("not answered: ")


def test_it_ends_when_the_machine_is_gone() -> None:
    with cluster_world(_begin()) as world:
        operation = world.start()
        world.provider.delete_machine(region="fake-1", name=names.machine(_node(world)))
        _to_the_end(operation)
        assert _answer(world)["problem"]["code"] == "node-unreachable"


def test_it_ends_when_the_node_has_left() -> None:
    with cluster_world(_begin()) as world:
        operation = world.start()
        lifecycle.node_gone(_node(world).id)
        _to_the_end(operation)
        assert _answer(world)["problem"]["code"] == "node-deleted"


def test_a_cancelled_question_is_not_answered() -> None:
    with cluster_world(_begin()) as world:
        operation = world.start()
        Operation.objects.filter(id=operation.id).update(cancel_requested_at="2000-01-01T00:00Z")
        while runner.run(operation.id, find_code=registry.find).again_in is not None:
            without_waiting(operation)
        assert _answer(world)["state"] == "cancelled"
