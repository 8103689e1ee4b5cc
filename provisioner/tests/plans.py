"""Small operations for the tests: rows made directly, steps from plain functions."""

from collections.abc import Callable, Mapping

from django.db import transaction
from django.db.models.functions import Now

from backend.accounts.models import Organisation
from backend.operations import actions
from backend.operations.models import Operation, OperationStep
from backend.operations.states import OPEN
from provisioner.operations.base import Done, OperationCode, Outcome, StepCode, StepContext

KIND = "test"


def organisation() -> Organisation:
    return Organisation.objects.get_or_create(slug="tests", defaults={"name": "Tests"})[0]


def start(
    *groups: list[str], deadline: int = 60, cancellable_until: int | None = None, kind: str = KIND, cluster_id: str = ""
) -> Operation:
    """An operation that is due now. Each group is a list of step names; `name@target` names a target too."""
    operation = Operation.objects.create(
        organisation=organisation(),
        kind=kind,
        actor="tests",
        cluster_id=cluster_id,
        expected_seconds=1,
        cancellable_until=cancellable_until,
    )
    position = 0
    for number, group in enumerate(groups):
        for step in group:
            name, _, target = step.partition("@")
            OperationStep.objects.create(
                operation=operation,
                position=position,
                group=number,
                name=name,
                title=name.capitalize(),
                target=target,
                deadline_seconds=deadline,
            )
            position += 1
    Operation.objects.filter(id=operation.id).update(due_at=Now())
    return operation


def code(
    steps: Mapping[str, Callable[[StepContext], Outcome] | StepCode],
    *,
    kind: str = KIND,
    on_succeeded: Callable[[Operation], None] | None = None,
    on_cancelled: Callable[[Operation], None] | None = None,
) -> Callable[[str], OperationCode | None]:
    """What the runner asks for the code of a kind; knows only this one."""
    made = OperationCode(
        kind=kind,
        steps={name: step if isinstance(step, StepCode) else StepCode(do=step) for name, step in steps.items()},
        on_succeeded=on_succeeded,
        on_cancelled=on_cancelled,
    )
    return {kind: made}.get


def done(context: StepContext) -> Outcome:
    return Done()


def ask(operation_id: str, what: str) -> None:
    """A person asks to cancel or to retry, if it is still open: what backend.operations.actions writes."""
    Operation.objects.filter(id=operation_id, state__in=OPEN).update(**{f"{what}_requested_at": Now(), "due_at": Now()})


def pause_for_a_while(operation_id: str) -> bool:
    """A person asks to pause. False: it cannot be paused now."""
    free = Operation.objects.filter(id=operation_id, state="running", pausable=True, waits_for="")
    return bool(
        free.filter(pause_requested_at=None, cancel_requested_at=None).update(pause_requested_at=Now(), due_at=Now())
    )


def resume(operation_id: str) -> None:
    """A person lets it go on: what backend.operations.actions.resume writes."""
    with transaction.atomic():
        operation = Operation.objects.select_for_update().get(id=operation_id)
        if operation.state not in OPEN or operation.waits_for or operation.pause_requested_at is None:
            return
        actions.let_go_on(operation)
