from django.db import migrations, models
from django.db.models import deletion

# What closed hours have come to before there were months.
_SUM = """
INSERT INTO costs_costmonth (organisation_id, month, cluster_id, compute, storage, backups, traffic, overhead,
                             unmeasured)
SELECT organisation_id, date_trunc('month', day)::date, cluster_id, sum(compute), sum(storage), sum(backups),
       sum(traffic), sum(overhead), sum(unmeasured)
  FROM costs_costday
 GROUP BY 1, 2, 3
"""


class Migration(migrations.Migration):

    dependencies = [("accounts", "0002_platform_admin"), ("costs", "0003_cost_records")]

    operations = [
        migrations.CreateModel(
            name="CostMonth",
            fields=[
                ("compute", models.BigIntegerField(default=0)),
                ("storage", models.BigIntegerField(default=0)),
                ("backups", models.BigIntegerField(default=0)),
                ("traffic", models.BigIntegerField(default=0)),
                ("overhead", models.BigIntegerField(default=0)),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "organisation_id",
                        "month",
                        "cluster_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("cluster_id", models.CharField(blank=True, max_length=40)),
                ("month", models.DateField(help_text="Its first day")),
                ("unmeasured", models.BigIntegerField(default=0)),
                (
                    "organisation",
                    models.ForeignKey(
                        db_index=False, on_delete=deletion.PROTECT, related_name="+", to="accounts.organisation"
                    ),
                ),
            ],
            options={"abstract": False},
        ),
        migrations.RunSQL(_SUM, migrations.RunSQL.noop),
    ]
