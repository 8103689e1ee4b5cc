from django.db import migrations, models

RUNNING = """
UPDATE clusters_machinelife
   SET disk_class = CASE provider WHEN 'aws' THEN 'gp3' ELSE 'pd-balanced' END,
       disk_bytes = 30 * 1024::bigint ^ 3, disk_began_at = now()
 WHERE ended_at IS NULL AND provider IN ('aws', 'gcp')
"""


class Migration(migrations.Migration):
    """Boot disks of machines that run already are metered from now on, as nobody was told of them before."""

    dependencies = [("clusters", "0012_test_drives")]

    operations = [
        migrations.AddField(
            model_name="machinelife",
            name="disk_class",
            field=models.CharField(
                blank=True,
                db_default="",
                default="",
                help_text="Of its boot disk, which is paid beside it",
                max_length=64,
            ),
        ),
        migrations.AddField(
            model_name="machinelife",
            name="disk_bytes",
            field=models.BigIntegerField(db_default=0, default=0, help_text="Of its boot disk; 0: none is paid"),
        ),
        migrations.AddField(
            model_name="machinelife",
            name="disk_began_at",
            field=models.DateTimeField(
                help_text="Since when its boot disk is metered, until the machine ends; null: it is not", null=True
            ),
        ),
        migrations.RunSQL(RUNNING, migrations.RunSQL.noop),
    ]
