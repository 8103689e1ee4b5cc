"""``manage.py register_images MANIFEST``: makes known what Packer has built. Can be repeated."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction
from pydantic import ValidationError

from backend.core.errors import DomainError
from backend.images import actions
from backend.images.manifest import images_of
from backend.images.models import MachineImage


class Command(BaseCommand):
    help = "Registers the images of Packer's manifest (images/machine). Those that are known are left as they are."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("manifest", type=Path, help="the file that Packer's post-processor manifest wrote")
        parser.add_argument("--default", action="store_true", help="make new machines from them")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            orders = images_of(options["manifest"].read_text(), is_default=options["default"])
            with transaction.atomic():
                for order in orders:
                    same = MachineImage.objects.filter(
                        provider=order.provider, region=order.region, cloud_id=order.cloud_id
                    )
                    if known := same.first():
                        self.stdout.write(f"{order.cloud_id} is registered already: {known.id}")
                        continue
                    image = actions.insert(order, registered_by="manage.py register_images")
                    self.stdout.write(f"Registered {order.cloud_id} {order.region} as {image.id} ({image.build_id})")
        except (OSError, ValueError, KeyError, ValidationError, DomainError) as error:
            raise CommandError(f"Nothing was registered: {error}") from error
