"""What Packer says it has built: the manifest of images/machine/ringmaster.pkr.hcl as images to register."""

import json
from typing import Any

from backend.images.schemas import ImageOrder


def images_of(text: str, *, is_default: bool) -> list[ImageOrder]:
    """The cloud images of the manifest's last run. ValueError when it is none, or has none."""
    document = json.loads(text)
    last = document.get("last_run_uuid")
    builds = [build for build in document.get("builds", []) if build.get("packer_run_uuid") == last]
    orders = [
        ImageOrder(**place, **_about(build["custom_data"]), is_default=is_default)
        for build in builds
        for place in _places(build)
    ]
    if not orders:
        raise ValueError("The manifest's last run has built no image at AWS or Google Cloud.")
    return orders


def _about(data: dict[str, str]) -> dict[str, Any]:
    names = ("architecture", "engine", "engine_version", "build_id", "agent_version", "base", "sbom")
    return {name: data[name] for name in names}


def _places(build: dict[str, Any]) -> list[dict[str, Any]]:
    """AWS names `region:ami`, comma separated; Google names the image alone."""
    match build["builder_type"]:
        case "amazon-ebs":
            pairs = (entry.split(":", 1) for entry in build["artifact_id"].split(","))
            return [{"provider": "aws", "region": region, "cloud_id": ami} for region, ami in pairs]
        case "googlecompute":
            project = build["custom_data"]["gcp_project"]
            return [{"provider": "gcp", "cloud_id": f"projects/{project}/global/images/{build['artifact_id']}"}]
        case _:
            return []
