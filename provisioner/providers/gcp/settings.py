"""What the provider `gcp` is told. Imports nothing of Google's, so that reading settings costs nothing."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class GcpSettings:
    """One project to make clusters in.

    Credentials come from google-auth's own chain (GOOGLE_APPLICATION_CREDENTIALS, gcloud's file, the metadata server).
    `impersonate`: the service account to act as, for an account that an organisation brought. `image_project`: where
    our images are; empty: in `project`. `endpoint`: an emulator, spoken to without credentials; empty: Google.
    `public_addresses`: machines get one, and agents are reached there; otherwise the control plane must have a way
    into the network. `agents_from`: the CIDR blocks that the control plane's calls to agents come from.
    `installation`: tells the things of two control planes in one project apart; part of a label, so in label syntax.
    `address_block`: networks get subnets from it. `machine_service_account`: e-mail; empty: machines have none.
    `discard_local_ssd_on_stop`: for machine types whose local SSDs cannot be kept over a stop; their data is then lost.
    `failure_seconds`: how long a failed creation is reported before the machine is asked for anew.
    """

    project: str
    impersonate: str = ""
    image_project: str = ""
    endpoint: str = ""
    public_addresses: bool = False
    agents_from: tuple[str, ...] = ()
    installation: str = "ringmaster"
    address_block: str = "10.0.0.0/8"
    machine_service_account: str = ""
    boot_disk_gb: int = 30
    discard_local_ssd_on_stop: bool = False
    failure_seconds: float = 60.0
