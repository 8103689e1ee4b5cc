"""Data centres become rows of their own: what the cluster said of its only one moves into its first."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

import backend.core.ids


def move(apps: Apps, _: BaseDatabaseSchemaEditor) -> None:
    cluster_model, datacenter_model = apps.get_model("clusters", "Cluster"), apps.get_model("clusters", "Datacenter")
    for cluster in cluster_model.objects.all():
        cluster.ring_name = f"{cluster.name} {cluster.id}"[:100]
        cluster.save(update_fields=["ring_name"])
        datacenter = datacenter_model.objects.create(
            cluster=cluster,
            name=cluster.datacenter,
            region=cluster.region,
            zones=cluster.zones,
            machine_type=cluster.machine_type,
            nodes_per_zone=cluster.nodes_per_zone,
            deleted_at=cluster.deleted_at,
        )
        cluster.nodes.update(datacenter=datacenter, machine_type=cluster.machine_type)


class Migration(migrations.Migration):
    dependencies = [("clusters", "0001_initial")]

    operations = [
        migrations.CreateModel(
            name="Datacenter",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=backend.core.ids.new_datacenter_id, max_length=40, primary_key=True, serialize=False
                    ),
                ),
                ("name", models.CharField(help_text="<provider>-<region>", max_length=96)),
                ("region", models.CharField(max_length=64)),
                (
                    "zones",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=64),
                        help_text="Each is a rack and holds one replica of every row",
                        size=None,
                    ),
                ),
                ("machine_type", models.CharField(max_length=64)),
                ("nodes_per_zone", models.PositiveIntegerField()),
                ("position", models.PositiveIntegerField(default=0, help_text="0: the first; never used again")),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("deleted_at", models.DateTimeField(null=True)),
                (
                    "cluster",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="datacenters", to="clusters.cluster"
                    ),
                ),
            ],
            options={"ordering": ["position"]},
        ),
        migrations.AddField("cluster", "ring_name", models.CharField(default="", max_length=100), preserve_default=False),
        migrations.AddField("node", "machine_type", models.CharField(default="", max_length=64), preserve_default=False),
        migrations.AddField(
            "node",
            "datacenter",
            models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="nodes",
                to="clusters.datacenter",
            ),
        ),
        migrations.RunPython(move, migrations.RunPython.noop),
    ]
