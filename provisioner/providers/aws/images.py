"""Machine images, found by their tags. One image of ours is an AMI per architecture, named together."""

import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from provisioner.providers.aws import tags
from provisioner.providers.aws.cloud import Cloud
from provisioner.providers.aws.settings import AwsSettings
from provisioner.providers.base import Image, ImageState, NotFound

_ID = re.compile(r"[a-z0-9_]+=ami-[0-9a-f]+(,[a-z0-9_]+=ami-[0-9a-f]+)*")


@dataclass(frozen=True)
class Ami:
    id: str
    root_device: str


class Images:
    """AMIs never change, so what is known of one stays known."""

    def __init__(self, cloud: Cloud, settings: AwsSettings) -> None:
        self._cloud = cloud
        self._settings = settings
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str], Ami] = {}

    def find(self, *, region: str, engine: str, version: str) -> Image:
        """The newest AMI of each architecture. `id` names them (`arm64=ami-1,x86_64=ami-2`), so it stays the same."""
        wanted = {tags.ENGINE: engine, tags.ENGINE_VERSION: version}
        found = self._cloud.ec2(region).all(
            "describe_images", "Images", Owners=list(self._settings.image_owners), Filters=tags.having(wanted)
        )
        newest: dict[str, str] = {}
        states: dict[str, str] = {}
        for ami in sorted(found, key=lambda ami: (ami["State"] == "available", ami["CreationDate"], ami["ImageId"])):
            newest[ami["Architecture"]] = ami["ImageId"]
            states[ami["Architecture"]] = ami["State"]
        self._remember(region, found)
        ready = sorted(arch for arch, state in states.items() if state == "available")
        if not newest or (not ready and "pending" not in states.values()):
            words = ", ".join(f"{key}={value}" for key, value in wanted.items())
            raise NotFound(
                f"There is no machine image in {region} with the tags {words}, owned by "
                f"{', '.join(self._settings.image_owners)}.",
                hint="Bake one for this region, or copy it there.",
            )
        chosen = ready or sorted(newest)
        return Image(
            id=_id({arch: newest[arch] for arch in chosen}),
            by_architecture={arch: newest[arch] for arch in chosen},
            state=ImageState.READY if ready else ImageState.BUILDING,
            progress=1.0 if ready else 0.0,
            message="" if ready else "AWS is still making the image.",
        )

    def named(self, *, region: str, ids: Mapping[str, str]) -> Image:
        """Of AMIs by architecture. They need no tags and may be another account's, if it has shared them. NotFound."""
        found = self._cloud.ec2(region).all(
            "describe_images", "Images", Filters=[{"Name": "image-id", "Values": sorted(ids.values())}]
        )
        states = {ami["ImageId"]: ami["State"] for ami in found}
        lost = [ami for ami in ids.values() if states.get(ami) not in ("available", "pending")]
        if lost:
            raise NotFound(
                f"There is no machine image {lost[0]} in {region}, or this account may not use it.",
                hint="Share it with the account, copy it to the region, or take another image.",
            )
        self._remember(region, found)
        ready = all(states[ami] == "available" for ami in ids.values())
        return Image(
            id=_id(ids),
            state=ImageState.READY if ready else ImageState.BUILDING,
            progress=1.0 if ready else 0.0,
            message="" if ready else "AWS is still making the image.",
            by_architecture=dict(ids),
        )

    def _remember(self, region: str, found: Sequence[Mapping[str, Any]]) -> None:
        with self._lock:
            self._known |= {
                (region, ami["ImageId"]): Ami(ami["ImageId"], ami["RootDeviceName"])
                for ami in found
                if "RootDeviceName" in ami
            }

    def ami(self, *, region: str, image: str, architecture: str) -> Ami:
        """The one of an image that fits a machine's processor. NotFound."""
        if not _ID.fullmatch(image):
            raise NotFound(f"There is no machine image {image!r}.")
        by_architecture = dict(part.split("=", 1) for part in image.split(","))
        if architecture not in by_architecture:
            raise NotFound(
                f"The machine image {image} has nothing for {architecture}.",
                hint=f"Bake the image for {architecture}, or choose another machine type.",
            )
        ami_id = by_architecture[architecture]
        with self._lock:
            known = self._known.get((region, ami_id))
        if known is None:
            found = self._cloud.ec2(region).all("describe_images", "Images", ImageIds=[ami_id])
            if not found:
                raise NotFound(f"There is no machine image {ami_id} in {region}.")
            known = Ami(ami_id, found[0]["RootDeviceName"])
            with self._lock:
                self._known[region, ami_id] = known
        return known


def _id(parts: Mapping[str, str]) -> str:
    """Of the image that consists of AMIs by architecture."""
    return ",".join(f"{architecture}={ami}" for architecture, ami in sorted(parts.items()))
