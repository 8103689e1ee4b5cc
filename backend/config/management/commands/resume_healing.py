"""``manage.py resume_healing [CLUSTER ...]``: healing acts again after the control plane's database was restored."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from backend.clusters.models import Cluster


class Command(BaseCommand):
    help = "Lets healing act again on these clusters, or on all, which a restore of the database has held."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("clusters", nargs="*", metavar="CLUSTER", help="ids: clu_...; none: all")

    def handle(self, *args: Any, **options: Any) -> None:
        held = Cluster.objects.filter(deleted_at=None, healing_held=True)
        wanted = set(options["clusters"])
        if unknown := wanted - set(held.filter(id__in=wanted).values_list("id", flat=True)):
            raise CommandError(f"Healing is not held of {', '.join(sorted(unknown))}. Nothing was changed.")
        resumed = (held.filter(id__in=wanted) if wanted else held).update(healing_held=False)
        left = held.count()
        self.stdout.write(f"Healing acts again on {resumed} clusters; {left} are still held.")
