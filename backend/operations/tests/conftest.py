"""Operations in a wanted state, without clusters and without workers."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction

from backend.conftest import ApiClient, Tenant
from backend.operations import actions
from backend.operations.actions import PlannedStep
from backend.operations.models import Operation, OperationStep

PLAN = [
    [PlannedStep("prepare", "Prepare the network")],
    [
        PlannedStep("boot", "Start the machine", target=f"nod_{n}", target_title=f"demo-{n}", deadline_seconds=30)
        for n in (1, 2, 3)
    ],
    [PlannedStep("finish", "Prove it")],
]


@pytest.fixture
def api(tenant: Tenant) -> ApiClient:
    return tenant.api()


Start = Callable[..., Operation]


@pytest.fixture
def start(tenant: Tenant) -> Start:
    """Starts an operation of `tenant`; columns of the row can be set."""

    def make(cluster_id: str = "clu_1", *, columns: dict[str, Any] | None = None, **changes: Any) -> Operation:
        wanted: dict[str, Any] = {
            "organisation_id": tenant.organisation.id,
            "kind": "create_cluster",
            "cluster_id": cluster_id,
            "cluster_name": "demo",
            "actor": "owner@acme.example",
            "parameters": {},
            "groups": PLAN,
            "expected_seconds": 20,
        }
        with transaction.atomic():
            operation = actions.start(**(wanted | changes))
        if columns:
            Operation.objects.filter(id=operation.id).update(**columns)
        operation.refresh_from_db()
        return operation

    return make


def set_steps(operation: Operation, *states: str) -> None:
    for position, state in enumerate(states):
        OperationStep.objects.filter(operation=operation, position=position).update(state=state)
