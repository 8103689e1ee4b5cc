"""What an installation, or an account that is brought along, says about AWS."""

from dataclasses import dataclass
from enum import StrEnum

SPREAD_LIMIT = 7
"""Machines that a spread placement group takes per zone (Amazon EC2 User Guide, placement strategies)."""


class Placement(StrEnum):
    """How the machines of a rack are kept apart.

    SPREAD: each on hardware of its own, at most SPREAD_LIMIT per rack. PARTITION: over seven groups of hardware that
    share nothing with one another, without a limit.
    """

    SPREAD = "spread"
    PARTITION = "partition"


@dataclass(frozen=True, kw_only=True)
class AwsSettings:
    """Credentials come from boto3's own chain: environment, profile, instance role.

    `installation` tells the machines of one control plane from those of another in the same account. `regions` empty:
    all that boto3 knows. `role_arn` and `external_id`: an account that is brought along. `vpcs`: (region, VPC id) where
    a VPC is given; elsewhere each network gets its own out of `cidr_pool`. `endpoint_url` is for emulators. A launch is
    shown everywhere `shown_after_seconds` later; until then a machine that is not shown is not called gone.
    """

    installation: str = "ringmaster"
    regions: tuple[str, ...] = ()
    endpoint_url: str | None = None
    role_arn: str | None = None
    external_id: str | None = None
    vpcs: tuple[tuple[str, str], ...] = ()
    cidr_pool: str = "10.0.0.0/8"
    public_addresses: bool = False
    control_plane_cidrs: tuple[str, ...] = ()
    instance_profile: str | None = "ringmaster-node"
    image_owners: tuple[str, ...] = ("self",)
    root_gib: int = 30
    placement: Placement = Placement.SPREAD
    agent_port: int = 7443
    shown_after_seconds: float = 60.0

    def given_vpc(self, region: str) -> str | None:
        return dict(self.vpcs).get(region)
