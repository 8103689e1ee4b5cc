"""Machine images by the labels that the bake sets: `ringmaster-engine` and `ringmaster-engine-version` (dots become
hyphens), or by name."""

import re
from collections.abc import Mapping

from google.cloud import compute_v1

from provisioner.providers.base import Image, ImageState, NotFound
from provisioner.providers.gcp.client import Compute
from provisioner.providers.gcp.names import is_name

_NAME = re.compile(r"projects/([^/]+)/global/images/([^/]+)")

ARCHITECTURE = "X86_64"
"""Of every machine type in machine_types.py."""


def find(compute: Compute, *, region: str, engine: str, version: str) -> Image:
    """The newest image of this version that is not deprecated. NotFound."""
    compute.zones(region)
    wanted = f"labels.ringmaster-engine = {engine}", f"labels.ringmaster-engine-version = {version.replace('.', '-')}"
    request = compute_v1.ListImagesRequest(
        project=compute.image_project, filter=" ".join(f"({condition})" for condition in wanted)
    )
    usable = [
        image
        for image in compute.ask_all(compute.images.list, request)
        if image.architecture in ("", ARCHITECTURE) and not image.deprecated.state and image.status != "FAILED"
    ]
    if not usable:
        raise NotFound(
            f"There is no machine image of {engine} {version} in project {compute.image_project}.",
            hint="Bake one (images/machine), or name the project that has it.",
        )
    newest = max(usable, key=lambda image: (image.status == "READY", image.creation_timestamp))
    return _image(f"projects/{compute.image_project}/global/images/{newest.name}", newest)


def named(compute: Compute, ids: Mapping[str, str]) -> Image:
    """Of the one image for ARCHITECTURE, in whichever project it is. NotFound."""
    name = ids.get(ARCHITECTURE.lower(), "")
    match = _NAME.fullmatch(name)
    found = []
    if match:
        request = compute_v1.ListImagesRequest(project=match[1], filter=f"(name = {match[2]})")
        found = [image for image in compute.ask_all(compute.images.list, request) if image.status != "FAILED"]
    if not found:
        raise NotFound(
            f"There is no machine image {name or ids}, or this account may not use it.",
            hint="Let the account use the image's project (roles/compute.imageUser), or take another image.",
        )
    return _image(name, found[0])


def _image(name: str, found: compute_v1.Image) -> Image:
    state = ImageState.READY if found.status == "READY" else ImageState.BUILDING
    return Image(id=name, state=state, by_architecture={ARCHITECTURE.lower(): name})


def source(image: str) -> str:
    """What a disk is made from, for the id that `find` gave. NotFound for what cannot be the id of an image."""
    if not is_name(image.rpartition("/")[2]) or not image.startswith("projects/"):
        raise NotFound(f"There is no machine image {image!r}.")
    return image
