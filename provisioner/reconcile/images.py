"""Tells clusters whose machines were made from an image that is deprecated by now. Nothing is replaced by itself."""

from collections import defaultdict

from backend.clusters.models import Node
from backend.clusters.states import SERVING
from backend.findings import actions as findings
from backend.findings.models import Finding
from backend.findings.states import FindingState, Severity
from backend.images import queries as images
from provisioner.reconcile.alone import alone

IMAGE_DEPRECATED = "image-deprecated"


def tell_of_deprecated() -> int:
    """Open a finding for each cluster that runs from such images, close those that are over. How many clusters do."""
    with alone("reconcile-images") as mine:
        return _tell() if mine else 0


def _tell() -> int:
    deprecated = images.deprecated()
    rows = Node.objects.filter(image__in=deprecated, deleted_at=None, cluster__state__in=SERVING)
    nodes: dict[str, list[Node]] = defaultdict(list)
    for node in rows.select_related("cluster").order_by("position"):
        nodes[node.cluster_id].append(node)
    told = Finding.objects.filter(code=IMAGE_DEPRECATED, state=FindingState.OPEN)
    for subject in set(told.values_list("subject", flat=True)) - set(nodes):
        findings.over(subject=subject, codes=[IMAGE_DEPRECATED])
    for cluster_id, old in nodes.items():
        cluster, total = old[0].cluster, Node.objects.filter(cluster_id=cluster_id, deleted_at=None).count()
        reasons = {f"{row.build_id}: {row.deprecation_reason}" for row in (deprecated[node.image] for node in old)}
        findings.found(
            cluster=cluster,
            subject=cluster_id,
            subject_name=cluster.name,
            code=IMAGE_DEPRECATED,
            severity=Severity.WARNING,
            sentence=f"{len(old)} of {total} nodes run from a machine image that is deprecated. "
            f"Build {'; build '.join(sorted(reasons))}",
            hint="Replace these nodes one after another when it suits you; new machines get the default image.",
        )
    return len(nodes)
