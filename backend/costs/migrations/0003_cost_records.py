from django.db import migrations, models
from django.db.models import deletion

import backend.core.ids

_AMOUNTS = ("compute", "storage", "backups", "traffic", "overhead")


def _organisation() -> models.ForeignKey:
    return models.ForeignKey(db_index=False, on_delete=deletion.PROTECT, related_name="+", to="accounts.organisation")


def _table() -> models.ForeignKey:
    return models.ForeignKey(db_index=False, on_delete=deletion.PROTECT, related_name="+", to="costs.costtable")


def _sums(*more: tuple[str, str]) -> list[tuple[str, models.Field]]:
    found: list[tuple[str, models.Field]] = [(name, models.BigIntegerField(default=0)) for name in _AMOUNTS]
    return found + [(name, models.BigIntegerField(default=0, help_text=told)) for name, told in more]


def _of_tables() -> list[tuple[str, models.Field]]:
    return [*_sums(("micros", "The sum of the parts"), ("reads", ""), ("writes", "")), ("table", _table())]


class Migration(migrations.Migration):

    dependencies = [("accounts", "0002_platform_admin"), ("costs", "0002_usage_stays")]

    operations = [
        migrations.RemoveIndex(model_name="usagerecord", name="usage_of_organisation"),
        migrations.AddIndex(
            model_name="usagerecord",
            index=models.Index(fields=["organisation", "hour", "id"], name="usage_in_order"),
        ),
        migrations.CreateModel(
            name="CostLine",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=backend.core.ids.new_cost_line_id, max_length=40, primary_key=True, serialize=False
                    ),
                ),
                ("cluster_id", models.CharField(blank=True, max_length=40)),
                ("day", models.DateField()),
                ("item", models.CharField(help_text="As in the price book", max_length=32)),
                ("provider", models.CharField(max_length=32)),
                ("region", models.CharField(blank=True, max_length=64)),
                ("name", models.CharField(blank=True, help_text="Machine type or class of storage", max_length=64)),
                (
                    "price",
                    models.BigIntegerField(
                        help_text="Of the book, in force then; null: there was none, it is free", null=True
                    ),
                ),
                (
                    "quantity",
                    models.DecimalField(
                        decimal_places=0,
                        help_text="Unit-seconds; of mark-up: micro-dollars that it is a share of",
                        max_digits=30,
                    ),
                ),
                ("micros", models.BigIntegerField(help_text="Micro-dollars; below zero takes back")),
                ("sequence", models.PositiveIntegerField(help_text="0: as the day went by; then corrections")),
                ("organisation", _organisation()),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=(
                            "organisation",
                            "day",
                            "cluster_id",
                            "item",
                            "provider",
                            "region",
                            "name",
                            "price",
                            "sequence",
                        ),
                        name="cost_line_once",
                        nulls_distinct=False,
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="CostDay",
            fields=[
                *_sums(("unmeasured", "Of it: shared because there were no metrics of the hour")),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "organisation_id",
                        "cluster_id",
                        "day",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("cluster_id", models.CharField(blank=True, max_length=40)),
                ("day", models.DateField()),
                ("organisation", _organisation()),
            ],
            options={
                "indexes": [
                    models.Index(
                        fields=["organisation", "day"],
                        include=("cluster_id", *_AMOUNTS, "unmeasured"),
                        name="cost_day_report",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="HourToShare",
            fields=[
                *_sums(),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "cluster_id",
                        "hour",
                        "organisation_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("cluster_id", models.CharField(blank=True, max_length=40)),
                ("hour", models.DateTimeField()),
                (
                    "uncounted",
                    models.BigIntegerField(default=0, help_text="Above zero: its reads and writes are to be counted, too"),
                ),
                ("organisation", _organisation()),
            ],
            options={"abstract": False},
        ),
        migrations.CreateModel(
            name="CostTable",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("cluster_id", models.CharField(blank=True, max_length=40)),
                ("keyspace", models.CharField(blank=True, max_length=222)),
                ("name", models.CharField(blank=True, max_length=222)),
                ("organisation", _organisation()),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("organisation", "cluster_id", "keyspace", "name"), name="cost_table_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="TableDay",
            fields=[
                *_of_tables(),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "table_id", "day", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("day", models.DateField()),
                ("organisation", _organisation()),
            ],
            options={"indexes": [models.Index(fields=["organisation", "day"], name="table_day_report")]},
        ),
        migrations.CreateModel(
            name="TableMonth",
            fields=[
                *_of_tables(),
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "table_id", "month", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("month", models.DateField(help_text="Its first day")),
                ("organisation", _organisation()),
            ],
            options={
                "indexes": [
                    models.Index(
                        fields=["organisation", "month"], include=("table", "micros"), name="table_month_report"
                    )
                ],
            },
        ),
    ]
