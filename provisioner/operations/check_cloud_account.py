"""Everything that the control plane does in an account that was brought is tried there, without doing it.

What is found is the result, not a failure: an account that cannot be used ends the operation well, and says so.
"""

from backend.cloud_accounts import actions
from backend.cloud_accounts.models import CloudAccount
from backend.operations.models import Operation, OperationStep
from provisioner.operations.base import Done, OperationCode, Outcome, StepCode, StepContext
from provisioner.operations.surroundings import surroundings
from provisioner.providers.base import ProviderError


def try_permissions(context: StepContext) -> Outcome:
    """In the region that the step names. What may go away by itself is tried again."""
    account = CloudAccount.objects.get(id=context.operation.parameters["cloud_account_id"])
    region = context.step.target
    try:
        missing = surroundings().provider(account.provider, account).missing_permissions(region=region)
    except ProviderError as error:
        if error.retryable:
            raise
        return Done(error.message, {"region": region, "missing": [], "problem": error.message, "hint": error.hint})
    said = f"{len(missing)} missing" if missing else "nothing is missing"
    return Done(said, {"region": region, "missing": missing, "problem": None, "hint": None})


def _succeeded(operation: Operation) -> None:
    steps = OperationStep.objects.filter(operation=operation).order_by("position")
    actions.checked(operation.id, [step.output for step in steps])


def _cancelled(operation: Operation) -> None:
    actions.check_cancelled(operation.id)


CODE = OperationCode(
    kind="check_cloud_account",
    steps={"try_permissions": StepCode(do=try_permissions)},
    on_succeeded=_succeeded,
    on_cancelled=_cancelled,
)
