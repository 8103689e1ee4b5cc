from django.db import migrations

_RUNNING = """
INSERT INTO clusters_machinelife (node_id, generation, organisation_id, cluster_id, provider, region, zone, machine_type, began_at)
SELECT node.id, node.generation, cluster.organisation_id, cluster.id, cluster.provider, datacenter.region, node.zone, node.machine_type, now()
  FROM clusters_node node
  JOIN clusters_cluster cluster ON cluster.id = node.cluster_id
  JOIN clusters_datacenter datacenter ON datacenter.id = node.datacenter_id
 WHERE node.deleted_at IS NULL AND node.machine_id <> ''
"""


class Migration(migrations.Migration):
    """Machines that run already are metered from now on: nobody wrote down when they began."""

    dependencies = [("clusters", "0009_machine_lives")]

    operations = [migrations.RunSQL(_RUNNING, migrations.RunSQL.noop)]
