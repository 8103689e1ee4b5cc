"""The real surroundings of a worker: providers, engines and agents as this installation is set up."""

from dataclasses import replace
from functools import cache as once
from pathlib import Path

from django.conf import settings

from backend.cloud_accounts.models import CloudAccount
from backend.clusters.authorities import agent_client_material
from backend.clusters.models import Node
from backend.config.environment import Env
from backend.prices.states import BOOT_DISK_BYTES, GIB
from provisioner import traces
from provisioner.agent.base import AgentClient
from provisioner.agent.client import AgentConnections, ClientMaterial
from provisioner.engines import registry as engines
from provisioner.fleet.client import Fleet
from provisioner.operations.served_certificate import served_certificate
from provisioner.operations.surroundings import Surroundings
from provisioner.providers import registry as providers
from provisioner.providers.aws.settings import AwsSettings, Placement
from provisioner.providers.base import Provider
from provisioner.providers.gcp.settings import GcpSettings
from provisioner.providers.local.provider import LocalSettings

SIMULATED = "fake"
"""The provider that a fleet simulator stands for, where the environment names one."""

_BAKE = Path(__file__).resolve().parents[2] / "images" / "machine" / "cassandra" / "bake"


def real_surroundings() -> Surroundings:
    """Built once per process. Agents' certificates are read at the first call to one, not at start."""
    offered = _provider_settings()
    simulated = None if settings.ENV.ringmaster_test_fleet is None else Fleet(settings.ENV.ringmaster_test_fleet)

    @once
    def connections() -> AgentConnections:
        material = agent_client_material()
        return AgentConnections(
            ClientMaterial(ca_pem=material.ca_pem, cert_pem=material.cert_pem, key_pem=material.key_pem),
            on_spans=traces.take_over,
        )

    def provider(name: str, account: CloudAccount | None = None, /) -> Provider:
        if simulated is not None and name == SIMULATED:
            return simulated.provider()
        return providers.provider(name, offered if account is None else in_account(offered, account))

    def agent(node: Node) -> AgentClient:
        if simulated is not None and node.cluster.provider == SIMULATED:
            return simulated.agent(node_id=node.id, address=node.agent_address)
        return connections().client(node_id=node.id, address=node.agent_address)

    def shown_certificate(node: Node) -> str:
        if simulated is not None and node.cluster.provider == SIMULATED:
            return agent(node).engine_certificate().certificate_pem
        return served_certificate(node)

    return Surroundings(provider=provider, engine=engines.engine, agent=agent, served_certificate=shown_certificate)


def in_account(offered: providers.ProviderSettings, account: CloudAccount) -> providers.ProviderSettings:
    """The provider of an account that was brought, and nothing else: all that is said of it is in its row."""
    public, networks = bool(account.settings["public_addresses"]), account.settings["networks"]
    if account.provider == "aws" and offered.aws is not None:
        aws = replace(
            offered.aws,
            role_arn=account.role_arn,
            external_id=account.external_id,
            vpcs=tuple(sorted(account.settings["vpcs"].items())),
            public_addresses=public,
            cidr_pool=networks or offered.aws.cidr_pool,
        )
        return providers.ProviderSettings(aws=aws)
    if account.provider == "gcp" and offered.gcp is not None:
        gcp = replace(
            offered.gcp,
            project=account.project,
            impersonate=account.service_account,
            # Where the installation has its images: in the project it names, else in its own.
            image_project=offered.gcp.image_project or offered.gcp.project,
            machine_service_account="",
            public_addresses=public,
            address_block=networks or offered.gcp.address_block,
        )
        return providers.ProviderSettings(gcp=gcp)
    return providers.ProviderSettings()


def _provider_settings() -> providers.ProviderSettings:
    """A provider is offered where the environment says what it needs."""
    return providers.ProviderSettings(local=_local(settings.ENV), gcp=_gcp(settings.ENV), aws=_aws(settings.ENV))


def _local(env: Env) -> LocalSettings | None:
    state, cache, agent = env.ringmaster_state_dir, env.ringmaster_cache_dir, env.ringmaster_agent_binary
    if state is None or cache is None or agent is None:
        return None
    return LocalSettings(state_dir=state, cache_dir=cache, agent_binary=agent, bake_script=_BAKE)


def _gcp(env: Env) -> GcpSettings | None:
    if not env.ringmaster_gcp_project:
        return None
    return GcpSettings(
        project=env.ringmaster_gcp_project,
        image_project=env.ringmaster_gcp_image_project,
        impersonate=env.ringmaster_gcp_impersonate,
        endpoint=env.ringmaster_gcp_endpoint,
        public_addresses=env.ringmaster_gcp_public_addresses,
        agents_from=tuple(env.ringmaster_gcp_agents_from),
        machine_service_account=env.ringmaster_gcp_machine_service_account,
        # What is ordered is what is metered and estimated; GCP's GB is a GiB.
        boot_disk_gb=BOOT_DISK_BYTES["gcp"] // GIB,
    )


def _aws(env: Env) -> AwsSettings | None:
    if not env.ringmaster_aws_regions:
        return None
    given = (entry.partition("=") for entry in env.ringmaster_aws_vpcs)
    profile = env.ringmaster_aws_instance_profile
    return AwsSettings(
        installation=env.ringmaster_aws_installation,
        regions=tuple(env.ringmaster_aws_regions),
        endpoint_url=env.ringmaster_aws_endpoint or None,
        role_arn=env.ringmaster_aws_role or None,
        external_id=env.ringmaster_aws_external_id or None,
        vpcs=tuple((region, vpc) for region, _, vpc in given),
        cidr_pool=env.ringmaster_aws_networks,
        public_addresses=env.ringmaster_aws_public_addresses,
        control_plane_cidrs=tuple(env.ringmaster_aws_agents_from),
        instance_profile=None if profile == "none" else profile,
        placement=Placement(env.ringmaster_aws_placement),
        root_gib=BOOT_DISK_BYTES["aws"] // GIB,
    )
