"""Machine images by the labels that the bake sets: `ringmaster-engine`, `ringmaster-version` (dots become hyphens)."""

from google.cloud import compute_v1

from provisioner.providers.base import Image, ImageState, NotFound
from provisioner.providers.gcp.client import Compute
from provisioner.providers.gcp.names import is_name

ARCHITECTURE = "X86_64"
"""Of every machine type in machine_types.py."""


def find(compute: Compute, *, region: str, engine: str, version: str) -> Image:
    """The newest image of this version that is not deprecated. NotFound."""
    compute.zones(region)
    wanted = f"labels.ringmaster-engine = {engine}", f"labels.ringmaster-version = {version.replace('.', '-')}"
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
    state = ImageState.READY if newest.status == "READY" else ImageState.BUILDING
    return Image(id=f"projects/{compute.image_project}/global/images/{newest.name}", state=state)


def source(image: str) -> str:
    """What a disk is made from, for the id that `find` gave. NotFound for what cannot be the id of an image."""
    if not is_name(image.rpartition("/")[2]) or not image.startswith("projects/"):
        raise NotFound(f"There is no machine image {image!r}.")
    return image
