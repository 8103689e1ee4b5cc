"""The kind take_over: a backup of what the live tables hold, then a restore in their place. Steps of both kinds."""

from backend.backups.models import Backup
from backend.backups.states import BackupState
from backend.operations.models import Operation
from provisioner.operations import backup, restore
from provisioner.operations.base import Blocked, Done, OperationCode, Outcome, StepCode, StepContext


def check_way_back(context: StepContext) -> Outcome:
    way_back = Backup.objects.get(id=context.operation.parameters["backup"])
    if way_back.state != BackupState.COMPLETE:
        raise Blocked(
            "no-way-back",
            f"The backup of what the tables hold is {way_back.state}: {' '.join(way_back.missing)}".strip(),
            "Cancel, see that all nodes are up, and order it again.",
        )
    return Done(f"{way_back.id} is complete")


def _cancelled(operation: Operation) -> None:
    for code in (restore.CODE, backup.CODE):
        assert code.on_cancelled is not None
        code.on_cancelled(operation)


CODE = OperationCode(
    kind="take_over",
    steps={**backup.CODE.steps, "check_way_back": StepCode(do=check_way_back), **restore.CODE.steps},
    on_succeeded=restore.CODE.on_succeeded,
    on_cancelled=_cancelled,
)
