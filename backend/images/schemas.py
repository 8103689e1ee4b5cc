"""Machine images on the wire."""

import re
from datetime import datetime
from typing import Annotated, Literal, Self

from ninja import Schema
from pydantic import Field, StringConstraints, model_validator

from backend.core.schemas import AllowedAction, Line, RequestBody
from backend.images.states import ImageState

Word = Annotated[str, StringConstraints(min_length=1, max_length=32, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
BuildId = Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
_AMI = r"^ami-[0-9a-f]{8,17}$"
_GOOGLE = r"^projects/[a-z][a-z0-9-]{4,28}[a-z0-9]/global/images/[a-z]([-a-z0-9]{0,61}[a-z0-9])?$"


class ImageOrder(RequestBody):
    provider: Literal["aws", "gcp"]
    region: Annotated[str, StringConstraints(max_length=64, pattern=r"^[a-z0-9-]*$")] = Field(
        "", description="aws: the region that the AMI is in. gcp: left out, images are there for all regions"
    )
    architecture: Literal["x86_64", "arm64"]
    engine: Word
    engine_version: Word
    cloud_id: Annotated[str, StringConstraints(max_length=200)] = Field(
        description="aws: ami-0123456789abcdef0. gcp: projects/PROJECT/global/images/NAME"
    )
    build_id: BuildId = Field(description="Names the bake; clusters are pinned to it")
    agent_version: Word | Literal[""] = ""
    base: Word | Literal[""] = Field("", description="debian-12")
    sbom: Annotated[Line, StringConstraints(max_length=300)] = Field(
        "", description="Where the SPDX document is; may be a path inside the image"
    )
    is_default: bool = Field(False, description="New machines of this engine version are made from it")

    @model_validator(mode="after")
    def _named_as_the_cloud_does(self) -> Self:
        if self.provider == "aws":
            if not re.fullmatch(_AMI, self.cloud_id):
                raise ValueError("cloud_id: an AMI is named like ami-0123456789abcdef0")
            if not self.region:
                raise ValueError("Name the region that the AMI is in")
        else:
            if not re.fullmatch(_GOOGLE, self.cloud_id):
                raise ValueError("cloud_id: an image is named like projects/PROJECT/global/images/NAME")
            if self.region:
                raise ValueError("Leave the region out: Google's images are there for all regions")
        return self


class ImageDeprecation(RequestBody):
    reason: Annotated[Line, StringConstraints(strip_whitespace=True, min_length=1, max_length=300)] = Field(
        description="A sentence for the people whose clusters run from it"
    )


class ImageFilter(Schema):
    provider: Word | None = None
    engine: Word | None = None
    engine_version: Word | None = None
    build_id: BuildId | None = None


class Image(Schema):
    id: str
    state: ImageState = Field(
        description="default: new machines are made from it. deprecated: for no new cluster; what runs goes on"
    )
    provider: str
    region: str | None = Field(description="null: all regions")
    architecture: str
    engine: str
    engine_version: str
    cloud_id: str = Field(description="What the cloud calls it")
    build_id: str = Field(description="Names the bake; clusters are pinned to it")
    agent_version: str
    base: str
    sbom: str = Field(description="Where the SPDX document is; may be a path inside the image")
    registered_by: str
    registered_at: datetime
    deprecated_at: datetime | None
    deprecated_by: str
    deprecation_reason: str
    allowed_actions: list[AllowedAction]


class ImagePage(Schema):
    items: list[Image]
    next_cursor: str | None
