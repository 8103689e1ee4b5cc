"""Roles that are made for a while."""

from typing import Any

import pytest
from django.utils.timezone import now

from backend.access import actions, ending
from backend.access.models import RoleLifetime
from backend.access.tests.conftest import READING
from backend.audit.models import AuditRecord
from backend.clusters.models import Cluster
from backend.clusters.tests.conftest import finish_operations
from backend.conftest import ApiClient
from backend.operations.models import Operation

SHELL = {"name": "shell_1", "lifetime_minutes": 60}
_HERE: dict[str, Any] = {"name": "shell_1", "can_login": True, "is_superuser": False, "member_of": [], "cidrs": []}


@pytest.fixture
def shell(api: ApiClient, read: Cluster) -> Cluster:
    """A cluster with a role for an hour, which the database has."""
    answer = api.post(f"/clusters/{read.id}/roles", SHELL)
    assert answer.status_code == 202, answer.content
    actions.role_changed(Operation.objects.get(kind="change_access"))
    finish_operations()
    actions.roles_read(read.id, READING | {"roles": [*READING["roles"], _HERE]})
    return read


def over() -> None:
    RoleLifetime.objects.update(expires_at=now())


def test_it_is_told_until_when_a_role_is_there(api: ApiClient, shell: Cluster):
    items = {role["name"]: role["expires_at"] for role in api.get(f"/clusters/{shell.id}/roles").json()["items"]}
    assert items["ann"] is None
    assert items["shell_1"] > now().isoformat()


@pytest.mark.parametrize("minutes", [0, 4, 10_081, "soon"])
def test_a_lifetime_has_limits(api: ApiClient, read: Cluster, minutes: Any):
    refused = api.post(f"/clusters/{read.id}/roles", SHELL | {"lifetime_minutes": minutes})
    assert (refused.status_code, refused.json()["error"]["field"]) == (422, "lifetime_minutes")
    assert not RoleLifetime.objects.exists()


def test_it_is_taken_away_when_its_time_is_over_and_not_before(shell: Cluster):
    assert ending.end_due() == 0
    over()
    assert ending.end_due() == 1
    order = Operation.objects.get(kind="change_access", state="pending")
    assert order.parameters["changes"] == [{"action": "drop"}]
    assert (order.parameters["role"], order.actor) == ("shell_1", "ringmaster")
    assert AuditRecord.objects.filter(action="access.delete_role", actor="ringmaster").exists()
    assert ending.end_due() == 0
    actions.role_changed(order)
    assert not RoleLifetime.objects.exists()


def test_it_is_tried_again_when_the_order_came_to_nothing(shell: Cluster):
    over()
    assert ending.end_due() == 1
    Operation.objects.filter(state="pending", kind="change_access").update(
        state="cancelled", finished_at=now(), due_at=None
    )
    assert ending.end_due() == 1


def test_a_role_that_is_gone_already_is_forgotten(shell: Cluster):
    actions.roles_read(shell.id, READING)
    over()
    assert ending.end_due() == 1
    assert not RoleLifetime.objects.exists()
    assert not Operation.objects.filter(state="pending").exists()


def test_a_role_that_came_to_nothing_has_no_end(api: ApiClient, read: Cluster):
    api.post(f"/clusters/{read.id}/roles", SHELL)
    actions.role_change_cancelled(Operation.objects.get(kind="change_access"))
    assert not RoleLifetime.objects.exists()


def test_the_next_role_of_that_name_stays(api: ApiClient, shell: Cluster):
    actions.roles_read(shell.id, READING)
    assert api.post(f"/clusters/{shell.id}/roles", {"name": "shell_1"}).status_code == 202
    assert not RoleLifetime.objects.exists()
