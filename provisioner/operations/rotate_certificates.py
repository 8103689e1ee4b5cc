"""Every engine gets a certificate for a new key, without a restart and without breaking a connection.

Its number is derived from operation and node, so each look knows whether the node has it already. The key never leaves
the node. A cancel leaves the nodes that have a new certificate with it: the old one would be no better.
"""

from backend.clusters import enrolment, lifecycle, pki
from provisioner.agent.base import AgentUnreachable
from provisioner.operations import names
from provisioner.operations.base import Done, OperationCode, Outcome, StepCode, StepContext, Wait
from provisioner.operations.node_steps import node_of, revive, run_job
from provisioner.operations.surroundings import surroundings


def renew_certificate(context: StepContext) -> Outcome:
    node = node_of(context)
    wanted = enrolment.engine_certificate_serial(node.id, context.operation.id)
    agent = surroundings().agent(node)
    try:
        if pki.serial_of(agent.engine_certificate().certificate_pem) != wanted:
            certificate = enrolment.renew_engine_certificate(
                node, agent.request_engine_certificate(), operation_id=context.operation.id
            )
            agent.put_engine_certificate(certificate, authorities_pem=node.cluster.ca_certificate)
        current = agent.engine_certificate()
    except AgentUnreachable:
        return revive(node)
    lifecycle.node_certificate_renewed(node.id, expires_at=current.expires_at)
    return Done(f"good until {current.expires_at:%d %B %Y}")


def reload_tls(context: StepContext) -> Outcome:
    job = run_job(node_of(context), names.job(context.operation, "reload-tls"), "reload-tls", {})
    return job if isinstance(job, Wait) else Done()


def prove_tls(context: StepContext) -> Outcome:
    """A connection from here, as a driver makes one, is shown the new certificate."""
    node = node_of(context)
    wanted = enrolment.engine_certificate_serial(node.id, context.operation.id)
    try:
        shown = pki.serial_of(surroundings().served_certificate(node))
    except AgentUnreachable:
        return revive(node)
    if shown != wanted:
        return Wait(0.5, f"{node.name} to show its new certificate; it shows {shown:x}")
    return Done(f"shows certificate {shown:x}")


CODE = OperationCode(
    kind="rotate_certificates",
    steps={
        "renew_certificate": StepCode(do=renew_certificate),
        "reload_tls": StepCode(do=reload_tls),
        "prove_tls": StepCode(do=prove_tls),
    },
)
