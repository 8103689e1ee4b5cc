"""What machine images may be used for."""

from enum import StrEnum

MAY_NOT = "Only the team that runs this installation may change images."


class ImageState(StrEnum):
    """DEFAULT: new machines are made from it. DEPRECATED: for no new cluster; what runs goes on."""

    DEFAULT = "default"
    AVAILABLE = "available"
    DEPRECATED = "deprecated"


def reason_against_making_default(state: ImageState, *, may: bool) -> str | None:
    if not may:
        return MAY_NOT
    if state is ImageState.DEPRECATED:
        return "It is deprecated."
    return "It is the default already." if state is ImageState.DEFAULT else None


def reason_against_deprecating(state: ImageState, *, may: bool) -> str | None:
    if not may:
        return MAY_NOT
    return "It is deprecated already." if state is ImageState.DEPRECATED else None


def reason_against_restoring(state: ImageState, *, may: bool) -> str | None:
    if not may:
        return MAY_NOT
    return None if state is ImageState.DEPRECATED else "It is not deprecated."
