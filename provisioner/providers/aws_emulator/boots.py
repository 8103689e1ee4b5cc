"""What runs on emulated instances: real programs on loopback, started when an instance boots."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, kw_only=True)
class BootedInstance:
    """`user_data` as the metadata service would give it; `tags` as it was launched with."""

    id: str
    name: str
    region: str
    zone: str
    private_address: str
    user_data: str
    tags: Mapping[str, str]


class Handle(Protocol):
    """What runs on one instance. Each call ends it; the instance's disks are the business of whoever runs it."""

    def stop(self, *, force: bool) -> None:
        """The instance was stopped; `force`: without asking. It may boot again, then a new handle is made."""
        ...

    def destroy(self) -> None:
        """The instance was terminated: its disks go, too. Also called on a stopped one."""
        ...


BootHook = Callable[[BootedInstance], Handle]
