"""What AWS has announced about our machines: scheduled events.

A rebalance recommendation is not among them: AWS gives those for spot instances, and ours are on demand.
"""

import datetime
from collections.abc import Mapping
from typing import Any

from provisioner.providers.aws.cloud import Cloud
from provisioner.providers.aws.machines import Machines
from provisioner.providers.base import Notice

# The machine, or what is on its local disks, does not survive these.
_RETIREMENT = ("instance-retirement", "instance-stop")
_OVER = ("[Completed]", "[Canceled]")


def notices(cloud: Cloud, machines: Machines, region: str) -> list[Notice]:
    names = machines.names_by_id(region)
    if not names:
        return []
    statuses = cloud.ec2(region).all("describe_instance_status", "InstanceStatuses", IncludeAllInstances=True)
    return [
        _notice(names[status["InstanceId"]], event)
        for status in statuses
        if status["InstanceId"] in names
        for event in status.get("Events", ())
        if not event.get("Description", "").startswith(_OVER)
    ]


def _notice(machine: str, event: Mapping[str, Any]) -> Notice:
    starts = event.get("NotBefore")
    return Notice(
        machine=machine,
        kind="retirement" if event["Code"] in _RETIREMENT else "maintenance",
        message=f"AWS announces {event['Code']}: {event.get('Description', '')}".rstrip(": "),
        before=starts.astimezone(datetime.UTC) if isinstance(starts, datetime.datetime) else None,
    )
