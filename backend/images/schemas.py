"""Machine images on the wire."""

import re
from datetime import datetime
from typing import Annotated, Literal, Self

from ninja import Schema
from pydantic import Field, StringConstraints, model_validator

from backend.core.schemas import AllowedAction, Line, NextCursor, RequestBody
from backend.images.states import ImageState

Word = Annotated[str, StringConstraints(min_length=1, max_length=32, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
BuildId = Annotated[str, StringConstraints(min_length=1, max_length=64, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
_AMI = r"^ami-[0-9a-f]{8,17}$"
_GOOGLE = r"^projects/[a-z][a-z0-9-]{4,28}[a-z0-9]/global/images/[a-z]([-a-z0-9]{0,61}[a-z0-9])?$"


class ImageOrder(RequestBody):
    provider: Literal["aws", "gcp"] = Field(description="Where the image is: aws or gcp")
    region: Annotated[str, StringConstraints(max_length=64, pattern=r"^[a-z0-9-]*$")] = Field(
        "", description="aws: the region that the AMI is in. gcp: left out, images are there for all regions"
    )
    architecture: Literal["x86_64", "arm64"] = Field(description="Of the machines that it is for")
    engine: Word = Field(description="That is installed in it, as get_catalog names it", examples=["cassandra"])
    engine_version: Word = Field(description="That is installed in it, as get_catalog names it", examples=["5.0.5"])
    cloud_id: Annotated[str, StringConstraints(max_length=200)] = Field(
        description="aws: ami-0123456789abcdef0. gcp: projects/PROJECT/global/images/NAME"
    )
    build_id: BuildId = Field(description="Names the bake; clusters are pinned to it")
    agent_version: Word | Literal[""] = Field(
        "", description="Of the agent that is installed in it; empty: not told", examples=["1.4.0"]
    )
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
    provider: Word | None = Field(None, description="Images at this provider only: aws or gcp")
    engine: Word | None = Field(None, description="Images with this engine only: cassandra or scylla")
    engine_version: Word | None = Field(None, description="Images with this version only, for example 5.0.5")
    build_id: BuildId | None = Field(None, description="Images of this bake only")


class Image(Schema):
    id: str = Field(description="Of the image here: img_…; its cloud calls it cloud_id")
    state: ImageState = Field(
        description="default: new machines are made from it. deprecated: for no new cluster; what runs goes on"
    )
    provider: str = Field(description="aws or gcp")
    region: str | None = Field(description="null: all regions")
    architecture: str = Field(description="Of the machines that it is for: x86_64 or arm64")
    engine: str = Field(description="That is installed in it: cassandra or scylla")
    engine_version: str = Field(description="That is installed in it, for example 5.0.5")
    cloud_id: str = Field(description="What the cloud calls it")
    build_id: str = Field(description="Names the bake; clusters are pinned to it")
    agent_version: str = Field(description="Of the agent that is installed in it; empty: not told")
    base: str = Field(description="Operating system that it was made from, for example debian-12; empty: not told")
    sbom: str = Field(description="Where the SPDX document is; may be a path inside the image")
    registered_by: str = Field(
        description="E-mail address of who made it known, with a token's name in brackets if one was used; or the "
        "command that did"
    )
    registered_at: datetime = Field(description="When it was made known, UTC")
    deprecated_at: datetime | None = Field(description="When it was deprecated, UTC; null: it is not")
    deprecated_by: str = Field(description="Who deprecated it, as registered_by; empty: it is not deprecated")
    deprecation_reason: str = Field(
        description="A sentence for the people whose clusters run from it; empty: it is not deprecated"
    )
    allowed_actions: list[AllowedAction] = Field(
        description="What the caller may do with it now, and of the rest why not"
    )


class ImagePage(Schema):
    items: list[Image] = Field(description="Newest first, deprecated ones among them")
    next_cursor: NextCursor
