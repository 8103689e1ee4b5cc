"""The permissions that this provider needs, and which of them its account lacks."""

from provisioner.providers.base import AccessDenied
from provisioner.providers.gcp.client import Compute

PERMISSIONS = (
    "compute.addresses.createInternal",
    "compute.addresses.deleteInternal",
    "compute.addresses.get",
    "compute.addresses.list",
    "compute.addresses.setLabels",
    "compute.addresses.useInternal",
    "compute.disks.create",
    "compute.disks.setLabels",
    "compute.firewalls.create",
    "compute.firewalls.delete",
    "compute.firewalls.get",
    "compute.firewalls.list",
    "compute.firewalls.update",
    "compute.forwardingRules.create",
    "compute.forwardingRules.delete",
    "compute.forwardingRules.get",
    "compute.forwardingRules.list",
    "compute.forwardingRules.pscCreate",
    "compute.forwardingRules.pscDelete",
    "compute.forwardingRules.setLabels",
    "compute.images.list",
    "compute.images.useReadOnly",
    "compute.instances.create",
    "compute.instances.delete",
    "compute.instances.get",
    "compute.instances.list",
    "compute.instances.setLabels",
    "compute.instances.setMetadata",
    "compute.instances.setServiceAccount",
    "compute.instances.setTags",
    "compute.instances.start",
    "compute.instances.stop",
    "compute.machineTypes.get",
    "compute.networks.addPeering",
    "compute.networks.create",
    "compute.networks.delete",
    "compute.networks.get",
    "compute.networks.list",
    "compute.networks.removePeering",
    "compute.networks.updatePolicy",
    "compute.networks.use",
    "compute.regions.get",
    "compute.subnetworks.create",
    "compute.subnetworks.delete",
    "compute.subnetworks.get",
    "compute.subnetworks.use",
    "compute.subnetworks.useExternalIp",
    "compute.zoneOperations.list",
    "iam.serviceAccounts.actAs",
)
"""The same as in infra/gcp/role.yaml, which says what each is for."""

_AT_ONCE = 100


def missing(compute: Compute) -> list[str]:
    """Asked of the project: what is granted only on single resources in it counts as missing.

    AccessDenied when the service account of an account that was brought cannot be acted as.
    """
    try:
        return _missing(compute)
    except AccessDenied as error:
        if not compute.settings.impersonate:
            raise
        raise AccessDenied(
            f"The control plane cannot act as {compute.settings.impersonate}: {error.message}",
            hint="Make this service account in the project, give it the role, and let the control plane's service "
            "account make tokens for it (roles/iam.serviceAccountTokenCreator). That takes up to some minutes to hold.",
        ) from error


def _missing(compute: Compute) -> list[str]:
    granted: set[str] = set()
    for first in range(0, len(PERMISSIONS), _AT_ONCE):
        asked = PERMISSIONS[first : first + _AT_ONCE]
        answer = compute.post(f"v1/projects/{compute.project}:testIamPermissions", {"permissions": list(asked)})
        granted |= set(answer.get("permissions", []))
    return [permission for permission in PERMISSIONS if permission not in granted]
